// A queue of deadlines, one for each key, which can be moved and cancelled: a `DeadlineQueue` whose outdated entries are
// skipped when they come to the top. Where nothing is ever moved, that one alone is smaller.

/// What is due when.
public struct Deadlines<Key: Hashable & Sendable>: Sendable {
  /// Its first entry always counts.
  private var queue = DeadlineQueue<Key>()
  private var armed: [Key: Instant] = [:]

  /// No deadlines.
  public init() {}

  /// The earliest deadline; nil when there is none.
  public var next: Instant? { queue.first?.deadline }
  /// The key that has it.
  public var first: Key? { queue.first?.element }
  /// Keys that have a deadline.
  public var count: Int { armed.count }
  /// Entries of the queue, outdated ones included.
  var entries: Int { queue.count }

  /// When `key` is due; nil when it is not.
  public subscript(key: Key) -> Instant? { armed[key] }

  /// Sets or moves the deadline of `key`.
  public mutating func set(_ key: Key, at instant: Instant) {
    guard armed[key] != instant else { return }
    armed[key] = instant
    if queue.count > 2 * armed.count + 64 { rebuild() }
    queue.push(instant, key)
    dropOutdated()
  }

  /// Forgets the deadline of `key`.
  public mutating func cancel(_ key: Key) {
    guard armed.removeValue(forKey: key) != nil else { return }
    dropOutdated()
  }

  /// Takes out the earliest key that is due; nil when none is.
  public mutating func popDue(at now: Instant) -> Key? {
    guard let key = queue.pop(at: now) else { return nil }
    armed[key] = nil
    dropOutdated()
    return key
  }

  private mutating func dropOutdated() {
    while let first = queue.first, armed[first.element] != first.deadline { _ = queue.pop(at: first.deadline) }
  }

  private mutating func rebuild() {
    var valid = DeadlineQueue<Key>()
    while let first = queue.first {
      _ = queue.pop(at: first.deadline)
      if armed[first.element] == first.deadline { valid.push(first.deadline, first.element) }
    }
    queue = valid
    if queue.count > armed.count { dropRepeated() }
  }

  /// A key that was cancelled and set again for the same time stands in the queue twice. That is seldom, and to look for it is dear.
  @inline(never) private mutating func dropRepeated() {
    var (valid, kept) = (DeadlineQueue<Key>(), Set<Key>())
    while let first = queue.first {
      _ = queue.pop(at: first.deadline)
      if kept.insert(first.element).inserted { valid.push(first.deadline, first.element) }
    }
    queue = valid
  }
}

extension Deadlines: Equatable {
  /// Whether the same keys are due at the same times; what has been set and cancelled before does not count.
  public static func == (a: Self, b: Self) -> Bool { a.armed == b.armed }
}
