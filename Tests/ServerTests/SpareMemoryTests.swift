// When memory is given back to the system, and that it is.
import Basics
import Logging
import TestSupport
import Testing

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

@Suite struct MemoryThreadTests {
  private struct Process: Sendable {
    var resident: UInt64 = 27 << 20
    var looks = 0
    var givenBack = 0
  }

  @Test func theThreadGivesBackOnceAndSaysSo() async throws {
    let process = Locked(Process())
    let lines = Locked<[String]>([])
    let log = Logger(level: .debug) { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    let memory = ProcessMemory(
      resident: {
        process.withLock {
          $0.looks += 1
          return $0.resident
        }
      },
      inUse: { 12 << 20 },
      giveBack: {
        process.withLock {
          $0.givenBack += 1
          $0.resident = 15 << 20
        }
      })
    let thread = MemoryThread(memory, interval: .milliseconds(1), log: log)
    #expect(await eventually { process.withLock { $0.looks } > 10 })
    thread.stop()
    #expect(process.withLock { $0.givenBack } == 1)
    let said = lines.withLock { $0 }
    #expect(said.count == 1)
    #expect(said.first?.contains("memory_given_back") == true)
    #expect(said.first?.contains("bytes=\(12 << 20)") == true, "\(said)")
  }
}
