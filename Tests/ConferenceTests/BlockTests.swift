// Blocks in the conference: what names that nobody has proven may take of the table, and what operators see and lift.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct BlockTests {
  private func block(_ scene: Scene, _ client: Client, _ user: String) -> ErrorObject? {
    scene.refusal(client, .block(.add(BlockParams(user: user))))
  }

  /// Whoever makes up names is held to it as one of a network; in the control they have proven who they are.
  @Test(arguments: [false, true]) func aNetworkBlocksSoManyUnderNamesThatNobodyHasProven(isProven: Bool) {
    let scene = Scene()
    scene.isVerified = isProven
    func come(_ user: String, from host: UInt32) -> Client {
      scene.proof = { $0.network = PeerNetwork(SocketAddress(v4: host, port: 1)) }
      return scene.client(user)
    }
    let names = (0..<5).map { come("name \($0)", from: 0xc000_0201) }
    for number in 0..<100 { #expect(block(scene, names[number % 5], "victim \(number)") == nil) }
    let refused = block(scene, names[0], "one more")
    #expect(isProven ? refused == nil : refused?.code == .rateLimited && refused?.data.retryAfterMs == 60_000)
    #expect(block(scene, come("anna", from: 0xc000_0202), "mallory") == nil, "another network is not held to it")
    #expect(scene.code(names[0], .block(.remove(BlockParams(user: "victim 0")))) == nil)
    scene.advance(.seconds(60))
    #expect(block(scene, names[1], "later") == nil)
  }

  @Test func anOperatorSeesBlocksAndLiftsThem() throws {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    let scene = Scene(rules)
    let (anna, ben) = (scene.client("anna"), scene.client("ben"))
    for user in ["x", "y", "z"] { #expect(block(scene, ben, user) == nil) }
    #expect(block(scene, anna, "ben") == nil)
    let counts = BlockCounts(
      count: 4, limit: 50_000, users: [.init(user: "ben", blocks: 3), .init(user: "anna", blocks: 1)])
    #expect(scene.operate(.blockCounts()) == .success(.blockCounts(counts)))
    let blocks = ["x", "y", "z"].map { KeptBlock(user: "ben", blocked: $0) }
    #expect(scene.operate(.blocks(of: "ben")) == .success(.blocks(blocks)))
    #expect(scene.operate(.liftBlocks(of: "ben", blocked: "y")) == .success(.lifted(1)))
    #expect(scene.stores.last?.1 == [.forgetBlock(blocks[1])])
    #expect(scene.operate(.blocks(of: "ben")) == .success(.blocks([blocks[0], blocks[2]])))
    #expect(scene.operate(.liftBlocks(of: "ben", blocked: nil)) == .success(.lifted(2)))
    #expect(scene.stores.last?.1 == [.forgetBlock(blocks[0]), .forgetBlock(blocks[2])])
    for (user, other) in [("ben", nil), ("anna", "x"), ("nobody", nil)] as [(String, String?)] {
      guard case .failure(let error) = scene.operate(.liftBlocks(of: user, blocked: other)) else {
        Issue.record("\(user) has not blocked \(other ?? "anybody")")
        continue
      }
      #expect(error.code == .userNotFound)
    }
    #expect(scene.log.filter { $0.event == "blocks_lifted" }.map(\.fields).count == 2)
    // Who was blocked rings again.
    #expect(scene.operate(.blocks(of: "anna")) == .success(.blocks([KeptBlock(user: "anna", blocked: "ben")])))
    #expect(scene.operate(.liftBlocks(of: "anna", blocked: "ben")) == .success(.lifted(1)))
    _ = anna.take()
    _ = try scene.start(ben, ["anna"])
    #expect(anna.takeNames().contains(.callIncoming))
  }

  /// The table is full of what an earlier process kept: one who has many loses the oldest, on disk too, and the log says so.
  @Test func theLogTellsWhoseBlockMadeSpace() {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    var restored = RestoredState()
    restored.blocks = (0..<KeptBlock.most).map { KeptBlock(user: "name \($0 / 500)", blocked: "v\($0 % 500)") }
    let scene = Scene(rules, restored: restored)
    #expect(block(scene, scene.client("anna"), "mallory") == nil)
    let dropped = KeptBlock(user: "name 0", blocked: "v0")
    #expect(
      scene.stores.last?.1 == [.forgetBlock(dropped), .block(KeptBlock(user: "anna", blocked: "mallory"))])
    let line = scene.log.first { $0.event == "block_dropped" }
    #expect(line?.fields.map(\.value) == ["name 0", "v0", "50000"])
  }

  /// A thousand bans or users on a page, and the next one on the next.
  @Test func listsHaveAThousandEntriesToAPage() {
    var restored = RestoredState()
    restored.bans = (0...2_000).map { number in
      KeptBan(room: "r\(1_000 + number)", user: "u", until: nil, by: "H")
    }
    restored.blocks = (0...1_000).map { KeptBlock(user: "u\(1_000 + $0)", blocked: "x") }
    let scene = Scene(restored: restored)
    func bans(_ page: Int) -> (rooms: [String], next: Int?)? {
      guard case .success(.bans(let bans, _, let next)) = scene.operate(.bans(room: nil, page: page)) else {
        return nil
      }
      return (bans.map(\.room), next)
    }
    for (page, rooms, next) in [(1, "r1000"..."r1999", 2), (2, "r2000"..."r2999", 3), (3, "r3000"..."r3000", nil)]
      as [(Int, ClosedRange<String>, Int?)]
    {
      let seen = bans(page)
      #expect(seen?.rooms.first == rooms.lowerBound && seen?.rooms.last == rooms.upperBound && seen?.next == next)
      #expect(seen?.rooms.count == (page == 3 ? 1 : 1_000))
    }
    #expect(bans(4)?.rooms == [] && bans(1_000_000)?.next == nil)
    guard case .success(.blockCounts(let counts, let next)) = scene.operate(.blockCounts()) else {
      Issue.record("no counts")
      return
    }
    #expect(counts.users.count == 1_000 && counts.count == 1_001 && next == 2)
  }
}
