// Runs the peer connections of many participants on a few threads. What a participant does on the network happens here;
// the façade above only says what it wants.
//
//   SyntheticParticipant ─commands─▶ mailbox ─▶ thread: epoll ─▶ PeerConnections
//                        ◀──events── AsyncStream ◀──┘

import Basics
import CLinux
import RoostProtocol
import Synchronization
import Threads

/// A few threads that own sockets and media of any number of participants. Stop it when all of them are gone.
public final class MediaDriver: Sendable {
  private let threads: [DriverThread]
  private let next = Atomic<Int>(0)

  /// Starts `threads` threads. With `sparesFirstCPU` each is bound to a CPU, and none to the first.
  public init(threads: Int = 1, sparesFirstCPU: Bool = false) {
    let others = max(1, Int(clinux_cpu_count()) - 1)
    self.threads = (0..<max(1, threads)).map { DriverThread(cpu: sparesFirstCPU ? 1 + $0 % others : nil) }
  }

  deinit { stop() }

  /// Closes all sockets and ends the threads. What participants want after that does not happen.
  public func stop() {
    for thread in threads { thread.stop() }
  }

  /// CPU time that the threads have used: when it nears the time that has passed, the driver itself is the bottleneck.
  public func cpuTime() async -> TimeDelta {
    var sum = TimeDelta.zero
    for thread in threads {
      let used = await withCheckedContinuation { answer in
        thread.post(.usage { answer.resume(returning: $0) })
      }
      sum = sum + used
    }
    return sum
  }

  /// Counts of all connections of all threads, as they are now.
  public func totals() async -> DriverTotals {
    var sum = DriverTotals()
    for thread in threads {
      sum.add(await withCheckedContinuation { answer in thread.post(.totals { answer.resume(returning: $0) }) })
    }
    return sum
  }

  /// Forgets all delays measured so far, so that the next report is about what comes from now on.
  public func forgetDelays() {
    for thread in threads { thread.post(.forgetDelays) }
  }

  /// Stops all senders where they are, so that what is still under way can arrive and be counted.
  public func holdSenders() {
    for thread in threads { thread.post(.holdSenders) }
  }

  /// When the latest media packet of a track came, for each subscription to it that is in use.
  public func latestPackets(ofTrack trackId: String) async -> [Instant] {
    var result: [Instant] = []
    for thread in threads {
      result += await withCheckedContinuation { answer in
        thread.post(.latestPackets(trackId) { answer.resume(returning: $0) })
      }
    }
    return result
  }

  /// The monotonic clock that stamps and statistics are in.
  public static var now: Instant { MonotonicClock.now() }

  /// The thread for a new participant: each in turn.
  func nextThread() -> DriverThread {
    threads[next.wrappingAdd(1, ordering: .relaxed).oldValue % threads.count]
  }
}

/// Names a connection on its thread; never used again.
typealias ConnectionKey = UInt64

/// What a thread is told.
enum DriverCommand: Sendable {
  case open(ConnectionKey, ConnectionSetup, bind: SocketAddress, events: @Sendable (ConnectionEvent) -> Void)
  case tell(ConnectionKey, ConnectionCommand)
  /// A new socket with another port takes the place of the old one.
  case rebind(ConnectionKey, bind: SocketAddress)
  /// `politely`: with DTLS' close_notify.
  case close(ConnectionKey, politely: Bool)
  case statistics([ConnectionKey], @Sendable ([ConnectionKey: ConnectionReport]) -> Void)
  case usage(@Sendable (TimeDelta) -> Void)
  case totals(@Sendable (DriverTotals) -> Void)
  case latestPackets(String, @Sendable ([Instant]) -> Void)
  case forgetDelays
  case holdSenders
  case stop
}

/// A connection's counts.
struct ConnectionReport: Sendable {
  var connection = ConnectionStatistics()
  var media = ParticipantStatistics()
}

/// A thread and its mailbox.
final class DriverThread: Sendable {
  private let mailbox: Mailbox<DriverCommand>
  private let keys = Atomic<UInt64>(1)
  private let thread: OwnerThread

  /// A thread, bound to a CPU where one is named.
  init(cpu: Int?) {
    let mailbox = Mailbox<DriverCommand>(capacity: .max)
    self.mailbox = mailbox
    thread = OwnerThread(name: "synthetic") { Self.run(mailbox, cpu: cpu) }
  }

  func makeKey() -> ConnectionKey { keys.wrappingAdd(1, ordering: .relaxed).oldValue }

  /// Adds a command; after the stop those with an answer are answered with nothing, the others are forgotten.
  func post(_ command: DriverCommand) {
    if !mailbox.post(command) { command.answerWithNothing() }
  }

  func stop() {
    post(.stop)
    thread.join()
  }

  private static func run(_ mailbox: Mailbox<DriverCommand>, cpu: Int?) {
    if let cpu {
      _ = clinux_thread_pin(Int32(cpu))
      // The rest of the generator can wait: it counts and adds up while packets come. Where we may not, it takes its share.
      _ = clinux_thread_prefer()
    }
    var loop = DriverLoop(wake: mailbox.descriptor, takeCommands: mailbox.drain)
    loop.run()
    mailbox.close()
    for command in mailbox.drain() { command.answerWithNothing() }
  }
}

extension DriverCommand {
  fileprivate func answerWithNothing() {
    switch self {
    case .statistics(_, let answer): answer([:])
    case .usage(let answer): answer(.zero)
    case .totals(let answer): answer(DriverTotals())
    case .latestPackets(_, let answer): answer([])
    case .open, .tell, .rebind, .close, .forgetDelays, .holdSenders, .stop: break
    }
  }
}
