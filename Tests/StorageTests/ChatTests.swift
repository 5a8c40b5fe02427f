// Chat in the file: what was written is there again, and what was forgotten is not.

import Basics
import Members
import RoostProtocol
import Testing

@testable import Storage

@Suite struct ChatTests {
  @Test func messagesAreThereAgainInTheirOrderAndWhole() throws {
    let folder = try Folder()
    let messages = [
      StoredMessage(7, text: "first"), StoredMessage(9, text: "żółć 🎈\u{0} \"quoted\"", clientMsgId: "c1"),
      StoredMessage(12, to: ["bob", "carol"]),
    ]
    try folder.open { file in
      for message in messages { try file.apply(.message(message, forgetting: nil)) }
      try file.apply(.message(StoredMessage(10, room: "other"), forgetting: nil))
    }
    let restored = try folder.restored()
    #expect(restored.chats == ["demo": messages, "other": [StoredMessage(10, room: "other")]])
    #expect(restored.lastNumber == 12)
  }

  @Test func onlyTheNewestAreReadBack() throws {
    let folder = try Folder()
    try folder.open { file in
      for number in 1...20 { try file.apply(.message(StoredMessage(UInt64(number)), forgetting: nil)) }
    }
    #expect(try folder.restored(limit: 3).chats["demo"]?.map(\.number) == [18, 19, 20])
    #expect(try folder.restored(limit: 0).chats["demo"] == [])
  }

  @Test func whatTheRoomForgetsIsForgottenInTheFile() throws {
    let folder = try Folder()
    try folder.open { file in
      for number in 1...5 { try file.apply(.message(StoredMessage(UInt64(number)), forgetting: nil)) }
      try file.apply(.message(StoredMessage(3, room: "other"), forgetting: nil))
      try file.apply(.message(StoredMessage(6), forgetting: 2))
    }
    #expect(try folder.restored().chats["demo"]?.map(\.number) == [3, 4, 5, 6])
    try folder.open { try $0.apply(.forgetRoom("demo")) }
    #expect(try folder.restored().chats.keys.sorted() == ["other"])
  }

  @Test func bansAndDoorsComeAndGo() throws {
    let folder = try Folder()
    let ban = KeptBan(room: "demo", user: "carl", until: 5, by: "anna")
    let open = KeptBan(room: "demo", user: "dora", until: nil, by: "anna")
    var door = KeptDoor(room: "demo", isLockedByOperator: false, door: .lobby, isChatDisabled: true)
    try folder.open { try $0.apply(.ban(ban), .ban(open), .door(door)) }
    #expect(try folder.restored().bans == [open, ban] && folder.restored().doors == [door])
    door.door = .locked
    let later = KeptBan(room: "demo", user: "carl", until: 9, by: "ben")
    try folder.open { try $0.apply(.ban(later), .forgetBan(room: "demo", user: "dora"), .door(door)) }
    #expect(try folder.restored().bans == [later] && folder.restored().doors == [door])
    try folder.open { try $0.apply(.forgetBan(room: "demo", user: "carl"), .forgetDoor("demo")) }
    #expect(try folder.restored().bans.isEmpty && folder.restored().doors.isEmpty)
  }

  @Test func addressesComeAndGo() throws {
    let folder = try Folder()
    func ban(_ address: String, room: String?, user: String?, until: Int64) throws -> KeptAddressBan {
      let range = try #require(AddressRange(address))
      return KeptAddressBan(.init(room: room, address: range, user: user), until: until, by: user.map { _ in "anna" })
    }
    let bans = [
      try ban("203.0.113.0/24", room: nil, user: nil, until: 9),
      try ban("2001:db8::/64", room: "demo", user: nil, until: 8),
      try ban("203.0.113.7", room: "demo", user: "carl", until: 7),
      try ban("203.0.113.7", room: "demo", user: "dora", until: 6),
    ]
    try folder.open { file in for ban in bans { try file.apply(.addressBan(ban)) } }
    #expect(try folder.restored().addressBans == bans)
    let later = try ban("203.0.113.7", room: "demo", user: "carl", until: 10)
    try folder.open {
      try $0.apply(.addressBan(later), .forgetAddressBan(bans[0].subject), .forgetAddressBan(bans[3].subject))
    }
    #expect(try folder.restored().addressBans == [later, bans[1]])
    // A row that names no address is none.
    try Database(path: folder.file).execute("UPDATE address_ban SET address = 'everywhere' WHERE user = 'carl'")
    #expect(try folder.restored().addressBans == [bans[1]])
  }

  @Test func tokensAreTakenBackAndBelievedAgain() throws {
    let folder = try Folder()
    let (one, two) = (KeptRevocation(tokenID: "a", until: 9), KeptRevocation(tokenID: "b'c", until: 8))
    try folder.open { try $0.apply(.revocation(two), .revocation(one)) }
    #expect(try folder.restored().revocations == [one, two])
    let later = KeptRevocation(tokenID: "b'c", until: 10)
    try folder.open { try $0.apply(.revocation(later), .forgetRevocation("a")) }
    #expect(try folder.restored().revocations == [later])
  }

  @Test func whatIsLeftOfGrantsIsKept() throws {
    let folder = try Folder()
    let everywhere = KeptNarrowing(.init(user: "a", room: nil), rights: [.join, .publishAudio, .moderate], at: 9)
    let there = KeptNarrowing(.init(user: "a", room: "b'c"), rights: [], at: 8)
    try folder.open { try $0.apply(.narrowing(there), .narrowing(everywhere)) }
    #expect(try folder.restored().narrowings == [everywhere, there])
    var later = there
    (later.rights, later.at) = ([.chat], 10)
    try folder.open { try $0.apply(.narrowing(later), .forgetNarrowing(everywhere.subject)) }
    #expect(try folder.restored().narrowings == [later])
    // A word that this program does not know gives nothing.
    try Database(path: folder.file).execute("UPDATE narrowing SET grants = 'join fly'")
    #expect(try folder.restored().narrowings.map(\.rights) == [[.join]])
  }

  @Test func aDoorOfAKindThatIsNotKnownIsLocked() throws {
    let folder = try Folder()
    try folder.open { _ in }
    try Database(path: folder.file).execute("INSERT INTO door VALUES ('default', 'demo', 0, 'ajar', 0)")
    #expect(try folder.restored().doors.map(\.door) == [.locked])
  }

  @Test func aBatchIsOnDiskAsAWholeOrNotAtAll() throws {
    let folder = try Folder()
    let big = String(repeating: "x", count: 8000)
    var failed = 0
    try folder.open { file in
      file.limitGrowth(74)
      for batch in 0..<40 {
        let changes = (0..<5).map { index -> StoreChange in
          .message(StoredMessage(UInt64(batch * 5 + index + 1), text: big), forgetting: nil)
        }
        do throws(StorageError) {
          try file.apply(changes.map { RealmChange($0) }, wallMilliseconds: 0)
        } catch {
          failed += 1
          #expect(error.kind == .full)
        }
      }
    }
    let numbers = try #require(folder.restored().chats["demo"]).map(\.number)
    #expect(failed > 0 && numbers.count == (40 - failed) * 5)
    #expect(Set(numbers.map { ($0 - 1) / 5 }).count == 40 - failed, "no part of a batch")
  }
}
