// WHIP without sockets: what is read of an offer and of headers, a session's way, and what refusals become.

import RoostProtocol
import SDP
import TestSupport
import Testing

@testable import Whip

@Suite struct WhipOfferTests {
  private func status(_ body: [UInt8]) -> WhipProblem.Status? {
    do throws(WhipProblem) {
      _ = try WhipOffer(body)
      return nil
    } catch {
      return error.status
    }
  }

  @Test func aClientsOfferAnnouncesItsTracks() throws {
    let offer = try WhipOffer(Array(ffmpegOffer.utf8))
    #expect(offer.sdp == ffmpegOffer)
    #expect(offer.tracks.map(\.mid) == ["0", "1"] && offer.tracks.map(\.kind) == [.audio, .video])
  }

  @Test func whatIsNoOfferIsRefused() {
    let idle = ffmpegOffer.replacing("a=sendonly", with: "a=recvonly")
    let twice = whipOffer(lines: [ffmpegVideo.replacing("a=mid:1", with: "a=mid:0"), ffmpegVideo])
    let nameless = ffmpegOffer.replacing("a=mid:0\r\n", with: "").replacing("a=mid:1\r\n", with: "")
    #expect(status([0xff, 0xfe]) == .badRequest)
    #expect(status([]) == .badRequest)
    #expect(status(Array("hello".utf8)) == .badRequest)
    #expect(status(Array(idle.utf8)) == .badRequest)
    #expect(status(Array(nameless.utf8)) == .badRequest)
    #expect(status(Array(twice.utf8)) == .unprocessable)
    #expect(status(Array(ffmpegOffer.utf8)) == nil)
  }
}

@Suite struct WhipHeaderTests {
  @Test(arguments: [
    ("application/sdp", true), ("Application/SDP ; charset=utf-8", true), ("application/sdpx", false),
    ("application/json", false), ("", false),
  ]) func typesAreCompared(type: String, isSDP: Bool) {
    #expect(WhipRequest.isType(type, WhipRequest.sdpType) == isSDP)
    #expect(!WhipRequest.isType(nil, WhipRequest.sdpType))
  }

  @Test(arguments: [
    ("*/*", true), ("application/sdp", true), ("text/html, application/*;q=0.5", true), ("application/json", false),
    ("application/sdp;q=0", false), ("application/sdp; q=0.0, text/html", false), ("application/sdp;q=0.1", true),
  ]) func acceptIsHeeded(accept: String, isTaken: Bool) {
    #expect(WhipRequest.acceptsSDP(accept) == isTaken)
    #expect(WhipRequest.acceptsSDP(nil))
  }

  /// 409 means that there is nothing to play: no refusal of a publisher becomes that.
  @Test(arguments: ErrorCode.allCases) func everyRefusalOfTheCoreHasAStatus(code: ErrorCode) {
    let response = WhipProblem(ErrorObject(code)).response
    #expect((400...599).contains(response.status) && response.status != 409)
    let isLater = response.status == 503 || response.status == 429
    #expect(response.headers.contains { $0.name == "retry-after" } == isLater)
    let body = String(decoding: response.body, as: UTF8.self)
    #expect(body.contains(#""code":"\#(code.name)""#) && body.contains(#""status":\#(response.status)"#), "\(body)")
  }
}

@Suite struct WhipSessionTests {
  private let offer: WhipOffer
  private let hello = Reply.hello(
    HelloResult(
      sessionId: "1", resumeToken: "t", user: "u", deviceId: "d", serverTime: 0,
      limits: ServerLimits(
        messageBytes: 1, chatBytes: 1, metadataBytes: 1, tracks: 1, replayEvents: 1, resumeGraceMs: 1, idlePingMs: 1),
      iceServers: [], ringing: [], missed: 0))
  private let room = Reply.room(
    RoomSnapshot(
      room: "demo", kind: "demo", media: .video, limit: 3, count: 1, seq: 1, selfId: "1", participants: [], chat: []))
  private let closed = Event.roomClosed(RoomClosed(room: "demo", reason: .lost))

  init() throws { offer = try WhipOffer(Array(ffmpegOffer.utf8)) }

  private func answer(declined: [DeclinedLine]? = nil) -> Reply {
    .published(PublishResult(sdp: "the answer", tracks: [], declined: declined))
  }

  /// A session after so many of its three replies.
  private func session(after count: Int) -> WhipSession {
    var session = WhipSession(room: "demo", user: "u", offer: offer)
    let replies = [(WhipSession.hello, hello), (WhipSession.join, room), (WhipSession.offer, answer())]
    for (id, reply) in replies.prefix(count) { _ = session.replied(id, .success(reply)) }
    return session
  }

