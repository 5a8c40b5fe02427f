// What operators do as moderators do, without a seat; what they write, and what they hear of a user.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms

@Suite struct OperatorModerationTests {
  private func moderate(
    _ here: Assembly, _ action: ModerationAction, user: String? = nil, _ fill: (inout ModerateParams) -> Void = { _ in }
  ) -> ErrorObject? {
    var params = ModerateParams(room: here.room, action: action, user: user)
    fill(&params)
    switch here.scene.operate(.moderate(params)) {
    case .success(let answer):
      #expect(answer == .moderated)
      return nil
    case .failure(let error): return error
    }
  }

  @Test func anOperatorStandsAboveModerators() throws {
    let here = try Assembly()
    // The control: what a moderator may not.
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .moderator } == nil)
    #expect(here.moderate(here.ben, .kick, user: "H")?.data.reason == "moderator")
    here.forget()
    #expect(moderate(here, .mute, user: "H") { $0.hold = true } == nil)
    let heard = here.moderated(here.ben)
    #expect(heard.map(\.action) == [.mute] && heard.map(\.user) == ["H"] && heard.map(\.by) == [nil])
    #expect(moderate(here, .kick, user: "H") == nil)
    #expect(try here.seen("H", by: here.ben) == nil)
    #expect(moderate(here, .kick, user: "H")?.code == .userNotFound)
    #expect(moderate(here, .role, user: "C") { $0.role = .speaker } == nil)
    #expect(try here.seen("C", by: here.ben)?.role == .speaker)
  }

  @Test func anOperatorsBanHoldsAndIsLifted() throws {
    let here = try Assembly()
    #expect(moderate(here, .ban, user: "C") == nil)
    #expect(here.scene.code(here.carl, .room(.join(RoomJoinParams(room: here.room)))) == .banned)
    guard case .success(.bans(let bans, _, _)) = here.scene.operate(.bans(room: here.room)) else {
      Issue.record("no bans")
      return
    }
    #expect(bans.map(\.user) == ["C"] && bans.map(\.by) == [KeptBan.operators])
    #expect(moderate(here, .unban, user: "C") == nil)
    #expect(here.scene.code(here.carl, .room(.join(RoomJoinParams(room: here.room)))) == nil)
  }

  @Test func anOperatorOpensALobbyAndEndsTheMeeting() throws {
    let here = try Assembly()
    // A seat for who comes.
    #expect(here.scene.code(here.carl, .room(.leave(RoomParams(room: here.room)))) == nil)
    #expect(moderate(here, .lobby) == nil)
    let dora = here.scene.client("D")
    #expect(here.scene.code(dora, .room(.join(RoomJoinParams(room: here.room)))) == .inLobby)
    #expect(moderate(here, .admit, user: "D") == nil)
    #expect(here.scene.code(dora, .room(.join(RoomJoinParams(room: here.room)))) == nil)
    here.forget()
    #expect(moderate(here, .end) == nil)
    #expect(here.ben.takeNames().contains(.roomClosed))
    let nowhere = here.scene.operate(.moderate(ModerateParams(room: "nowhere", action: .mute)))
    #expect(nowhere == .failure(ErrorObject(.roomNotFound)))
  }

  @Test func theServerWritesUnderANameThatIsNoUsers() throws {
    let here = try Assembly()
    #expect(moderate(here, .disableChat) == nil)
    #expect(here.say(here.ben)?.data.reason == "chat_disabled", "the control")
    here.forget()
    guard case .success(.said(let result)) = here.scene.operate(.say("Hello", as: "House", room: here.room, to: ["B"]))
    else {
      Issue.record("nothing was said")
      return
    }
    #expect(result.delivered == 1)
    let heard = here.ben.take().compactMap { if case .chatMessage(let message) = $0 { message } else { nil } }
    #expect(heard.map(\.text) == ["Hello"] && heard.map(\.from) == [""] && heard.map(\.displayName) == ["House"])
    #expect(here.carl.take().isEmpty, "it was not for them")
    let long = String(repeating: "x", count: here.scene.core.rooms.chatBytes + 1)
    guard case .failure(let error) = here.scene.operate(.say(long, as: "House", room: here.room, to: nil)) else {
      Issue.record("it is too long")
      return
    }
    #expect(error.code == .tooLarge)
  }
}
