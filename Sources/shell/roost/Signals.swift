// Stopping. Signals are blocked in every thread and taken by one that waits for them, so no handler ever runs in the
// middle of something: the first signal asks for a clean stop, the second ends the process.
import Basics
import Glibc
import Threads

enum Signals {
  /// How long a clean stop may take.
  static let patienceSeconds = 10

  /// Blocks the stop signals in this thread and those it will start, and ignores SIGPIPE, and SIGXFSZ: a file that may not
  /// grow is an error of that file, and ends no call. Call it before any thread is started.
  static func block() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    var set = takenSignals()
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Starts the thread that waits. `stop` is called in it, once; it must return soon and may leave the stopping to
  /// others.
  static func watch(_ stop: @escaping @Sendable () -> Void) throws(CommandFailure) {
    do throws(ThreadError) {
      _ = try OwnerThread(starting: "signals") { waitForSignals(stop) }
    } catch {
      throw CommandFailure(message: "cannot start a thread: \(String(cString: strerror(error.code)))")
    }
  }

  /// Those that stop the server, and those that mean nothing to it and would end it if nobody took them.
  fileprivate static func takenSignals() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP] + idle { sigaddset(&set, signal) }
    return set
  }

  fileprivate static let idle = [SIGUSR1, SIGUSR2]

  /// Whether this signal stops the server; says so where it does not.
  fileprivate static func stops(_ number: Int32) -> Bool {
    guard idle.contains(number) else { return true }
    mention("roost: \(number == SIGUSR1 ? "SIGUSR1" : "SIGUSR2") means nothing here; SIGTERM stops the server")
    return false
  }
}

/// Why the server did not start, for people.
struct CommandFailure: Error, CustomStringConvertible {
  var message: String
  var description: String { "roost: " + message }
}

private func waitForSignals(_ stop: () -> Void) {
  var set = Signals.takenSignals()
  var number: Int32 = 0
  while sigwait(&set, &number) != 0 || !Signals.stops(number) {}
  mention("roost: stopping; once more to end at once")
  stop()
  let second = nextSignal(of: &set, within: .seconds(Signals.patienceSeconds))
  if second == nil { mention("roost: not stopped after \(Signals.patienceSeconds) seconds; ending") }
  _exit(second.map { 128 + $0 } ?? 1)
}

/// The next of these signals; nil when none came in time. A debugger's interruptions do not count.
private func nextSignal(of set: inout sigset_t, within time: TimeDelta) -> Int32? {
  let end = MonotonicClock.now() + time
  while true {
    let left = max(0, (end - MonotonicClock.now()).nanoseconds)
    var patience = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
    let number = sigtimedwait(&set, nil, &patience)
    if number > 0, Signals.stops(number) { return number }
    if number < 0, errno != EINTR { return nil }
  }
}
