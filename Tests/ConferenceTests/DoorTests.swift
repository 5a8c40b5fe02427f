// Who is kept out of a room, and who is let in: kicks, bans, locks and lobbies, also over a restart.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct DoorTests {
  private var storing: ConferenceRules {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    return rules
  }

  // MARK: - Kicked and banned

  @Test func whoIsKickedMayComeBack() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .kick, user: "B") == nil)
    #expect(here.ben.takeNames() == [.roomModerated, .roomClosed])
    #expect(here.carl.takeNames() == [.roomModerated, .participantLeft])
    #expect(here.say(here.ben)?.code == .roomClosed)
    #expect(try here.scene.join(here.ben).get().count == 3)
    #expect(here.moderate(here.host, .kick, user: "nobody")?.code == .userNotFound)
  }

  @Test func whoIsBannedMayNotWhateverTheyComeWith() throws {
    let here = try Assembly()
    let until = here.scene.now.wallMilliseconds + 60_000
    #expect(here.moderate(here.host, .ban, user: "B") { $0.until = until } == nil)
    #expect(here.ben.takeNames() == [.roomModerated, .roomClosed])
    let phone = here.scene.client("B", "d2")
    // An encoder is a client that takes its user's place over.
    for (client, takeover) in [(here.ben, false), (phone, false), (phone, true)] {
      let join = RoomJoinParams(room: "demo", autoSubscribe: false, takeover: takeover)
      let error = here.scene.refusal(client, .room(.join(join)))
      #expect(error?.code == .banned && error?.data.until == until)
    }
    #expect(here.scene.code(here.ben, .room(.join(RoomJoinParams(room: "voice")))) == nil, "elsewhere they may be")
    here.scene.advance(.milliseconds(59_999))
    #expect(here.scene.code(phone, .room(.join(RoomJoinParams(room: "demo")))) == .banned)
    here.scene.advance(.milliseconds(1))
    #expect(here.scene.code(phone, .room(.join(RoomJoinParams(room: "demo")))) == nil)
  }

  @Test func anEncoderIsMutedKickedAndBannedAsAnybodyIs() throws {
    let here = try Assembly(in: "hall")
    let encoder = here.scene.client("W")
    let join = RoomJoinParams(room: "hall", autoSubscribe: false, takeover: true)
    #expect(here.scene.code(encoder, .room(.join(join))) == nil)
    try here.scene.publish(encoder, ["0:audio", "1:video"])
    #expect(here.moderate(here.host, .mute, user: "W") == nil)
    #expect(try here.seen("W", by: here.carl)?.tracks.map(\.muted) == [true, false])
    _ = encoder.take()
    #expect(here.moderate(here.host, .ban, user: "W") == nil)
    #expect(encoder.take().contains(.roomClosed(RoomClosed(room: "hall", reason: .removed))), "what ends its session")
    #expect(here.scene.code(encoder, .room(.join(join))) == .banned)
    #expect(here.scene.core.gauges.tracks == 0)
  }

  @Test func aBanIsTakenBack() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .ban, user: "absent") == nil, "they need not be there")
    #expect(here.scene.code(here.scene.client("absent"), .room(.join(RoomJoinParams(room: "demo")))) == .banned)
    #expect(here.moderate(here.host, .kick, user: "C") == nil)
    for _ in 0..<2 { #expect(here.moderate(here.host, .unban, user: "absent") == nil) }
    #expect(here.scene.code(here.scene.client("absent", "d2"), .room(.join(RoomJoinParams(room: "demo")))) == nil)
  }

  /// Others are told nothing of it, and what is over is not shown.
  @Test func moderatorsSeeWhoIsBanned() throws {
    let here = try Assembly()
    func shown(to client: Client) throws -> [RoomBan]? { try here.scene.join(client).get().moderation?.bans }
    #expect(try shown(to: here.host) == nil)
    let until = here.scene.now.wallMilliseconds + 60_000
    #expect(here.moderate(here.host, .ban, user: "B") { $0.until = until } == nil)
    #expect(here.moderate(here.host, .ban, user: "absent") == nil)
    #expect(try shown(to: here.host) == [RoomBan(user: "B", until: until), RoomBan(user: "absent")])
    #expect(try shown(to: here.carl) == nil)
    here.scene.advance(.milliseconds(60_000))
    #expect(try shown(to: here.host) == [RoomBan(user: "absent")])
    #expect(here.moderate(here.host, .unban, user: "absent") == nil)
    #expect(try shown(to: here.host) == nil)
    for number in 0...ProtocolLimits.page {
      #expect(here.moderate(here.host, .ban, user: "u\(1_000 + number)") == nil)
      here.scene.advance(.milliseconds(200))
      let count = try shown(to: here.host)?.count
      #expect(count == min(number + 1, ProtocolLimits.page))
    }
  }

  @Test func aBanNeedsATimeToComeAndSomebodyElse() throws {
    let here = try Assembly()
    let now = here.scene.now.wallMilliseconds
    #expect(here.moderate(here.host, .ban, user: "B") { $0.until = now }?.data.field == "until")
    #expect(here.moderate(here.host, .ban, user: "H")?.data.reason == "self")
    #expect(here.scene.core.rooms.bans.count == 0)
  }

  /// A room that is not configured goes with its last one: who was banned must not come back as its first.
  @Test func aBanOutlivesItsRoom() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .ban, user: "B") == nil)
    for client in [here.host, here.carl] {
      #expect(here.scene.code(client, .room(.leave(RoomParams(room: "hall")))) == nil)
    }
    #expect(here.scene.code(here.ben, .room(.join(RoomJoinParams(room: "hall")))) == .banned)
  }

  @Test func soManyAreBannedAndNoMore() throws {
    var bans = BanTable()
    func ban(_ user: String, _ room: String, until: Int64? = nil, by: String = "H") -> KeptBan {
      KeptBan(room: room, user: user, until: until, by: by)
    }
    for index in 0..<BanTable.mostOfRoom {
      try bans.checkSpace(for: "u\(index)", in: "r0", by: "X", at: 0)
      #expect(bans.insert(ban("u\(index)", "r0", until: index == 0 ? 5 : nil), at: 0).isEmpty)
    }
    #expect(throws: ErrorObject.tooLarge("user", limit: 1_000, count: 1_001)) {
      try bans.checkSpace(for: "one more", in: "r0", by: "X", at: 0)
    }
    try bans.checkSpace(for: "u7", in: "r0", by: "X", at: 0)
    try bans.checkSpace(for: "one more", in: "r0", by: "X", at: 5)
    #expect(bans.insert(ban("one more", "r0"), at: 5).map(\.user) == ["u0"], "who is over makes space")
    for index in 1_000..<BanTable.most { _ = bans.insert(ban("u", "r\(index)", by: "H\(index / 1_000)"), at: 0) }
    #expect(bans.count == 10_000)
    #expect(throws: ErrorObject.tooLarge("user", limit: 10_000, count: 10_001)) {
      try bans.checkSpace(for: "v", in: "r1000", by: "X", at: 0)
    }
  }

  /// Neither an admission nor a role opens a door to somebody who was put out.
  @Test func whoIsKickedHasToAskAgain() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .lobby) == nil && here.moderate(here.host, .admit, user: "B") == nil)
    #expect(here.moderate(here.host, .role, user: "C") { $0.role = .moderator } == nil)
    for client in [here.ben, here.carl] {
      #expect(here.moderate(here.host, .kick, user: client.user) == nil)
      #expect(here.scene.code(client, .room(.join(RoomJoinParams(room: "demo")))) == .inLobby)
    }
  }

  // MARK: - Locked

  @Test func aLockedRoomTakesModeratorsAlone() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lock) == nil)
    let late = here.scene.client("L")
    #expect(here.scene.code(late, .room(.join(RoomJoinParams(room: "hall")))) == .roomLocked)
    guard case .roomInfo(let info) = try here.scene.request(late, .room(.info(RoomParams(room: "hall")))).get() else {
      return
    }
    #expect(info.moderation == RoomModeration(locked: true))
    #expect(try here.scene.join(here.ben, "hall").get().moderation?.locked == true, "who is in it stays")
    here.scene.rights = Rights.all.union(.moderate)
    #expect(here.scene.code(here.scene.client("M"), .room(.join(RoomJoinParams(room: "hall")))) == nil)
    here.scene.rights = .all
    #expect(here.moderate(here.host, .unlock) == nil)
    #expect(here.scene.code(late, .room(.join(RoomJoinParams(room: "hall")))) == nil)
  }

  @Test func anOperatorsLockHoldsForAllAndTheirKeyOpensEveryLock() throws {
    let here = try Assembly()
    _ = here.scene.operate(.setLocked(true, room: "demo"))
    #expect(here.moderate(here.host, .unlock) == nil)
    #expect(here.moderate(here.host, .kick, user: "C") == nil)
    #expect(here.scene.code(here.carl, .room(.join(RoomJoinParams(room: "demo")))) == .roomLocked)
    here.scene.rights = Rights.all.union(.moderate)
    #expect(here.scene.code(here.scene.client("M"), .room(.join(RoomJoinParams(room: "demo")))) == .roomLocked)
    #expect(here.moderate(here.host, .lock) == nil)
    _ = here.scene.operate(.setLocked(false, room: "demo"))
    #expect(here.scene.code(here.carl, .room(.join(RoomJoinParams(room: "demo")))) == nil)
  }

  // MARK: - The lobby

  private func knock(_ here: Assembly, _ client: Client) -> ErrorObject? {
    here.scene.refusal(client, .room(.join(RoomJoinParams(room: here.room, displayName: "late " + client.user))))
  }

  private func knocks(_ client: Client) -> [RoomKnock] {
    client.events.compactMap { if case .roomKnock(let knock) = $0 { knock } else { nil } }
  }

  @Test func whoComesWaitsToBeLetIn() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    let (dora, emil) = (here.scene.client("D"), here.scene.client("E"))
    here.forget()
    for _ in 0..<2 { #expect(knock(here, dora)?.code == .inLobby) }
    #expect(knock(here, emil)?.code == .inLobby)
    #expect(knocks(here.host).map(\.user) == ["D", "E"], "each is told once")
    #expect(here.ben.take().isEmpty, "it is moderators' business")
    let waiting = try here.scene.join(here.host, "hall").get().moderation?.waiting
    #expect(waiting?.map(\.displayName) == ["late D", "late E"])
    #expect(try here.scene.join(here.ben, "hall").get().moderation == RoomModeration(lobby: true))

    #expect(here.moderate(here.host, .deny, user: "E") == nil)
    #expect(here.moderated(emil).map(\.action) == [.deny] && knock(here, emil)?.data.reason == "denied")
    #expect(here.moderate(here.host, .admit, user: "D") == nil)
    #expect(here.moderated(dora).map(\.action) == [.admit] && knock(here, dora) == nil)
    // They come back without asking; and a moderator may think better of it.
    #expect(here.scene.code(dora, .room(.leave(RoomParams(room: "hall")))) == nil && knock(here, dora) == nil)
    #expect(here.moderate(here.host, .admit, user: "E") == nil)
    #expect(knock(here, emil) == nil)
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .speaker } == nil)
    #expect(here.scene.code(here.ben, .room(.leave(RoomParams(room: "hall")))) == nil)
    #expect(knock(here, here.ben) == nil, "who has a role needs no admission")
  }

  @Test func whoWaitsIsToldWhenTheDoorChanges() throws {
    for (action, code) in [(ModerationAction.unlock, ErrorCode?.none), (.lock, .roomLocked)] {
      let here = try Assembly(in: "hall")
      #expect(here.moderate(here.host, .lobby) == nil)
      let dora = here.scene.client("D")
      #expect(knock(here, dora)?.code == .inLobby)
      #expect(here.moderate(here.host, action) == nil)
      #expect(here.moderated(dora).map(\.action) == [action] && knock(here, dora)?.code == code)
    }
  }

  @Test func allAreAdmittedAtOnce() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    let people = ["D", "E", "F"].map { here.scene.client($0) }
    for one in people { #expect(knock(here, one)?.code == .inLobby) }
    #expect(here.moderate(here.host, .admit) == nil)
    for one in people { #expect(here.moderated(one).map(\.user) == [one.user] && knock(here, one) == nil) }
  }

  @Test func whoGoesAwayWaitsNoMore() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    let (dora, emil, fred) = (here.scene.client("D"), here.scene.client("E"), here.scene.client("F"))
    for one in [dora, emil, fred] { #expect(knock(here, one)?.code == .inLobby) }
    here.forget()
    here.scene.cut(dora, clean: true)
    here.scene.cut(emil)
    here.scene.advance(.milliseconds(2_000))
    #expect(here.moderate(here.host, .ban, user: "F") == nil)
    #expect(knocks(here.host).map(\.user) == ["D", "E", "F"] && knocks(here.host).allSatisfy { $0.gone == true })
    #expect(here.moderated(fred).map(\.action) == [.ban] && knock(here, fred)?.code == .banned)
    #expect(try here.scene.join(here.host, "hall").get().moderation?.waiting == nil)
  }

  @Test func oneWaitsInOneLobby() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    let lone = here.scene.client("L")
    #expect(knock(here, lone)?.code == .inLobby)
    here.scene.rights = Rights.all.union(.moderate)
    let other = here.scene.client("O")
    _ = try here.scene.join(other, "attic").get()
    here.scene.rights = .all
    #expect(here.scene.code(other, .room(.moderate(ModerateParams(room: "attic", action: .lobby)))) == nil)
    #expect(here.scene.code(lone, .room(.join(RoomJoinParams(room: "attic")))) == .inLobby)
    #expect(knocks(here.host).map(\.gone) == [nil, true])
    // The room is gone with its last one, and so is its lobby.
    _ = lone.take()
    #expect(here.scene.code(other, .room(.leave(RoomParams(room: "attic")))) == nil)
    #expect(lone.take().map(\.name) == [.roomModerated])
    #expect(here.scene.code(lone, .room(.join(RoomJoinParams(room: "attic")))) == nil)
  }

  /// The host opens a lobby and lets B in again, and sends C away.
  private func lobby(in room: String) throws -> Assembly {
    let here = try Assembly(in: room)
    #expect(here.moderate(here.host, .lobby) == nil)
    for client in [here.ben, here.carl] { leave(here, client) }
    #expect(here.moderate(here.host, .admit, user: "B") == nil && here.moderate(here.host, .deny, user: "C") == nil)
    return here
  }

  private func leave(_ here: Assembly, _ client: Client) {
    #expect(here.scene.code(client, .room(.leave(RoomParams(room: here.room)))) == nil)
  }

  /// Who was let into one meeting is not let into the next.
  @Test func admissionsEndWithTheMeeting() throws {
    let here = try lobby(in: "demo")
    #expect(knock(here, here.ben) == nil && here.moderate(here.host, .end) == nil)
    _ = try here.scene.join(here.host).get()
    #expect(knock(here, here.ben)?.code == .inLobby && knock(here, here.carl)?.code == .inLobby)
    // The same where an operator ends it.
    #expect(here.moderate(here.host, .admit, user: "B") == nil)
    _ = here.scene.operate(.closeRoom("demo"))
    _ = try here.scene.join(here.host).get()
    #expect(knock(here, here.ben)?.code == .inLobby)
    // Also where nobody is in it at the moment.
    #expect(here.moderate(here.host, .admit, user: "B") == nil)
    leave(here, here.host)
    _ = here.scene.operate(.closeRoom("demo"))
    #expect(knock(here, here.ben)?.code == .inLobby)
  }

  @Test func aLobbyThatIsSetAgainAdmitsAnew() throws {
    let here = try lobby(in: "demo")
    let dora = here.scene.client("D")
    #expect(knock(here, dora)?.code == .inLobby && here.moderate(here.host, .lobby) == nil)
    #expect(try here.scene.join(here.host).get().moderation?.waiting?.map(\.user) == ["D"], "who waits goes on")
    #expect(knock(here, here.ben)?.code == .inLobby && knock(here, here.carl)?.code == .inLobby)
    #expect(here.moderate(here.host, .admit) == nil)
    for client in [dora, here.ben] { #expect(knock(here, client) == nil) }
  }

  /// A page that is loaded again finds the admission; the next meeting of a configured room does not.
  @Test func admissionsEndWhereARoomIsEmptyForTheGrace() throws {
    let here = try lobby(in: "demo")
    let grace = here.scene.core.rules.resumeGrace
    leave(here, here.host)
    here.scene.advance(grace - .milliseconds(1))
    #expect(knock(here, here.ben) == nil, "they are there again in time")
    here.scene.advance(.seconds(60))
    leave(here, here.ben)
    here.scene.advance(grace - .milliseconds(1))
    #expect(knock(here, here.ben) == nil)
    leave(here, here.ben)
    here.scene.advance(grace)
    #expect(knock(here, here.ben)?.code == .inLobby && knock(here, here.carl)?.code == .inLobby)
  }

  @Test func aLobbyTakesSoManyAndNoMore() {
    var lobby = Lobby()
    func knocker(_ index: Int) -> Lobby.Knocker {
      var random = SplitMix64(seed: UInt64(index))
      let id = SessionID(UInt64(index))
      let identity = Identity(user: "u\(index)", device: nil, displayName: "", rights: .all, isVerified: false)
      let member = MemberFacts(
        id, Grants(identity: identity, granted: .all), [], Presence(isConnected: true, isOverdue: false),
        ResumeToken(session: id, random: &random))
      return Lobby.Knocker(member, displayName: "")
    }
    for index in 0..<Lobby.mostWaiting { lobby.knock(knocker(index)) }
    for index in 0...Lobby.mostDecided { lobby.decide("u\(index)", isAdmitted: true) }
    #expect(lobby.waiting.isEmpty && lobby.isAdmitted("u0") == nil && lobby.isAdmitted("u1") == true)
    #expect(lobby.isAdmitted("u\(Lobby.mostDecided)") == true)
  }

  @Test func whoFindsTheLobbyFullTriesAgainLater() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    for index in 0..<Lobby.mostWaiting { #expect(knock(here, here.scene.client("w\(index)"))?.code == .inLobby) }
    let late = here.scene.client("late")
    let error = knock(here, late)
    #expect(error?.code == .overloaded && error?.data.limit == 100 && error?.data.retryable == true)
    #expect(here.moderate(here.host, .admit, user: "w7") == nil)
    #expect(knock(here, late)?.code == .inLobby)
  }

  /// Every knock and every hand is heard by others: nobody makes them hear it without end.
  @Test func knocksAndHandsCountAsMessagesDo() throws {
    var rules = ConferenceRules.test
    (rules.chatPerSecond, rules.chatBurst) = (1, 3)
    let here = try Assembly(rules, in: "hall")
    for isUp in [true, false, true] {
      #expect(here.scene.code(here.ben, .room(.raiseHand(RaiseHandParams(room: "hall", raised: isUp)))) == nil)
    }
    #expect(here.scene.code(here.ben, .room(.raiseHand(RaiseHandParams(room: "hall", raised: false)))) == .rateLimited)
    #expect(here.moderate(here.host, .lobby) == nil)
    here.scene.rights = Rights.all.union(.moderate)
    let other = here.scene.client("O")
    _ = try here.scene.join(other, "attic").get()
    here.scene.rights = .all
    #expect(here.scene.code(other, .room(.moderate(ModerateParams(room: "attic", action: .lobby)))) == nil)
    let dora = here.scene.client("D")
    let codes = ["hall", "attic", "hall", "attic"].map { here.scene.code(dora, .room(.join(RoomJoinParams(room: $0)))) }
    #expect(codes == [.inLobby, .inLobby, .inLobby, .rateLimited])
  }

  // MARK: - After a restart

  @Test func whatAnOperatorLocksIsKeptToo() throws {
    let scene = Scene(storing)
    for isLocked in [true, false] {
      _ = scene.operate(.setLocked(isLocked, room: "demo"))
      let door = KeptDoor(room: "demo", isLockedByOperator: true, door: .open, isChatDisabled: false)
      #expect(scene.stores.last?.1 == [isLocked ? .door(door) : .forgetDoor("demo")])
    }
  }

  @Test func locksAndBansOutliveARestart() throws {
    let here = try Assembly(storing)
    #expect(here.moderate(here.host, .ban, user: "B") == nil)
    #expect(here.moderate(here.host, .disableChat) == nil && here.moderate(here.host, .lock) == nil)
    var restored = RestoredState()
    for change in here.scene.stores.flatMap(\.1) {
      if case .ban(let ban) = change { restored.bans.append(ban) }
      if case .door(let door) = change { restored.doors = [door] }
    }
    let old = KeptBan(room: "demo", user: "C", until: 1, by: "H")
    restored.bans.append(old)
    restored.doors.append(KeptDoor(room: "hall", isLockedByOperator: true, door: .open, isChatDisabled: false))
    let next = Scene(storing, restored: restored)
    #expect(next.stores.map(\.1) == [[.forgetBan(room: "demo", user: "C")]], "what is over is forgotten")
    next.isVerified = true
    #expect(next.code(next.client("B"), .room(.join(RoomJoinParams(room: "demo")))) == .banned)
    #expect(next.code(next.client("C"), .room(.join(RoomJoinParams(room: "demo")))) == .roomLocked)
    next.rights = Rights.all.union(.moderate)
    let seen = try next.join(next.client("H"), "demo").get().moderation
    #expect(seen == RoomModeration(locked: true, chatDisabled: true, bans: [RoomBan(user: "B")]))
  }

  /// A room that is not configured has ten minutes; then its door is as usual, and forgotten.
  @Test func aDoorWaitsForItsRoom() throws {
    var restored = RestoredState()
    restored.doors = [KeptDoor(room: "hall", isLockedByOperator: false, door: .lobby, isChatDisabled: false)]
    for isSoon in [true, false] {
      let next = Scene(storing, restored: restored)
      if !isSoon { next.advance(next.core.rules.restoredChatTime) }
      #expect(next.stores.flatMap(\.1) == (isSoon ? [] : [.forgetDoor("hall")]))
      let code = next.code(next.client("B"), .room(.join(RoomJoinParams(room: "hall"))))
      #expect(code == (isSoon ? .inLobby : nil))
    }
  }

  /// Nobody can be the first to come back, so only an operator can open it.
  @Test func anOperatorOpensARoomThatNobodyHasComeBackTo() throws {
    var restored = RestoredState()
    restored.doors = [KeptDoor(room: "hall", isLockedByOperator: true, door: .locked, isChatDisabled: false)]
    let next = Scene(storing, restored: restored)
    let anna = next.client("A")
    #expect(next.code(anna, .room(.join(RoomJoinParams(room: "hall")))) == .roomLocked)
    _ = try next.operate(.setLocked(false, room: "hall")).get()
    #expect(next.stores.last?.1 == [.forgetDoor("hall")])
    #expect(next.code(anna, .room(.join(RoomJoinParams(room: "hall")))) == nil)
  }

  @Test func aRoomThatIsGoneTakesItsDoorAlong() throws {
    let here = try Assembly(storing, in: "hall")
    #expect(here.moderate(here.host, .lock) == nil)
    for client in [here.ben, here.carl, here.host] {
      #expect(here.scene.code(client, .room(.leave(RoomParams(room: "hall")))) == nil)
    }
    #expect(here.scene.stores.last?.1 == [.forgetDoor("hall")])
    #expect(here.scene.code(here.ben, .room(.join(RoomJoinParams(room: "hall")))) == nil)
  }
}