  @Test func itSaysWhatAnyClientSays() {
    var session = session(after: 0)
    #expect(session.replied(WhipSession.hello, .success(hello)) == .ask(WhipSession.join, WhipSession.joining("demo")))
    #expect(session.replied(WhipSession.join, .success(room)) == .ask(WhipSession.offer, WhipSession.offering(offer)))
    #expect(session.replied(WhipSession.offer, .success(answer())) == .created("the answer"))
    #expect(session.replied(WhipSession.offer, .success(answer())) == .nothing, "it answers once")
  }

  @Test(arguments: 0..<3) func aRefusalEndsItOnce(stage: Int) {
    var session = session(after: stage)
    let id = [WhipSession.hello, WhipSession.join, WhipSession.offer][stage]
    #expect(session.replied(id, .failure(ErrorObject(.roomFull))) == .refuse(WhipProblem(ErrorObject(.roomFull))))
    #expect(session.replied(id, .failure(ErrorObject(.roomFull))) == .nothing)
    #expect(session.heard(closed) == .nothing)
  }

  @Test func aLineThatIsDeclinedRefusesAll() {
    var session = session(after: 2)
    let declined = answer(declined: [DeclinedLine(mid: "1", error: ErrorObject(.noCommonCodec))])
    guard case .refuse(let problem) = session.replied(WhipSession.offer, .success(declined)) else {
      Issue.record("it is taken")
      return
    }
    #expect(problem.status == .unprocessable && problem.detail.contains("line 1"))
  }

  /// What is out of turn changes nothing.
  @Test func repliesOutOfTurnAreLeft() {
    var session = session(after: 1)
    #expect(session.replied(WhipSession.offer, .success(answer())) == .nothing)
    #expect(session.replied(WhipSession.join, .success(room)) == .ask(WhipSession.offer, WhipSession.offering(offer)))
  }

  @Test func itEndsWithItsMediaAndItsRoomAlone() {
    let lost = Event.mediaFailed(MediaEvent(pc: .publish, step: .consent, reason: "silent"))
    let unused = Event.mediaFailed(MediaEvent(pc: .subscribe, step: .ice, reason: "never used"))
    let gone = Event.mediaFailed(MediaEvent(pc: .publish, step: .dtls, reason: "closed"))
    for ending in [gone, closed, .sessionReplaced] {
      var session = session(after: 3)
      #expect(session.heard(lost) == .nothing, "the seat is kept for its grace")
      #expect(session.heard(unused) == .nothing, "nothing is sent to it")
      #expect(session.heard(ending) == .leave)
      #expect(session.closed() == .nothing, "once")
    }
  }

  /// Somebody waits for an answer to the POST.
  @Test func anEndBeforeTheAnswerIsAnAnswer() {
    var session = session(after: 2)
    guard case .refuse(let problem) = session.heard(closed) else {
      Issue.record("nobody is told")
      return
    }
    #expect(problem.status == .forbidden)
  }
}

@Suite struct WhipRestartTests {
  private static let restart = """
    a=ice-lite\r\na=group:BUNDLE 0 1\r\na=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\nm=audio 9 X 111\r\na=mid:0\r\n
    """
  private let offer: WhipOffer

  init() throws { offer = try WhipOffer(Array(ffmpegOffer.utf8)) }

  private func live() -> WhipSession {
    var session = WhipSession(room: "demo", user: "u", offer: offer)
    let room = RoomSnapshot(
      room: "demo", kind: "demo", media: .video, limit: 3, count: 1, seq: 1, selfId: "1", participants: [], chat: [])
    let limits = ServerLimits(
      messageBytes: 1, chatBytes: 1, metadataBytes: 1, tracks: 1, replayEvents: 1, resumeGraceMs: 1, idlePingMs: 1)
    let hello = HelloResult(
      sessionId: "1", resumeToken: "t", user: "u", deviceId: "d", serverTime: 0, limits: limits, iceServers: [],
      ringing: [], missed: 0)
    _ = session.replied(WhipSession.hello, .success(.hello(hello)))
    _ = session.replied(WhipSession.join, .success(.room(room)))
    _ = session.replied(WhipSession.offer, .success(.published(PublishResult(sdp: "the answer", tracks: []))))
    return session
  }

