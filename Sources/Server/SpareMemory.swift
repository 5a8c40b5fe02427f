// Memory that the C library keeps though nobody uses it, and the thread that has it given back.
//
// malloc keeps what is freed for what is asked for next, in pieces between what is in use. A crowd that has come and gone leaves
// such pieces on many pages, and the process looks larger than it is, for as long as it runs.

import CLinux
import Logging
import Threads

/// Decides when giving memory back is worth a moment in which threads that allocate wait.
struct SpareMemory: Sendable {
  /// What the process has at one moment, in bytes.
  struct Look: Sendable, Equatable {
    /// In RAM, files left out.
    var resident: UInt64
    /// Handed out by malloc.
    var inUse: UInt64

    /// Now; nil where the system does not say.
    static func now() -> Look? {
      var memory = clinux_memory()
      guard clinux_memory_look(&memory) == 0 else { return nil }
      return Look(resident: memory.resident, inUse: memory.in_use)
    }

    /// What is in RAM and not in use: pieces that are free, and stacks and tables that are none of malloc's.
    fileprivate var spare: UInt64 { resident > inUse ? resident - inUse : 0 }
  }

  /// Less is left alone, in bytes: a server at rest would give back what it needs again at once.
  static let least: UInt64 = 2 << 20
  /// So is less than this part of what is in use.
  static let leastPart: UInt64 = 8

  /// What giving back has left: it cannot be had.
  private var kept: UInt64 = 0

  /// Whether so much is spare that it should be given back. `gaveBack` is to be told what came of it.
  func isWorthIt(_ look: Look) -> Bool {
    let gain = look.spare > kept ? look.spare - kept : 0
    return gain >= max(Self.least, look.inUse / Self.leastPart)
  }

  /// What the process has after it gave back.
  mutating func gaveBack(leaving look: Look) { kept = look.spare }
}

/// A thread that looks from time to time. It must not be one that anybody waits for.
final class MemoryThread: Sendable {
  /// Between two looks, in nanoseconds.
  static let interval: Int64 = 30_000_000_000

  private let mailbox = Mailbox<Void>()
  private let thread: OwnerThread

  init(interval: Int64 = MemoryThread.interval, log: Logger) {
    let mailbox = self.mailbox
    thread = OwnerThread(name: "memory") {
      var spare = SpareMemory()
      while true {
        mailbox.wait(nanoseconds: interval)
        guard mailbox.count == 0 else { return }
        giveBack(&spare, log)
      }
    }
  }

  /// Ends the thread. Call it once.
  func stop() {
    mailbox.post(())
    thread.join()
  }
}

private func giveBack(_ spare: inout SpareMemory, _ log: Logger) {
  guard let before = SpareMemory.Look.now(), spare.isWorthIt(before) else { return }
  let begun = MonotonicClock.now()
  clinux_memory_give_back()
  let took = MonotonicClock.now().nanoseconds - begun.nanoseconds
  guard let after = SpareMemory.Look.now() else { return }
  spare.gaveBack(leaving: after)
  log.debug(
    "memory_given_back",
    [
      "bytes": LogValue(Int(clamping: before.resident) - Int(clamping: after.resident)),
      "resident": LogValue(Int(clamping: after.resident)), "inUse": LogValue(Int(clamping: after.inUse)),
      "tookMicroseconds": LogValue(Int(took / 1_000)),
    ])
}
