// What is waited for beyond the conference: the disk, the application, later other nodes. Each is out with a ticket, has one who waits, and
// a deadline. Only the first word counts: an answer, or the end of patience. What comes later finds nobody.

import Basics
import Calls
import Members

/// Who is to be told when a ticket comes back.
enum Waiter: Sendable {
  case message(UnstoredMessage)
  case records([UserRecord])
  case history(UnreadHistory)
  case rings([PushNotice])
  /// An action that the application is asked about.
  indirect case action(AskedAction)
}

/// All that is out.
struct Tickets: Sendable {
  private(set) var waiters: [Ticket: Waiter] = [:]
  private var deadlines = Deadlines<Ticket>()

  /// When the patience of the first is over; nil when nobody waits.
  var next: Instant? { deadlines.next }

  /// A new ticket, and who waits for it so long.
  mutating func make(for waiter: Waiter, _ patience: TimeDelta, _ step: inout Step) -> Ticket {
    let ticket = step.makeTicket()
    add(ticket, waiter, patience, step.now)
    return ticket
  }

  /// Somebody waits so long for a ticket that is out.
  mutating func add(_ ticket: Ticket, _ waiter: Waiter, _ patience: TimeDelta, _ now: Now) {
    waiters[ticket] = waiter
    deadlines.set(ticket, at: now.instant + patience)
  }

  /// Whoever waits for a ticket waits for something more, or less.
  mutating func replace(_ ticket: Ticket, _ waiter: Waiter) { if waiters[ticket] != nil { waiters[ticket] = waiter } }

  /// It came back, or nobody waits any more. Who has waited.
  mutating func settle(_ ticket: Ticket) -> Waiter? {
    deadlines.cancel(ticket)
    return waiters.removeValue(forKey: ticket)
  }

  /// One whose patience is over; its waiter waits still.
  mutating func popDue(at now: Instant) -> Ticket? { deadlines.popDue(at: now) }
}
