// Asks an application before something is done, on a thread of its own: the conference never waits for it, and goes on when it is answered.
//
//   conference ──▶ mailbox ──▶ queue ──▶ libcurl ──▶ yes, no, or nothing ──▶ conference
//                                │
//                                └── down: nothing; too many: unasked; at once

import Basics
import Configuration
import Logging
import Members
import Names
import RoostProtocol
import Threads
import Webhooks

extension QuestionRules {
  /// The thread answers in time by itself; the conference waits a moment longer.
  init(_ hooks: ServerConfiguration.Hooks) {
    self.init()
    kinds = Set(hooks.kinds.compactMap { Question.Kind(rawValue: $0.rawValue) })
    patience = hooks.timeout + .seconds(1)
    allowsUnanswered = hooks.whenDown == .allow
  }
}

/// The thread's handle.
final class HookThread: Sendable {
  fileprivate enum Input: Sendable {
    /// `since`: when it was asked, as the thread may come to it late.
    case ask(Ticket, Question, since: Instant)
    case takeBack(Ticket)
    case stop
  }

  /// Questions that may wait for the thread, which only sorts them. Each is a request of a client, kept whole.
  static let patience = 8_192

  private let mailbox: Mailbox<Input>
  private let thread: OwnerThread
  private let shared = Locked(HookFigures())

  /// What it has done and has yet to do.
  var figures: HookFigures { shared.withLock { $0 } }

  /// Starts the thread. `answer` is called on it, once for each question; `makeSender` gives nil where libcurl is missing.
  init(
    _ settings: ServerConfiguration.Hooks, _ application: ServerConfiguration.Webhooks.Endpoint,
    of realm: Realm = .default, log: Logger, patience: Int = HookThread.patience,
    makeSender: @escaping @Sendable () -> HTTPSender? = { HTTPSender() },
    answer: @escaping @Sendable (Ticket, QuestionAnswer) -> Void
  ) {
    let (mailbox, shared) = (Mailbox<Input>(capacity: patience), self.shared)
    self.mailbox = mailbox
    thread = OwnerThread(name: "hooks") {
      guard let sender = makeSender() else {
        log.error("hooks_off", ["reason": "libcurl could not be loaded: install libcurl4"])
        return Self.answerNothing(mailbox, answer)
      }
      var loop = HookLoop(settings, application, of: realm, sender: sender, log: log, figures: shared, answer: answer)
      loop.run(mailbox)
    }
  }

  /// Without a sender nothing is answered.
  private static func answerNothing(_ mailbox: Mailbox<Input>, _ answer: (Ticket, QuestionAnswer) -> Void) {
    var inputs: [Input] = []
    while true {
      mailbox.wait(nanoseconds: -1)
      mailbox.drain(into: &inputs)
      for input in inputs {
        switch input {
        case .ask(let ticket, _, _): answer(ticket, .nothing)
        case .takeBack: break
        case .stop: return
        }
      }
    }
  }

  /// Takes a question; false when too many wait already.
  func ask(_ ticket: Ticket, _ question: Question) -> Bool {
    mailbox.post(.ask(ticket, question, since: MonotonicClock.now()))
  }

  /// Nobody waits for an answer any more. Where the mailbox is full, it is asked in vain.
  func takeBack(_ ticket: Ticket) { mailbox.post(.takeBack(ticket)) }

  /// Ends the thread. What is on its way then is not answered.
  func stop() {
    // A full mailbox empties in a moment: the thread only sorts what is in it.
    while !mailbox.post(.stop) { OwnerThread.sleep(milliseconds: 10) }
    thread.join()
  }
}

extension QuestionAsker {
  /// By whom a question is counted.
  fileprivate init(_ question: Question) {
    if !question.isVerified, let network = question.network {
      self = .network(network)
    } else {
      self = .user(question.user)
    }
  }
}

extension QuestionFailure {
  fileprivate init(_ outcome: HTTPOutcome) {
    switch outcome {
    case .failed(_, mayHaveArrived: false): self = .unreachable
    case .answered(400...499, _) where !outcome.mayPass: self = .disliked
    case .answered, .failed: self = .unanswered
    }
  }
}

