// What is remembered of calls that are over: so many, so many of one caller, so much memory; the oldest go first.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct ArchiveBoundTests {
  private let now = Now(instant: .zero + .seconds(1), wallMilliseconds: 1_000)

  private func call(_ number: Int, by caller: String = "a", members: Int = 2, extra: RawJSON? = nil) -> Call {
    Call(
      callId: "call-\(number)", room: "call:call-\(number)", kind: .group, media: .audio, answerPolicy: .everyone,
      rejectPolicy: .ignore, busyPolicy: .ring, state: .ended, rev: 1, caller: caller,
      members: (0..<members).map { Member(user: "u\($0)", state: .left) }, extra: extra, createdAt: 1, endedAt: 1_000)
  }

  /// Which of so many calls are still known.
  private func known(_ archive: CallArchive, of count: Int) -> [Int] {
    (0..<count).filter { archive.tombstone(CallID("call-\($0)"), at: now) != nil }
  }

  @Test func soManyAndNotOneMore() {
    var rules = CallRules()
    rules.maxTombstones = 5
    var archive = CallArchive(rules)
    var forgotten: [String] = []
    for number in 0..<5 { forgotten += archive.bury(call(number), names: [], at: now).map(\.id.text) }
    #expect(forgotten == [] && known(archive, of: 6) == [0, 1, 2, 3, 4])
    #expect(archive.bury(call(5), names: [], at: now).map(\.id.text) == ["call-0"])
    #expect(known(archive, of: 6) == [1, 2, 3, 4, 5] && archive.tombstones == 5)
  }

  /// Who makes many loses their own first.
  @Test func soManyOfOneCaller() {
    var rules = CallRules()
    rules.maxTombstonesPerCaller = 3
    var archive = CallArchive(rules)
    _ = archive.bury(call(0, by: "other"), names: [], at: now)
    for number in 1...3 { #expect(archive.bury(call(number), names: [], at: now).isEmpty) }
    #expect(archive.bury(call(4), names: [], at: now).map(\.id.text) == ["call-1"])
    #expect(known(archive, of: 5) == [0, 2, 3, 4])
    for number in 5..<5_000 { _ = archive.bury(call(number), names: [], at: now) }
    #expect(known(archive, of: 5_000) == [0, 4_997, 4_998, 4_999])
    #expect(archive.remembered < 100, "what is forgotten takes no memory behind what is not")
  }

  @Test func soMuchMemory() {
    let bytes = call(0, members: 10, extra: ["n": 1]).bytesInMemory
    #expect(bytes > 10 * 320 + ProtocolLimits.opaqueBytes)
    var rules = CallRules()
    rules.maxTombstoneBytes = 3 * bytes
    var archive = CallArchive(rules)
    for number in 0..<3 {
      #expect(archive.bury(call(number, members: 10, extra: ["n": 1]), names: [], at: now).isEmpty)
    }
    #expect(archive.tombstoneBytes == 3 * bytes)
    #expect(archive.bury(call(3, members: 10, extra: ["n": 1]), names: [], at: now).map(\.id.text) == ["call-0"])
    rules.maxTombstoneBytes = 3 * bytes - 1
    var less = CallArchive(rules)
    for number in 0..<2 { #expect(less.bury(call(number, members: 10, extra: ["n": 1]), names: [], at: now).isEmpty) }
    #expect(less.bury(call(2, members: 10, extra: ["n": 1]), names: [], at: now).map(\.id.text) == ["call-0"])
    // Five hundred of one caller, of four hundred people each, are no more than that.
    rules.maxTombstoneBytes = 1 << 20
    var large = CallArchive(rules)
    for number in 0..<500 { _ = large.bury(call(number, members: 400), names: [], at: now) }
    #expect(large.tombstoneBytes <= 1 << 20 && large.tombstones > 0)
  }

  /// Their names are free again.
  @Test func whatIsForgottenIsNotMissed() throws {
    let board = Board { ($0.maxTombstonesPerCaller, $0.ringsPerPair) = (2, 0) }
    let a = board.phone("a")
    var ids: [String] = []
    for number in 0..<3 {
      ids.append(try board.start(a, ["b"]) { $0.clientCallId = "mine \(number)" }.call.callId)
      board.advance(40)
    }
    #expect(board.code(a, .call(.end(CallParams(callId: ids[0])))) == .callNotFound)
    #expect(board.code(a, .call(.end(CallParams(callId: ids[1])))) == .callEnded)
    #expect(try board.start(a, ["b"]) { $0.clientCallId = "mine 0" }.call.callId != ids[0])
  }

  @Test func recordsOfOneUserAndOfAll() {
    var rules = CallRules()
    (rules.maxRecordsPerUser, rules.maxRecords) = (3, 5)
    var archive = CallArchive(rules)
    func keep(_ user: String, _ number: Int) {
      let record = CallRecord(
        callId: "call-\(number)", direction: .incoming, result: .missed, why: .noAnswer, elsewhere: false, startedAt: 1,
        endedAt: 2, durationMs: 0, peers: ["a"], kind: .oneToOne, media: .audio, reason: .noAnswer)
      archive.keep(UserRecord(user: user, device: nil, record: record))
    }
    func calls(_ user: String) -> [String] {
      archive.page(of: user, before: nil, limit: 9).records.map(\.record.callId)
    }
    for number in 0..<3 { keep("b", number) }
    #expect(calls("b") == ["call-2", "call-1", "call-0"] && archive.missed("b") == 3)
    keep("b", 3)
    #expect(calls("b") == ["call-3", "call-2", "call-1"] && archive.missed("b") == 3)
    keep("c", 0)
    #expect(archive.recordCount == 4)
    keep("c", 1)
    #expect(archive.recordCount == 5 && calls("b") == ["call-3", "call-2", "call-1"], "five of all")
    keep("d", 0)
    #expect(archive.recordCount == 5 && calls("b") == ["call-3", "call-2"], "and the oldest goes for a sixth")
    for number in 2..<4 { keep("c", number) }
    #expect(archive.recordCount <= 5 && calls("c") == ["call-3", "call-2", "call-1"])
  }
}
