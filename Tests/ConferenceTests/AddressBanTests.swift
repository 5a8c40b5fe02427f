// Who is kept out by the address that they come from, who is not, for how long, and what a moderator learns of it: nothing.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// A room with a moderator, and people who come from wherever they say.
struct Street {
  let here: Assembly
  var scene: Scene { here.scene }
  var wall: Int64 { scene.now.wallMilliseconds }

  /// The guests `B` and `C` are neighbours, behind `guests`.
  init(
    _ rules: ConferenceRules = .test, guests: String? = "203.0.113.7", restored: RestoredState = RestoredState()
  ) throws {
    here = try Assembly(rules, in: "hall", restored: restored) {
      $0.network = PeerNetwork(($0.user == "H" ? "198.51.100.1" : guests).flatMap { SocketAddress(host: $0, port: 7) })
    }
  }

  func range(_ text: String) throws -> AddressRange { try #require(AddressRange(text)) }

  /// Somebody who has said hello from there.
  func client(_ user: String, from host: String?, device: String = "d1", rights: Rights = .all) -> Client {
    scene.proof = { $0.network = PeerNetwork(host.flatMap { SocketAddress(host: $0, port: 9) }) }
    scene.rights = rights
    defer { scene.rights = .all }
    return scene.client(user, device)
  }

  /// Somebody comes from there and goes again. Nil where they were let in.
  func refusal(_ user: String, from host: String?, room: String = "hall", rights: Rights = .all) -> ErrorObject? {
    let client = client(user, from: host, rights: rights)
    let error = scene.refusal(client, .room(.join(RoomJoinParams(room: room))))
    scene.cut(client, clean: true)
    return error
  }

  func ban(_ user: String, until: Int64? = nil) -> ErrorObject? {
    here.moderate(here.host, .ban, user: user) { ($0.address, $0.until) = (true, until) }
  }

  var kept: [KeptAddressBan] { scene.core.rooms.addressBans.bans(in: nil, at: wall) }
  func isThere(_ user: String) throws -> Bool { try here.seen(user, by: here.host) != nil }
}

private let hour: Int64 = 3_600_000
private let day: Int64 = 24 * hour

@Suite struct AddressBanTests {
  /// Said of the user once more, the ban of their address is no longer than theirs.
  @Test func aShorterBanOfTheUserShortensThatOfTheirAddress() throws {
    let street = try Street(storing)
    #expect(street.ban("B", until: street.wall + day) == nil)
    let end = street.wall + 60_000
    #expect(street.here.moderate(street.here.host, .ban, user: "B") { $0.until = end } == nil)
    let kept = street.kept
    #expect(kept.map(\.until) == [end] && street.scene.stores.contains { $0.1.contains(.addressBan(kept[0])) })
    #expect(street.refusal("N", from: "203.0.113.7")?.data.until == end)
    // Longer does not make it longer: an address is soon somebody else's.
    #expect(street.here.moderate(street.here.host, .ban, user: "B") { $0.until = end + hour } == nil)
    street.scene.advance(.milliseconds(60_000))
    #expect(street.kept.isEmpty && street.refusal("N", from: "203.0.113.7") == nil)
    #expect(street.refusal("B", from: "198.51.100.9")?.code == .banned)
  }

  private var storing: ConferenceRules {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    return rules
  }

  // MARK: - A moderator bans somebody with their address

  @Test func whoeverComesFromThereIsKeptOut() throws {
    let street = try Street()
    let end = street.wall + hour
    #expect(street.ban("B") == nil)
    #expect(try !street.isThere("B") && street.isThere("C"), "the one who is named is put out, and no neighbour")
    let refused = street.refusal("X", from: "203.0.113.7")
    #expect(refused?.code == .banned && refused?.data.until == end && refused?.data.reason == "address")
    #expect(street.refusal("X", from: "203.0.113.8") == nil)
    #expect(street.refusal("X", from: nil) == nil, "an address that is not known is nobody's")
    #expect(street.refusal("X", from: "203.0.113.7", room: "voice") == nil, "another room")
    let own = street.refusal("B", from: "203.0.113.8")
    #expect(own?.code == .banned && own?.data.until == nil && own?.data.reason == nil, "they themselves for good")
    street.scene.advance(.milliseconds(Int(hour) - 1))
    #expect(street.refusal("X", from: "203.0.113.7")?.code == .banned)
    street.scene.advance(.milliseconds(1))
    #expect(street.refusal("X", from: "203.0.113.7") == nil)
    #expect(street.refusal("B", from: "203.0.113.8")?.code == .banned)
  }

  /// Who has a seat is not meant: neither joining again, nor another device, nor a lost connection puts them out.
  @Test func aNeighbourWhoIsThereStays() throws {
    let street = try Street()
    #expect(street.ban("B") == nil)
    let carl = street.here.carl
    #expect(try street.scene.join(carl, "hall").get().count == 2)
    street.scene.cut(carl)
    street.scene.resume(carl)
    let tablet = street.client("C", from: "203.0.113.7", device: "d2")
    #expect(try street.scene.join(tablet, "hall") { $0.takeover = true }.get().count == 2)
    #expect(street.scene.code(tablet, .room(.leave(RoomParams(room: "hall")))) == nil)
    #expect(street.scene.code(tablet, .room(.join(RoomJoinParams(room: "hall")))) == .banned, "who has left has left")
  }

