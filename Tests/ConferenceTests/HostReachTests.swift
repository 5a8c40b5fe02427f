// What reaches a host of a group call, and whom a host reaches: who is in it, who is away after a restart, who is out.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference

@Suite struct HostReachTests {
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
}
