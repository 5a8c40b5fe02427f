// Memory that the C library keeps though nobody uses it, and the thread that has it given back.
//
// malloc keeps what is freed for what is asked for next, in pieces between what is in use. A crowd that has come and gone leaves
// such pieces on many pages, and the process looks larger than it is, for as long as it runs.

import Basics
import CLinux
import Logging
import Threads

/// Decides when to look for memory that is spare, and when it is worth giving back: threads that allocate wait for both.
struct SpareMemory: Sendable {
  /// Less is left alone, in bytes: a server at rest would give back what it needs again at once.
  static let least: UInt64 = 2 << 20
  /// So is less than this part of what there is.
  static let leastPart: UInt64 = 8
  /// Who has not grown looks so often: people may have gone. A large heap takes some 20 ms to look at.
  static let patience = TimeDelta.seconds(600)

  /// What was resident at the last look, or less since, and the moment of the next look.
  private var seen: UInt64 = 0
  private var nextLook: Instant
  /// What was resident and not in use after giving back: it cannot be had.
  private var kept: UInt64 = 0

  init(at now: Instant) { nextLook = now + Self.patience }

  /// Whether to look, where so many bytes are `resident`.
  mutating func isTimeToLook(resident: UInt64, at now: Instant) -> Bool {
    seen = min(seen, resident)
    guard resident - seen >= max(Self.least, seen / Self.leastPart) || now >= nextLook else { return false }
    seen = resident
    nextLook = now + Self.patience
    return true
  }

  /// Whether enough of what is `resident` is not `inUse`, in bytes. `gaveBack` is to be told what came of it.
  func isWorthIt(resident: UInt64, inUse: UInt64) -> Bool {
    let spare = resident > inUse ? resident - inUse : 0
    return spare > kept && spare - kept >= max(Self.least, inUse / Self.leastPart)
  }

  /// What there is after giving back.
  mutating func gaveBack(resident: UInt64, inUse: UInt64) {
    seen = resident
    kept = resident > inUse ? resident - inUse : 0
  }
}

/// The memory of a process, in bytes.
struct ProcessMemory: Sendable {
  /// Anonymous memory in RAM; nil where the system does not say.
  var resident: @Sendable () -> UInt64?
  /// What malloc has handed out.
  var inUse: @Sendable () -> UInt64
  /// Gives back what is spare.
  var giveBack: @Sendable () -> Void

  /// That of this process.
  static let own = ProcessMemory(
    resident: {
      var bytes: UInt64 = 0
      return clinux_memory_resident(&bytes) == 0 ? bytes : nil
    },
    inUse: { clinux_memory_in_use() },
    giveBack: { clinux_memory_give_back() })
}

/// A thread that looks from time to time. It must not be one that anybody waits for.
final class MemoryThread: Sendable {
  /// Between two looks at what is resident, which costs next to nothing.
  static let interval = TimeDelta.seconds(30)

  private let mailbox = Mailbox<Void>()
  private let thread: OwnerThread

  init(_ memory: ProcessMemory = .own, interval: TimeDelta = MemoryThread.interval, log: Logger) {
    let mailbox = self.mailbox
    thread = OwnerThread(name: "memory") {
      var spare = SpareMemory(at: MonotonicClock.now())
      while true {
        mailbox.wait(nanoseconds: interval.nanoseconds)
        guard mailbox.count == 0 else { return }
        spare.giveBack(memory, log)
      }
    }
  }

  /// Ends the thread. Call it once.
  func stop() {
    mailbox.post(())
    thread.join()
  }
}

extension SpareMemory {
  fileprivate mutating func giveBack(_ memory: ProcessMemory, _ log: Logger) {
    let begun = MonotonicClock.now()
    guard let before = memory.resident(), isTimeToLook(resident: before, at: begun),
      isWorthIt(resident: before, inUse: memory.inUse())
    else { return }
    memory.giveBack()
    let (inUse, ended) = (memory.inUse(), MonotonicClock.now())
    guard let after = memory.resident() else { return }
    gaveBack(resident: after, inUse: inUse)
    log.debug(
      "memory_given_back",
      [
        "bytes": LogValue(before > after ? before - after : 0), "resident": LogValue(after), "inUse": LogValue(inUse),
        "tookMicroseconds": LogValue((ended - begun).nanoseconds / 1_000),
      ])
  }
}
