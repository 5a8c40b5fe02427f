// A device that starts again while it is in a call: the session that made way keeps the leg, and the next one may take it up.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct SuccessionTests {
  private func scene(sessions: Int) -> Scene {
    var rules = ConferenceRules.test
    rules.maxSessions = sessions
    return Scene(rules)
  }

  /// The same device on a new connection, before it has asked for its call.
  private func again(_ client: Client, in scene: Scene) throws -> Client {
    let next = scene.stranger(client.user, client.device)
    _ = try scene.hello(next, token: client.token).get()
    return next
  }

  @Test func startingAgainNeedsNoSpaceAndLeavesNothingBehind() throws {
    let scene = scene(sessions: 2)
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = try scene.talk(a, b)
    let next = try again(b, in: scene)
    #expect(scene.core.gauges.sessions == 3 && scene.core.calls.count == 1, "a full server is no reason to hang up")
    #expect(scene.code(scene.stranger("c"), .session(.hello(HelloParams(user: "c")))) == .overloaded)
    #expect(scene.code(next, .call(.hangup(CallHangupParams()))) == nil)
    #expect(scene.core.gauges.sessions == 2, "what kept the leg goes with it")
  }

  @Test func whoStartsAgainAndAgainTakesNoMoreThanTwoPlaces() throws {
    let scene = scene(sessions: 2)
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = try scene.talk(a, b)
    var last = b
    for _ in 0..<20 {
      last = try again(last, in: scene)
      let call = CallStartParams(to: ["a"], kind: .oneToOne, media: .audio, replace: true)
      #expect(scene.code(last, .call(.start(call))) == nil)
      #expect(scene.core.gauges.sessions <= 3)
    }
    #expect(scene.core.gauges.sessions == 2)
  }

  @Test func whoLosesItsSocketBeforeItTakesItsCallUpMakesNoSpace() throws {
    let scene = scene(sessions: 2)
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    let next = try again(b, in: scene)
    scene.cut(next)
    #expect(scene.hello(scene.stranger("c")).isFailure)
    #expect(scene.core.calls.count == 1)
    scene.advance(.milliseconds(14_000))
    _ = try scene.resume(next).get()
    guard case .success(.callRoom(let back)) = scene.request(next, .call(.join(CallJoinParams(callId: call.callId))))
    else {
      Issue.record("the call was given up for somebody else")
      return
    }
    #expect(back.room.count == 2 && scene.core.gauges.sessions == 2)
  }

  @Test func onceTheLegIsLostTheNextSessionMayGoToo() throws {
    let scene = scene(sessions: 2)
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = try scene.talk(a, b)
    let next = try again(b, in: scene)
    scene.advance(.milliseconds(10_000))
    scene.cut(next)
    scene.advance(.milliseconds(5_000))
    #expect(scene.core.calls.count == 0 && scene.core.gauges.sessions == 2)
    #expect(throws: Never.self) { try scene.hello(scene.stranger("c")).get() }
    #expect(scene.counters[.sessionEvicted] == 1)
  }

  /// A caller who starts again does not know whether his call was begun: he asks for it by his own name.
  @Test func theSameCallIsTakenUpByItsOwnName() throws {
    let scene = scene(sessions: 10)
    let (a, b) = (scene.client("a"), scene.client("b"))
    let params = CallStartParams(to: ["b"], kind: .oneToOne, media: .video, clientCallId: "mine")
    guard case .success(.callStarted(let first)) = scene.request(a, .call(.start(params))) else {
      throw ErrorObject(.internalError)
    }
    let next = try again(a, in: scene)
    guard case .success(.callStarted(let second)) = scene.request(next, .call(.start(params))) else {
      Issue.record("one's own call is somewhere else")
      return
    }
    #expect(second.call.callId == first.call.callId && second.room.selfId == first.room.selfId)
    #expect(b.takeNames() == [.callIncoming], "it rings once, and on")
    #expect(scene.core.gauges.sessions == 2)
    _ = try scene.accept(b, first.call.callId)
    try scene.mediaUp(next, b)
    #expect(scene.code(next, .call(.hangup(CallHangupParams()))) == nil)
  }

  /// He can be rung no more: phones are woken at once, as when a socket is lost.
  @Test func aDeviceThatComesBackNotToBeRungIsPushed() throws {
    var rules = ConferenceRules.test
    rules.calls.hasPush = true
    let scene = Scene(rules)
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    _ = try scene.talk(a, b)
    var params = CallStartParams(to: ["b"], kind: .oneToOne, media: .audio)
    params.busyPolicy = .ring
    #expect(scene.code(c, .call(.start(params))) == nil)
    #expect(scene.pushes.isEmpty && b.takeNames() == [.callIncoming])
    let next = scene.stranger("b")
    let hello = HelloParams(user: "b", deviceId: b.device, callable: false, resumeToken: b.token)
    #expect(scene.code(next, .session(.hello(hello))) == nil)
    #expect(scene.pushes.map(\.to) == ["b"])
  }
}
