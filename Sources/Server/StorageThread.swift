// The one owner of the record file: a thread that writes what has collected in its mailbox in one transaction, and then
// says of each ticket whether it is on disk. Whoever waits for that waits in the conference's state, not in a thread.
//
//   conference ──tickets──▶ mailbox ──▶ one transaction, one fsync ──▶ stored(ticket, true or false)

import Basics
import Conference
import Logging
import MediaWorker
import Storage

/// The thread's handle.
final class StorageThread: Sendable {
  /// Tickets that may wait for the disk. Raising it lets a disk that hangs take so many more messages' memory.
  static let patience = 16_384

  fileprivate enum Input: Sendable {
    case store(StoreTicket, [StoreChange])
    case stop
  }

  private let mailbox: Mailbox<Input>
  private let thread: OwnerThread

  private init(mailbox: Mailbox<Input>, thread: OwnerThread) {
    self.mailbox = mailbox
    self.thread = thread
  }

  /// Opens the file and reads what an earlier process left in it. Where that fails, the log says why, and the server
  /// goes on without: nil.
  static func start(
    path: String, rules: ConferenceRules, log: Logger, answer: @escaping @Sendable (StoreTicket, Bool) -> Void
  ) -> (thread: StorageThread, restored: RestoredState)? {
    let mailbox = Mailbox<Input>(capacity: patience)
    let opened = Mailbox<RestoredState?>(capacity: 1)
    let thread = OwnerThread(name: "storage") {
      do throws(StorageError) {
        var loop = try StorageLoop(path: path, log: log, answer: answer)
        opened.post(try loop.restore(rules))
        loop.run(mailbox)
      } catch {
        log.error(
          "storage_off",
          [
            "path": LogValue(path), "reason": LogValue("\(error)"), "effect": "nothing is kept beyond this process",
            "remedy": LogValue(error.remedy),
          ])
        opened.post(nil)
      }
    }
    guard let restored = first(of: opened) else {
      thread.join()
      return nil
    }
    return (StorageThread(mailbox: mailbox, thread: thread), restored)
  }

  private static func first(of mailbox: Mailbox<RestoredState?>) -> RestoredState? {
    let wait = MailboxWait(descriptor: mailbox.descriptor)
    var answers: [RestoredState?] = []
    while answers.isEmpty {
      wait.wait(nanoseconds: -1)
      mailbox.drain(into: &answers)
    }
    return answers.first ?? nil
  }

  /// Takes changes to be written; false when too many wait already.
  func store(_ ticket: StoreTicket, _ changes: [StoreChange]) -> Bool { mailbox.post(.store(ticket, changes)) }

  /// Ends the thread after what has been taken is written.
  func stop() {
    // A full mailbox empties as fast as the disk allows, which may be never; then the system ends the thread.
    while !mailbox.post(.stop) { SystemClock.sleep(milliseconds: 10) }
    thread.join()
  }
}

/// What lives on the thread.
private struct StorageLoop: ~Copyable {
  /// Tickets in one transaction. More make the first of them wait longer, fewer cost more fsyncs.
  static let batch = 256

  private typealias Ticket = (ticket: StoreTicket, changes: [StoreChange])

  private var file: RecordFile
  private let path: String
  private let log: Logger
  private let answer: @Sendable (StoreTicket, Bool) -> Void
  /// Why the last transaction failed; nil while all is well.
  private var trouble: StorageError?
  private var isStopping = false

  init(path: String, log: Logger, answer: @escaping @Sendable (StoreTicket, Bool) -> Void) throws(StorageError) {
    file = try RecordFile(path: path, wallMilliseconds: SystemClock.wallMilliseconds())
    self.path = path
    self.log = log
    self.answer = answer
    report()
  }

  mutating func restore(_ rules: ConferenceRules) throws(StorageError) -> RestoredState {
    try file.restore { rules.rules(forRoom: $0)?.chatHistory ?? rules.rooms[$0]?.chatHistory ?? 0 }
  }

  mutating func run(_ mailbox: Mailbox<StorageThread.Input>) {
    let wait = MailboxWait(descriptor: mailbox.descriptor)
    var inputs: [StorageThread.Input] = []
    while !isStopping {
      wait.wait(nanoseconds: -1)
      mailbox.drain(into: &inputs)
      var batch: [Ticket] = []
      for input in inputs {
        switch input {
        case .store(let ticket, let changes): batch.append((ticket, changes))
        case .stop: isStopping = true
        }
        if batch.count == Self.batch { write(&batch) }
      }
      write(&batch)
    }
  }

  private mutating func write(_ batch: inout [Ticket]) {
    guard !batch.isEmpty else { return }
    let isOnDisk = commit(batch.flatMap(\.changes))
    for (ticket, _) in batch { answer(ticket, isOnDisk) }
    batch.removeAll(keepingCapacity: true)
  }

  private mutating func commit(_ changes: [StoreChange]) -> Bool {
    do throws(StorageError) {
      try file.apply(changes, wallMilliseconds: SystemClock.wallMilliseconds())
      if trouble != nil { log.info("storage_recovered", ["path": LogValue(path)]) }
      trouble = nil
    } catch {
      // One line for each new trouble, not for each message that meets it.
      if error != trouble {
        log.error(
          "storage_failed",
          ["path": LogValue(path), "reason": LogValue("\(error)"), "remedy": LogValue(error.remedy)])
      }
      trouble = error
    }
    report()
    return trouble == nil
  }

  private mutating func report() {
    for notice in file.takeNotices() {
      switch notice {
      case .setAside(let name, let error):
        log.error(
          "storage_damaged",
          [
            "path": LogValue(path), "reason": LogValue("\(error)"), "kept_as": LogValue(name),
            "effect": "a new file was begun; what the damaged one held is not shown any more",
          ])
      }
    }
  }
}
