// Memory that the C library keeps though nobody uses it, and the thread that has it given back.
//
// malloc keeps what is freed for what is asked for next, in pieces between what is in use. A crowd that has come and gone leaves
// such pieces on many pages, and the process looks larger than it is, for as long as it runs.

import Admin
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
  /// A process of so many bytes is looked at each time, which takes it a millisecond or two. A larger one takes 20 ms and more.
  static let small: UInt64 = 64 << 20
  /// A larger one that has not grown is looked at so often: people may have gone. Then what is spare is given back in any case.
  static let patience = TimeDelta.seconds(600)

  /// What there is, in bytes.
  struct Look: Sendable, Equatable {
    var resident: UInt64 = 0
    var inUse: UInt64 = 0

    /// Pieces that are free, and stacks and tables that are none of malloc's.
    fileprivate var spare: UInt64 { resident > inUse ? resident - inUse : 0 }

    fileprivate func differs(from other: Look, by bytes: UInt64) -> Bool {
      max(resident, other.resident) - min(resident, other.resident) >= bytes
        || max(inUse, other.inUse) - min(inUse, other.inUse) >= bytes
    }
  }

  /// What was resident at the last look, or less since.
  private var seen: UInt64 = 0
  /// The moment by which there is a look in any case, and whether it has come.
  private var nextLook: Instant
  private var isLate = false
  /// What there was after giving back: what is spare in it could not be had.
  private var left = Look()

  init(at now: Instant) { nextLook = now + Self.patience }

  /// Whether to look, where so many bytes are `resident`.
  mutating func isTimeToLook(resident: UInt64, at now: Instant) -> Bool {
    seen = min(seen, resident)
    isLate = now >= nextLook
    guard isLate || resident <= Self.small || resident - seen >= max(Self.least, seen / Self.leastPart) else {
      return false
    }
    seen = resident
    if isLate || resident > Self.small { nextLook = now + Self.patience }
    return true
  }

  /// Whether enough is spare, and it is not just what giving back has left. `gaveBack` is to be told what came of it.
  func isWorthIt(_ look: Look) -> Bool {
    let enough = max(Self.least, look.inUse / Self.leastPart)
    return look.spare >= enough && (isLate || look.differs(from: left, by: enough / 2))
  }

  /// What there is after giving back.
  mutating func gaveBack(leaving look: Look) { (left, seen) = (look, look.resident) }
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
    resident: { ProcessMetrics.anonymousBytes() },
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
    guard let resident = memory.resident(), isTimeToLook(resident: resident, at: begun),
      isWorthIt(Look(resident: resident, inUse: memory.inUse()))
    else { return }
    memory.giveBack()
    let (inUse, ended) = (memory.inUse(), MonotonicClock.now())
    guard let after = memory.resident() else { return }
    gaveBack(leaving: Look(resident: after, inUse: inUse))
    log.debug(
      "memory_given_back",
      [
        "bytes": LogValue(resident > after ? resident - after : 0), "resident": LogValue(after),
        "inUse": LogValue(inUse), "tookMicroseconds": LogValue((ended - begun).nanoseconds / 1_000),
      ])
  }
}
