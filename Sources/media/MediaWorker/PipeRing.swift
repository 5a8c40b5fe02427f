// One direction of a pipe between two workers' threads: a ring with one writer and one reader, all of its memory there from the start, and
// no lock. `Media/Pipe` is what stands before and behind it.
//
//   writer: place for the bytes ─▶ slot and bytes ─▶ written + 1        reader: look at written ─▶ bytes in place ─▶ taken + 1
//
// A slot and its bytes belong to the writer until `written` counts it, and to the reader until `taken` does. Messages have arrays and are no
// plain memory: a batch of them changes hands, and while it is the reader's, what is to be said waits in the pipe, where it merges.

import Media
import Synchronization

/// A value on a cache line that it shares with no other one of its kind: who writes the one does not slow down who writes the other.
struct Padded<Value: AtomicRepresentable & Sendable>: ~Copyable, Sendable {
  let value: Atomic<Value>
  private let space = InlineArray<15, Int>(repeating: 0)

  init(_ value: Value) { self.value = Atomic(value) }
}

/// The memory that both have.
final class PipeRing: Sendable {
  /// Packets that wait in it at most, a power of two, and their bytes: half of what may wait before it. Raise them and more is kept of
  /// a reader that is busy, at the price of memory for each two workers that share a room.
  static let mostPackets = 1_024
  static let mostBytes = 1_024 * 1_024

  struct Slot {
    let facts: PipedPacket
    let start: Int
    let size: Int
  }

  nonisolated(unsafe) fileprivate let slots = UnsafeMutablePointer<Slot>.allocate(capacity: PipeRing.mostPackets)
  nonisolated(unsafe) fileprivate let bytes = UnsafeMutableRawPointer.allocate(
    byteCount: PipeRing.mostBytes, alignment: 64)
  nonisolated(unsafe) fileprivate let said = UnsafeMutablePointer<[PipeMessage]>.allocate(capacity: 1)
  /// Packets ever written, and ever taken.
  fileprivate let written = Padded<Int>(0)
  fileprivate let taken = Padded<Int>(0)
  /// Whether `said` is the reader's.
  fileprivate let isSaid = Padded<Bool>(false)

  init() { said.initialize(to: []) }

  deinit {
    said.deinitialize(count: 1)
    said.deallocate()
    // Slots are plain memory.
    slots.deallocate()
    bytes.deallocate()
  }

  fileprivate static func place(of number: Int) -> Int { number & (mostPackets - 1) }
}

/// The end that writes, on its thread.
struct PipeWriter: ~Copyable, PipeSink {
  private let ring: PipeRing
  private let bell: Bell
  private var written = 0
  /// How many the reader had taken at the last look.
  private var taken = 0
  /// Where the next bytes are written.
  private var end = 0
  /// Whether anything was said or written since the last `finish`.
  private var hasSaid = false
  private var hasWritten = false

  /// Writes to `ring`, whose reader hears `bell`.
  init(_ ring: PipeRing, _ bell: Bell) { (self.ring, self.bell) = (ring, bell) }

  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool {
    guard prepare(packet, bytes) else { return false }
    publish()
    return true
  }

  /// Puts a packet where the reader does not look yet; false where there is no room.
  mutating func prepare(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool {
    // One without bytes takes a place as well: where what waits ends has to differ from where it begins.
    let size = max(bytes.count, 1)
    guard let start = place(for: size) else { return false }
    bytes.withUnsafeBytes {
      if let base = $0.baseAddress { (ring.bytes + start).copyMemory(from: base, byteCount: $0.count) }
    }
    (ring.slots + PipeRing.place(of: written)).initialize(
      to: PipeRing.Slot(facts: packet, start: start, size: bytes.count))
    end = start + size
    return true
  }

  /// Has the reader see it.
  mutating func publish() {
    written += 1
    hasWritten = true
    ring.written.value.store(written, ordering: .releasing)
  }

  var takesMessages: Bool { !ring.isSaid.value.load(ordering: .acquiring) }

  /// Takes a message. Only where `takesMessages` said so since the last `finish`.
  mutating func write(_ message: PipeMessage) {
    ring.said.pointee.append(message)
    hasSaid = true
  }

  /// Hands over what was said, and wakes the reader where anything was written. Once for all that was written in a turn.
  mutating func finish() {
    if hasSaid { ring.isSaid.value.store(true, ordering: .releasing) }
    if hasSaid || hasWritten { bell.ring() }
    (hasSaid, hasWritten) = (false, false)
  }

  /// Whether the reader has taken all that was written and said.
  var isTaken: Bool { ring.taken.value.load(ordering: .acquiring) == written && takesMessages }

  /// Where so many bytes fit.
  private mutating func place(for size: Int) -> Int? {
    if let start = free(size) { return start }
    taken = ring.taken.value.load(ordering: .acquiring)
    return free(size)
  }

  /// The same, by the last look. What waits never wraps: what is left at the end of the memory stays unused.
  private func free(_ size: Int) -> Int? {
    if written == taken { return size <= PipeRing.mostBytes ? 0 : nil }
    guard written - taken < PipeRing.mostPackets else { return nil }
    let oldest = ring.slots[PipeRing.place(of: taken)].start
    // What waits is in two pieces.
    if end <= oldest { return end + size <= oldest ? end : nil }
    if end + size <= PipeRing.mostBytes { return end }
    return size <= oldest ? 0 : nil
  }
}

/// The end that reads, on its thread.
struct PipeReader: ~Copyable {
  private let ring: PipeRing
  private var taken = 0
  /// What the last look has seen.
  private var written = 0
  private var isSaid = false
  private var messages: [PipeMessage] = []

  /// Reads from `ring`.
  init(_ ring: PipeRing) { self.ring = ring }

  /// Notes what there is to take; whether there is anything.
  mutating func look() -> Bool {
    written = ring.written.value.load(ordering: .acquiring)
    isSaid = ring.isSaid.value.load(ordering: .acquiring)
    return isSaid || written > taken
  }

  /// Whether there is anything, seen or not.
  var hasNews: Bool {
    ring.written.value.load(ordering: .acquiring) > taken || ring.isSaid.value.load(ordering: .acquiring)
  }

  /// Takes the messages that the last look has seen.
  mutating func takeMessages(_ body: (PipeMessage) -> Void) {
    guard isSaid else { return }
    swap(&messages, &ring.said.pointee)
    isSaid = false
    ring.isSaid.value.store(false, ordering: .releasing)
    // By their places: an iterator would share the array, and then its memory could not be kept.
    for index in messages.indices { body(messages[index]) }
    messages.removeAll(keepingCapacity: true)
  }

  /// Takes packets that the last look has seen, `most` of them, until `body` says false: that packet counts as taken. Whether some are left.
  mutating func read(_ most: Int, _ body: (borrowing PipedPacket, Span<UInt8>) -> Bool) -> Bool {
    let last = min(written, taken + most)
    while taken < last {
      let slot = ring.slots + PipeRing.place(of: taken)
      let bytes = UnsafeRawBufferPointer(start: ring.bytes + slot.pointee.start, count: slot.pointee.size)
      let goesOn = body(slot.pointee.facts, bytes.assumingMemoryBound(to: UInt8.self).span)
      taken += 1
      ring.taken.value.store(taken, ordering: .releasing)
      if !goesOn { break }
    }
    return taken < written
  }
}
