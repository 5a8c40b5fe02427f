// Calls as people know them from other products: a busy invitee rings, who answered has missed nothing, calls that cross are one,
// and what a start answers is what stays.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference

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
    #expect(again.invited == ["d"] && again.busy == [BusyUser(user: "d")], "who rings beside a call is busy the second time, too")
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
