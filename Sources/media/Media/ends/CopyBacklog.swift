// Copies of packets that wait for somebody who takes them in its own time: a ring, bounded in number and in bytes.

/// Copies with what is known of each, the oldest first. All memory is there from the start, so nothing is allocated for a packet.
struct CopyBacklog<Facts>: ~Copyable {
  /// A copy, and where it lies. It never wraps: what is left at the end of the ring stays unused.
  private struct Entry {
    let facts: Facts
    let start: Int
    let size: Int
  }

  /// Memory of its own, as arrays of generic entries allocate in a build that is not optimised.
  private let bytes: UnsafeMutableRawBufferPointer
  private let entries: UnsafeMutableBufferPointer<Entry>
  /// The oldest one's place.
  private var first = 0
  private(set) var count = 0
  /// Where the next one is written.
  private var end = 0

  /// Room for so many copies of so many bytes.
  init(packets: Int, bytes: Int) {
    self.bytes = .allocate(byteCount: bytes, alignment: 64)
    entries = .allocate(capacity: packets)
  }

  deinit {
    for index in 0..<count { entries.deinitializeElement(at: (first + index) % entries.count) }
    entries.deallocate()
    bytes.deallocate()
  }

  /// Adds a copy of two pieces, one behind the other; false where there is no room.
  mutating func append(_ facts: Facts, _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) -> Bool {
    let size = head.count + body.count
    // One without bytes takes a place as well: where the ring ends has to differ from where it begins.
    guard count < entries.count, let start = place(for: max(size, 1)) else { return false }
    UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: head)
    UnsafeMutableRawBufferPointer(rebasing: bytes[(start + head.count)...]).copyMemory(from: body)
    entries.initializeElement(
      at: (first + count) % entries.count, to: Entry(facts: facts, start: start, size: size))
    count += 1
    end = start + max(size, 1)
    return true
  }

  /// Where so many bytes fit behind the newest; nil where they fit nowhere.
  private func place(for size: Int) -> Int? {
    guard count > 0 else { return size <= bytes.count ? 0 : nil }
    let oldest = entries[first].start
    // What waits is in two pieces.
    if end <= oldest { return end + size <= oldest ? end : nil }
    if end + size <= bytes.count { return end }
    return size <= oldest ? 0 : nil
  }

  /// Hands over copies, the oldest first, until none is left or one is not taken: that one is the first at the next call.
  mutating func drain(_ write: (Facts, Span<UInt8>) -> Bool) {
    while count > 0 {
      let entry = entries[first]
      let copy = UnsafeRawBufferPointer(rebasing: bytes[entry.start..<(entry.start + entry.size)])
      guard write(entry.facts, copy.assumingMemoryBound(to: UInt8.self).span) else { return }
      entries.deinitializeElement(at: first)
      first = (first + 1) % entries.count
      count -= 1
    }
  }
}
