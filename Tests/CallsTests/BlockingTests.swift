// Who is blocked rings nowhere, and learns nothing.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct BlockingTests {
  private func block(_ board: Board, _ phone: Phone, _ user: String) throws {
    _ = try board.send(phone, .block(.add(BlockParams(user: user))))
  }

  private func list(_ board: Board, _ phone: Phone) throws -> [String] {
    guard case .blocked(let users) = try board.send(phone, .block(.list)) else { throw ErrorObject(.internalError) }
    return users
  }

  /// Whether a push provider is there, and whether the callee has a phone connected.
  @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
  func aBlockedCallerHearsWhatOneHearsWhoIsNotLookedAt(hasPush: Bool, isThere: Bool) throws {
    // The one calls somebody whose phone says nothing, the other one who has blocked him.
    let heard = try [false, true].map { isBlocked in
      let board = Board { $0.hasPush = hasPush }
      let (a, b) = (board.phone("a"), board.phone("b"))
      let laptop = board.phone("a", "laptop")
      if isBlocked { try block(board, b, "a") }
      if !isThere { board.gone(b) }
      let started = try board.start(a, ["b"])
      let answer = "\(started.call.members.map(\.state)) \(started.busy) \(started.unreachable) \(started.call.state)"
      if isThere { #expect(b.take().contains(where: \.isRing) == !isBlocked) }
      board.advance(40)
      if isThere { #expect(b.take().isEmpty == isBlocked) }
      #expect(board.pushes.isEmpty == (isBlocked || !hasPush), "the control is woken, the blocked one wakes nobody")
      #expect(board.board.missed("b") == (isBlocked ? 0 : 1))
      #expect(board.records["b"] == nil || !isBlocked)
      #expect(board.graves.count == 1)
      let record = board.records["a"]?.map { "\($0.result) \($0.reason)" } ?? []
      return [answer, "\(a.names())", "\(laptop.names())", "\(record)", "\(board.graves.map(\.reason))"]
    }
    #expect(heard[0] == heard[1])
  }

  @Test func nothingOfABlockedRingIsShown() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = board.phone("c")
    try block(board, b, "a")
    _ = try board.start(a, ["b", "c"], .group)
    #expect(board.board.ringing(for: "b", on: "d1", at: board.now).isEmpty && !board.board.concerns(b.id))
    #expect(board.board.available(to: "b", at: board.now).isEmpty)
    #expect(board.board.available(to: "c", at: board.now).count == 1, "whom nobody blocks sees it")
    // Not on a device that comes later, either.
    let tablet = board.phone("b", "tablet")
    #expect(tablet.take().isEmpty && b.take().isEmpty)
    // The blocked one's ring does not meet their own call.
    let own = try board.start(b, ["a"])
    #expect(!own.glare && own.busy == ["a"])
  }

  /// Eight blocked callers do not make a user busy, and use up nothing of what others may ring.
  @Test func blockedCallersAreInNobodysWay() throws {
    let board = Board { ($0.ringsPerCallee, $0.maxRings) = (3, 2) }
    let b = board.phone("b")
    for number in 0..<3 {
      try block(board, b, "stranger \(number)")
      _ = try board.start(board.phone("stranger \(number)"), ["b"])
    }
    #expect(b.take().isEmpty)
    let friends = (0..<4).map { board.phone("friend \($0)") }
    for friend in friends.prefix(2) { #expect(try board.start(friend, ["b"]).busy.isEmpty) }
    #expect(b.take().count { $0.isRing } == 2)
    #expect(try board.start(friends[2], ["b"]).busy == ["b"])
    #expect(
      board.code(friends[3], .call(.start(CallStartParams(to: ["b"], kind: .oneToOne, media: .audio)))) == .rateLimited)
  }

  /// Who is in a call with others is invited by one of them whom they have not blocked.
  @Test func whoInvitesIsWhoCounts() throws {
    let board = Board()
    let (a, c, b) = (board.phone("a"), board.phone("c"), board.phone("b"))
    try block(board, b, "a")
    let call = try board.start(a, ["c"], .group).call.callId
    try board.accept(c, call)
    board.mediaUp(a, c)
    _ = try board.send(a, .call(.invite(CallInviteParams(callId: call, users: ["b"]))))
    #expect(b.take().isEmpty)
    board.advance(31)
    #expect(b.take().isEmpty && board.state("b", call) == .noAnswer)
    _ = try board.send(c, .call(.invite(CallInviteParams(callId: call, users: ["b"]))))
    #expect(b.take().count { $0.isRing } == 1)
    try board.accept(b, call)
    #expect(board.board.available(to: "b", at: board.now).count == 1)
  }

  /// Nothing is left of a user whose last block is gone: names are anybody's to say, and without end.
  @Test func whoHasNoBlocksIsNotKept() {
    var table = BlockTable(most: 4)
    for user in ["a", "b"] { _ = table.insert(KeptBlock(user: user, blocked: "z")) }
    _ = table.insert(KeptBlock(user: "a", blocked: "y"))
    for blocked in ["z", "y"] { #expect(table.remove(KeptBlock(user: "a", blocked: blocked)) != nil) }
    #expect(table.byUser.map(\.user) == ["b"] && table.count == 1)
    _ = table.remove(KeptBlock(user: "b", blocked: "z"))
    #expect(table.byUser.isEmpty && table.count == 0)
  }

  @Test func aBlockIsTakenBack() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    try block(board, b, "z")
    for _ in 0..<2 { try block(board, b, "a") }
    #expect(try list(board, b) == ["a", "z"])
    #expect(try list(board, a) == [])
    #expect(board.blocks.count == 2)
    for _ in 0..<2 { _ = try board.send(b, .block(.remove(BlockParams(user: "a")))) }
    #expect(try list(board, b) == ["z"] && board.blocks == [KeptBlock(user: "b", blocked: "z")])
    _ = try board.start(a, ["b"])
    #expect(b.take().count { $0.isRing } == 1)
    #expect(board.code(b, .block(.add(BlockParams(user: "b")))) == .invalidParams)
  }

  @Test func fiveHundredOfOneUserAndNotOneMore() throws {
    let board = Board()
    let b = board.phone("b")
    for number in 0..<BlockTable.mostOfUser { try block(board, b, "user \(number)") }
    let refused = try #require(board.error(b, .block(.add(BlockParams(user: "one more")))))
    #expect(refused.code == .tooLarge && refused.data.limit == 500 && refused.data.count == 501)
    try block(board, b, "user 7")
    _ = try board.send(b, .block(.remove(BlockParams(user: "user 7"))))
    try block(board, b, "one more")
    // Others have their own.
    try block(board, board.phone("c"), "one more")
  }

  /// Fifty thousand users who have blocked somebody, and not one more: nobody has more than the next one would have.
  @Test func thereIsSpaceForFiftyThousand() throws {
    var table = BlockTable()
    for number in 0..<KeptBlock.most {
      let block = KeptBlock(user: "u\(number)", blocked: "x")
      try table.checkSpace(for: block.blocked, of: block.user)
      let new = table.insert(block)
      #expect(new?.kept == block && new?.dropped == nil)
    }
    #expect(table.count == KeptBlock.most)
    let refused = #expect(throws: ErrorObject.self) { try table.checkSpace(for: "x", of: "new") }
    #expect(refused?.code == .tooLarge && refused?.data.limit == 50_000 && refused?.data.count == 50_001)
    #expect(refused?.message.contains("50000 blocks of all users") == true)
    let removed = table.remove(KeptBlock(user: "u0", blocked: "x"))
    #expect(removed == KeptBlock(user: "u0", blocked: "x"))
    try table.checkSpace(for: "x", of: "new")
  }

  /// A hundred names with five hundred blocks each, as one person can make them on an open server, keep nobody from blocking.
  @Test func aHundredNamesDoNotFillTheTableForOthers() throws {
    var table = BlockTable()
    let names = KeptBlock.most / BlockTable.mostOfUser
    for number in 0..<KeptBlock.most {
      _ = table.insert(KeptBlock(user: "u\(number % names)", blocked: "\(number / names)"))
    }
    #expect(table.count == KeptBlock.most)
    // Each of them loses one, the oldest first, and nobody else does.
    for number in 0..<names {
      try table.checkSpace(for: "\(number)", of: "anna")
      let new = table.insert(KeptBlock(user: "anna", blocked: "\(number)"))
      #expect(new?.dropped == KeptBlock(user: "u\(number)", blocked: "0"))
    }
    #expect(table.count == KeptBlock.most && table.list(of: "anna").count == names)
    #expect((0..<names).allSatisfy { table.list(of: "u\($0)").count == BlockTable.mostOfUser - 1 })
    // Whoever has the most makes space for nobody who would have as many.
    #expect(throws: ErrorObject.self) { try table.checkSpace(for: "one more", of: "u7") }
  }

  /// The same in small: who has the most gives, down to where all have alike. In the control there is space, and nobody gives anything.
  @Test(arguments: [6, 9]) func whoHasTheMostMakesSpace(most: Int) throws {
    var table = BlockTable(most: most)
    table.restore(
      ["c", "b", "a", "d"].map { KeptBlock(user: "mallory", blocked: $0) }
        + ["a", "b"].map { KeptBlock(user: "ben", blocked: $0) })
    func block(_ user: String, _ other: String) throws -> String? {
      try table.checkSpace(for: other, of: user)
      return table.insert(KeptBlock(user: user, blocked: other))?.dropped?.blocked
    }
    let isFull = most == 6
    #expect(try block("anna", "x") == (isFull ? "c" : nil))
    #expect(try block("anna", "y") == (isFull ? "b" : nil))
    #expect(try block("anna", "y") == nil, "twice is once")
    if isFull {
      #expect(throws: ErrorObject.self) { try block("anna", "z") }
    } else {
      #expect(try block("anna", "z") == nil)
    }
    #expect(table.list(of: "mallory") == (isFull ? ["a", "d"] : ["a", "b", "c", "d"]))
    #expect(table.list(of: "ben") == ["a", "b"])
  }

  /// A file that says more of one user than they may have is no harm.
  @Test func aFileThatSaysTooMuch() {
    var table = BlockTable()
    table.restore((0...BlockTable.mostOfUser).map { KeptBlock(user: "b", blocked: "\($0)") })
    #expect(table.count == BlockTable.mostOfUser && table.byUser.map(\.count) == [BlockTable.mostOfUser])
  }

  /// After a restart, and what rang unheard before it stays unheard.
  @Test func blocksAndWhatTheyHidOutliveTheProcess() throws {
    let board = Board { ($0.keepsCalls, $0.hasPush) = (true, true) }
    let (a, c, b) = (board.phone("a"), board.phone("c"), board.phone("b"))
    try block(board, b, "a")
    let call = try board.start(a, ["c"], .group).call.callId
    try board.accept(c, call)
    board.gone(b)
    _ = try board.send(a, .call(.invite(CallInviteParams(callId: call, users: ["b"]))))
    #expect(board.pushes.isEmpty && board.kept.count == 1)
    #expect(board.kept.values.allSatisfy { $0.pushedRings.isEmpty })
    let blocks = Array(board.blocks)
    board.restart(after: 1)
    #expect(board.pushes.isEmpty && board.board.missed("b") == 0)
    board.board.restore(blocks)
    let again = board.phone("b")
    #expect(try list(board, again) == ["a"])
    #expect(board.board.available(to: "b", at: board.now).isEmpty && again.take().isEmpty)
  }
}
