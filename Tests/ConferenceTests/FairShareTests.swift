// What one moderator, one user or one network may take of what all have: bans, and knocks that moderators hear.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct FairShareTests {
  /// One moderator, in however many rooms, leaves space for all others.
  @Test func aModeratorBansSoManyAndNoMore() throws {
    var bans = BanTable()
    func ban(_ index: Int, by moderator: String = "H", until: Int64? = nil) throws -> [KeptBan] {
      let (room, user) = ("r\(index / 10)", "u\(index)")
      try bans.checkSpace(for: user, in: room, by: moderator, at: 0)
      return bans.insert(KeptBan(room: room, user: user, until: until, by: moderator), at: 0)
    }
    for index in 0..<BanTable.mostOfModerator { #expect(try ban(index, until: index == 7 ? 5 : nil).isEmpty) }
    #expect(throws: ErrorObject.tooLarge("user", limit: 1_000, count: 1_001)) { try ban(1_000) }
    #expect(throws: Never.self) { try ban(3, until: 9) }
    #expect(throws: Never.self) { try ban(1_000, by: "other") }
    #expect(throws: ErrorObject.tooLarge("user", limit: 1_000, count: 1_001)) { try ban(1_000) }
    // What is over, or taken back, makes space.
    try bans.checkSpace(for: "v", in: "r0", by: "H", at: 5)
    #expect(bans.insert(KeptBan(room: "r0", user: "v", until: nil, by: "H"), at: 5).map(\.user) == ["u7"])
    #expect(throws: ErrorObject.tooLarge("user", limit: 1_000, count: 1_001)) { try ban(1_001) }
    #expect(bans.remove("v", in: "r0")?.by == "H")
    #expect(throws: Never.self) { try ban(1_001) }
  }

  /// Whoever begins session after session to knock with is held to it as a user, and as one of a network.
  @Test func knocksAreCountedByUserAndNetwork() throws {
    var rules = ConferenceRules.test
    (rules.knocksPerSecond, rules.knockBurst) = (0.5, 3)
    (rules.networkKnocksPerSecond, rules.networkKnockBurst) = (1, 5)
    let here = try Assembly(rules, in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    func knocks(_ user: String, _ device: String, from host: UInt32?) -> ErrorObject? {
      here.scene.proof = { $0.network = host.map { PeerNetwork(SocketAddress(v4: $0, port: 1)) } }
      let client = here.scene.client(user, device)
      let error = here.scene.refusal(client, .room(.join(RoomJoinParams(room: here.room))))
      here.scene.cut(client, clean: true)
      return error
    }
    for device in 0..<3 { #expect(knocks("D", "d\(device)", from: nil)?.code == .inLobby) }
    let tooOften = knocks("D", "d3", from: nil)
    #expect(tooOften?.code == .rateLimited && tooOften?.data.retryAfterMs == 2_000)
    #expect(knocks("E", "d1", from: nil)?.code == .inLobby, "somebody else is not held to it")
    here.scene.advance(.seconds(2))
    #expect(knocks("D", "d4", from: nil)?.code == .inLobby)
    #expect(knocks("D", "d5", from: nil)?.code == .rateLimited)
    // A network of many users.
    for user in 0..<5 { #expect(knocks("n\(user)", "d1", from: 0xc000_0201)?.code == .inLobby) }
    #expect(knocks("n5", "d1", from: 0xc000_0201)?.code == .rateLimited)
    #expect(knocks("n6", "d1", from: 0xc000_0202)?.code == .inLobby, "another network is not")
    here.scene.advance(.seconds(1))
    #expect(knocks("n7", "d1", from: 0xc000_0201)?.code == .inLobby)
  }
}
