// A queue of deadlines, one for each key, which can be moved and cancelled: a binary heap whose outdated entries are
// skipped when they come to the top. Where nothing is ever moved, `DeadlineQueue` is smaller.

/// What is due when.
public struct Deadlines<Key: Hashable & Sendable>: Sendable {
  private struct Entry: Sendable {
    var at: Instant
    var key: Key
  }

  private var heap: [Entry] = []
  private var armed: [Key: Instant] = [:]

  /// No deadlines.
  public init() {}

  /// The earliest deadline; nil when there is none.
  public var next: Instant? { heap.first?.at }
  /// Keys that have a deadline.
  public var count: Int { armed.count }

  /// When `key` is due; nil when it is not.
  public subscript(key: Key) -> Instant? { armed[key] }

  /// Sets or moves the deadline of `key`.
  public mutating func set(_ key: Key, at instant: Instant) {
    guard armed[key] != instant else { return }
    armed[key] = instant
    if heap.count > 2 * armed.count + 64 { rebuild() }
    push(Entry(at: instant, key: key))
    dropOutdated()
  }

  /// Forgets the deadline of `key`.
  public mutating func cancel(_ key: Key) {
    guard armed.removeValue(forKey: key) != nil else { return }
    dropOutdated()
  }

  /// Takes out the earliest key that is due; nil when none is.
  public mutating func popDue(at now: Instant) -> Key? {
    guard let first = heap.first, first.at <= now else { return nil }
    armed[first.key] = nil
    dropOutdated()
    return first.key
  }

  /// Keeps an entry that counts on top.
  private mutating func dropOutdated() {
    while let first = heap.first, armed[first.key] != first.at { removeFirst() }
  }

  private mutating func rebuild() {
    let valid = heap.filter { armed[$0.key] == $0.at }
    heap = []
    for entry in valid { push(entry) }
  }

  private mutating func push(_ entry: Entry) {
    heap.append(entry)
    var child = heap.count - 1
    while child > 0, heap[child].at < heap[(child - 1) / 2].at {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var smallest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].at < heap[smallest].at {
        smallest = child
      }
      if smallest == parent { return }
      heap.swapAt(parent, smallest)
      parent = smallest
    }
  }
}