  /// A moderator's word about an address is worth less than a moderator's word about a person.
  @Test func whoIsKnownByNameComesInAllTheSame() throws {
    let street = try Street()
    let (here, carl) = (street.here, street.here.carl)
    #expect(here.moderate(here.host, .role, user: "C") { $0.role = .speaker } == nil)
    #expect(here.moderate(here.host, .lobby) == nil)
    let dora = street.client("D", from: "203.0.113.7")
    #expect(street.scene.code(dora, .room(.join(RoomJoinParams(room: "hall")))) == .inLobby)
    #expect(street.ban("B") == nil)
    #expect(here.moderate(here.host, .admit, user: "D") == nil)
    for client in [carl, dora] {
      _ = street.scene.code(client, .room(.leave(RoomParams(room: "hall"))))
      #expect(street.scene.code(client, .room(.join(RoomJoinParams(room: "hall")))) == nil, "\(client.user)")
    }
    #expect(street.refusal("M", from: "203.0.113.7", rights: Rights.all.union(.moderate)) == nil, "the issuer's word")
    #expect(street.refusal("X", from: "203.0.113.7")?.code == .banned)
    // An operator's word is worth more than a role.
    _ = try street.scene.operate(.banAddress(street.range("203.0.113.7"), room: "hall", until: nil)).get()
    _ = street.scene.code(carl, .room(.leave(RoomParams(room: "hall"))))
    #expect(street.scene.code(carl, .room(.join(RoomJoinParams(room: "hall")))) == .banned)
    #expect(street.refusal("M", from: "203.0.113.7", rights: Rights.all.union(.moderate)) == nil)
  }

  @Test func ofIPv6ANetworkIsBanned() throws {
    let street = try Street(guests: "2001:db8::5")
    #expect(street.ban("B") == nil)
    #expect(street.kept.map(\.subject.address.description) == ["2001:db8::/64"])
    #expect(street.refusal("X", from: "2001:db8::ffff:0:0:1")?.code == .banned)
    #expect(street.refusal("X", from: "2001:db8:0:1::5") == nil)
  }

  /// Behind these there are others, or nobody knows who.
  @Test(arguments: [nil, "127.0.0.1", "127.0.0.9", "::1", "192.0.2.14", "2001:db8:5::7"])
  func addressesOfManyAreNotBanned(_ host: String?) throws {
    var rules = ConferenceRules.test
    rules.proxies = ["192.0.2.0/28", "2001:db8:5::1"].compactMap { AddressRange($0) }
    let street = try Street(rules, guests: host)
    let error = street.ban("B")
    #expect(error?.code == .forbidden && error?.data.reason == "address")
    #expect(try street.isThere("B") && street.kept.isEmpty && street.scene.core.rooms.bans.count == 0)
    #expect(street.here.moderate(street.here.host, .ban, user: "B") == nil, "the user alone can be")
    #expect(street.refusal("X", from: host) == nil)
  }

  /// Proxies that are named later are not kept out by what was said before.
  @Test func aProxyIsLetInWhateverWasKept() throws {
    var (rules, restored) = (ConferenceRules.test, RestoredState())
    let network = try #require(AddressRange("192.0.2.0/24"))
    rules.proxies = ["192.0.2.14"].compactMap { AddressRange($0) }
    restored.addressBans = [
      KeptAddressBan(.init(room: nil, address: network, user: nil), until: 1_700_000_060_000, by: nil)
    ]
    let street = try Street(rules, restored: restored)
    #expect(street.refusal("X", from: "192.0.2.14") == nil && street.refusal("X", from: "192.0.2.15")?.code == .banned)
  }

  @Test func theirAddressMustBeKnown() throws {
    let street = try Street()
    #expect(street.ban("absent")?.code == .userNotFound && street.scene.core.rooms.bans.count == 0)
    #expect(street.here.moderate(street.here.host, .lobby) == nil)
    let dora = street.client("D", from: "203.0.113.9")
    #expect(street.scene.code(dora, .room(.join(RoomJoinParams(room: "hall")))) == .inLobby)
    #expect(street.ban("D") == nil, "who waits is known too")
    #expect(street.refusal("X", from: "203.0.113.9")?.code == .banned)
    // Nobody else can: neither a guest, nor one of another room, nor of oneself.
    #expect(street.here.moderate(street.here.ben, .ban, user: "C") { $0.address = true }?.data.reason == "moderate")
    #expect(street.ban("H")?.data.reason == "self" && street.kept.count == 1)
  }

  @Test(
    arguments: [(5_000, 5_000), (day - 1, day - 1), (day, day), (day + 1, day), (400 * day, day)] as [(Int64, Int64)])
  func itEndsWithTheBanOfTheUserAndAfterADayAtMost(_ user: Int64, _ address: Int64) throws {
    let street = try Street()
    let now = street.wall
    #expect(street.ban("B", until: now + user) == nil)
    #expect(street.kept.map(\.until) == [now + address])
    #expect(street.here.moderated(street.here.carl).map(\.until) == [now + user], "others hear of the user")
  }

