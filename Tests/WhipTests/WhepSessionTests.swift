// WHEP without sockets: what a player's way is, what it is shown, and what it is told.

import RoostProtocol
import SDP
import TestSupport
import Testing
import WebSockets

@testable import Whip

/// A session, and the core that answers it, by hand.
private struct Play {
  var session: WhepSession
  var requests: [Request] = []
  var last = StreamAction.nothing
  private var id = WhepSession.hello

  static let camera = Track(
    trackId: "cam", kind: .video, label: "", source: .camera, muted: false, definitions: [.low, .high])
  static let microphone = Track(
    trackId: "mic", kind: .audio, label: "", source: .microphone, muted: false, definitions: [])
  static let screen = Track(trackId: "screen", kind: .video, label: "", source: .screen, muted: false, definitions: [])
  static let screenSound = Track(
    trackId: "sound", kind: .audio, label: "", source: .screenAudio, muted: false, definitions: [])

  init(_ target: WhepTarget = .speaker, offer: String = playerOffer) throws {
    let offer = try WhipOffer(Array(offer.utf8), for: .playing)
    session = WhepSession(room: "demo", user: "u", target: target, offer: offer)
  }

  static func person(_ id: String, _ name: String, _ tracks: [Track]) -> Participant {
    Participant(
      participantId: id, user: name.lowercased(), displayName: name, state: .joined, metadata: .emptyObject,
      tracks: tracks)
  }

  static func info(publishers: Int, media: MediaClass = .video) -> Reply {
    .roomInfo(RoomInfo(name: "demo", kind: "demo", media: media, limit: 3, count: 1, publishers: publishers))
  }

  static func room(_ people: [Participant], media: MediaClass = .video) -> Reply {
    let own = person("self", "Player", [])
    return .room(
      RoomSnapshot(
        room: "demo", kind: "demo", media: media, limit: 3, count: people.count + 1, seq: 1, selfId: "self",
        participants: people + [own], chat: []))
  }

  mutating func reply(_ result: Result<Reply, ErrorObject>) {
    take(session.replied(id, result))
  }

  mutating func hear(_ event: Event) { take(session.heard(event)) }

  private mutating func take(_ action: StreamAction) {
    last = action
    guard case .ask(let next, let request) = action else { return }
    id = next
    requests.append(request)
  }

  /// The way to the offer, in a room of these people. The views are called `v0`, `v1` …
  mutating func run(_ people: [Participant], media: MediaClass = .video) {
    reply(.success(.empty))
    reply(.success(Self.info(publishers: people.count)))
    reply(.success(Self.room(people, media: media)))
    var count = 0
    while case .view(.open) = requests.last {
      reply(.success(.views(ViewOpenResult(views: ["v\(count)"]))))
      count += 1
    }
    if case .view(.show) = requests.last { reply(.success(.empty)) }
  }

  mutating func answer() { reply(.success(.published(PublishResult(sdp: "the answer", tracks: [])))) }

  var shown: [ViewWish]? {
    for case .view(.show(let params)) in requests.reversed() { return params.views }
    return nil
  }

  var refusal: WhipProblem? {
    guard case .refuse(let problem) = last else { return nil }
    return problem
  }
}

@Suite struct WhepSessionTests {
  private let anna = Play.person("p1", "Anna", [Play.camera, Play.microphone])

  @Test func aPlayerTakesASeatAndFollowsWhoSpeaks() throws {
    var play = try Play()
    play.run([anna])
    #expect(play.requests.count == 6, "\(play.requests)")
    guard case .room(.info) = play.requests[0], case .room(.join(let join)) = play.requests[1] else {
      Issue.record("\(play.requests)")
      return
    }
    #expect(join.autoSubscribe == false)
    #expect(play.requests[2] == .view(.open(ViewOpenParams(count: 1, kind: .audio))))
    #expect(play.requests[3] == .view(.open(ViewOpenParams(count: 1, kind: .video))))
    #expect(play.shown == ["v0", "v1"].map { ViewWish(subscriptionId: $0, follow: .activeSpeaker) })
    guard case .peerConnection(.offer(let offer)) = play.requests[5] else {
      Issue.record("\(play.requests)")
      return
    }
    #expect(offer.pc == .subscribe && offer.sdp == playerOffer && offer.tracks == nil)
    play.answer()
    #expect(play.last == .created("the answer"))
  }

