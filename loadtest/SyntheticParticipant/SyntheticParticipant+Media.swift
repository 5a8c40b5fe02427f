// A participant's negotiation: offers for what it publishes, answers to what the server offers, and what both say about
// whose packets will come.

import Basics
import Crypto
import RTP
import RoostClient
import RoostProtocol
import SDP
import Threads

extension SyntheticParticipant {
  static var wallMilliseconds: Int64 { WallClock.milliseconds() }

  func makeTracks() -> [SendTrack] {
    var result: [SendTrack] = []
    if let audio = configuration.audio {
      result.append(SendTrack(mid: "0", source: .audio(audio), user: configuration.user, random: &random))
    }
    for plan in configuration.video {
      result.append(
        SendTrack(mid: "\(result.count)", source: .video(plan), user: configuration.user, random: &random))
    }
    return result
  }

  private var localFingerprint: CertificateFingerprint {
    let own = certificate.sha256Fingerprint
    guard configuration.misbehaviour.contains(.wrongFingerprint) else { return own }
    var bytes = own.bytes
    bytes[0] ^= 0xff
    return CertificateFingerprint(algorithm: own.algorithm, bytes: bytes) ?? own
  }

  func localEnd(_ credentials: ICECredentials) -> LocalEnd {
    LocalEnd(credentials: credentials, fingerprint: localFingerprint, role: configuration.dtlsRole)
  }

  // MARK: Publishing

  /// Sends the offer for all tracks and takes the answer.
  func offer() async throws(SyntheticError) {
    guard let session else { throw .state("not joined") }
    publishing.version += 1
    let end = localEnd(publishing.credentials)
    let text = PublishOffer.text(
      tracks, end, user: configuration.user, sessionID: sessionID, version: publishing.version)
    let announced = tracks.filter { trackIds[$0.label] == nil }.map(\.announcement)
    let result: PublishResult
    do {
      let reply = try await session.request(
        .peerConnection(
          .offer(PublishOfferParams(pc: .publish, sdp: text, tracks: announced.isEmpty ? nil : announced))))
      guard case .published(let published) = reply else { throw RoostError.unexpectedReply(.pcOffer) }
      result = published
    } catch {
      throw (error as? RoostError).map { .signalling($0) } ?? .state("\(error)")
    }
    try take(result)
  }

  /// Publishes another picture beside what is published already; returns when the server has answered.
  public func publish(_ plan: VideoPlan) async throws(SyntheticError) {
    guard joined != nil else { throw .state("not joined") }
    let track = SendTrack(mid: "\(tracks.count)", source: .video(plan), user: configuration.user, random: &random)
    tracks.append(track)
    if tracks.count == 1 { open(.publish) } else { thread.post(.tell(publishing.key, .add(track))) }
    try await offer()
  }

  private func take(_ result: PublishResult) throws(SyntheticError) {
    let (answer, remote) = try Self.read(result.sdp)
    var byMid: [String: String] = [:]
    for line in result.tracks { byMid[line.mid] = line.trackId }
    for track in tracks { trackIds[track.label] = byMid[track.mid] }
    for declined in result.declined ?? [] { note("line \(declined.mid) was declined: \(declined.error.message)") }
    let agreed = PublishOffer.agreed(answer).filter { byMid[$0.key] != nil }
    thread.post(.tell(publishing.key, .agree(agreed, trackIds: byMid)))
    begin(.publish, remote)
  }

  /// Starts ICE, or starts it anew when the server's credentials are new.
  func begin(_ role: PeerRole, _ remote: RemoteEnd) {
    let connection = role == .publish ? publishing : subscribing
    guard connection.remote != remote.credentials else { return }
    if role == .publish { publishing.remote = remote.credentials } else { subscribing.remote = remote.credentials }
    var reachable = remote
    reachable.candidates = remote.candidates.filter { $0.isIPv4 == configuration.bindAddress.isIPv4 }
    if role == .publish { publishing.server = reachable.candidates.first }
    thread.post(.tell(connection.key, .begin(reachable, local: connection.credentials)))
  }

  static func read(_ text: String) throws(SyntheticError) -> (SessionDescription, RemoteEnd) {
    do {
      let description = try SessionDescription.parse(text)
      return (description, try RemoteEnd(description))
    } catch {
      throw .description("\(error)")
    }
  }

  /// Restarts ICE (RFC 8445 §9). Returns when the server has answered (publish), or has taken the request and will offer
  /// (subscribe).
  public func restartICE(_ role: PeerRole) async throws(SyntheticError) {
    guard let session else { throw .state("not joined") }
    switch role {
    case .publish:
      var secure = SecureRandomGenerator()
      publishing.credentials = .random(using: &secure)
      try await offer()
    case .subscribe:
      do {
        _ = try await session.request(.peerConnection(.restart(RestartParams(pc: .subscribe))))
      } catch {
        throw .signalling(error)
      }
    }
  }

