// Calls as people know them from other products: a busy invitee rings, who answered has missed nothing, calls that cross are one,
// and what a start answers is what stays.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

extension Scene {
  func invite(
    _ client: Client, _ callId: String, _ users: [String], busyPolicy: BusyPolicy? = nil
  ) throws -> CallInviteResult {
    let params = CallInviteParams(callId: callId, users: users, busyPolicy: busyPolicy)
    guard case .callInvited(let result) = try request(client, .call(.invite(params))).get() else {
      throw ErrorObject(.internalError)
    }
    return result
  }

  func get(_ client: Client, _ callId: String) throws -> Call {
    guard case .call(let result) = try request(client, .call(.get(CallParams(callId: callId)))).get() else {
      throw ErrorObject(.internalError)
    }
    return result.call
  }
}

extension Client {
  /// Takes the rings among what has come since the last call.
  func takeRings() -> [CallIncoming] {
    take().compactMap { if case .callIncoming(let incoming) = $0 { incoming } else { nil } }
  }
}

@Suite struct BusyInviteeTests {
  /// A and B talk, in a call that turns busy callees away; C and D talk.
  private struct Case {
    let scene = Scene()
    let a: Client
    let b: Client
    let c: Client
    let d: Client
    let call: Call
    let other: String

    init() throws {
      (a, b, c, d) = (scene.client("a"), scene.client("b"), scene.client("c"), scene.client("d"))
      call = try scene.talk(a, b).call
      other = try scene.talk(c, d).call.callId
    }
  }

  /// Line 12 of the list: from a call between two, too.
  @Test func aBusyInviteeRingsBesideTheirCallAndLeavesItOnAccepting() throws {
    let test = try Case()
    let (scene, a, c, d) = (test.scene, test.a, test.c, test.d)
    #expect(test.call.busyPolicy == .reject && test.call.kind == .oneToOne)
    let result = try scene.invite(a, test.call.callId, ["d"])
    #expect(result.invited == ["d"] && result.busy == [BusyUser(user: "d")] && result.failed.isEmpty)
    let rings = d.takeRings()
    #expect(rings.map(\.waiting) == [true] && rings.map(\.inProgress) == [true])
    let again = try scene.invite(a, test.call.callId, ["d"])
    #expect(
      again.invited == ["d"] && again.busy == [BusyUser(user: "d")],
      "who rings beside a call is busy the second time, too")
    #expect(d.takeRings().isEmpty)

    #expect(scene.code(d, .call(.ringing(CallParams(callId: test.call.callId)))) == nil)
    #expect(try scene.get(a, test.call.callId).members.last?.state == .busyRinging)
    let joined = try scene.accept(d, test.call.callId)
    #expect(joined.call.kind == .group && joined.call.busyPolicy == .ring)
    #expect(try scene.get(a, test.call.callId).busyPolicy == .ring, "a group has the policies of one")
    let ended = c.take().compactMap { if case .callEnded(let ended) = $0 { ended } else { nil } }
    #expect(ended.map(\.callId) == [test.other] && ended.map(\.reason) == [.switchedCall] && ended.map(\.by) == ["d"])
  }

  @Test func afterAnUpgradeABusyInviteeRings() throws {
    let test = try Case()
    let (scene, a, d) = (test.scene, test.a, test.d)
    let e = scene.client("e")
    _ = try scene.invite(a, test.call.callId, ["e"])
    #expect(try scene.accept(e, test.call.callId).call.kind == .group)
    let result = try scene.invite(e, test.call.callId, ["d"])
    #expect(result.invited == ["d"] && result.busy.map(\.user) == ["d"] && d.takeRings().map(\.waiting) == [true])
  }

  @Test(arguments: [CallKind.oneToOne, .group]) func anInvitationMayTurnTheBusyAway(_ kind: CallKind) throws {
    let test = try Case()
    let (scene, a, d) = (test.scene, test.a, test.d)
    if kind == .group {
      let e = scene.client("e")
      _ = try scene.invite(a, test.call.callId, ["e"])
      _ = try scene.accept(e, test.call.callId)
    }
    _ = a.take()
    let result = try scene.invite(a, test.call.callId, ["d"], busyPolicy: .reject)
    #expect(result.invited.isEmpty && result.busy.map(\.user) == ["d"])
    #expect(d.takeNames().contains(.callIncoming) == false && a.takeNames() == [.memberBusy])
  }

  /// What the call does with its own callees is its own.
  @Test func aCallThatRingsTheBusyStillMayInviteOthersThatWay() throws {
    let scene = Scene()
    let (a, b, c, d) = (scene.client("a"), scene.client("b"), scene.client("c"), scene.client("d"))
    _ = try scene.talk(c, d)
    let params = CallStartParams(to: ["b"], kind: .group, media: .audio, busyPolicy: .reject)
    guard case .callStarted(let started) = try scene.request(a, .call(.start(params))).get() else {
      throw ErrorObject(.internalError)
    }
    _ = try scene.accept(b, started.call.callId)
    let result = try scene.invite(b, started.call.callId, ["c"])
    #expect(result.invited == ["c"] && c.takeRings().map(\.waiting) == [true])
  }
}

