// When memory is given back to the system, and that it is.
import Basics
import Logging
import TestSupport
import Testing

@testable import Server

private let mebibyte: UInt64 = 1 << 20
private let start = Instant(nanoseconds: 5_000_000_000)

@Suite struct SpareMemoryRuleTests {
  private func look(_ resident: UInt64, inUse: UInt64, _ bytes: UInt64 = 0) -> SpareMemory.Look {
    SpareMemory.Look(resident: resident * mebibyte - bytes, inUse: inUse * mebibyte)
  }

  @Test func whatACrowdLeavesIsWorthIt() {
    #expect(SpareMemory(at: start).isWorthIt(look(27, inUse: 12)))
  }

  @Test func aLittleIsNot() {
    let rule = SpareMemory(at: start)
    #expect(!rule.isWorthIt(look(12, inUse: 10, 1)))
    #expect(rule.isWorthIt(look(12, inUse: 10)))
    #expect(!rule.isWorthIt(look(10, inUse: 20)), "pages that were never touched")
  }

  /// A large server frees and takes much in the same minute: only a good part of it counts.
  @Test func ofALargeServerItIsAGoodPart() {
    let rule = SpareMemory(at: start)
    #expect(!rule.isWorthIt(look(900, inUse: 800, 1)))
    #expect(rule.isWorthIt(look(900, inUse: 800)))
  }

  /// Stacks, tables and pages that are half in use stay: what could not be had is not tried again at once.
  @Test func whatGivingBackLeftIsNotTriedAgain() {
    var rule = SpareMemory(at: start)
    rule.gaveBack(leaving: look(16, inUse: 10))
    #expect(!rule.isWorthIt(look(16, inUse: 10)))
    #expect(!rule.isWorthIt(look(17, inUse: 10, 1)))
    #expect(rule.isWorthIt(look(17, inUse: 10)), "it has grown")
    #expect(rule.isWorthIt(look(16, inUse: 9)), "people have gone, and pages with them are free")
  }

  @Test func afterAWhileItIsTriedAgain() {
    var rule = SpareMemory(at: start)
    rule.gaveBack(leaving: look(16, inUse: 10))
    let later = start + SpareMemory.patience
    let found = looks(&rule, 16 * mebibyte, 16 * mebibyte, at: [later - .milliseconds(1), later])
    #expect(found == [true, true])
    #expect(rule.isWorthIt(look(16, inUse: 10)))
    let once = looks(&rule, 16 * mebibyte, at: [later + .milliseconds(1)])
    #expect(once == [true])
    #expect(!rule.isWorthIt(look(16, inUse: 10)), "once")
  }

  /// Of a process that has so much resident, one time after the other, whether it looks.
  private func looks(
    _ rule: inout SpareMemory, _ resident: UInt64..., at moments: [Instant] = []
  ) -> [Bool] {
    resident.enumerated().map { index, bytes in
      rule.isTimeToLook(resident: bytes, at: moments.isEmpty ? start : moments[index])
    }
  }

  @Test func aSmallProcessIsLookedAtEachTime() {
    var rule = SpareMemory(at: start)
    let found = looks(&rule, 64 * mebibyte, 64 * mebibyte, 64 * mebibyte + 1, 64 * mebibyte)
    #expect(found == [true, true, false, true])
  }

  @Test func aLargeOneIsWhenItHasGrownByAPart() {
    var rule = SpareMemory(at: start)
    let found = looks(&rule, 800 * mebibyte, 800 * mebibyte, 900 * mebibyte - 1, 900 * mebibyte)
    #expect(found == [true, false, false, true])
    rule.gaveBack(leaving: look(880, inUse: 800))
    let then = looks(&rule, 990 * mebibyte - 1, 990 * mebibyte)
    #expect(then == [false, true])
  }

  @Test func whoHasShrunkIsSeenToGrowAgain() {
    var rule = SpareMemory(at: start)
    let found = looks(&rule, 800 * mebibyte, 160 * mebibyte, 180 * mebibyte)
    #expect(found == [true, false, true])
  }

  /// People may have gone: nothing grows, and much is spare.
  @Test func aLargeOneThatDoesNotGrowIsNowAndThen() {
    var rule = SpareMemory(at: start)
    let (same, next) = (150 * mebibyte, start + SpareMemory.patience)
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
