// Deadlines of many things in one binary heap. An element may stand in it several times; who pops it looks whether
// it still has something to do, so nothing is ever searched or removed.

/// A queue of deadlines, earliest first.
public struct DeadlineQueue<Element> {
  @usableFromInline var heap: [(deadline: Instant, element: Element)] = []

  /// Empty, with room for `minimumCapacity` deadlines before it grows.
  public init(minimumCapacity: Int = 0) { heap.reserveCapacity(minimumCapacity) }

  /// The earliest deadline; `distantFuture` when the queue is empty.
  @inlinable public var next: Instant { heap.first?.deadline ?? .distantFuture }

  /// The earliest deadline with what is due then; nil when the queue is empty.
  @inlinable public var first: (deadline: Instant, element: Element)? { heap.first }

  /// Deadlines in the queue, stale ones included.
  @inlinable public var count: Int { heap.count }

  /// Adds a deadline.
  @inlinable public mutating func push(_ deadline: Instant, _ element: Element) {
    heap.append((deadline, element))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if heap[parent].deadline <= heap[child].deadline { break }
      exchange(parent, child)
      child = parent
    }
  }

  /// Takes the earliest element out if its deadline is not after `now`.
  @inlinable public mutating func pop(at now: Instant) -> Element? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return first.element
  }

  /// `swapAt`, without what that allocates in a build that is not optimised.
  @inlinable mutating func exchange(_ a: Int, _ b: Int) {
    let kept = heap[a]
    heap[a] = heap[b]
    heap[b] = kept
  }

  @inlinable mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      var child = 2 * parent + 1
      while child <= 2 * parent + 2 && child < heap.count {
        if heap[child].deadline < heap[least].deadline { least = child }
        child += 1
      }
      if least == parent { return }
      exchange(parent, least)
      parent = least
    }
  }
}

extension DeadlineQueue: Sendable where Element: Sendable {}