/// What lives on the thread.
private struct HookLoop: ~Copyable {
  /// From one line about a failure to the next.
  private static let quiet = TimeDelta.seconds(10)
  /// Who was refused comes again within this, and not all at once.
  private static let spread = 0..<1_000
  private static let tooMany = "too many questions wait"

  private struct Asked {
    let ticket: Ticket
    let kind: Question.Kind
    let at: Instant
  }

  private let settings: ServerConfiguration.Hooks
  private let application: ServerConfiguration.Webhooks.Endpoint
  private let secrets: [[UInt8]]
  private let realm: Realm
  private let log: Logger
  private let shared: Locked<HookFigures>
  private let answer: @Sendable (Ticket, QuestionAnswer) -> Void
  private var sender: HTTPSender
  private var queue: QuestionQueue
  private var asked: [String: Asked] = [:]
  private var ids: [Ticket: String] = [:]
  private var figures = HookFigures()
  private var now = Now.read()
  private var isStopping = false
  /// Lines about questions that were given up.
  private var failures = RareLine(pause: Self.quiet)
  /// Lines that the application is down, and whether that was said of this time.
  private var downs = RareLine(pause: Self.quiet)
  private var isDownSaid = false
  /// Why the last attempt of each failed.
  private var problems: [String: String] = [:]

  init(
    _ settings: ServerConfiguration.Hooks, _ application: ServerConfiguration.Webhooks.Endpoint, of realm: Realm,
    sender: consuming HTTPSender, log: Logger, figures: Locked<HookFigures>,
    answer: @escaping @Sendable (Ticket, QuestionAnswer) -> Void
  ) {
    self.sender = sender
    (self.settings, self.application, self.realm) = (settings, application, realm)
    (self.log, shared, self.answer) = (log, figures, answer)
    secrets = application.secrets.map { Array($0.utf8) }
    var limits = QuestionLimits()
    (limits.atOnce, limits.attempts, limits.timeout) = (settings.atOnce, settings.attempts, settings.timeout)
    queue = QuestionQueue(limits)
  }

  mutating func run(_ mailbox: Mailbox<HookThread.Input>) {
    var inputs: [HookThread.Input] = []
    while !isStopping {
      show()
      sender.wait(descriptor: mailbox.descriptor, until: queue.nextDeadline(at: now.instant))
      mailbox.drain(into: &inputs)
      now = Now.read()
      for input in inputs { handle(input) }
      for answer in sender.takeAnswers() { finished(answer) }
      while let (id, failure) = queue.popExpired(at: now.instant) { failed(id, failure) }
      send()
    }
    for id in Array(asked.keys) { settle(id, .nothing) }
    show()
  }

  private mutating func show() {
    (figures.waiting, figures.isDown) = (queue.count, queue.isDown)
    let figures = figures
    shared.withLock { $0 = figures }
  }

  // MARK: - In

  private mutating func handle(_ input: HookThread.Input) {
    switch input {
    case .ask(let ticket, let question, let since): ask(ticket, question, since: since)
    case .takeBack(let ticket): takeBack(ticket)
    case .stop: isStopping = true
    }
  }

  private mutating func ask(_ ticket: Ticket, _ question: Question, since: Instant) {
    let id = String.randomName()
    let body = HookBody(id: id, question: question, realm: realm, time: now.wallMilliseconds)
    guard let bytes = try? JSONText.bytes(of: body) else { return answer(ticket, .nothing) }
    switch queue.ask(id, bytes, of: QuestionAsker(question), since: since, at: now.instant) {
    case .taken:
      asked[id] = Asked(ticket: ticket, kind: question.kind, at: since)
      ids[ticket] = id
    case .down:
      figures.skipped += 1
      answer(ticket, leftAlone())
    case .full:
      figures.overflowed += 1
      answer(ticket, .unasked)
      note(question.kind, Self.tooMany, attempts: 0)
    }
  }

