// Grants that an answer to a join leaves: in that room, for that stay, and never more than the token gives.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct StayGrantTests {
  /// What is left where an answer says `grants`: calls are in no room, and a yes lets them in.
  private static func left(_ grants: Rights) -> Rights { grants.union([.join, .call, .invite]) }

  private static func answer(_ grants: Rights?) -> QuestionAnswer {
    var changes = QuestionChanges()
    changes.grants = grants
    return grants == nil ? .yes : .changed(changes)
  }

  /// A conference that asks before joins, where tokens prove who people are and give this.
  private func here(_ rights: Rights = .all, _ change: (inout ConferenceRules) -> Void = { _ in }) -> Asked {
    let here = Asked([], change)
    here.scene.isVerified = true
    here.scene.proof = { $0.isVerified = true }
    here.scene.rights = rights
    let anna = here.scene.client("A", "d2")
    here.scene.core.ask(about: [.join])
    return Asked(here.scene, anna)
  }

  /// Joins, and is answered with these grants; nil: with a plain yes.
  @discardableResult
  private func join(
    _ here: Asked, _ grants: Rights?, _ room: String = "demo", from client: Client? = nil, name: String? = nil
  ) throws -> RoomSnapshot {
    let asked = here.scene.questions.count
    let id = here.send(
      .room(.join(RoomJoinParams(room: room, displayName: name, takeover: true))), from: client)
    try #require(here.scene.questions.count == asked + 1, "it is asked about")
    here.answer(Self.answer(grants))
    guard case .success(.room(let snapshot))? = here.reply(id, client) else {
      throw here.error(id, client) ?? ErrorObject(.internalError)
    }
    return snapshot
  }

  private func chat(_ client: Client, _ here: Asked, _ room: String = "demo") -> ErrorCode? {
    here.scene.code(client, .chat(.send(ChatSendParams(room: room, text: "hello"))))
  }

  private func told(_ client: Client) -> [Rights] {
    client.take().compactMap { if case .sessionGrants(let grants) = $0 { Rights(grants.grants) } else { nil } }
  }

  private func rights(_ client: Client, _ here: Asked) -> Rights? {
    here.scene.core.sessions.session(on: client.connection).map { here.scene.core.sessions.table.rightsNow(of: $0) }
  }

  private func publishes(_ client: Client, _ here: Asked) -> Bool {
    (try? here.scene.publish(client, ["0:audio"])) != nil
  }

  // MARK: - What is left, and where

  @Test(arguments: [true, false]) func itHoldsInThatRoomForThatStay(isChanged: Bool) throws {
    let (here, left) = (here(), Self.left([.subscribe]))
    let ben = here.scene.client("B")
    try join(here, nil, from: ben)
    _ = try here.scene.publish(ben, ["0:audio"])
    try join(here, isChanged ? [.subscribe] : nil)
    #expect(told(here.anna) == (isChanged ? [left] : []))
    #expect(chat(here.anna, here) == (isChanged ? .forbidden : nil))
    #expect(publishes(here.anna, here) != isChanged)
    let seat = try here.scene.seat(here.anna)
    #expect(here.scene.core.rooms.media[seat].subscriptions.count == 1, "what is left is there")
    #expect(chat(ben, here) == nil, "others have what they have")

    // Elsewhere nothing is missing, nor where they come again.
    try join(here, nil, "voice")
    #expect(told(here.anna) == (isChanged ? [.all] : []) && chat(here.anna, here, "voice") == nil)
    try join(here, nil)
    #expect(told(here.anna) == [] && chat(here.anna, here) == nil && publishes(here.anna, here))
  }

  /// A session is told as well when it has left, and what is left in one room says nothing of the next.
  @Test func whoLeavesHasAllAgain() throws {
    let here = here()
    let room = try join(here, [])
    #expect(told(here.anna) == [Self.left([])] && room.seq == here.anna.lastSeq - 1, "behind the reply")
    #expect(here.isDone(here.send(Asked.leave)))
    #expect(told(here.anna) == [.all] && rights(here.anna, here) == .all)
    try join(here, [.chat], "voice")
    #expect(told(here.anna) == [Self.left([.chat])] && chat(here.anna, here, "voice") == nil)
  }

  @Test(arguments: [true, false]) func nothingRunsThatIsNotLeft(isChanged: Bool) throws {
    let here = here()
    let ben = here.scene.client("B")
    try join(here, nil, from: ben)
    _ = try here.scene.publish(ben, ["0:audio"])
    try join(here, isChanged ? [.publishAudio] : nil)
    let seat = try here.scene.seat(here.anna)
    #expect(here.scene.core.rooms.media[seat].subscriptions.count == (isChanged ? 0 : 1))
    #expect(publishes(here.anna, here))
    #expect(here.scene.code(here.anna, .view(.open(ViewOpenParams(count: 1)))) == (isChanged ? .forbidden : nil))
  }

  /// Who may publish nothing in a room does not say what it carries.
  @Test(arguments: [true, false]) func whoMayPublishNothingDecidesNothing(isChanged: Bool) throws {
    let here = here()
    let id = here.send(.room(.join(RoomJoinParams(room: "hall", media: .audio))))
    here.answer(Self.answer(isChanged ? [.subscribe] : nil))
    guard case .success(.room(let room))? = here.reply(id) else { throw ErrorObject(.internalError) }
    #expect(room.media == (isChanged ? .video : .audio))
  }

  @Test func itGivesNothing() throws {
    let here = here([.join, .subscribe])
    try join(here, [.subscribe, .chat, .moderate, .call])
    #expect(rights(here.anna, here) == [.join, .subscribe] && chat(here.anna, here) == .forbidden)
    #expect(told(here.anna) == [], "it has what its token gives")
  }

  @Test(arguments: [true, false]) func whoIsLeftNoModerateDoesNotModerate(isChanged: Bool) throws {
    let here = here(Rights.all.union(.moderate))
    let room = try join(here, isChanged ? .all : nil)
    #expect(room.participants.first?.role == (isChanged ? nil : .moderator))
    let lock = Request.room(.moderate(ModerateParams(room: "demo", action: .lock)))
    #expect(here.scene.code(here.anna, lock) == (isChanged ? .forbidden : nil))
    // A moderator may put them out, or make them one for the time.
    let ben = here.scene.client("B")
    if !isChanged { #expect(here.scene.code(here.anna, lock) == nil) }
    try join(here, nil, from: ben)
    let promote = ModerateParams(room: "demo", action: .role, user: "A", role: .moderator)
    #expect(here.scene.code(ben, .room(.moderate(promote))) == nil)
    #expect(here.scene.code(here.anna, lock) == nil)
    let kick = ModerateParams(room: "demo", action: .kick, user: "A")
    #expect(here.scene.code(ben, .room(.moderate(kick))) == nil)
    #expect(rights(here.anna, here) == Rights.all.union(.moderate), "and out there it has its grants")
  }

  /// Rules are looked at again with what is left: a door that moderators alone go through is shut, and a ban holds.
  @Test(arguments: [true, false]) func rulesGoByWhatIsLeft(isChanged: Bool) throws {
    let here = here(Rights.all.union(.moderate))
    let ben = here.scene.client("B")
    try join(here, nil, from: ben)
    #expect(here.scene.code(ben, .room(.moderate(ModerateParams(room: "demo", action: .lock)))) == nil)
    func refusal() -> ErrorCode? {
      do { try join(here, isChanged ? .all : nil) } catch { return (error as? ErrorObject)?.code }
      return nil
    }
    #expect(refusal() == (isChanged ? .roomLocked : nil))
    #expect(here.isDone(here.send(Asked.leave)))
    #expect(here.scene.code(ben, .room(.moderate(ModerateParams(room: "demo", action: .lobby)))) == nil)
    #expect(refusal() == (isChanged ? .inLobby : nil))
    #expect(here.isDone(here.send(Asked.leave)))
    #expect(here.scene.code(ben, .room(.moderate(ModerateParams(room: "demo", action: .ban, user: "A")))) == nil)
    #expect(refusal() == (isChanged ? .banned : nil))
  }

  // MARK: - How long

  /// A further word about the same stay takes the place of the first, be it less or more; one that says nothing of grants changes none.
  @Test func anotherWordAboutTheSameStay() throws {
    let here = here()
    let ben = here.scene.client("B")
    try join(here, nil, from: ben)
    _ = try here.scene.publish(ben, ["0:audio"])
    try join(here, [.chat, .publishAudio, .subscribe])
    #expect(publishes(here.anna, here))
    let seat = try here.scene.seat(here.anna)
    _ = (here.anna.take(), ben.take())
    try join(here, nil, name: "one")
    #expect(told(here.anna) == [] && here.scene.core.rooms.media[seat].tracks.count == 1)
    _ = ben.take()
    let room = try join(here, [.chat], name: "two")
    #expect(room.seq == here.anna.lastSeq - 3 && room.participants.last?.displayName == "two")
    #expect(told(here.anna) == [Self.left([.chat])])
    #expect(here.scene.core.rooms.media[seat].tracks.isEmpty && ben.takeNames().contains(.trackUnpublished))
    #expect(here.scene.core.rooms.media[seat].subscriptions.isEmpty)
    try join(here, [.chat, .subscribe], name: "three")
    #expect(told(here.anna) == [Self.left([.chat, .subscribe])])
    #expect(here.scene.core.rooms.media[seat].subscriptions.count == 1 && !publishes(here.anna, here))
    #expect(try here.scene.seat(here.anna) == seat, "all on one seat")
  }

  @Test(arguments: [true, false]) func itOutlivesSocketsAndTokens(isChanged: Bool) throws {
    let here = here()
    try join(here, isChanged ? [.subscribe] : nil)
    let expected = isChanged ? Self.left([.subscribe]) : .all
    here.scene.cut(here.anna)
    _ = here.scene.resume(here.anna)
    #expect(chat(here.anna, here) == (isChanged ? .forbidden : nil) && rights(here.anna, here) == expected)
    here.scene.rights = Rights.all.union(.moderate)
    #expect(here.scene.code(here.anna, .session(.token(TokenParams(token: "A")))) == nil)
    #expect(rights(here.anna, here) == (isChanged ? expected : Rights.all.union(.moderate)))
    #expect(chat(here.anna, here) == (isChanged ? .forbidden : nil))
  }

  /// What operators and the application have left is what both leave.
  @Test func bothCountWhereBothAre() throws {
    let here = here()
    try join(here, [.subscribe, .chat])
    #expect(here.scene.operate(.narrow(user: "A", to: [.join, .chat], room: "demo")) == .success(.narrowed(1)))
    #expect(rights(here.anna, here) == Self.left([.chat]))
    #expect(here.scene.operate(.liftNarrowings(of: "A", room: nil)) == .success(.lifted(1)))
    #expect(rights(here.anna, here) == Self.left([.subscribe, .chat]))
  }

  /// A device that takes the seat joins by a word of its own.
  @Test(arguments: [true, false]) func anotherDeviceIsAskedAboutAnew(isChanged: Bool) throws {
    let here = here()
    try join(here, [.subscribe])
    let other = here.scene.client("A", "d3")
    try join(here, isChanged ? [.chat] : nil, from: other)
    #expect(told(here.anna).last == .all, "its seat is gone")
    #expect(rights(other, here) == (isChanged ? Self.left([.chat]) : .all) && chat(other, here) == nil)
    #expect(publishes(other, here) != isChanged)
  }

  /// Nobody is asked about a room that somebody is moved to, so that it goes along, by either way.
  @Test(arguments: [true, false], [true, false]) func aMoveTakesItAlong(isChanged: Bool, isOtherWorker: Bool) throws {
    let here = here()
    here.scene.isOtherWorker = isOtherWorker
    try join(here, isChanged ? [.publishAudio] : nil)
    #expect(publishes(here.anna, here))
    let tracks = here.scene.core.rooms.media.tracks.count
    _ = here.anna.take()
    #expect(here.scene.operate(.move(user: "A", room: "demo", to: "hall")) == .success(.moved(1)))
    #expect(here.scene.questions.count == 1 && chat(here.anna, here, "hall") == (isChanged ? .forbidden : nil))
    #expect(here.scene.core.rooms.media.tracks.count == (isOtherWorker ? 0 : tracks))
    #expect(told(here.anna) == [], "it knows")
    #expect(here.scene.operate(.move(user: "A", room: "hall", to: "demo")) == .success(.moved(1)))
    #expect(rights(here.anna, here) == (isChanged ? Self.left([.publishAudio]) : .all))
    #expect(here.isDone(here.send(Asked.leave)))
    #expect(told(here.anna) == (isChanged ? [.all] : []), "until they leave")
  }

  /// Calls are not joined by `room.join`, and their rooms are asked about by nobody.
  @Test func aCallIsAnotherRoom() throws {
    let here = here()
    let ben = here.scene.client("B")
    try join(here, [.subscribe])
    let started = here.send(Asked.call)
    guard case .success(.callStarted(let call))? = here.reply(started) else { throw ErrorObject(.internalError) }
    _ = try here.scene.accept(ben, call.call.callId)
    #expect(chat(here.anna, here, call.room.room) == nil && publishes(here.anna, here))
  }

  /// Seats are not kept beyond the process, nor is this: the next join is asked about.
  @Test func aRestartAsksAnew() throws {
    let first = here(.all) { $0.storesRecords = true }
    try join(first, [.subscribe])
    #expect(first.scene.stores.isEmpty, "nothing is written of it")
  }

  /// What is left holds on the seat where the rest of a join is refused: the answer's name is another's, or they are banned and come in by
  /// a grant that is taken.
  @Test(arguments: [true, false]) func aRefusedJoinLeavesNoMore(isTaken: Bool) throws {
    let here = here()
    let ben = here.scene.client("B")
    try join(here, nil, from: ben, name: "Ben")
    try join(here, nil)
    let id = here.send(.room(.join(RoomJoinParams(room: "demo", displayName: "other"))))
    var changes = QuestionChanges()
    (changes.grants, changes.displayName) = ([.subscribe], isTaken ? "Ben" : "free")
    here.answer(.changed(changes))
    #expect((here.error(id)?.code == .nameTaken) == isTaken)
    #expect(told(here.anna) == [Self.left([.subscribe])] && chat(here.anna, here) == .forbidden)
    #expect(chat(ben, here) == nil)
  }

  @Test(arguments: [true, false]) func whoIsBannedGoesWithTheGrantThatLetThemIn(keepsIt: Bool) throws {
    let here = here(Rights.all.union(.moderate))
    let ben = here.scene.client("B")
    try join(here, nil, from: ben)
    here.scene.rights = Rights.all.union(.moderate)
    try join(here, nil)
    #expect(here.isDone(here.send(Asked.leave)))
    let ban = ModerateParams(room: "demo", action: .ban, user: "A")
    #expect(here.scene.code(ben, .room(.moderate(ban))) == nil)
    try join(here, nil)
    let id = here.send(.room(.join(RoomJoinParams(room: "demo", displayName: "other"))))
    here.answer(Self.answer(keepsIt ? [.chat, .moderate] : [.chat]))
    #expect((here.error(id)?.code == .banned) == !keepsIt)
    let isSeated = here.scene.core.seat(of: here.anna.connection) != nil
    #expect(isSeated == keepsIt)
  }

  /// Who may not write changes nothing of themselves, and is not asked about.
  @Test func whoMayNotWriteIsNotAskedAbout() throws {
    let here = here()
    try join(here, [.subscribe])
    let asked = here.scene.questions.count
    let id = here.send(.room(.join(RoomJoinParams(room: "demo", displayName: "other"))))
    #expect(here.error(id)?.code == .forbidden && here.scene.questions.count == asked)
  }

  /// Where nobody answers and that allows it, nothing limits a join, nor what there is already.
  @Test func silenceLimitsNothing() throws {
    let here = here(.all) { $0.questions.allowsUnanswered = true }
    try join(here, [.chat])
    here.send(.room(.join(RoomJoinParams(room: "demo", displayName: "one"))))
    here.answer(.nothing)
    #expect(rights(here.anna, here) == Self.left([.chat]), "the same stay")
    #expect(here.isDone(here.send(Asked.leave)))
    here.send(Asked.join)
    here.answer(.nothing)
    #expect(rights(here.anna, here) == .all)
  }

  /// What was said of a session before it sat down comes behind its seat, and takes nothing of it away.
  @Test func whatIsOldChangesNothing() throws {
    let here = here()
    try join(here, [.subscribe])
    let id = try #require(here.scene.core.sessions.session(on: here.anna.connection))
    let place = try #require(here.scene.core.sessions.place(of: id))
    var step = Step(at: here.scene.now, after: Numbers(), keepsRecords: false)
    let other = MemberPlace(seat: place.seat, room: "voice")
    here.scene.core.sessions.apply(.seated(id, other, left: [.chat]), &step)
    guard case .rooms(.note(let member))? = step.next() else { throw ErrorObject(.internalError) }
    #expect(member.left(in: "voice") == [.chat] && member.left(in: "demo") == nil)
  }
}