@Suite struct AcceptedCallTests {
  private func hello(_ scene: Scene, _ user: String) throws -> HelloResult {
    guard case .success(.hello(let hello)) = scene.hello(scene.stranger(user, "later")) else {
      throw ErrorObject(.internalError)
    }
    return hello
  }

  private func records(_ scene: Scene, _ client: Client) throws -> [CallRecord] {
    guard case .records(let history) = try scene.request(client, .call(.history(CallHistoryParams()))).get() else {
      throw ErrorObject(.internalError)
    }
    return history.records
  }

  /// Line 13: the caller may hang up, or give up with everybody, before media is up.
  @Test(arguments: [CallKind.oneToOne, .oneToMany]) func whoAcceptedHasMissedNothingWhenTheCallerHangsUpBeforeMediaIsUp(
    _ kind: CallKind
  ) throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let tablet = scene.client("b", "tablet")
    let call = try scene.start(a, ["b"], kind).call
    _ = try scene.accept(b, call.callId)
    _ = (a.take(), b.take(), tablet.take())
    #expect(scene.code(a, .call(.hangup(CallHangupParams()))) == nil)
    for phone in [a, b, tablet] { #expect(!phone.takeNames().contains(.callMissed)) }
    #expect(try scene.get(b, call.callId).reason == .cancelled, "why it ended stays what it was")
    #expect(try records(scene, b).map(\.result) == [.failed] && records(scene, b).map(\.why) == [.cancelled])
    #expect(try records(scene, a).map(\.result) == [.failed] && hello(scene, "b").missed == 0)
  }

  /// Who never answered has missed it all the same, beside one who did.
  @Test func whoStillRangHasMissedIt() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let call = try scene.start(a, ["b"]).call
    _ = try scene.accept(b, call.callId)
    _ = try scene.invite(a, call.callId, ["c"])
    _ = (a.take(), b.take(), c.take())
    #expect(scene.code(a, .call(.hangup(CallHangupParams()))) == nil)
    #expect(c.takeNames().contains(.callMissed) && !b.takeNames().contains(.callMissed))
    #expect(try hello(scene, "c").missed == 1 && hello(scene, "b").missed == 0)
  }

  /// Who has been in a group and left is told of no later ring that they missed it: neither at once nor at the next hello.
  @Test(arguments: ["rings out", "taken back", "over", "busy"]) func whoHasBeenInACallMissesNoLaterRing(_ how: String)
    throws
  {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let call = try scene.start(a, ["b", "c"], .group).call
    for phone in [b, c] { _ = try scene.accept(phone, call.callId) }
    try scene.mediaUp(a, b, c)
    #expect(scene.code(b, .call(.hangup(CallHangupParams()))) == nil)
    if how == "busy" { _ = try scene.talk(b, scene.client("d")) }
    _ = b.take()
    _ = try scene.invite(a, call.callId, ["b"], busyPolicy: how == "busy" ? .reject : nil)
    switch how {
    case "rings out": scene.advance(.seconds(31))
    case "taken back":
      let params = CallCancelInviteParams(callId: call.callId, users: ["b"])
      #expect(scene.code(a, .call(.cancelInvite(params))) == nil)
    case "over": #expect(scene.code(a, .call(.end(CallParams(callId: call.callId)))) == nil)
    default: break
    }
    #expect(!b.takeNames().contains(.callMissed))
    #expect(try hello(scene, "b").missed == 0 && records(scene, b).map(\.result) == [.answered])
  }
}