  @Test func nothingIsTakenWhereNothingIsPublished() throws {
    var empty = try Play()
    empty.reply(.success(.empty))
    empty.reply(.success(Play.info(publishers: 0)))
    #expect(empty.refusal?.status == .conflict && empty.refusal?.retryAfter ?? 0 > 0)
    #expect(empty.requests.count == 1, "no seat is taken")
    var later = try Play()
    later.reply(.success(.empty))
    later.reply(.failure(ErrorObject(.roomNotFound) { $0.retryable = true }))
    #expect(later.refusal?.status == .conflict, "the room comes with who publishes in it")
    var never = try Play()
    never.reply(.success(.empty))
    never.reply(.failure(ErrorObject(.roomNotFound)))
    #expect(never.refusal?.status == .notFound)
  }

  @Test(arguments: [
    (WhepTarget.person("Anna"), ["mic", "cam"]), (.person("p1"), ["mic", "cam"]),
    (.track("camera", of: "Anna"), [nil, "cam"]), (.track("cam", of: "Anna"), [nil, "cam"]),
    (.track("microphone", of: "Anna"), ["mic", nil]), (.track("screen", of: "Anna"), ["sound", "screen"]),
  ]) func whatIsAskedForIsShown(target: WhepTarget, tracks: [String?]) throws {
    var play = try Play(target)
    let all = Play.person("p1", "Anna", [Play.screenSound, Play.screen, Play.microphone, Play.camera])
    play.run([Play.person("p0", "Ben", [Play.screen]), all])
    #expect(play.shown?.map(\.trackId) == tracks)
  }

  @Test(arguments: [WhepTarget.person("Carla"), .track("screen", of: "Anna"), .track("camera", of: "Carla")])
  func whoIsNotThereYetIsA409(target: WhepTarget) throws {
    var play = try Play(target)
    play.run([anna])
    #expect(play.refusal?.status == .conflict && play.shown == nil)
  }

  @Test func aRoomForSoundIsHeardAndNotSeen() throws {
    var both = try Play()
    both.run([Play.person("p1", "Anna", [Play.microphone])], media: .audio)
    #expect(both.shown?.count == 1)
    var pictures = try Play(offer: whepOffer(audio: false, video: ["VP8"]))
    pictures.run([Play.person("p1", "Anna", [Play.microphone])], media: .audio)
    #expect(pictures.refusal?.status == .unprocessable)
  }

  /// Never half of an answer.
  @Test func aCodecThatThePlayerHasNotIsSaidAtOnce() throws {
    for event in [
      Event.viewChanged(ViewChanged(subscriptionId: "v1", reason: .noCodec)),
      .subscriptionEnded(SubscriptionEvent(subscriptionId: "v1", reason: .noCodec)),
    ] {
      var play = try Play()
      play.run([anna])
      play.hear(event)
      play.answer()
      #expect(play.refusal?.status == .unprocessable && play.refusal?.code == "NO_COMMON_CODEC")
    }
  }

