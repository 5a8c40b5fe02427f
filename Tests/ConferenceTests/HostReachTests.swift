// What reaches a host of a group call, and whom a host reaches: who is in it, who is away after a restart, who is out.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct HostReachTests {
  /// What the next process finds of a group that an earlier one kept.
  private func restarted(_ here: Group, _ rules: ConferenceRules) -> Scene {
    var state = RestoredState()
    for case .call(let call) in here.scene.stores.flatMap(\.1) { state.calls.running = [call] }
    return Scene(rules, restored: state)
  }

  private var keeping: ConferenceRules {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
    return rules
  }

  /// A client of the next process that takes up its leg.
  private func comesBack(_ user: String, _ id: String, _ scene: Scene) -> Client {
    let client = scene.client(user)
    #expect(scene.code(client, .call(.join(CallJoinParams(callId: id)))) == nil)
    return client
  }

  private func kick(_ user: String, _ id: String, by client: Client, _ scene: Scene) -> ErrorObject? {
    scene.refusal(client, .room(.moderate(ModerateParams(room: "call:" + id, action: .kick, user: user))))
  }

  // MARK: - Oneself

  @Test func whoBecomesHostHearsItThemselves() throws {
    let here = try Group()
    #expect(here.hangUp(here.a) == nil)
    #expect(here.moderators(here.b) == ["b"], "by succession")
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let id = try scene.talk(a, b).call.callId
    _ = try scene.invite(b, id, ["c"])
    _ = try scene.accept(c, id)
    for client in [a, b, c] { #expect(here.moderators(client) == ["a"], "by the upgrade") }
  }

  @Test func whoIsGivenARoleInACallHearsItThemselves() throws {
    let here = try Group()
    let own = { here.b.mirror.room?.participants.first { $0.user == "b" } }
    #expect(here.scene.code(here.b, .room(.raiseHand(RaiseHandParams(room: "call:" + here.id, raised: true)))) == nil)
    #expect(here.moderate(here.a, .role, user: "b") { $0.role = .moderator } == nil)
    #expect(own()?.role == .moderator)
    #expect(here.moderate(here.a, .role, user: "b") { $0.role = .participant } == nil)
    #expect(own() != nil && own()?.role == nil)
  }

  @Test func aGrantThatComesInACallIsSeenByWhoHasIt() throws {
    let scene = Scene()
    scene.isVerified = true
    let here = try Group(scene)
    for isModerator in [true, false] {
      scene.proof = { if isModerator, $0.user == "b" { $0.rights = Rights.all.union(.moderate) } }
      #expect(scene.code(here.b, .session(.token(TokenParams(token: "b")))) == nil)
      #expect(here.moderators(here.b) == (isModerator ? ["a", "b"] : ["a"]))
    }
  }

  // MARK: - After a restart

  @Test func aHostPutsOutWhoIsNotBackAfterARestart() throws {
    let here = try Group(Scene(keeping))
    let next = restarted(here, keeping)
    let a = comesBack("a", here.id, next)
    #expect(kick("b", here.id, by: a, next) == nil)
    #expect(try next.get(a, here.id).members.first { $0.user == "b" }?.state == .removed)
    let b = next.client("b")
    #expect(next.code(b, .call(.join(CallJoinParams(callId: here.id)))) == .notInvited)
  }

  @Test func aHostWhoIsNotBackIsNotPutOutByWhoHasARole() throws {
    let here = try Group(Scene(keeping))
    #expect(here.moderate(here.a, .role, user: "b") { $0.role = .moderator } == nil)
    let next = restarted(here, keeping)
    let b = comesBack("b", here.id, next)
    let key = try #require(next.core.rooms.table[named: "call:" + here.id])
    next.core.rooms.seating.table.update(key) { $0.moderation.setRole(.moderator, of: "b") }
    #expect(kick("a", here.id, by: b, next)?.data.reason == "moderator")
    #expect(kick("c", here.id, by: b, next) == nil)
  }

  @Test func whoTakesUpTheirLegIsInItSinceBefore() throws {
    let here = try Group(Scene(keeping))
    let before = try here.scene.get(here.a, here.id).members.map(\.joinedAt)
    let next = restarted(here, keeping)
    next.advance(.seconds(1))
    let (c, b, a) = (
      comesBack("c", here.id, next), comesBack("b", here.id, next), comesBack("a", here.id, next)
    )
    #expect(try next.get(a, here.id).members.map(\.joinedAt) == before)
    #expect(next.code(a, .call(.hangup(CallHangupParams(callId: here.id)))) == nil)
    #expect(try next.get(c, here.id).members.filter { $0.role == .host }.map(\.user) == ["b"])
    #expect(here.moderators(b) == ["b"])
  }

  @Test func whoIsNotBackFollowsNoHost() throws {
    let here = try Group(Scene(keeping))
    let next = restarted(here, keeping)
    let (a, c) = (comesBack("a", here.id, next), comesBack("c", here.id, next))
    #expect(next.code(a, .call(.hangup(CallHangupParams(callId: here.id)))) == nil)
    #expect(try next.get(c, here.id).members.filter { $0.role == .host }.map(\.user) == ["c"])
  }

  // MARK: - Another device

  @Test func aHostKeepsTheirWordsOnAnotherDevice() throws {
    let here = try Group()
    #expect(here.moderate(here.a, .disableChat) == nil)
    for (client, isTaken) in [(here.a, true), (here.b, false)] {
      let tablet = here.scene.client(client.user, "tablet")
      let params = CallJoinParams(
        callId: here.id, takeover: true, resumeToken: client.token, metadata: ["on": "tablet"])
      #expect(here.scene.code(tablet, .call(.join(params))) == nil)
      let seat = try here.scene.seat(tablet)
      #expect(
        (here.scene.core.rooms.seating.table.seats[seat]?.metadata == ["on": "tablet"]) == isTaken,
        "hosts alone may write")
    }
  }

  // MARK: - Out

  @Test(arguments: ["invited", "ringing", "declined", "cancelled"]) func whoWasPutOutEndsNothingUntilTheyAreIn(
    _ how: String
  ) throws {
    let here = try Group()
    let (scene, a, b, c) = (here.scene, here.a, here.b, here.c)
    #expect(here.moderate(a, .role, user: "b") { $0.role = .moderator } == nil)
    let end = Request.call(.end(CallParams(callId: here.id)))
    // The starter is host no more, and has come back.
    #expect(here.hangUp(a) == nil && here.join(a) == nil)
    #expect(here.moderate(b, .kick, user: "a") == nil && scene.code(a, end) == .forbidden)
    _ = try scene.invite(c, here.id, ["a"])
    switch how {
    case "ringing": #expect(scene.code(a, .call(.ringing(CallParams(callId: here.id)))) == nil)
    case "declined": #expect(scene.code(a, .call(.reject(CallRejectParams(callId: here.id)))) == nil)
    case "cancelled":
      #expect(scene.code(c, .call(.cancelInvite(CallCancelInviteParams(callId: here.id, users: ["a"])))) == nil)
    default: break
    }
    #expect(scene.code(a, end) == .forbidden)
    guard how == "ringing" else { return }
    _ = try scene.accept(a, here.id)
    #expect(scene.code(a, end) == nil, "who is in it again is its starter again")
  }

  @Test func whoWasPutOutHearsNoMore() throws {
    let here = try Group()
    let (scene, a, b) = (here.scene, here.a, here.b)
    #expect(here.moderate(a, .kick, user: "b") == nil && here.hangUp(here.c) == nil)
    here.forget()
    _ = scene.client("e")
    _ = try scene.invite(a, here.id, ["e"])
    #expect(b.take().isEmpty)
    #expect(here.c.takeNames() == [.callInvited], "who left does")
    #expect(here.moderate(a, .end) == nil)
    #expect(!b.takeNames().contains(.callEnded) && here.c.takeNames().contains(.callEnded))
  }

  @Test(arguments: ["left", "declined", "no answer", "lost"]) func aKickKeepsOutWhoIsOut(_ how: String) throws {
    let here = try Group()
    let (scene, a) = (here.scene, here.a)
    var user = here.b
    switch how {
    case "left": #expect(here.hangUp(user) == nil)
    case "lost":
      scene.cut(user)
      scene.advance(.seconds(15))
    default:
      user = scene.client("e")
      _ = try scene.invite(a, here.id, ["e"])
      if how == "declined" {
        #expect(scene.code(user, .call(.reject(CallRejectParams(callId: here.id)))) == nil)
      } else {
        scene.advance(.seconds(60))
      }
    }
    if how == "lost" { user = scene.client("b", "tablet") }
    here.forget()
    #expect(here.moderate(a, .kick, user: user.user) == nil)
    #expect(here.c.takeNames() == [.roomModerated, .memberRemoved])
    #expect(try scene.get(a, here.id).members.first { $0.user == user.user }?.state == .removed)
    #expect(here.join(user)?.code == .notInvited)
    #expect(here.moderate(a, .kick, user: user.user)?.code == .userNotFound, "they are out already")
    _ = try scene.invite(a, here.id, [user.user])
    #expect(scene.code(user, .call(.accept(CallAcceptParams(callId: here.id)))) == nil, "an invitation is the way back")
  }

  // MARK: - Rung in vain

  @Test func whoComesInAfterAllHasMissedNothing() throws {
    let here = try Group(Scene(keeping))
    let e = here.scene.client("e")
    _ = try here.scene.invite(here.a, here.id, ["e"])
    here.scene.advance(.seconds(60))
    #expect(here.scene.core.calls.missed("e") == 1)
    _ = try here.scene.invite(here.a, here.id, ["e"])
    _ = try here.scene.accept(e, here.id)
    #expect(here.scene.core.calls.missed("e") == 0)
    let kept = here.scene.stores.flatMap(\.1).compactMap {
      if case .record(let record) = $0, record.entry.user == "e" { record.isUnseen } else { nil }
    }
    #expect(kept == [true, false], "nor after a crash")
  }
}
