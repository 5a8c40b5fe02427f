// When memory is given back to the system, and that it is.
import Basics
import CLinux
import Glibc
import Logging
import Testing
import Threads

@testable import Server

private let mebibyte: UInt64 = 1 << 20
private let start = Instant(nanoseconds: 5_000_000_000)

@Suite struct SpareMemoryRuleTests {
  @Test func whatACrowdLeavesIsWorthIt() {
    #expect(SpareMemory(at: start).isWorthIt(resident: 27 * mebibyte, inUse: 12 * mebibyte))
  }

  @Test func aLittleIsNot() {
    let rule = SpareMemory(at: start)
    #expect(!rule.isWorthIt(resident: 12 * mebibyte - 1, inUse: 10 * mebibyte))
    #expect(rule.isWorthIt(resident: 12 * mebibyte, inUse: 10 * mebibyte))
    #expect(!rule.isWorthIt(resident: 10 * mebibyte, inUse: 20 * mebibyte), "pages that were never touched")
  }

  /// A large server frees and takes much in the same minute: only a good part of it counts.
  @Test func ofALargeServerItIsAGoodPart() {
    let rule = SpareMemory(at: start)
    #expect(!rule.isWorthIt(resident: 900 * mebibyte - 1, inUse: 800 * mebibyte))
    #expect(rule.isWorthIt(resident: 900 * mebibyte, inUse: 800 * mebibyte))
  }

  /// Stacks, tables and pages that are half in use stay: what cannot be had is not tried again and again.
  @Test func whatGivingBackLeftIsNotTriedAgain() {
    var rule = SpareMemory(at: start)
    rule.gaveBack(resident: 16 * mebibyte, inUse: 10 * mebibyte)
    #expect(!rule.isWorthIt(resident: 16 * mebibyte, inUse: 10 * mebibyte))
    #expect(!rule.isWorthIt(resident: 18 * mebibyte - 1, inUse: 10 * mebibyte))
    #expect(rule.isWorthIt(resident: 18 * mebibyte, inUse: 10 * mebibyte))
    rule.gaveBack(resident: 12 * mebibyte, inUse: 10 * mebibyte)
    #expect(rule.isWorthIt(resident: 14 * mebibyte, inUse: 10 * mebibyte))
  }

  /// Of a process that has so much resident, one time after the other, whether it looks.
  private func looks(
    _ rule: inout SpareMemory, _ resident: UInt64..., at moments: [Instant] = []
  ) -> [Bool] {
    resident.enumerated().map { index, bytes in
      rule.isTimeToLook(resident: bytes, at: moments.isEmpty ? start : moments[index])
    }
  }

  @Test func whoGrowsLooks() {
    var rule = SpareMemory(at: start)
    let first = looks(&rule, 15 * mebibyte, 17 * mebibyte - 1, 17 * mebibyte, 17 * mebibyte)
    #expect(first == [true, false, true, false])
    rule.gaveBack(resident: 15 * mebibyte, inUse: 12 * mebibyte)
    let then = looks(&rule, 15 * mebibyte, 17 * mebibyte)
    #expect(then == [false, true])
  }

  @Test func aLargeServerLooksWhenItHasGrownByAPart() {
    var rule = SpareMemory(at: start)
    let found = looks(&rule, 800 * mebibyte, 900 * mebibyte - 1, 900 * mebibyte)
    #expect(found == [true, false, true])
  }

  @Test func whoHasShrunkIsSeenToGrowAgain() {
    var rule = SpareMemory(at: start)
    let found = looks(&rule, 30 * mebibyte, 10 * mebibyte, 12 * mebibyte)
    #expect(found == [true, false, true])
  }

  /// People may have gone: nothing grows, and much is spare.
  @Test func whoDoesNotGrowLooksNowAndThen() {
    var rule = SpareMemory(at: start)
    let (same, next) = (15 * mebibyte, start + SpareMemory.patience)
    let moments = [start, next - .milliseconds(1), next, next + .milliseconds(1)]
    let found = looks(&rule, same, same, same, same, at: moments)
    #expect(found == [true, false, true, false])
  }
}

/// Sanitizers have a malloc of their own.
private let isGlibcsMalloc = dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

@Suite(.serialized, .enabled(if: isGlibcsMalloc)) struct MemoryThreadTests {
  /// Frees all but every hundredth of many pieces, so that malloc cannot give back from the end.
  private func leavePieces() -> [UnsafeMutableRawPointer] {
    let pieces = (0..<40_000).compactMap { _ in malloc(1_000) }
    for piece in pieces { memset(piece, 1, 1_000) }
    for (index, piece) in pieces.enumerated() where index % 100 != 0 { free(piece) }
    return stride(from: 0, to: pieces.count, by: 100).map { pieces[$0] }
  }

  private func resident() throws -> UInt64 {
    var bytes: UInt64 = 0
    try #require(clinux_memory_resident(&bytes) == 0)
    return bytes
  }

  @Test func piecesAreGivenBack() throws {
    let lines = Locked<[String]>([])
    let log = Logger(level: .debug) { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    let kept = leavePieces()
    defer { for piece in kept { free(piece) } }
    let before = try resident()
    let thread = MemoryThread(interval: .milliseconds(10), log: log)
    let end = MonotonicClock.now() + .seconds(20)
    while lines.withLock({ $0.isEmpty }), MonotonicClock.now() < end { OwnerThread.sleep(milliseconds: 10) }
    thread.stop()
    let after = try resident()
    #expect(lines.withLock { $0.first?.contains("memory_given_back") == true })
    // 40 MB were freed; each piece that is kept holds a page or two of them.
    #expect(before >= after + 20 * mebibyte, "\(before) \(after)")
  }

  /// The control: nobody gives back what no thread has looked at.
  @Test func piecesStayWithoutTheThread() throws {
    let kept = leavePieces()
    defer { for piece in kept { free(piece) } }
    let before = try resident()
    OwnerThread.sleep(milliseconds: 100)
    let after = try resident()
    #expect(before < after + 10 * mebibyte, "\(before) \(after)")
    clinux_memory_give_back()
  }
}