  @Test func playersAreToldWhatIsShown() throws {
    var play = try Play()
    play.run([anna])
    play.answer()
    #expect(!play.session.isActive)
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v1", trackId: "cam", participantId: "p1")))
    let layers = ServerSentEvent("layers", data: #"{"1":[{"rid":"high"},{"rid":"low"}]}"#)
    #expect(play.last == .tell([.active, layers]))
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v0", trackId: "mic", participantId: "p1")))
    #expect(play.last == .nothing, "it was active")
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v1")))
    #expect(play.last == .nothing, "it is heard")
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v0")))
    #expect(play.last == .tell([.inactive]))
    play.hear(.viewChanged(ViewChanged(subscriptionId: "another", trackId: "cam")))
    #expect(play.last == .nothing)
  }

  /// Who comes back under the same name is shown again.
  @Test func whoIsWantedIsShownWhenTheyPublishAgain() throws {
    var play = try Play(.person("Anna"))
    play.run([anna])
    play.answer()
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v1", trackId: "cam")))
    play.hear(.trackPublished(TrackPublished(room: "demo", participantId: "p1", track: Play.screen)))
    guard case .ask(_, .view(.show(let sound))) = play.last else {
      Issue.record("\(play.last)")
      return
    }
    #expect(sound.views == [ViewWish(subscriptionId: "v0", trackId: "mic")], "what shows something goes on")
    play.hear(.participantLeft(ParticipantLeft(room: "demo", participantId: "p1", user: "anna", reason: .left)))
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v1")))
    play.hear(.participantJoined(ParticipantEvent(room: "demo", participant: Play.person("p7", "Anna", []))))
    #expect(play.last == .nothing)
    let again = Track(trackId: "cam7", kind: .video, label: "", source: .camera, muted: false, definitions: [])
    play.hear(.trackPublished(TrackPublished(room: "demo", participantId: "p7", track: again)))
    #expect(play.shown == [ViewWish(subscriptionId: "v1", trackId: "cam7")])
  }

  @Test func layersAreChosenAmongThoseThereAre() throws {
    var play = try Play()
    play.run([anna])
    play.answer()
    play.hear(.viewChanged(ViewChanged(subscriptionId: "v1", trackId: "cam", participantId: "p1")))
    func status(_ body: String) -> WhipProblem.Status? {
      do throws(WhipProblem) {
        _ = try play.session.select(try WhepLayer(Array(body.utf8)))
        return nil
      } catch {
        return error.status
      }
    }
    let low = SubscriptionUpdateParams(
      subscriptionId: "v1", definition: .low, maxHeight: ProtocolLimits.pictureLines)
    guard case .ask(_, let request) = try play.session.select(WhepLayer(Array(#"{"mediaId":"1","rid":"low"}"#.utf8)))
    else {
      Issue.record("nothing is asked")
      return
    }
    #expect(request == .subscription(.update(low)))
    #expect(status(#"{"rid":"high"}"#) == nil && status(#"{"encodingId":"low"}"#) == nil && status("{}") == nil)
    #expect(status(#"{"rid":"standard"}"#) == .notFound, "it is not sent")
    #expect(status(#"{"rid":"4k"}"#) == .badRequest && status(#"{"maxHeight":0}"#) == .badRequest)
    #expect(status(#"{"mediaId":"0","rid":"low"}"#) == .notFound, "line 0 is sound")
    #expect(status("[]") == .badRequest && status("") == .badRequest)
  }

  @Test func itEndsWithItsMediaAndItsRoomAlone() throws {
    let lost = Event.mediaFailed(MediaEvent(pc: .subscribe, step: .consent, reason: "silent"))
    let unused = Event.mediaFailed(MediaEvent(pc: .publish, step: .ice, reason: "never used"))
    let gone = Event.mediaFailed(MediaEvent(pc: .subscribe, step: .dtls, reason: "closed"))
    for ending in [gone, .roomClosed(RoomClosed(room: "demo", reason: .lost)), .sessionReplaced] {
      var play = try Play()
      play.run([anna])
      play.answer()
      for event in [lost, unused] {
        play.hear(event)
        #expect(play.last == .nothing)
      }
      play.hear(ending)
      #expect(play.last == .leave)
      #expect(play.session.closed() == .nothing, "once")
    }
  }

  @Test func restartsOfICEAskTheCoreAgain() throws {
    var play = try Play()
    play.run([anna])
    play.answer()
    let fragment = try WhipFragment(Array("a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n".utf8))
    guard case .restart(let id, .peerConnection(.offer(let offer))) = try play.session.patch(fragment) else {
      Issue.record("it does not restart")
      return
    }
    #expect(offer.pc == .subscribe && offer.sdp.contains("a=ice-ufrag:ysXw"))
    let sdp = "v=0\r\na=ice-lite\r\nm=audio 9 X 111\r\na=mid:0\r\na=ice-ufrag:new\r\n"
    let done = play.session.replied(id, .success(.published(PublishResult(sdp: sdp, tracks: []))))
    #expect(done == .restarted("a=ice-lite\r\nm=audio 9 X 111\r\na=mid:0\r\na=ice-ufrag:new\r\n"))
    #expect(play.session.restarts == 1)
  }
}

@Suite struct WhepWordsTests {
  @Test(arguments: [
    ("", 4), ("[]", 0), (#"["active","inactive"]"#, 2), (#"["scte35","layers"]"#, 1), ("{}", nil), ("x", nil),
    ("[1]", nil),
  ]) func eventsAreAskedForByName(body: String, count: Int?) {
    #expect((try? readEventNames(Array(body.utf8)).count) == count)
  }

  @Test func aPlayersOfferReceives() throws {
    let sending = whepOffer(audio: true, video: ["VP8"], direction: "sendonly")
    #expect((try? WhipOffer(Array(sending.utf8), for: .playing)) == nil)
    let both = whepOffer(audio: true, video: ["VP8"], direction: "sendrecv")
    #expect(try WhipOffer(Array(both.utf8), for: .playing).tracks.map(\.kind) == [.audio, .video])
    #expect(try WhipOffer(Array(playerOffer.utf8), for: .playing).videoLine == 1)
  }
}