@Suite struct CallingBackTests {
  private func start(_ scene: Scene, _ client: Client, _ params: CallStartParams) throws -> CallStartResult {
    guard case .callStarted(let result) = try scene.request(client, .call(.start(params))).get() else {
      throw ErrorObject(.internalError)
    }
    return result
  }

  /// Line 14: whatever the kinds of both.
  @Test(arguments: CallKind.allCases, CallKind.allCases) func whoCallsBackOneWhoCallsSeveralJoinsTheirCall(
    _ kind: CallKind, _ back: CallKind
  ) throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let others = kind == .oneToOne ? ["b"] : ["b", "c"]
    let first = try scene.start(a, others, kind, .audio)
    let met = try start(scene, b, CallStartParams(to: ["a"], kind: back, media: .video))
    #expect(met.glare == true && met.call.callId == first.call.callId && met.call.kind == kind)
    #expect(met.busy.isEmpty && met.unreachable.isEmpty && met.room.participants.map(\.user) == ["a", "b"])
    #expect(a.takeNames().contains(.callAccepted) && b.takeNames() == [.callIncoming, .callAccepted])
    try scene.mediaUp(a, b)
    #expect(try scene.get(a, first.call.callId).state == .active && scene.core.calls.count == 1)
    guard kind != .oneToOne else { return }
    // The third rings on in a group, and is answered for where the first to answer has the call.
    let names = c.takeNames()
    #expect(names == (kind == .group ? [.callIncoming] : [.callIncoming, .callStopped, .callRecord]))
    guard kind == .group else { return }
    #expect(try start(scene, c, CallStartParams(to: ["a"], kind: back, media: .audio)).glare == true)
    #expect(scene.core.calls.count == 1 && scene.core.rooms.table.seats.count == 3)
  }

  @Test func aStartThatNamesMoreIsACallOfItsOwn() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = scene.client("c")
    let first = try scene.start(a, ["b"], .group)
    let second = try scene.start(b, ["a", "c"], .group)
    #expect(second.glare == nil && second.call.callId != first.call.callId && second.busy.map(\.user) == ["a"])
    #expect(scene.code(b, .call(.start(CallStartParams(to: ["a"], kind: .oneToOne, media: .audio)))) == .selfBusy)
  }

  /// An invitation is somebody's call, too, as long as they are in it.
  @Test func whoCallsBackTheOneWhoInvitesThemJoins() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let call = try scene.start(a, ["b"], .group).call
    _ = try scene.accept(b, call.callId)
    _ = try scene.invite(b, call.callId, ["c"])
    let met = try scene.start(c, ["b"])
    #expect(met.glare == true && met.call.callId == call.callId)
    #expect(scene.code(c, .call(.hangup(CallHangupParams()))) == nil)
    _ = try scene.invite(b, call.callId, ["c"])
    #expect(scene.code(b, .call(.hangup(CallHangupParams()))) == nil)
    let other = try scene.start(c, ["b"])
    #expect(other.glare == nil && other.call.callId != call.callId, "who has left the call is called")
  }

  /// A seat is held for who is rung: neither load nor a share of rooms stands in the way.
  @Test func callingBackIsNeverTooMuch() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    _ = try scene.start(a, ["b", "c"], .group)
    scene.fillWorkers()
    #expect(scene.code(c, .call(.start(CallStartParams(to: ["b"], kind: .oneToOne, media: .audio)))) == .overloaded)
    #expect(try scene.start(b, ["a"]).glare == true)
  }

  /// Everybody who calls back may name the call, and finds it by that name.
  @Test func eachWhoCallsBackHasANameForTheCall() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    _ = try start(scene, a, CallStartParams(to: ["b", "c"], kind: .group, media: .audio, clientCallId: "x"))
    for phone in [b, c] {
      let named = CallStartParams(to: ["a"], kind: .oneToOne, media: .audio, clientCallId: "x \(phone.user)")
      #expect(try start(scene, phone, named).glare == true)
    }
    for phone in [a, b, c] {
      let name = phone === a ? "x" : "x \(phone.user)"
      let again = CallStartParams(to: ["d"], kind: .oneToOne, media: .audio, clientCallId: name)
      #expect(try start(scene, phone, again).call.kind == .group)
    }
    #expect(scene.core.calls.count == 1)
  }
}