  /// Lines behind that restart, and whether all is taken.
  private static let additions: [(String, Bool)] = [
    ("", true), ("a=ice-ufrag:other\r\n", false), ("a=ice-ufrag:ysXw\r\n", true), ("hello\r\n", false),
    ("a=candidate:1 1 udp 2 192.0.2.1\r\n", false), ("a=candidate:1 1 udp 2 192.0.2.1 9 typ host\r\n", true),
    (String(repeating: "a=x\r\n", count: 506), true), (String(repeating: "a=x\r\n", count: 507), false),
  ]
  /// Other names and passwords, and whether they are taken.
  private static let credentials: [(String, String, Bool)] = [
    // As offers may have it, though RFC 8839 does not.
    ("y-_w", "vw5LmwG4y-e6dPP_zAP9Gp5k", true), ("ys", "vw5LmwG4y/e6dPP/zAP9Gp5k", false),
    ("ysXw", "v 5LmwG4y/e6dPP/zAP9Gp5k", false), ("ysXw", "short", false),
    (String(repeating: "x", count: 256), "vw5LmwG4y/e6dPP/zAP9Gp5k", true),
    (String(repeating: "x", count: 257), "vw5LmwG4y/e6dPP/zAP9Gp5k", false), ("", "", false),
  ]

  @Test(arguments: additions) func fragmentsAreRead(more: String, isTaken: Bool) {
    for text in [Self.restart + more, (Self.restart + more).replacing("\r\n", with: "\n")] {
      #expect((readWhipFragment(Array(text.utf8)) != nil) == isTaken)
    }
  }

  @Test(arguments: credentials) func credentialsAreLookedAt(name: String, password: String, isTaken: Bool) {
    let text = "a=ice-ufrag:\(name)\r\na=ice-pwd:\(password)\r\n"
    #expect((readWhipFragment(Array(text.utf8)) != nil) == isTaken)
  }

  @Test func anotherNameRestartsAndTheSameOneDoesNot() throws {
    var session = live()
    let own = try WhipFragment(
      Array("a=ice-ufrag:5ffa60c9\r\na=ice-pwd:c08740dd59be51a08ed2ff4091e072c2\r\na=end-of-candidates\r\n".utf8))
    #expect(try session.patch(own) == .trickle)
    let other = try WhipFragment(Array(Self.restart.utf8))
    guard case .restart(let id, .peerConnection(.offer(let params))) = try session.patch(other) else {
      Issue.record("it does not restart")
      return
    }
    #expect(params.sdp.components(separatedBy: "a=ice-ufrag:ysXw\r\n").count == 3 && !params.sdp.contains("5ffa60c9"))
    #expect(params.sdp.components(separatedBy: "a=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n").count == 3)
    #expect(try SessionDescription.parse(params.sdp).media.count == 2, "it is an offer still")
    #expect(throws: WhipProblem.self, "one at a time") { try session.patch(other) }

    #expect(session.replied(WhipSession.offer, .failure(ErrorObject(.internalError))) == .nothing, "not this one's")
    let answer = """
      v=0\r\na=ice-lite\r\na=group:BUNDLE 0 1\r\nm=audio 9 X 111\r\na=mid:0\r\na=ice-ufrag:new1\r\na=ice-pwd:secret\r\na=sendonly\r\n\
      a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=end-of-candidates\r\nm=video 9 X 96\r\na=mid:1\r\na=ice-ufrag:new1\r\n
      """
    let fragment = """
      a=ice-lite\r\na=group:BUNDLE 0 1\r\nm=audio 9 X 111\r\na=mid:0\r\na=ice-ufrag:new1\r\na=ice-pwd:secret\r\n\
      a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=end-of-candidates\r\n
      """
    let reply = Reply.published(PublishResult(sdp: answer, tracks: []))
    #expect(session.replied(id, .success(reply)) == .restarted(fragment))
    #expect(session.restarts == 1)
    #expect(try session.patch(other) == .trickle, "these are its credentials now")
    #expect(try session.patch(own) != .trickle, "and those are not")
  }

  @Test func aRestartThatFailsLeavesAllAsItWas() throws {
    var session = live()
    let other = try WhipFragment(Array(Self.restart.utf8))
    guard case .restart(let id, _) = try session.patch(other) else {
      Issue.record("it does not restart")
      return
    }
    let error = ErrorObject(.overloaded)
    #expect(session.replied(id, .failure(error)) == .notRestarted(WhipProblem(error)))
    #expect(session.restarts == 0)
    guard case .restart = try session.patch(other) else {
      Issue.record("it does not try again")
      return
    }
    #expect(session.closed() == .leave)
    #expect(throws: WhipProblem.self) { try session.patch(other) }
  }

  @Test(arguments: [
    ("\"1\"", true), ("*", true), ("\"*\"", true), ("\"2\", \"1\"", true), ("\"2\"", false), ("1", false), ("", false),
    ("W/\"1\"", false),
  ]) func conditionsAreStrong(condition: String, isMet: Bool) {
    #expect(WhipRequest.matches(condition, "\"1\"") == isMet)
  }
}
