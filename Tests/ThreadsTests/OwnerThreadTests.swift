// Threads, what they are told with, and the clocks.

import Basics
import Glibc
import TestSupport
import Testing
import Threads

@Suite(.timeLimit(.minutes(2))) struct OwnerThreadTests {
  @Test func aThreadHasItsNameAndCanBeWaitedForTwice() {
    let name = Locked("")
    let thread = OwnerThread(name: "somebody") {
      let comm = open("/proc/thread-self/comm", O_RDONLY)
      var text = [UInt8](repeating: 0, count: 16)
      let count = read(comm, &text, text.count)
      close(comm)
      name.withLock { $0 = String(decoding: text.prefix(max(0, count)), as: UTF8.self) }
    }
    thread.join()
    thread.join()
    #expect(name.withLock { $0 } == "somebody\n")
  }

  /// Signals are the main thread's business; a fault must still be told of. Who starts a thread keeps its own mask.
  @Test func aThreadTakesNoSignalsButItsFaults() {
    @Sendable func isBlocked(_ signal: Int32) -> Bool {
      var mask = sigset_t()
      pthread_sigmask(SIG_SETMASK, nil, &mask)
      return sigismember(&mask, signal) == 1
    }
    let ownBefore = [SIGTERM, SIGPIPE, SIGUSR1, SIGSEGV].map(isBlocked)
    let seen = Locked<[Bool]>([])
    OwnerThread(name: "deaf") {
      let blocked = [SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT]
        .map(isBlocked)
      seen.withLock { $0 = blocked }
    }.join()
    #expect(seen.withLock { $0 } == [true, true, true, true, true, true, false, false, false, false, false])
    #expect([SIGTERM, SIGPIPE, SIGUSR1, SIGSEGV].map(isBlocked) == ownBefore)
  }

  /// As a callback of a loop does that stops its own loop.
  @Test func aThreadThatJoinsItselfGoesOn() {
    let mailbox = Mailbox<OwnerThread>(capacity: 1)
    let isOver = Promise<Bool>()
    let thread = OwnerThread(name: "itself") {
      mailbox.wait()
      mailbox.drain().first?.join()
      isOver.give(true)
    }
    mailbox.post(thread)
    #expect(isOver.take())
    thread.join()
  }

  /// What its function holds is let go when it ends, whether anybody waits for it or not.
  @Test func aThreadThatNobodyWaitsForEnds() async {
    final class Held: Sendable {}
    weak var held: Held?
    do {
      let strong = Held()
      held = strong
      _ = OwnerThread(name: "forgotten") { withExtendedLifetime(strong) {} }
    }
    #expect(await eventually { held == nil })
  }

  @Test func aPromiseIsKeptOnce() {
    let promise = Promise<Int>()
    let thread = OwnerThread(name: "promise") {
      promise.give(1)
      promise.give(2)
    }
    #expect(promise.take() == 1)
    thread.join()
  }

  @Test func anEventIsReadableUntilItIsDrained() throws {
    let event = try WakeEvent()
    func isReadable() -> Bool {
      var watched = pollfd(fd: event.descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&watched, 1, 0) == 1
    }
    let before = isReadable()
    event.signal()
    event.signal()
    event.wait()
    let signalled = isReadable()
    event.drain()
    #expect(!before && signalled && !isReadable())
  }

  @Test func theClocksGoForward() {
    let now = Now.read()
    #expect(now.instant <= MonotonicClock.now() && now.wallMilliseconds > 1_700_000_000_000)
    #expect(WallClock.nanoseconds() / 1_000_000 >= now.wallMilliseconds)
  }
}
