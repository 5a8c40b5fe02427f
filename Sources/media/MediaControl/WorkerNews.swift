// What workers report, as the conference hears it: transports, producers and consumers become seats, tracks and subscriptions, and what is
// wrong becomes a sentence for people.

import Media
import Members
import RoostProtocol

extension MediaDirector {
  /// Takes what a worker reports. `shown` is the track that a subscription shows, where the event is about the layer of one; the
  /// conference knows.
  /// - Returns: what the conference is to hear of it; nil where it is about something that is gone, or nothing that clients are told.
  public mutating func apply(_ event: WorkerEvent, shown: TrackID? = nil) -> Command? {
    switch event {
    case .transportConnected(let key): media(key, .connected)
    case .transportFailed(let key, let failure): media(key, MediaChange(failure))
    case .transportLost(let key): media(key, .lost)
    case .transportRecovered(let key): media(key, .recovered)
    case .silence(let question, let time): takeAsker(of: question).map { .silence($0, time) }
    case .streamStrays(let key, let stream): media(key, .strays(reason: stream.sentence))
    case .streamsFound(let key): media(key, .found)
    case .transportExceeds(let key, let kind, let limit):
      connections.transports[key].map { .excess($0.seat, $0.id, Excess(kind), bitsPerSecond: limit) }
    case .consumerStarted(let key, let producer, let timestamp):
      .subscription(SubscriptionID(key.value), .started(TrackID(producer.value), timestamp: timestamp))
    case .consumerLayer(let key, let layer, let encoding):
      told(layer, encoding, of: shown).map { .subscription(SubscriptionID(key.value), .layer($0)) }
    case .consumerPaused(let key, let isPaused):
      .subscription(SubscriptionID(key.value), isPaused ? .paused(.bandwidth) : .resumed)
    case .consumerMisses(let key, let producer, let missing):
      .subscription(SubscriptionID(key.value), .missing(TrackID(producer.value), missing?.step))
    case .producerLayers(let key, let layers, let encodings): active(TrackID(key.value), layers, encodings)
    case .load(let worker, let percent): report(percent, of: worker)
    case .activeSpeakers(let room, let speakers):
      // Each participant once: who has several tracks is told by the loudest.
      .activeSpeakers(
        Members.RoomKey(room.value),
        speakers.compactMap { speaker in
          tracks[TrackID(speaker.producer)].map { SpeakerLevel(seat: $0.seat, level: Int(speaker.level)) }
        })
    case .quality(let measured): .quality(reports(measured))
    }
  }

  private func media(_ key: TransportKey, _ change: MediaChange) -> Command? {
    connections.transports[key].map { .media($0.seat, $0.id, change) }
  }

  /// Only simulcast tracks have layers worth telling of.
  private func told(_ layer: Int, _ encoding: Int, of shown: TrackID?) -> Layer? {
    guard let track = shown.flatMap({ tracks[$0] }), track.parameters.encodings.count > 1,
      track.parameters.encodings.indices.contains(encoding)
    else { return nil }
    return Layer(definition: track.layers.definition(of: layer), rid: track.parameters.encodings[encoding].rid)
  }

  private mutating func active(_ track: TrackID, _ layers: [Int], _ encodings: [Int]) -> Command {
    setActive(encodings, of: track)
    return .trackLayers(track, layers)
  }

  private mutating func report(_ percent: Double, of worker: Int) -> Command? {
    placement.report(percent, of: worker)
    return placement.takeChange().map { .mediaLoad($0) }
  }
}

extension MediaChange {
  init(_ failure: TransportFailure) {
    switch failure {
    case .handshake(let reason): self = .failed(.dtls, reason: reason.asSentence, isFinal: true)
    case .fingerprintMismatch:
      self = .failed(
        .dtls, reason: "The certificate does not match the fingerprint in the session description.", isFinal: true)
    case .closedByPeer: self = .closed(reason: "The client closed the connection.")
    case .tooSlow(let progress): self = .failed(progress.step, reason: progress.sentence, isFinal: false)
    }
  }
}

extension MissingMedia {
  /// As clients are told of it.
  fileprivate var step: SubscriptionStep {
    switch self {
    case .nothing: .nothing
    case .noKeyframe: .noKeyframe
    }
  }
}

extension StrayStreamReport {
  /// What is wrong with it, for people.
  var sentence: String {
    switch cause {
    case .unknownMid: "Packets of SSRC \(ssrc) bear a MID that is no published track's."
    case .unknownPayloadType:
      "Packets of SSRC \(ssrc) have payload type \(payloadType), which no answer of the server has."
    case .ambiguous:
      "Packets of SSRC \(ssrc) say by no MID, no RID and no a=ssrc which track they are of, and several have payload type \(payloadType)."
    case .occupied:
      "Packets of SSRC \(ssrc) belong to a track that receives another SSRC still, or to a layer of it that was not offered."
    }
  }
}

extension Excess {
  init(_ kind: IntakeClass) {
    switch kind {
    case .sound: self = .sound
    case .video: self = .video
    case .unrouted: self = .newStreams
    case .control: self = .control
    }
  }
}

extension TransportProgress {
  /// What the connection waits for.
  var step: MediaStep {
    switch self {
    case .unheard, .checked: .ice
    case .nominated: .dtls
    case .undescribed: .sdp
    }
  }

  /// The same for people.
  var sentence: String {
    switch self {
    case .unheard:
      "No connectivity check of the client has arrived: UDP to the server's media port is blocked, or its candidates are wrong."
    case .checked:
      "Connectivity checks arrive, but the client has nominated none: the server's answers do not reach it."
    case .nominated: "The DTLS handshake is not done: the client does not begin it, or its larger packets are lost."
    case .undescribed: "The client checks the connection, but its session description has not come."
    }
  }
}

extension String {
  /// With a capital and a full stop.
  fileprivate var asSentence: String { prefix(1).uppercased() + dropFirst() + (hasSuffix(".") ? "" : ".") }
}