@Suite struct StartedCallTests {
  /// What has become of a call, without what only counts messages.
  private func facts(_ call: Call) -> Call {
    var facts = call
    (facts.rev, facts.expiresAt, facts.remainingMs) = (0, nil, nil)
    return facts
  }

  private func created(_ client: Client) -> Call? {
    client.take().compactMap { if case .callCreated(let event) = $0 { event.call } else { nil } }.first
  }

  /// Line 18: a callee who is busy or unreachable, and nobody else, for every kind.
  @Test(arguments: ["busy", "unreachable"], CallKind.allCases) func aStartThatRingsNobodyAnswersWithTheEndedCall(
    _ why: String, _ kind: CallKind
  ) throws {
    let scene = Scene()
    let (a, tablet, b) = (scene.client("a"), scene.client("a", "tablet"), scene.client("b"))
    if why == "busy" { _ = try scene.talk(b, scene.client("c")) }
    let callee = why == "busy" ? "b" : "nobody"
    let params = CallStartParams(to: [callee], kind: kind, media: .audio, busyPolicy: .reject)
    guard case .callStarted(let started) = try scene.request(a, .call(.start(params))).get() else {
      throw ErrorObject(.internalError)
    }
    let call = started.call
    let reason: Reason = why == "busy" ? .busy : .unreachable
    #expect(call.state == .ended && call.reason == reason && call.by == nil && call.endedAt != nil)
    #expect(call.members.map(\.state) == [.left, why == "busy" ? .busy : .unreachable])
    #expect(call.members.last?.reason == reason && call.expiresAt == call.endedAt && call.remainingMs == 0)
    #expect(try facts(scene.get(a, call.callId)) == facts(call), "it stays as it was said")
    #expect(created(tablet).map(facts) == facts(call))
    // The changes that came of it are told all the same, each behind what is known.
    let told = a.take()
    #expect(told.map(\.name) == [why == "busy" ? .memberBusy : .memberState, .callEnded, .roomClosed, .callRecord])
    guard case .callEnded(let ended) = told[1] else { throw ErrorObject(.internalError) }
    #expect(ended.rev > call.rev && ended.reason == reason)
  }

  /// Where others ring, each member is what they stay, for who called, for their other devices and for who is rung.
  @Test(arguments: [CallKind.oneToMany, .group]) func aStartSaysAtOnceWhoDoesNotRing(_ kind: CallKind) throws {
    let scene = Scene()
    let (a, tablet) = (scene.client("a"), scene.client("a", "tablet"))
    let (b, c) = (scene.client("b"), scene.client("c"))
    _ = try scene.talk(b, scene.client("d"))
    let params = CallStartParams(
      to: ["b", "nobody", "c"], kind: kind, media: .audio, ringTimeoutMs: 20_000, busyPolicy: .reject)
    guard case .callStarted(let started) = try scene.request(a, .call(.start(params))).get() else {
      throw ErrorObject(.internalError)
    }
    let call = started.call
    #expect(call.members.map(\.state) == [.joined, .busy, .unreachable, .inviting])
    #expect(call.state == (kind == .group ? .active : .ringing) && call.reason == nil && call.endedAt == nil)
    #expect(call.expiresAt == call.createdAt + 20_000 && call.remainingMs == 20_000)
    #expect(started.busy.map(\.user) == ["b"] && started.unreachable.map(\.user) == ["nobody"])
    #expect(created(tablet) == call)
    #expect(c.takeRings().first?.call.members.map(\.state) == call.members.map(\.state))
    #expect(try facts(scene.get(a, call.callId)) == facts(call))
  }

  /// An invitee who rings sees those who do not, too.
  @Test func aRingShowsWhoDoesNotRing() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    _ = try scene.talk(c, scene.client("d"))
    let call = try scene.start(a, ["b"], .group).call
    _ = try scene.accept(b, call.callId)
    let e = scene.client("e")
    _ = try scene.invite(a, call.callId, ["nobody", "c", "e"], busyPolicy: .reject)
    #expect(
      e.takeRings().first?.call.members.map(\.state) == [.joined, .connecting, .unreachable, .busy, .inviting])
  }
}
