// What is kept of calls writes its fields itself; the same bytes as its `encode(to:)` gives.

import RoostProtocol
import Testing

@testable import Calls

@Suite struct KeptTextTests {
  private func expectSame(_ value: some JSONWritable & Decodable & Equatable) throws {
    let ours = String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self)
    let theirs = String(decoding: try JSONText.bytes(of: value), as: UTF8.self)
    #expect(ours == theirs)
  }

  /// Calls as they are kept at each step, with every field that they may have.
  @Test func everyStepOfCallsIsWhatItsEncodingSays() throws {
    let board = Board { $0.keepsCalls = true }
    let (anna, bert, carl) = (board.phone("anna"), board.phone("bert"), board.phone("carl"))
    _ = board.phone("dora", callable: false)
    _ = try board.send(board.phone("emil"), .block(.add(BlockParams(user: "anna"))))
    let group = try board.start(anna, ["bert", "carl", "dora", "emil"], .group) {
      ($0.extra, $0.push, $0.clientCallId) = ("a \"word\"", ["title"], "mine")
    }.call.callId
    for step in 0..<3 {
      #expect(!board.kept.isEmpty)
      for call in board.kept.values { try expectSame(call) }
      switch step {
      case 0: _ = try board.send(bert, .call(.ringing(call(group))))
      case 1: try board.accept(bert, group)
      default: _ = try board.send(carl, .call(.reject(CallRejectParams(callId: group, text: "no"))))
      }
    }
    let kept = try #require(board.kept.values.first)
    #expect(kept.members.count { $0.isBlocking == true } == 1)
    #expect(kept.clientCallId == "mine" && kept.answeredAt != nil && kept.members.contains { $0.answeredAt != nil })
    _ = try board.send(anna, .call(.end(call(group))))
    #expect(!board.tombstones.isEmpty)
    for tombstone in board.tombstones { try expectSame(tombstone) }
  }

  @Test func namesOfBothWhoCalled() throws {
    let board = Board { $0.keepsCalls = true }
    let (anna, bert) = (board.phone("anna"), board.phone("bert"))
    _ = try board.start(anna, ["bert"]) { $0.clientCallId = "mine" }
    #expect(try board.start(bert, ["anna"]) { $0.clientCallId = "his" }.glare)
    let kept = try #require(board.kept.values.first)
    #expect(kept.glareName != nil)
    try expectSame(kept)
  }

  /// Of a call that several have called back: none is lost by a restart.
  @Test func namesOfAllWhoCalledBack() throws {
    let old = Board { $0.keepsCalls = true }
    let (anna, bert, carl) = (old.phone("anna"), old.phone("bert"), old.phone("carl"))
    let id = try old.start(anna, ["bert", "carl"], .group).call.callId
    for phone in [bert, carl] { #expect(try old.start(phone, ["anna"]) { $0.clientCallId = "his" }.glare) }
    let kept = try #require(old.kept.values.first)
    #expect(kept.names.filter { $0 == "his" }.count == 2)
    try expectSame(kept)
    old.restart(after: 1)
    let back = old.phone("carl")
    #expect(try old.start(back, ["anna"]) { $0.clientCallId = "his" }.call.callId == id)
    _ = try old.send(back, .call(.hangup(CallHangupParams())))
    old.advance(20)
    let grave = try #require(old.tombstones.last)
    try expectSame(grave)
    #expect(grave.names.filter { $0 == "his" }.count == 2)
  }

  /// Who leaves, is asked anew and calls back with another name each time does not fill the server with names.
  @Test func namesOfOneCallAreBounded() throws {
    let board = Board()
    let (anna, bert, carl) = (board.phone("anna"), board.phone("bert"), board.phone("carl"))
    let id = try board.start(anna, ["bert", "carl"], .group).call.callId
    try board.accept(carl, id)
    board.mediaUp(anna, carl)
    for number in 0..<(ClientCall.mostGlares + 10) {
      #expect(try board.start(bert, ["anna"]) { $0.clientCallId = "n\(number)" }.glare)
      _ = try board.send(bert, .call(.hangup(CallHangupParams())))
      board.advance(60)
      _ = try board.send(anna, .call(.invite(CallInviteParams(callId: id, users: ["bert"]))))
    }
    #expect(board.board.tables.calls.names.count == ClientCall.mostGlares)
    #expect(board.board.tables.calls[CallID(id)]?.names.count == ClientCall.mostGlares)
  }

  @Test func records() throws {
    let record = CallRecord(
      callId: "c", direction: .outgoing, result: .answered, why: .cancelled, elsewhere: true, startedAt: 1,
      answeredAt: 2, endedAt: 3, durationMs: 1, peers: ["bert", "carl"], kind: .group, media: .audio, inviter: "carl",
      reason: .noAnswer)
    for device in [nil, "phone"] { try expectSame(UserRecord(user: "anna", device: device, record: record)) }
  }
}
