// What an operator does from outside, and what becomes of those inside.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct OperatorTests {
  private func overview(_ scene: Scene) throws -> OperatorOverview {
    guard case .overview(let overview) = try scene.operate(.look).get() else { throw ErrorObject(.internalError) }
    return overview
  }

  @Test func anOperatorSeesRoomsAndCalls() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    _ = try scene.join(a) { $0.displayName = "Anna" }.get()
    let call = try scene.talk(b, c).call
    let seen = try overview(scene)
    #expect(seen.rooms.map(\.room) == ["demo", "stage", "voice"], "a call's room is no room")
    #expect(seen.rooms[0].participants.map(\.participant.displayName) == ["Anna"])
    #expect(seen.rooms[0].limit == 3 && !seen.rooms[0].locked && seen.rooms[1].participants.isEmpty)
    #expect(seen.calls.map(\.callId) == [call.callId] && seen.calls[0].state == .active)
    #expect(scene.operate(.closeRoom(call.room)) == .failure(ErrorObject(.roomNotFound)))
    #expect(scene.operate(.closeRoom("stage")) == .success(.removed(0)))
  }

  /// Both or nothing, and what is so already stays so.
  @Test func aRoomIsChangedInOneStep() throws {
    let scene = Scene()
    let people = ["a", "b"].map { scene.client($0) }
    for person in people { _ = try scene.join(person).get() }
    func change(_ media: MediaClass?, _ isLocked: Bool?, _ room: String = "demo") throws -> OperatorOverview.Room {
      let answer = try scene.operate(.change(room: room, media: media, locked: isLocked)).get()
      guard case .overview(let seen) = answer, let room = seen.rooms.first else { throw ErrorObject(.internalError) }
      return room
    }
    #expect(try !change(nil, false).locked, "it is open already")
    let changed = try change(.audio, true)
    #expect(changed.locked && changed.media == .audio && changed.participants.count == 2)
    #expect(try change(.video, false).media == .video)
    #expect(throws: ErrorObject.self) { try change(.audio, true, "nowhere") }
  }

  @Test func somebodyIsPutOutOfARoom() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    for client in [a, b] { _ = try scene.join(client).get() }
    try scene.publish(b, ["0:audio"])
    _ = (a.take(), b.take())
    #expect(scene.operate(.remove(user: "b", room: "demo")) == .success(.removed(1)))
    guard case .participantLeft(let left) = a.take().last else {
      Issue.record("the others hear that he left")
      return
    }
    #expect(left.user == "b" && left.reason == .removed)
    #expect(b.take() == [.roomClosed(RoomClosed(room: "demo", reason: .removed))])
    #expect(scene.counters[.left(.removed)] == 1 && scene.core.rooms.media.tracks.isEmpty)
    let refusal = try #require(scene.refusal(b, .chat(.send(ChatSendParams(room: "demo", text: "?")))))
    #expect(refusal.code == .roomClosed && refusal.data.reason == "removed")
    for user in ["b", "nobody"] {
      guard case .failure(let error) = scene.operate(.remove(user: user, room: "demo")) else {
        Issue.record("\(user) is not there")
        continue
      }
      #expect(error.code == .userNotFound)
    }
    #expect(try scene.join(b).get().count == 2, "he may come back while the room is not locked")
  }

  @Test func bansAreSeenAndTakenBack() throws {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    let here = try Assembly(rules, in: "hall")
    let until = here.scene.now.wallMilliseconds + 60_000
    #expect(here.moderate(here.host, .ban, user: "C") == nil)
    #expect(here.moderate(here.host, .ban, user: "absent") { $0.until = until } == nil)
    let all = [
      KeptBan(room: "hall", user: "C", until: nil, by: "H"),
      KeptBan(room: "hall", user: "absent", until: until, by: "H"),
    ]
    #expect(here.scene.operate(.bans(room: "hall")) == .success(.bans(all)))
    #expect(here.scene.operate(.bans(room: "demo")) == .success(.bans([])))
    #expect(here.scene.code(here.carl, .room(.join(RoomJoinParams(room: "hall")))) == .banned)
    _ = here.host.take()
    #expect(here.scene.operate(.liftBan(user: "C", room: "hall")) == .success(.lifted(1)))
    #expect(
      here.host.take() == [.roomModerated(RoomModerated(room: "hall", by: nil, action: .unban, user: "C"))],
      "moderators hear of it")
    #expect(here.scene.stores.last?.1 == [.forgetBan(room: "hall", user: "C")])
    #expect(here.scene.code(here.carl, .room(.join(RoomJoinParams(room: "hall")))) == nil)
    for user in ["C", "nobody"] {
      guard case .failure(let error) = here.scene.operate(.liftBan(user: user, room: "hall")) else {
        Issue.record("\(user) is not banned")
        continue
      }
      #expect(error.code == .userNotFound)
    }
    // Those that are over are none.
    here.scene.advance(.seconds(60))
    #expect(here.scene.operate(.bans(room: "hall")) == .success(.bans([])))
    guard case .failure = here.scene.operate(.liftBan(user: "absent", room: "hall")) else {
      Issue.record("it is over")
      return
    }
    // The room need not be there.
    #expect(here.moderate(here.host, .ban, user: "D") == nil)
    for client in [here.host, here.ben, here.carl] {
      #expect(here.scene.code(client, .room(.leave(RoomParams(room: "hall")))) == nil)
    }
    #expect(here.scene.operate(.liftBan(user: "D", room: "hall")) == .success(.lifted(1)))
  }

  @Test func aLockedRoomTakesNobodyMore() throws {
    let scene = Scene()
    let (a, b, other) = (scene.client("a"), scene.client("b"), scene.client("a", "d2"))
    _ = try scene.join(a).get()
    #expect(scene.operate(.setLocked(true, room: "demo")) == .success(.locked(true)))
    #expect(try overview(scene).rooms[0].locked)
    #expect(scene.join(b) == .failure(ErrorObject(.roomLocked)))
    // Who is in it stays: joining again, another device, a lost connection.
    #expect(try scene.join(a).get().count == 1)
    _ = try scene.join(other) { ($0.takeover, $0.resumeToken) = (true, a.token) }.get()
    scene.cut(other)
    scene.resume(other)
    #expect(try scene.join(other).get().count == 1)
    // A configured room is locked whoever comes and goes, until an operator opens it.
    #expect(scene.code(other, .room(.leave(RoomParams(room: "demo")))) == nil)
    #expect(scene.join(b) == .failure(ErrorObject(.roomLocked)))
    #expect(scene.operate(.setLocked(false, room: "demo")) == .success(.locked(false, lifted: [.lock])))
    #expect(try scene.join(b).get().count == 1)
    // Any other is gone with its last one, and its lock with it.
    _ = try scene.join(a, "x").get()
    _ = scene.operate(.setLocked(true, room: "x"))
    #expect(scene.join(b, "x") == .failure(ErrorObject(.roomLocked)))
    #expect(try scene.join(a, "y").get().count == 1)
    #expect(try scene.join(b, "x").get().count == 1)
    #expect(scene.operate(.setLocked(true, room: "none")) == .failure(ErrorObject(.roomNotFound)))
  }

  /// What moderators have made of a room an operator sees, and opens.
  @Test func anOperatorSeesALobbyAndOpensIt() throws {
    let here = try Assembly()
    func seen() throws -> OperatorOverview.Room { try overview(here.scene).rooms[0] }
    var room = try seen()
    #expect(!room.lobby && !room.chatDisabled && room.waiting.isEmpty)
    let nothing = here.scene.operate(.setLocked(false, room: "demo"))
    #expect(nothing == .failure(ErrorObject(.roomNotFound, "This room is not locked, and has no lobby.")))
    for action in [ModerationAction.lobby, .disableChat] { #expect(here.moderate(here.host, action) == nil) }
    #expect(here.moderate(here.host, .kick, user: "C") == nil)
    let join = Request.room(.join(RoomJoinParams(room: "demo", displayName: "Late")))
    #expect(here.scene.code(here.carl, join) == .inLobby)
    room = try seen()
    #expect(room.lobby && room.chatDisabled && !room.locked)
    #expect(room.waiting == [Waiting(user: "C", displayName: "Late")])
    here.forget()
    #expect(here.scene.operate(.setLocked(false, room: "demo")) == .success(.locked(false, lifted: [.lobby])))
    let opened = Event.roomModerated(RoomModerated(room: "demo", by: nil, action: .unlock))
    #expect(here.carl.take() == [opened] && here.ben.take() == [opened], "who waits hears it, and who is there")
    room = try seen()
    #expect(!room.lobby && room.chatDisabled && room.waiting.isEmpty)
    #expect(here.scene.code(here.carl, join) == nil)
    // Both locks go at once.
    _ = here.scene.operate(.setLocked(true, room: "demo"))
    #expect(here.moderate(here.host, .lobby) == nil)
    #expect(here.scene.operate(.setLocked(false, room: "demo")) == .success(.locked(false, lifted: [.lock, .lobby])))
  }

  /// A moderator who opens a room that an operator has locked must not believe that it is open.
  @Test func whoIsThereHearsOfAnOperatorsLock() throws {
    let here = try Assembly()
    _ = here.scene.operate(.setLocked(true, room: "demo"))
    #expect(here.moderated(here.ben).map(\.action) == [.lock] && here.moderated(here.ben).map(\.by) == [nil])
    here.forget()
    for action in [ModerationAction.unlock, .lobby] { #expect(here.moderate(here.host, action) == nil) }
    #expect(here.moderated(here.host).map(\.action) == [.unlock, .lock, .lobby, .lock])
    #expect(here.moderated(here.host).map(\.by) == ["H", nil, "H", nil])
    here.forget()
    _ = here.scene.operate(.setLocked(false, room: "demo"))
    #expect(here.moderated(here.ben).map(\.action) == [.unlock])
  }

  /// After a restart nobody is back yet, and the chat that was disabled stays so when the door is opened.
  @Test func aRoomThatNobodyIsBackInIsSeenAndOpened() throws {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    var restored = RestoredState()
    restored.doors = [
      KeptDoor(room: "hall", isLockedByOperator: false, door: .lobby, isChatDisabled: true),
      KeptDoor(room: "attic", isLockedByOperator: false, door: .open, isChatDisabled: true),
    ]
    let scene = Scene(rules, restored: restored)
    let rooms = try overview(scene).rooms.suffix(2)
    #expect(rooms.map(\.room) == ["attic", "hall"] && rooms.map(\.lobby) == [false, true])
    #expect(rooms.map(\.chatDisabled) == [true, true])
    guard case .failure(let error) = scene.operate(.setLocked(false, room: "attic")) else {
      Issue.record("there is nothing to open")
      return
    }
    #expect(error.code == .roomNotFound)
    #expect(scene.operate(.setLocked(false, room: "hall")) == .success(.locked(false, lifted: [.lobby])))
    let left = KeptDoor(room: "hall", isLockedByOperator: false, door: .open, isChatDisabled: true)
    #expect(scene.stores.last?.1 == [.door(left)])
    #expect(try scene.join(scene.client("A"), "hall").get().moderation == RoomModeration(chatDisabled: true))
  }

  @Test func oneOfAGroupIsPutOut() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let id = try scene.start(a, ["b", "c"], .group).call.callId
    _ = try scene.accept(b, id)
    try scene.mediaUp(a, b)
    _ = (a.take(), b.take(), c.take())
    #expect(scene.operate(.removeFromCall(user: "b", call: id)) == .success(.removed(1)))
    let removed = { (events: [Event]) -> Member? in
      for case .memberRemoved(let event) in events { return event.member }
      return nil
    }
    let (heard, own) = (a.take(), b.take())
    #expect(removed(heard)?.user == "b" && removed(heard)?.state == .removed && removed(heard)?.reason == .removed)
    #expect(removed(own)?.user == "b")
    #expect(own.contains(.roomClosed(RoomClosed(room: "call:\(id)", reason: .removed))))
    guard case .callRecord(let record) = own.last else {
      Issue.record("his record says why")
      return
    }
    #expect(record.record.reason == .removed && record.record.result == .answered)
    let refusal = try #require(scene.refusal(b, .call(.join(CallJoinParams(callId: id)))))
    #expect(refusal.code == .notInvited && refusal.data.reason == "removed")

    _ = c.take()
    // Who rings stops ringing, as if whoever invited him had thought better of it.
    #expect(scene.operate(.removeFromCall(user: "c", call: id)) == .success(.removed(1)))
    #expect(c.takeNames() == [.callStopped, .callMissed, .callRecord])
    guard case .failure(let error) = scene.operate(.removeFromCall(user: "c", call: id)) else {
      Issue.record("he rings no more")
      return
    }
    #expect(error.code == .userNotFound)
    #expect(scene.operate(.removeFromCall(user: "c", call: "x")) == .failure(ErrorObject(.callNotFound)))
  }

  @Test func whoIsPutOutOfAGroupComesBackOnlyWhenHeIsInvited() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let id = try scene.start(a, ["b", "c"], .group).call.callId
    for client in [b, c] { _ = try scene.accept(client, id) }
    let join = Request.call(.join(CallJoinParams(callId: id)))
    let isListed = {
      guard case .success(.calls(let list)) = scene.request(b, .call(.available)) else { return false }
      return list.calls.contains { $0.callId == id }
    }
    #expect(scene.operate(.removeFromCall(user: "b", call: id)) == .success(.removed(1)))
    for client in [b, scene.client("b", "d2")] {
      let refusal = try #require(scene.refusal(client, join))
      #expect(refusal.code == .notInvited && refusal.data.reason == "removed")
      #expect(scene.code(client, .call(.accept(CallAcceptParams(callId: id)))) == .notInvited)
    }
    #expect(!isListed() && scene.core.calls.isBusy("b") == false)
    #expect(scene.code(b, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == .notInCall)

    #expect(scene.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    #expect(isListed())
    #expect(try scene.accept(b, id).room.participants.map(\.user) == ["a", "c", "b"])
    #expect(scene.code(b, .call(.hangup(CallHangupParams()))) == nil)
    #expect(isListed() && scene.code(b, join) == nil, "he is one like the others again")
  }

  /// The strongest right goes with the seat.
  @Test func aCallerWhoIsPutOutDoesNotEndTheCall() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let id = try scene.start(a, ["b", "c"], .group).call.callId
    for client in [b, c] { _ = try scene.accept(client, id) }
    #expect(scene.operate(.removeFromCall(user: "a", call: id)) == .success(.removed(1)))
    #expect(scene.code(a, .call(.end(CallParams(callId: id)))) == .forbidden)
    #expect(scene.core.calls.count == 1)
  }

  @Test func whoeverWasInAClosedRoomHasLeftIt() throws {
    var rules = ConferenceRules.test
    rules.calls.isFollowed = true
    let scene = Scene(rules)
    for user in ["a", "b"] { _ = try scene.join(scene.client(user), "x").get() }
    scene.hooks = []
    #expect(scene.operate(.closeRoom("x")) == .success(.removed(2)))
    #expect(scene.hooks.map(\.type) == [.roomLeft, .roomLeft, .roomClosed])
    #expect(scene.hooks.map(\.user) == ["a", "b", nil] && scene.hooks[0].reason == "removed")
  }

  @Test func anApplicationSeesUsersAndTheirCalls() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    func user(_ name: String) throws -> (devices: Int, call: String?, missed: Int) {
      guard case .user(let known, let call, let missed) = try scene.operate(.user(name)).get() else {
        throw ErrorObject(.internalError)
      }
      return (known.devices, call, missed)
    }
    let id = try scene.start(a, ["b"]).call.callId
    #expect(try user("a") == (1, id, 0) && user("b") == (1, nil, 0) && user("x") == (0, nil, 0))
    #expect(scene.code(a, .call(.cancel(CallCancelParams(callId: id)))) == nil)
    #expect(try user("b").missed == 1 && user("a").missed == 0)
    for _ in 0..<2 {
      guard case .history(let page) = try scene.operate(.history(of: "b", before: nil)).get() else {
        throw ErrorObject(.internalError)
      }
      #expect(page.records.map(\.callId) == [id] && page.records.first?.result == .missed && page.next == nil)
      #expect(try user("b").missed == 1, "an application has looked, and not the user")
    }
    #expect(scene.operate(.see("b")) == .success(.seen(1)) && scene.operate(.see("b")) == .success(.seen(0)))
    #expect(try user("b").missed == 0)
    guard case .call(let over) = try scene.operate(.call(id)).get() else { throw ErrorObject(.internalError) }
    #expect(over.state == .ended && over.reason == .cancelled)
    #expect(throws: ErrorObject.self) { try scene.operate(.call("none")).get() }
    scene.cut(b, clean: true)
    #expect(try user("b").devices == 0)
    // Pages: a hundred each, and memory has 200 of a user.
    for _ in 0..<150 {
      let more = try scene.start(a, ["b"]).call.callId
      #expect(scene.code(a, .call(.cancel(CallCancelParams(callId: more)))) == nil)
      scene.advance(.seconds(7))
    }
    guard case .history(let first) = try scene.operate(.history(of: "a", before: nil)).get(),
      case .history(let second) = try scene.operate(.history(of: "a", before: first.next)).get()
    else { throw ErrorObject(.internalError) }
    #expect(first.records.count == 100 && first.next == first.records.last?.callId)
    #expect(second.records.count == 51 && second.next == nil && second.records.last?.callId == id)
  }

  @Test(arguments: [false, true])
  func aCallOfTwoEndsWithOneWhoIsPutOut(_ isAnswered: Bool) throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let id = isAnswered ? try scene.talk(a, b).call.callId : try scene.start(a, ["b"]).call.callId
    _ = (a.take(), b.take())
    #expect(scene.operate(.removeFromCall(user: "a", call: id)) == .success(.removed(1)))
    for client in [a, b] {
      let events = client.take()
      for case .callEnded(let ended) in events {
        #expect(ended.reason == .removed && ended.code == 6011 && ended.by == "a")
      }
      let isTold = isAnswered || client === a
      #expect(events.map(\.name).contains(isTold ? .callEnded : .callStopped))
    }
    guard case .success(.call(let over)) = scene.request(a, .call(.get(CallParams(callId: id)))) else {
      throw ErrorObject(.internalError)
    }
    #expect(over.call.state == .ended && over.call.reason == .removed)
    #expect(over.call.members.first { $0.user == "a" }?.state == .removed)
    guard case .failure(let error) = scene.operate(.endCall(id)) else { throw ErrorObject(.internalError) }
    #expect(error.code == .callEnded && error.data.reason == "removed")
    #expect(scene.core.rooms.table.seats.isEmpty && scene.core.calls.count == 0)
  }
}
