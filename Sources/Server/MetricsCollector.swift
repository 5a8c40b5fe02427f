// Gathers the numbers of all threads for /metrics. Each thread answers from its own state; nothing is shared or locked
// on the packet path.

import Admin
import Basics
import Conference
import Forwarding
import Media
import MediaWorker
import RoostProtocol
import Signalling

/// Asks every thread for its numbers and waits for them a moment; who does not answer in time is shown as he was last.
final class MetricsCollector: Sendable {
  /// The web server's thread waits at most this long: a healthy thread answers within a millisecond.
  static let patienceNanoseconds: Int64 = 100_000_000

  private enum Answer: Sendable {
    case conference(ConferenceSnapshot)
    case worker(Int, WorkerCounters)
  }

  private struct Latest: Sendable {
    var conference: ConferenceSnapshot?
    var workers: [WorkerCounters]
  }

  private let conference: Mailbox<ConferenceInput>
  private let workers: [MediaWorker]
  private let door: FrontDoor
  private let latest: Locked<Latest>

  init(conference: Mailbox<ConferenceInput>, workers: [MediaWorker], door: FrontDoor) {
    self.conference = conference
    self.workers = workers
    self.door = door
    latest = Locked(Latest(workers: workers.map { _ in WorkerCounters() }))
  }

  func collect() -> MetricsSnapshot {
    ask()
    let numbers = latest.withLock { $0 }
    var snapshot = MetricsSnapshot()
    if let conference = numbers.conference { snapshot.add(contentsOf: Self.metrics(conference)) }
    snapshot.add(contentsOf: Self.metrics(numbers.workers))
    snapshot.add(contentsOf: Self.metrics(door.statistics))
    return snapshot
  }

  private func ask() {
    let answers = Mailbox<Answer>()
    conference.post(.snapshot { answers.post(.conference($0)) })
    for (index, worker) in workers.enumerated() { worker.counters { answers.post(.worker(index, $0)) } }
    let wait = MailboxWait(descriptor: answers.descriptor)
    let deadline = SystemClock.monotonicNanoseconds() + Self.patienceNanoseconds
    var missing = workers.count + 1
    var batch: [Answer] = []
    while missing > 0 {
      let left = deadline - SystemClock.monotonicNanoseconds()
      guard left > 0 else { return }
      wait.wait(nanoseconds: left)
      answers.drain(into: &batch)
      missing -= batch.count
      for answer in batch { take(answer) }
    }
  }

  private func take(_ answer: Answer) {
    latest.withLock {
      switch answer {
      case .conference(let snapshot): $0.conference = snapshot
      case .worker(let index, let counters): $0.workers[index] = counters
      }
    }
  }
}
