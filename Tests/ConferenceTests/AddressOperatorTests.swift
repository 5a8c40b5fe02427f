// What operators ban: addresses and networks, of a room or of all; what they may not; and how many bans of addresses there are.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AddressOperatorTests {
  private func refusal(_ street: Street, _ address: String, room: String? = nil, until: Int64? = nil) throws -> String?
  {
    let action = OperatorAction.banAddress(try street.range(address), room: room, until: until)
    guard case .failure(let error) = street.scene.operate(action) else { return nil }
    return error.data.field ?? error.code.name
  }

  @Test func anAddressIsBannedFromARoomOrFromAll() throws {
    let street = try Street()
    let end = street.wall + 3_600_000
    let address = try street.range("203.0.113.7")
    let one = KeptAddressBan(.init(room: "hall", address: address, user: nil), until: end, by: nil)
    #expect(
      street.scene.operate(.banAddress(address, room: "hall", until: nil)) == .success(.bans([], addresses: [one])))
    #expect(try street.isThere("B") && street.isThere("C"), "who is there stays")
    #expect(street.refusal("X", from: "203.0.113.7")?.data.until == end)
    #expect(street.refusal("X", from: "203.0.113.7", room: "voice") == nil)
    let later = street.wall + 30 * 24 * 3_600_000
    #expect(try refusal(street, "203.0.112.0/20", until: later) == nil)
    for room in ["hall", "voice", "new"] {
      let error = street.refusal("X", from: "203.0.113.7", room: room)
      #expect(error?.code == .banned && error?.data.until == later, "the one that lasts longest counts: \(room)")
      #expect(street.refusal("X", from: "203.0.127.255", room: room)?.code == .banned)
      #expect(street.refusal("X", from: "203.0.128.0", room: room) == nil)
    }
  }

  @Test func ofIPv6NoLessThanANetworkIsMeant() throws {
    let street = try Street()
    for text in ["2001:db8::5", "2001:db8:0:0:8000::/65"] { #expect(try refusal(street, text) == nil) }
    #expect(street.kept.map(\.subject.address.description) == ["2001:db8::/64"])
    #expect(street.refusal("X", from: "2001:db8::1")?.code == .banned)
    #expect(try refusal(street, "2001:db8::/32") == nil)
    #expect(street.refusal("X", from: "2001:db8:ffff::1")?.code == .banned)
    #expect(street.refusal("X", from: "2001:db9::1") == nil)
  }

  @Test func whatIsNotToBeBannedIsRefused() throws {
    var rules = ConferenceRules.test
    rules.proxies = ["192.0.2.14", "2001:db8:5::1"].compactMap { AddressRange($0) }
    let street = try Street(rules)
    for text in [
      "127.0.0.1", "127.0.0.0/16", "::1", "::/64", "::/32", "192.0.2.14", "192.0.2.0/24", "2001:db8:5::9",
      "203.0.0.0/15",
      "10.0.0.0/8", "2001:db8::/31", "2000::/3",
    ] {
      #expect(try refusal(street, text) == "address", "\(text)")
    }
    for room in ["", "call:1", " hall"] { #expect(try refusal(street, "203.0.113.7", room: room) == "room") }
    let month: Int64 = 30 * 24 * 3_600_000
    for until in [0, street.wall, street.wall + month + 1, .max] {
      #expect(try refusal(street, "203.0.113.7", until: until) == "until", "\(until)")
    }
    #expect(street.kept.isEmpty)
    #expect(try refusal(street, "203.0.113.7", until: street.wall + month) == nil)
    for text in ["203.0.0.0/16", "2001:db9::/32", "192.0.2.15"] { #expect(try refusal(street, text) == nil, "\(text)") }
  }

  /// Who operates an open server knows a name, and not where it comes from.
  @Test func theAddressOfSomebodyIsBanned() throws {
    let street = try Street()
    func ban(_ user: String, _ room: String) -> ErrorCode? {
      let answer = street.scene.operate(.banAddressOf(user: user, room: room, until: nil))
      if case .failure(let error) = answer { return error.code }
      return nil
    }
    #expect(ban("absent", "hall") == .userNotFound && ban("B", "voice") == .userNotFound)
    #expect(ban("B", "none") == .roomNotFound && street.kept.isEmpty)
    #expect(ban("B", "hall") == nil)
    #expect(street.kept.map(\.subject.address.description) == ["203.0.113.7"] && street.kept[0].subject.user == nil)
    #expect(street.refusal("X", from: "203.0.113.7")?.code == .banned)
    #expect(street.refusal("X", from: "203.0.113.7", room: "voice") == nil)
    #expect(try street.isThere("B"), "they are put out by another request")
    let local = try Street(guests: "127.0.0.1")
    guard case .failure(let error) = local.scene.operate(.banAddressOf(user: "B", room: "hall", until: nil)) else {
      Issue.record("this machine is not to be banned")
      return
    }
    #expect(error.code == .invalidParams && error.data.field == "user" && local.kept.isEmpty)
  }

  @Test func bansAreSeenByRoomAndLifted() throws {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    let street = try Street(rules)
    #expect(street.ban("B") == nil)
    for (text, room) in [("203.0.113.7", "hall"), ("203.0.113.7", nil), ("198.51.100.0/24", "voice")]
      as [(String, String?)]
    {
      #expect(try refusal(street, text, room: room) == nil)
    }
    func seen(_ room: String?) throws -> [String] {
      guard case .bans(let users, let addresses, nil) = try street.scene.operate(.bans(room: room)).get() else {
        return []
      }
      return users.map(\.user)
        + addresses.map { "\($0.subject.address) \($0.subject.room ?? "-") \($0.subject.user ?? "-") \($0.by ?? "-")" }
    }
    let (all, own, named) = ("203.0.113.7 - - -", "203.0.113.7 hall - -", "203.0.113.7 hall B H")
    #expect(try seen(nil) == ["B", all, own, named, "198.51.100.0/24 voice - -"])
    #expect(try seen("hall") == ["B", all, own, named], "those of all rooms are the room's too")
    #expect(try seen("demo") == [all])

    let (address, network) = (try street.range("203.0.113.7"), try street.range("203.0.113.0/24"))
    guard case .failure(let error) = street.scene.operate(.liftAddress(network, room: nil)) else {
      Issue.record("it is the address that is banned, not the network")
      return
    }
    #expect(error.code == .userNotFound)
    street.scene.stores = []
    #expect(street.scene.operate(.liftAddress(address, room: "hall")) == .success(.lifted(2)))
    #expect(street.scene.stores.flatMap(\.1).count == 2)
    #expect(try seen("hall") == ["B", all])
    #expect(street.scene.operate(.liftAddress(address, room: nil)) == .success(.lifted(1)))
    #expect(street.refusal("X", from: "203.0.113.7") == nil)
    #expect(street.refusal("B", from: "203.0.113.8")?.code == .banned, "the user is still banned")
  }

  @Test func pagesGoOnWithAddresses() throws {
    var restored = RestoredState()
    restored.bans = (0..<999).map { KeptBan(room: "r\($0)", user: "u", until: nil, by: "H") }
    restored.addressBans = try (0..<3).map { index in
      let address = try #require(AddressRange("203.0.113.\(index)"))
      return KeptAddressBan(.init(room: nil, address: address, user: nil), until: 1_700_000_060_000, by: nil)
    }
    let scene = Scene(restored: restored)
    guard case .bans(let first, let addresses, let next) = try scene.operate(.bans(room: nil)).get(),
      case .bans(let none, let rest, let last) = try scene.operate(.bans(room: nil, page: 2)).get()
    else {
      Issue.record("these are lists")
      return
    }
    #expect(first.count == 999 && addresses == Array(restored.addressBans.prefix(1)) && next == 2)
    #expect(none.isEmpty && rest == Array(restored.addressBans.dropFirst()) && last == nil)
  }

  // MARK: - How many

  private let now = Now(instant: .zero, wallMilliseconds: 1_000)

  private func ban(
    _ index: Int, _ room: String?, by moderator: String? = nil, until: Int64 = 9_000
  ) throws -> KeptAddressBan {
    let address = try #require(PeerNetwork(SocketAddress(v4: 0xcb00_0000 | UInt32(index), port: 1)).range)
    return KeptAddressBan(.init(room: room, address: address, user: moderator), until: until, by: moderator)
  }

  private func tooMany(_ limit: Int) -> ErrorObject { .tooLarge("address", limit: limit, count: limit + 1) }

  @Test func soManyOfARoomAndNoMore() throws {
    for room in ["r", nil] {
      var table = AddressBanTable()
      for index in 0..<AddressBanTable.mostOfRoom {
        let ban = try ban(index, room, until: index == 7 ? 5_000 : 9_000)
        try table.checkSpace(for: ban, at: 1_000)
        #expect(table.insert(ban, at: now).isEmpty)
      }
      #expect(throws: tooMany(200)) { try table.checkSpace(for: ban(200, room), at: 1_000) }
      #expect(throws: Never.self) { try table.checkSpace(for: ban(3, room), at: 1_000) }
      #expect(throws: Never.self) { try table.checkSpace(for: ban(200, "other"), at: 1_000) }
      #expect(throws: Never.self, "what is over is not counted") {
        try table.checkSpace(for: ban(200, room), at: 5_000)
      }
      let (old, new) = (try ban(3, room), try ban(3, room, until: 8_000))
      #expect(table.insert(new, at: now) == [old], "one of each subject")
      #expect(table.count == 200)
    }
  }

  @Test func soManyOfAModeratorAndNoMore() throws {
    var table = AddressBanTable()
    for index in 0..<AddressBanTable.mostOfModerator {
      let ban = try ban(index, "r\(index / 10)", by: "H")
      try table.checkSpace(for: ban, at: 1_000)
      _ = table.insert(ban, at: now)
    }
    #expect(throws: tooMany(200)) { try table.checkSpace(for: ban(200, "x", by: "H"), at: 1_000) }
    #expect(throws: Never.self) { try table.checkSpace(for: ban(200, "x", by: "other"), at: 1_000) }
    #expect(throws: Never.self) { try table.checkSpace(for: ban(200, "x"), at: 1_000) }
    #expect(table.remove { $0.subject.room == "r0" }.count == 10)
    #expect(throws: Never.self) { try table.checkSpace(for: ban(200, "x", by: "H"), at: 1_000) }
  }

  @Test func soManyOfAllAndNoMore() throws {
    var table = AddressBanTable()
    for index in 0..<AddressBanTable.most {
      let ban = try ban(index, "r\(index / 100)", until: index == 0 ? 5_000 : 9_000)
      try table.checkSpace(for: ban, at: 1_000)
      _ = table.insert(ban, at: now)
    }
    #expect(throws: tooMany(2_000)) { try table.checkSpace(for: ban(2_000, "x"), at: 1_000) }
    // What is over makes space, and is to be forgotten.
    let later = now.advanced(by: .milliseconds(4_000))
    try table.checkSpace(for: ban(2_000, "x"), at: later.wallMilliseconds)
    let (over, new) = (try ban(0, "r0", until: 5_000), try ban(2_000, "x"))
    #expect(table.insert(new, at: later) == [over] && table.count == 2_000)
    // A file with more than that fills the table, and no more.
    var next = AddressBanTable()
    let many = try (0...AddressBanTable.most).map { try ban($0, "r") }
    #expect(next.restore(many, at: now).isEmpty && next.count == 2_000)
  }

  /// The wall clock may be set while a ban lasts: it is over when either says so.
  @Test func aBanEndsByEitherClock() throws {
    var table = AddressBanTable()
    let kept = try ban(1, "r")
    _ = table.insert(kept, at: now)
    let network = kept.subject.address
    #expect(table.ban(of: network, in: "r", byOperators: false, at: 8_999) == kept)
    #expect(table.ban(of: network, in: "r", byOperators: false, at: 9_000) == nil)
    #expect(table.removeDue(at: .zero + .milliseconds(7_999)).isEmpty)
    #expect(table.removeDue(at: .zero + .milliseconds(8_000)) == [kept] && table.count == 0)
  }
}
