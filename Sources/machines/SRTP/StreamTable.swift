// A session's streams by SSRC: bounded, and nothing is allocated for a stream that is known. What is looked up and what is
// found lie together, so that a packet of a stream costs one line of the CPU's cache.

import Basics

/// An open-addressed table; collisions go to the next free slot. Owned by one thread.
struct StreamTable<Stream: BitwiseCopyable>: ~Copyable {
  private struct Slot {
    var ssrc: UInt32
    var isTaken: Bool
    var stream: Stream
  }

  let limit: Int
  /// Packets refused because their SSRC would have been one too many.
  private(set) var refused = 0
  private(set) var count = 0
  /// Keeps the memory of the slots, and gives it back. A `deinit` of the table itself would not run: all else in it is plain
  /// values, and the compiler (6.3) takes such a generic type for one that needs no ending.
  private var memory: Memory
  private var slots: UnsafeMutablePointer<Slot>
  /// Slots, a power of two, and at least twice `count`.
  private var capacity = 8
  /// Differs from table to table, so that nobody can choose SSRCs that collide.
  private let multiplier = UInt64.random(in: 0 ... .max) | 1
  private let empty: Stream

  /// A table for up to `limit` streams; `empty` fills the slots of those that are not there.
  init(limit: Int, empty: Stream) {
    self.limit = limit
    self.empty = empty
    memory = Memory(capacity, empty)
    slots = memory.slots
  }

  private final class Memory {
    let slots: UnsafeMutablePointer<Slot>

    init(_ capacity: Int, _ empty: Stream) {
      slots = UnsafeMutableRawPointer.allocate(byteCount: capacity * MemoryLayout<Slot>.stride, alignment: 64)
        .bindMemory(to: Slot.self, capacity: capacity)
      slots.initialize(repeating: Slot(ssrc: 0, isTaken: false, stream: empty), count: capacity)
    }

    deinit { UnsafeMutableRawPointer(slots).deallocate() }
  }

  var isFull: Bool { count >= limit }

  /// Where a stream is until the next `insert` or `remove`; nil when it is not there.
  @inline(__always)
  func position(of ssrc: UInt32) -> Int? {
    let position = probe(ssrc)
    return slots[position].isTaken ? position : nil
  }

  /// The slot that holds the SSRC, or the free one that would.
  @inline(__always)
  private func probe(_ ssrc: UInt32) -> Int {
    var position = home(ssrc)
    while slots[position].isTaken && slots[position].ssrc != ssrc { position = (position + 1) & (capacity - 1) }
    return position
  }

  @inline(__always)
  private func home(_ ssrc: UInt32) -> Int {
    Int(truncatingIfNeeded: (UInt64(ssrc) &* multiplier) >> 40) & (capacity - 1)
  }

  /// Has the place where a stream should be fetched into the CPU's caches.
  func prefetch(_ ssrc: UInt32) { Basics.prefetch(slots + home(ssrc), bytes: MemoryLayout<Slot>.stride) }

  /// A stream by its position; to change it, put a changed copy back.
  subscript(position: Int) -> Stream {
    get { slots[position].stream }
    nonmutating set { slots[position].stream = newValue }
  }

  /// Stores a stream, in place of one that has its SSRC, and says where. The caller has looked at `isFull`.
  @discardableResult
  mutating func insert(_ stream: Stream, ssrc: UInt32) -> Int {
    if (count + 1) * 2 > capacity { grow() }
    let position = probe(ssrc)
    if !slots[position].isTaken { count += 1 }
    slots[position] = Slot(ssrc: ssrc, isTaken: true, stream: stream)
    return position
  }

  private mutating func grow() {
    let (old, oldCapacity) = (memory, capacity)
    capacity *= 2
    memory = Memory(capacity, empty)
    slots = memory.slots
    withExtendedLifetime(old) {
      for index in 0..<oldCapacity where old.slots[index].isTaken {
        slots[probe(old.slots[index].ssrc)] = old.slots[index]
      }
    }
  }

  /// The stream for which `measure` is least. Looks at all of them.
  func least(_ measure: (Stream) -> UInt64) -> (ssrc: UInt32, stream: Stream)? {
    var best: (ssrc: UInt32, stream: Stream)?
    for index in 0..<capacity where slots[index].isTaken {
      if let best, measure(best.stream) <= measure(slots[index].stream) { continue }
      best = (slots[index].ssrc, slots[index].stream)
    }
    return best
  }

  /// Forgets a stream. Those behind it that had to make way for it move up, so that no look-up ends in the gap.
  mutating func remove(_ ssrc: UInt32) {
    var gap = probe(ssrc)
    guard slots[gap].isTaken else { return }
    count -= 1
    var next = (gap + 1) & (capacity - 1)
    while slots[next].isTaken {
      let distance = (next - home(slots[next].ssrc)) & (capacity - 1)
      if distance >= (next - gap) & (capacity - 1) {
        slots[gap] = slots[next]
        gap = next
      }
      next = (next + 1) & (capacity - 1)
    }
    slots[gap].isTaken = false
  }

  mutating func countRefusal() { refused &+= 1 }
}
