// One who plays by WHEP or as a Flashphoner app: one connection, one offer of the client's, one answer, and no signalling after it.

import RTP
import RoostProtocol
import SDP

extension SyntheticParticipant {
  /// Comes in by the door of `configuration.plays` and returns when the server has answered. Media comes up after that: see
  /// `waitUntilConnected`. It publishes nothing.
  /// - Throws: `.state` with the door's refusal. The participant can be thrown away then.
  public func play() async throws(SyntheticError) {
    guard let plan = configuration.plays else { throw .state("there is nothing to play") }
    guard player == nil, session == nil else { throw .state("is in already") }
    let door = Self.player(plan, configuration)
    player = door
    openConnections()
    do throws(SyntheticError) {
      let offer = PlayOffer.text(plan.tracks.map(\.kind), localEnd(subscribing.credentials), sessionID)
      try take(try await door.play(offer))
    } catch {
      closeConnections(politely: false)
      await door.stop()
      throw error
    }
  }

  private static func player(_ plan: PlayerPlan, _ configuration: SyntheticConfiguration) -> any Player {
    switch plan.door {
    case .whep: WhepPlayer(plan, configuration)
    case .flashphoner: FlashphonerPlayer(plan, configuration)
    }
  }

  private func take(_ text: String) throws(SyntheticError) {
    let (answer, remote) = try Self.read(text)
    let tracks = configuration.plays?.tracks ?? []
    let offered = tracks.enumerated().map { index, track in
      OfferedTrack(
        mid: "\(index)", subscriptionId: "line \(index)", trackId: track.trackId, participantId: "", kind: track.kind)
    }
    lines = SubscribeReply.lines(of: answer, tracks: offered)
    guard lines.count == tracks.count else {
      throw .description("the server sends on \(lines.count) of \(tracks.count) lines: \(text)")
    }
    for index in lines.indices {
      lines[index].user = configuration.plays?.publisher
      lines[index].identity = configuration.plays.map {
        PayloadStamp.identity(user: $0.publisher, label: tracks[index].label)
      }
    }
    thread.post(.tell(subscribing.key, .setLines(lines)))
    begin(.subscribe, remote)
  }
}

enum PlayOffer {
  /// The offer to receive a track of each of these kinds.
  static func text(_ kinds: [TrackKind], _ end: LocalEnd, _ sessionID: UInt64) -> String {
    var offer = SessionDescription(origin: Origin(sessionID: sessionID))
    offer.extmapAllowMixed = true
    for (index, kind) in kinds.enumerated() { offer.add(line(kind, mid: "\(index)", end)) }
    return offer.serialized()
  }

  private static func line(_ kind: TrackKind, mid: String, _ end: LocalEnd) -> MediaDescription {
    var line: MediaDescription
    switch kind {
    case .audio:
      var codec = Codec.opus(PublishOffer.opus)
      codec.feedback = [.transportCC, .nack]
      line = .audio(mid: mid, .receiveOnly, end.attributes, [codec])
    case .video:
      line = .video(
        mid: mid, .receiveOnly, end.attributes, Codec.video(PublishOffer.vp8, "VP8", rtx: PublishOffer.rtx))
    }
    line.rtp.extensions = SyntheticExtension.offered(kind)
    return line
  }
}