  /// Mutes or unmutes a track at the server. Whether packets go on being sent, `sendsWhileMuted` says.
  public func setMuted(_ label: String, _ isMuted: Bool) async throws(SyntheticError) {
    guard let session, let trackId = trackIds[label], let track = tracks.first(where: { $0.label == label }) else {
      throw .state("no track \(label) is published")
    }
    if configuration.fault == .leak { return }
    do {
      let params = TrackParams(trackId: trackId)
      _ = try await session.request(isMuted ? .track(.mute(params)) : .track(.unmute(params)))
    } catch {
      throw .signalling(error)
    }
    if !configuration.sendsWhileMuted {
      thread.post(.tell(publishing.key, .setSending(mid: track.mid, !isMuted)))
    }
  }

  /// Measures `ReceiveStatistics.longestGap` anew.
  public func forgetGaps() { thread.post(.tell(subscribing.key, .forgetGaps)) }

  /// Says something to all in the room.
  public func say(_ text: String) async throws(SyntheticError) {
    guard let session else { throw .state("not joined") }
    do {
      _ = try await session.request(.chat(.send(ChatSendParams(room: joined?.room ?? configuration.room, text: text))))
    } catch {
      throw .signalling(error)
    }
  }

  // MARK: Subscribing

  /// Something that the session tells.
  func take(_ event: SessionEvent) async {
    switch event {
    case .event(let message): await take(message.event)
    case .resumed, .resynced: await resolveLines()
    case .restarted: note("the session could not be resumed and began anew")
    case .reconnecting, .ended: break
    }
  }

  private func take(_ event: Event) async {
    switch event {
    case .pcOffer(let offer): await answer(offer)
    case .trackMuted(let muted):
      thread.post(.tell(subscribing.key, .expectJump(trackId: muted.trackId)))
    case .mediaFailed(let failure): mediaFailures.append(failure)
    case .roomQuality(let quality): if let own = quality.own { ownQuality = own }
    case .chatMessage(let message): chat[message.from, default: []].append(message.text)
    case .trackPublished, .participantJoined: if lines.contains(where: { $0.identity == nil }) { await resolveLines() }
    default: break
    }
  }

  private func answer(_ message: SubscribeOffer) async {
    do {
      let (offer, remote) = try Self.read(message.sdp)
      if let known = subscribing.remote, known != remote.credentials {
        var secure = SecureRandomGenerator()
        subscribing.credentials = .random(using: &secure)
      }
      // Whom a view shows is told by its packets alone.
      let views = (message.views ?? []).map {
        OfferedTrack(mid: $0.mid, subscriptionId: $0.subscriptionId, trackId: "", participantId: "", kind: .video)
      }
      lines = SubscribeReply.lines(of: offer, tracks: message.tracks + views)
      // Before the answer, so that the first packets find their streams.
      await resolveLines()
      let end = localEnd(subscribing.credentials)
      let text = SubscribeReply.text(to: offer, end, sessionID: sessionID, feedback: configuration.feedback)
      _ = try await session?.request(
        .peerConnection(.answer(SubscribeAnswerParams(offerId: message.offerId, sdp: text))))
      begin(.subscribe, remote)
      try await choose()
    } catch {
      note("offer \(message.offerId): \(error)")
    }
  }

  /// Asks for the wanted layer of each video that it has not asked for before.
  private func choose() async throws(RoostError) {
    guard let definition = configuration.definition else { return }
    for line in lines where line.kind == .video && chosen.insert(line.subscriptionId).inserted {
      let params = SubscriptionUpdateParams(subscriptionId: line.subscriptionId, definition: definition)
      _ = try await session?.request(.subscription(.update(params)))
    }
  }

  /// Looks up in the room's state whose tracks will come, and tells the receiver.
  private func resolveLines() async {
    let snapshot = await room
    for index in lines.indices {
      guard let owner = snapshot?.participants.first(where: { $0.participantId == lines[index].participantId }) else {
        continue
      }
      lines[index].user = owner.user
      if let track = owner.tracks.first(where: { $0.trackId == lines[index].trackId }) {
        lines[index].identity = PayloadStamp.identity(user: owner.user, label: track.label)
      }
    }
    thread.post(.tell(subscribing.key, .setLines(lines)))
  }
}

extension SendTrack {
  /// What the track is called.
  var label: String {
    switch source {
    case .audio(let plan): plan.label
    case .video(let plan): plan.label
    }
  }

  /// The track as it is announced beside the offer.
  var announcement: AnnouncedTrack {
    switch source {
    case .audio(let plan):
      AnnouncedTrack(mid: mid, kind: .audio, label: plan.label, muted: plan.startsMuted ? true : nil)
    case .video(let plan):
      AnnouncedTrack(
        mid: mid, kind: .video, label: plan.label, source: plan.source, viewIndex: plan.viewIndex, split: plan.split,
        muted: plan.startsMuted ? true : nil)
    }
  }
}
