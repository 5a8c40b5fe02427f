// The mailbox: what fits, who is woken, and what comes out in which order.

import Basics
import TestSupport
import Testing
import Threads

@Suite(.timeLimit(.minutes(2))) struct MailboxTests {
  @Test func aFullMailboxCountsWhatItRefuses() {
    let mailbox = Mailbox<Int>(capacity: 3)
    let taken = [mailbox.post(1), mailbox.post([2, 3]), mailbox.post(4), mailbox.post([5, 6])]
    #expect(taken == [true, true, false, false] && mailbox.refused == 3 && mailbox.count == 3)
    var messages: [Int] = []
    mailbox.drain(into: &messages)
    mailbox.close()
    let late = mailbox.post(7)
    #expect(messages == [1, 2, 3] && !late && mailbox.refused == 3)
  }

  /// A heavy message needs as little room as a light one, and fills the mailbox by its weight.
  @Test func messagesCountByTheirWeight() {
    let mailbox = Mailbox<Int>(capacity: 3)
    let taken = [mailbox.post(1, weight: 2), mailbox.post(2, weight: 9), mailbox.post(3), mailbox.post([4])]
    #expect(taken == [true, true, false, false] && mailbox.drain() == [1, 2] && mailbox.refused == 2)
    #expect(mailbox.post(5, weight: 3) && !mailbox.post(6) && mailbox.post([]), "a drained mailbox has room again")
  }

  /// The reader drains all, so only the first of them need wake it.
  @Test func theFirstMessageWakesTheReader() {
    let woken = Locked(0)
    let mailbox = Mailbox<Int>(capacity: 2) { woken.withLock { $0 += 1 } }
    #expect(mailbox.descriptor == -1)
    mailbox.post(1)
    mailbox.post(2)
    mailbox.post(3)
    #expect(woken.withLock { $0 } == 1 && mailbox.drain() == [1, 2])
    mailbox.post([4, 5])
    mailbox.close()
    mailbox.post(6)
    #expect(woken.withLock { $0 } == 2 && mailbox.drain() == [4, 5], "what waits when it is closed can be drained")
  }

  /// The wake-up may itself look into the mailbox.
  @Test func theReaderIsWokenWithNoLockHeld() {
    let seen = Locked<[Int]>([])
    let box = Locked<Mailbox<Int>?>(nil)
    let mailbox = Mailbox<Int>(capacity: 2) {
      let mailbox = box.withLock { $0 }
      seen.withLock { $0 += mailbox?.drain() ?? [] }
    }
    box.withLock { $0 = mailbox }
    for number in 1...5 { #expect(mailbox.post(number)) }
    #expect(seen.withLock { $0 } == [1, 2, 3, 4, 5])
    box.withLock { $0 = nil }
  }

  /// Each writer's messages stay in order, and none is lost, however the threads meet.
  @Test func manyWritersOneReader() {
    let (writers, each) = (4, 5_000)
    let mailbox = Mailbox<(writer: Int, number: Int)>()
    let threads = (0..<writers).map { writer in
      OwnerThread(name: "writer-\(writer)") { for number in 0..<each { mailbox.post((writer, number)) } }
    }
    var next = [Int](repeating: 0, count: writers)
    var inOrder = true
    while next.contains(where: { $0 < each }) {
      mailbox.wait(nanoseconds: 60_000_000_000)
      for message in mailbox.drain() {
        inOrder = inOrder && next[message.writer] == message.number
        next[message.writer] += 1
      }
    }
    for thread in threads { thread.join() }
    #expect(inOrder && next == [Int](repeating: each, count: writers) && mailbox.count == 0)
  }

  @Test func aWaitEndsWithItsTime() {
    let start = MonotonicClock.now()
    Mailbox<Int>().wait(nanoseconds: 2_000_000)
    #expect(MonotonicClock.now() - start >= .milliseconds(2))
  }
}