  /// One that is on its way has its answer thrown away by whoever gets it.
  private mutating func takeBack(_ ticket: Ticket) {
    guard let id = ids[ticket], queue.takeBack(id, at: now.instant) else { return }
    figures.takenBack += 1
    forget(id)
  }

  // MARK: - Out

  private mutating func send() {
    while let attempt = queue.next(at: now.instant) {
      var post = HTTPPost(
        to: application.url, id: attempt.id, attempt: attempt.number, attempt.body, secrets: secrets, at: now,
        timeout: attempt.timeout, mostAnswerBytes: HookAnswer.mostBytes)
      post.isUrgent = true
      sender.send(attempt.id, post)
    }
  }

  private mutating func finished(_ request: HTTPAnswer) {
    guard let kind = asked[request.id]?.kind else { return }
    do throws(HookProblem) {
      let said = try HookAnswer.read(request, to: kind)
      let isBack = queue.answered(request.id)
      settle(request.id, said)
      if isBack == true { noteBack() }
    } catch {
      figures.failedAttempts += 1
      problems[request.id] = error.words
      let wasDown = queue.isDown
      failed(
        request.id,
        queue.failed(
          request.id, QuestionFailure(request.outcome), mayPass: error.mayPass, at: now.instant))
      if wasDown, !queue.isDown { noteBack() }
    }
  }

  private mutating func failed(_ id: String, _ failure: QuestionQueue.Failure) {
    guard case .over(let attempts, let down) = failure, let kind = asked[id]?.kind else { return }
    let words = problems[id] ?? (attempts == 0 ? Self.tooMany : "no answer in time")
    if attempts == 0 { figures.overflowed += 1 } else { figures.failed += 1 }
    settle(id, attempts == 0 ? .unasked : down == nil ? .nothing : leftAlone())
    note(kind, words, attempts: attempts)
    guard let down else { return }
    noteDown(for: down, words)
    for id in queue.takeWaiting() {
      figures.skipped += 1
      settle(id, leftAlone())
    }
  }

  private func leftAlone() -> QuestionAnswer {
    .down(queue.breakLeft(at: now.instant) + .milliseconds(Int.random(in: Self.spread)))
  }

  /// One that comes and goes is said to be down and back once in a while.
  private mutating func noteDown(for length: TimeDelta, _ reason: String) {
    downs.add()
    guard downs.take(at: now.instant) != nil else { return }
    isDownSaid = true
    log.warning(
      "hooks_down",
      fields([
        ("milliseconds", LogValue(Int(length.milliseconds))), ("reason", LogValue(reason)),
        ("effect", settings.whenDown == .allow ? "all is allowed meanwhile" : "all is refused meanwhile"),
      ]))
  }

  private mutating func noteBack() {
    if isDownSaid { log.info("hooks_back", fields([])) }
    isDownSaid = false
  }

  /// One line in a while, with how many there would have been.
  private mutating func note(_ kind: Question.Kind, _ reason: String, attempts: Int) {
    failures.add()
    guard let count = failures.take(at: now.instant) else { return }
    log.warning(
      "hook_failed",
      fields([
        ("hook", LogValue(kind.rawValue)), ("reason", LogValue(reason)), ("attempts", LogValue(attempts)),
        ("unsaid", LogValue(count - 1)),
      ]))
  }

  /// Most servers have one realm, and need not read its name in each line.
  private func fields(_ own: [(name: String, value: LogValue)]) -> LogFields {
    LogFields(own + (realm == .default ? [] : [("realm", LogValue(realm.name))]))
  }

  private mutating func settle(_ id: String, _ said: QuestionAnswer) {
    guard let asked = forget(id) else { return }
    switch said {
    case .yes, .changed: figures.allowed += 1
    case .no: figures.refused += 1
    case .nothing, .down, .unasked: return answer(asked.ticket, said)
    }
    figures.answerMilliseconds += max(0, (now.instant - asked.at).milliseconds)
    answer(asked.ticket, said)
  }

  @discardableResult private mutating func forget(_ id: String) -> Asked? {
    problems[id] = nil
    guard let asked = asked.removeValue(forKey: id) else { return nil }
    ids[asked.ticket] = nil
    return asked
  }
}
