// The director's publishing half: an offer is prepared, the conference decides, and the commit makes producers.

import Media
import Members
import Negotiation
import RTP
import RoostProtocol

extension MediaDirector {
  /// Works out the answer to an offer, of which no more is taken than `limits` say; nothing changes until `commitPublish`.
  mutating func preparePublish(
    _ key: RequestKey, seat: SeatID, on id: MediaConnectionID = .publish, _ params: PublishOfferParams,
    _ limits: PublishLimits? = nil
  ) -> Result<PublishChange, ErrorObject> {
    guard let connection = connections[ConnectionKey(seat: seat, id: id)], let negotiation = connection.publish else {
      return .failure(ErrorObject(.notJoined))
    }
    let announced = params.tracks ?? []
    let bounds = limits.map { OfferBounds($0, of: publishOptions.codecs) }
    let fresh = makeCredentials()
    do throws(NegotiationError) {
      let result = try negotiation.prepare(offer: params.sdp, tracks: announced.map(\.negotiated), bounds: bounds) {
        fresh
      }
      let layers = result.layers(announced)
      prepared[key] = PreparedPublish(
        connection: connection.key, prepared: result, layers: layers, replacement: nil)
      return .success(PublishChange(result, layers, recoded: recoded(result, on: connection)))
    } catch {
      guard error.isNewPeerConnection, !connection.isShared else { return .failure(ErrorObject(error)) }
      return prepareReplacement(key, of: connection, params.sdp, announced, bounds)
    }
  }

  /// Lines whose track goes on with other codecs, or another format of Opus.
  private func recoded(_ prepared: PublishNegotiation.Prepared, on connection: MediaConnection) -> [String] {
    prepared.changed.filter { parameters in
      let track = connection.published[parameters.mid].flatMap { tracks[$0] }
      return track.map {
        $0.codecs != parameters.payloads.map(\.codec) || $0.parameters.opus != parameters.opus
      } ?? false
    }.map(\.mid)
  }

  /// The client has made a new peer connection: a new negotiation on a new transport, and every old track ends.
  private mutating func prepareReplacement(
    _ key: RequestKey, of connection: MediaConnection, _ sdp: String, _ announced: [RoostProtocol.AnnouncedTrack],
    _ bounds: OfferBounds?
  ) -> Result<PublishChange, ErrorObject> {
    let local = localTransport(connection.worker)
    let negotiation = makePublish(local, seat: connection.key.seat)
    do throws(NegotiationError) {
      let result = try negotiation.prepare(offer: sdp, tracks: announced.map(\.negotiated), bounds: bounds) {
        local.credentials
      }
      let layers = result.layers(announced)
      prepared[key] = PreparedPublish(
        connection: connection.key, prepared: result, layers: layers,
        replacement: (negotiation: negotiation, credentials: local.credentials))
      var change = PublishChange(result, layers, ending: connection.publish?.tracks.map(\.mid) ?? [])
      change.isNewConnection = true
      return .success(change)
    } catch {
      return .failure(ErrorObject(error))
    }
  }

  mutating func discardPublish(_ key: RequestKey) { prepared[key] = nil }

  mutating func commitPublish(_ key: RequestKey, seat: SeatID, _ committed: [CommittedTrack]) {
    guard let change = prepared.removeValue(forKey: key), change.connection.seat == seat,
      var connection = connections[change.connection]
    else { return }
    if let replacement = change.replacement {
      connection.publish = replacement.negotiation
      replaceTransport(of: &connection, replacement.credentials)
    } else if change.prepared.replacesTransport, !connection.isShared, let agreed = change.prepared.transport {
      replaceTransport(of: &connection, agreed.local)
    }
    connection.publish?.commit(change.prepared)
    if let agreed = change.prepared.transport { take(agreed, on: &connection) }
    connections[change.connection] = connection
    addProducers(committed, change)
  }

  /// The worker is told what an offer of the client has agreed on. The other direction of a shared transport follows a restart.
  mutating func take(_ agreed: AgreedTransport, on connection: inout MediaConnection) {
    if agreed.local != connection.credentials {
      connection.credentials = agreed.local
      send(.restartICE(connection.transport, credentials: agreed.local), to: connection.worker)
      if connection.subscribe != nil {
        connection.subscribe?.restartICE(agreed.local)
        unsettled.insert(connection.key)
      }
    }
    send(.setRemote(connection.transport, agreed.media), to: connection.worker)
  }

  private mutating func addProducers(_ committed: [CommittedTrack], _ change: PreparedPublish) {
    let key = change.connection
    guard let connection = connections[key], let seat = seats[key.seat] else { return }
    for entry in committed {
      guard let parameters = change.prepared.added.first(where: { $0.mid == entry.mid }),
        let layers = change.layers[entry.mid]
      else { continue }
      tracks[entry.track] = DirectedTrack(
        connection: key, worker: connection.worker, parameters: parameters, layers: layers, isScreen: entry.isScreen)
      placement.publish(parameters.kind.weight, of: key.seat)
      connections[key]?.published[entry.mid] = entry.track
      send(
        .addProducer(
          ProducerKey(entry.track.rawValue), transport: connection.transport, parameters: parameters,
          publisher: seat.publisher, pausesLayers: layers.canPause),
        to: connection.worker)
    }
    for parameters in change.prepared.changed {
      guard let track = connection.published[parameters.mid] else { continue }
      tracks[track]?.parameters = parameters
      // What crosses to other workers says itself what it is.
      send(.updateProducer(ProducerKey(track.rawValue), parameters: parameters), to: connection.worker)
    }
  }

  mutating func setMuted(_ track: TrackID, _ muted: Bool) {
    guard let entry = tracks[track], connections[entry.connection] != nil else { return }
    tracks[track]?.isMuted = muted
    sendEverywhere(.setMuted(ProducerKey(track.rawValue), muted), of: track)
  }

  /// Which layers the publisher of a track is asked to send from now on, by their places in SDP. Answers keep the others paused.
  mutating func setActive(_ encodings: [Int], of track: TrackID) {
    guard let entry = tracks[track] else { return }
    let resting = entry.parameters.encodings.indices.filter { !encodings.contains($0) }
    connections[entry.connection]?.publish?.pause(
      Set(resting.compactMap { entry.parameters.encodings[$0].rid }), mid: entry.parameters.mid)
  }

  mutating func closeTrack(_ track: TrackID) {
    guard let entry = tracks.removeValue(forKey: track) else { return }
    let mirrors = spread.mirrors.close(track)
    defer { for worker in mirrors { send(.removeProducer(ProducerKey(track.rawValue)), to: worker) } }
    guard let connection = connections[entry.connection] else { return }
    let mid = entry.parameters.mid
    placement.publish(entry.parameters.kind.weight, of: entry.seat, by: -1)
    connections[entry.connection]?.publish?.endTrack(mid: mid)
    if connection.published[mid] == track { connections[entry.connection]?.published[mid] = nil }
    send(.removeProducer(ProducerKey(track.rawValue)), to: connection.worker)
  }
}

extension MediaKind {
  fileprivate var weight: TrackWeight { self == .audio ? .sound : .pictures }
}
