// When memory is given back to the system, and that it is.
import Basics
import CLinux
import Glibc
import Logging
import Testing
import Threads

@testable import Server

private let mebibyte: UInt64 = 1 << 20

private func look(_ resident: UInt64, inUse: UInt64) -> SpareMemory.Look {
  SpareMemory.Look(resident: resident * mebibyte, inUse: inUse * mebibyte)
}

@Suite struct SpareMemoryRuleTests {
  @Test func whatACrowdLeavesIsWorthIt() {
    #expect(SpareMemory().isWorthIt(look(27, inUse: 12)))
  }

  @Test func aLittleIsNot() {
    let rule = SpareMemory()
    #expect(!rule.isWorthIt(.init(resident: 12 * mebibyte - 1, inUse: 10 * mebibyte)))
    #expect(rule.isWorthIt(.init(resident: 12 * mebibyte, inUse: 10 * mebibyte)))
    #expect(!rule.isWorthIt(look(10, inUse: 20)), "more in use than resident: pages that were never touched")
  }

  /// A large server frees and takes much in the same minute: only a good part of it counts.
  @Test func ofALargeServerItIsAGoodPart() {
    let rule = SpareMemory()
    #expect(!rule.isWorthIt(.init(resident: 900 * mebibyte - 1, inUse: 800 * mebibyte)))
    #expect(rule.isWorthIt(look(900, inUse: 800)))
  }

  /// Stacks, tables and pages that are half in use stay: what cannot be had is not tried again and again.
  @Test func whatGivingBackLeftIsNotTriedAgain() {
    var rule = SpareMemory()
    #expect(rule.isWorthIt(look(20, inUse: 10)))
    rule.gaveBack(leaving: look(16, inUse: 10))
    #expect(!rule.isWorthIt(look(16, inUse: 10)))
    #expect(!rule.isWorthIt(look(17, inUse: 10)))
    #expect(rule.isWorthIt(look(18, inUse: 10)))
    rule.gaveBack(leaving: look(12, inUse: 10))
    #expect(rule.isWorthIt(look(14, inUse: 10)))
  }
}

@Suite(.serialized) struct MemoryThreadTests {
  /// Frees all but every hundredth of many pieces, so that malloc cannot give back from the end.
  private func leavePieces() -> [UnsafeMutableRawPointer] {
    let pieces = (0..<40_000).compactMap { _ in malloc(1_000) }
    for piece in pieces { memset(piece, 1, 1_000) }
    for (index, piece) in pieces.enumerated() where index % 100 != 0 { free(piece) }
    return stride(from: 0, to: pieces.count, by: 100).map { pieces[$0] }
  }

  @Test func piecesAreGivenBack() throws {
    let lines = Locked<[String]>([])
    let log = Logger(level: .debug) { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    let kept = leavePieces()
    defer { for piece in kept { free(piece) } }
    let before = try #require(SpareMemory.Look.now())
    let thread = MemoryThread(interval: 10_000_000, log: log)
    let end = MonotonicClock.now() + .seconds(20)
    while lines.withLock({ $0.isEmpty }), MonotonicClock.now() < end { OwnerThread.sleep(milliseconds: 10) }
    thread.stop()
    let after = try #require(SpareMemory.Look.now())
    #expect(lines.withLock { $0.first?.contains("memory_given_back") == true })
    // 40 MB were freed; each piece that is kept holds a page or two of them.
    #expect(before.resident >= after.resident + 20 * mebibyte, "\(before) \(after)")
  }

  /// The control: nobody gives back what no thread has looked at.
  @Test func piecesStayWithoutTheThread() throws {
    let kept = leavePieces()
    defer { for piece in kept { free(piece) } }
    let before = try #require(SpareMemory.Look.now())
    OwnerThread.sleep(milliseconds: 100)
    let after = try #require(SpareMemory.Look.now())
    #expect(before.resident < after.resident + 10 * mebibyte, "\(before) \(after)")
    clinux_memory_give_back()
  }
}
