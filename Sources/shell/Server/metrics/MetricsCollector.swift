// Gathers the numbers of all threads for /metrics. Each thread answers from its own state; nothing is shared or locked
// on the packet path, and the web server's thread goes on serving meanwhile.

import Admin
import DoorKit
import Forwarding
import Logging
import Media
import MediaWorker
import Members
import RoostProtocol
import Threads
import WebSockets

/// Asks every thread for its numbers and waits for them a moment, on a thread of its own so that nobody else waits; who
/// does not answer in time is shown as he was last.
final class MetricsCollector: Sendable {
  typealias Answer = @Sendable (MetricsSnapshot) -> Void

  /// What is asked for its numbers.
  struct Sources: Sendable {
    let conference: Mailbox<ConferenceInput>
    let workers: [MediaWorker]
    let doors: [any ClientDoor]
    let tokens: TokenGate
    /// The counters of the web servers; none before there are any.
    let listeners: @Sendable () -> [ListenerFigures]
    /// What the threads that write and tell have counted.
    let outside: @Sendable () -> OutsideFigures
    let log: Logger
  }

  fileprivate enum Message: Sendable {
    case collect(Answer)
    case conference(ConferenceSnapshot)
    case worker(Int, WorkerCounters)
    case stop
  }

  private let mailbox = Mailbox<Message>()
  private let thread: OwnerThread

  init(_ sources: Sources) {
    let mailbox = self.mailbox
    thread = OwnerThread(name: "metrics") {
      var loop = MetricsLoop(sources, mailbox)
      loop.run()
    }
  }

  /// Gives the numbers of now to `answer`, on the collector's thread.
  func collect(_ answer: @escaping Answer) { mailbox.post(.collect(answer)) }

  /// Ends the thread. Call it once.
  func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// What lives on the thread.
private struct MetricsLoop: ~Copyable {
  /// Who asks waits at most this long: a healthy thread answers within a millisecond.
  static let patienceNanoseconds: Int64 = 100_000_000

  private enum Thread: Hashable {
    case conference
    case worker(Int)
  }

  private let sources: MetricsCollector.Sources
  private let mailbox: Mailbox<MetricsCollector.Message>
  private var conference: ConferenceSnapshot?
  private var workers: [WorkerCounters]
  /// Who waits for the numbers, until when, and which of them are missing yet.
  private var waiting: [MetricsCollector.Answer] = []
  private var deadline: Int64 = 0
  private var missing: Set<Thread> = []
  private var isStopping = false

  init(_ sources: MetricsCollector.Sources, _ mailbox: Mailbox<MetricsCollector.Message>) {
    self.sources = sources
    self.mailbox = mailbox
    workers = sources.workers.map { _ in WorkerCounters() }
  }

  mutating func run() {
    var messages: [MetricsCollector.Message] = []
    while !isStopping {
      mailbox.wait(nanoseconds: waiting.isEmpty ? -1 : max(0, deadline - MonotonicClock.now().nanoseconds))
      mailbox.drain(into: &messages)
      for message in messages { handle(message) }
      messages.removeAll(keepingCapacity: true)
      answerIfDone()
    }
  }

  private mutating func handle(_ message: MetricsCollector.Message) {
    switch message {
    case .collect(let answer):
      if waiting.isEmpty { ask() }
      waiting.append(answer)
    case .conference(let snapshot):
      conference = snapshot
      missing.remove(.conference)
    case .worker(let index, let counters):
      workers[index] = counters
      missing.remove(.worker(index))
    case .stop: isStopping = true
    }
  }

  private mutating func ask() {
    let mailbox = self.mailbox
    deadline = MonotonicClock.now().nanoseconds + Self.patienceNanoseconds
    missing = Set(workers.indices.map(Thread.worker))
    missing.insert(.conference)
    sources.conference.post(.snapshot { mailbox.post(.conference($0)) })
    for (index, worker) in sources.workers.enumerated() { worker.counters { mailbox.post(.worker(index, $0)) } }
  }

  private mutating func answerIfDone() {
    guard !waiting.isEmpty, missing.isEmpty || deadline <= MonotonicClock.now().nanoseconds else { return }
    let snapshot = self.snapshot()
    for answer in waiting { answer(snapshot) }
    waiting = []
  }

  private func snapshot() -> MetricsSnapshot {
    var snapshot = MetricsSnapshot()
    if let conference { snapshot.add(contentsOf: MetricsCollector.metrics(conference)) }
    snapshot.add(MetricsCollector.refusals(sources.workers.map(\.refusedMessages)))
    snapshot.add(contentsOf: MetricsCollector.metrics(workers))
    for door in sources.doors { snapshot.add(contentsOf: door.metrics) }
    snapshot.add(contentsOf: MetricsCollector.metrics(sources.tokens.statistics))
    snapshot.add(contentsOf: MetricsCollector.metrics(sources.outside()))
    snapshot.add(MetricsCollector.linesLost(sources.log.linesLost))
    for listener in sources.listeners() {
      snapshot.add(contentsOf: MetricsCollector.metrics(listener.statistics, listener: listener.name))
    }
    return snapshot
  }
}