  /// Nothing that a moderator is told has the address in it, nor whose it is besides.
  @Test func nobodyIsToldTheAddress() throws {
    let street = try Street()
    #expect(street.ban("B") == nil && street.refusal("X", from: "203.0.113.7") != nil)
    #expect("\(street.kept)".contains("203.0.113.7"), "it would be seen in what is told")
    #expect(street.here.moderate(street.here.host, .unban, user: "B") == nil)
    _ = try street.scene.join(street.here.host, "hall").get()
    for client in [street.here.host, street.here.carl, street.here.ben] {
      let told = "\(client.events) \(client.replies)"
      #expect(!told.contains("203.0.113") && told.contains("roomModerated"))
    }
    #expect(!"\(street.scene.log)".contains("203.0.113"))
  }

  @Test func unbanLetsTheAddressInAsWell() throws {
    for byOperator in [false, true] {
      let street = try Street(storing)
      #expect(street.ban("B") == nil)
      let subject = try #require(street.kept.first?.subject)
      if byOperator {
        #expect(street.scene.operate(.liftBan(user: "B", room: "hall")) == .success(.lifted(1)))
      } else {
        #expect(street.here.moderate(street.here.host, .unban, user: "B") == nil)
      }
      let changes = street.scene.stores.suffix(2).flatMap(\.1)
      #expect(changes == [.forgetAddressBan(subject), .forgetBan(room: "hall", user: "B")])
      #expect(street.kept.isEmpty && street.refusal("X", from: "203.0.113.7") == nil)
    }
  }

  // MARK: - Doors

  /// Who plays without a seat joins as everybody does, and so do those who come for a single stream.
  @Test func playersAndStreamsAreKeptOutToo() throws {
    var rules = ConferenceRules.test
    rules.streamRooms = RoomRules(kind: "stream")
    rules.rooms["demo"]?.players = 5
    let street = try Street(rules)
    _ = try street.scene.operate(.banAddress(street.range("203.0.113.0/24"), room: nil, until: nil)).get()
    for (host, code) in [("203.0.113.7", ErrorCode.banned), ("198.51.100.2", nil)] as [(String, ErrorCode?)] {
      for (entrance, room) in [(Entrance.whep, "demo"), (.whip, "demo"), (.flashphoner, "x"), (.native, "demo")] {
        street.scene.proof = {
          $0.network = PeerNetwork(SocketAddress(host: host, port: 1))
          $0.entrance = entrance
          ($0.onlyPlays, $0.opensStreamRooms) = (entrance == .whep, entrance == .flashphoner)
        }
        let client = street.scene.client("\(entrance) \(host)")
        #expect(street.scene.code(client, .room(.join(RoomJoinParams(room: room)))) == code, "\(entrance)")
        street.scene.cut(client, clean: true)
      }
    }
  }

  // MARK: - The end

  /// Addresses are kept as long as they are needed, on disk too, whether or not somebody comes.
  @Test func whatIsOverIsForgotten() throws {
    let street = try Street(storing)
    #expect(street.ban("B") == nil && street.ban("C", until: street.wall + 5_000) == nil)
    let subjects = street.kept.map(\.subject)
    street.scene.stores = []
    street.scene.advance(.seconds(5))
    #expect(street.scene.stores.flatMap(\.1) == [.forgetAddressBan(subjects[1])])
    street.scene.advance(.seconds(3_595))
    #expect(street.scene.stores.flatMap(\.1) == [.forgetAddressBan(subjects[1]), .forgetAddressBan(subjects[0])])
    #expect(street.scene.core.rooms.addressBans.count == 0 && street.scene.core.rooms.addressBans.nextEnd == nil)
  }

  @Test func itOutlivesARestart() throws {
    let street = try Street(storing)
    #expect(street.ban("B") == nil)
    _ = try street.scene.operate(.banAddress(street.range("198.51.100.0/24"), room: nil, until: nil)).get()
    var restored = RestoredState()
    for case .addressBan(let ban) in street.scene.stores.flatMap(\.1) { restored.addressBans.append(ban) }
    #expect(restored.addressBans.count == 2)
    // One that is over, and one of a file that somebody has written in.
    let over = KeptAddressBan(.init(room: "hall", address: try street.range("192.0.2.1"), user: "o"), until: 1, by: "H")
    let endless = KeptAddressBan(
      .init(room: nil, address: try street.range("192.0.2.2"), user: nil), until: .max, by: nil)
    restored.addressBans += [over, endless]
    let next = try Street(storing, guests: "192.0.2.9", restored: restored)
    #expect(next.scene.stores.first?.1 == [.forgetAddressBan(over.subject)])
    for host in ["203.0.113.7", "198.51.100.9", "192.0.2.2"] {
      #expect(next.refusal("X", from: host)?.code == .banned, "\(host)")
    }
    #expect(next.refusal("X", from: "192.0.2.1") == nil)
    next.scene.advance(.seconds(30 * 24 * 3_600))
    #expect(next.kept.isEmpty)
  }
}
