// What is to be sent, kept as handles until the flush and grouped per receiver, so that one send carries many
// packets (UDP_SEGMENT) and send time and sequence numbers are stamped when they are true.
//
//   forward ─▶ entries: [packet handle, rewrite, next]      flush: for each receiver whose time has come
//              chains:  transport ─▶ video first … last            write + seal ─▶ SegmentBuffer; then all its runs ─▶ sink
//                                 ─▶ audio first … last

import Basics
import Forwarding
import RTP

/// One packet for one receiver. In this order it is as long as a line of the CPU's caches.
struct SendEntry {
  var encoding: EncodingID
  var consumer: ConsumerID
  var sequence: Int64
  /// When it leaves at the latest.
  var due: Instant
  /// Set when the packet goes out again, on the RTX stream.
  var retransmission: (ssrc: UInt32, payloadType: UInt8, sequence: UInt16)?
  var rewrite: Rewrite
  /// Bytes behind the header.
  var length: UInt16
  var next: Int32 = -1
}

/// What waits for one receiver. Video goes first: an audio packet that is shorter may then end its last run for nothing, and
/// one that is not due yet and finds no room there goes on waiting for the next.
struct SendChain {
  /// First and last entry of one kind of media; −1 when there is none.
  struct Line {
    var first: Int32 = -1
    var last: Int32 = -1
  }
  var video = Line()
  var audio = Line()
  /// Place among the waiting receivers; −1 when nothing waits.
  var position: Int32 = -1
}

/// The queue between the forwarding decision and the flush; refuses more than `capacity`.
struct SendQueue: ~Copyable {
  /// A receiver for which something waits, and until when it may.
  struct Receiver {
    var destination: Destination
    var due: Instant
  }

  /// Packets that may wait; more are dropped and counted, so that one wake-up stays bounded.
  static let capacity = 65_536
  /// With this many waiting nobody is waited for any longer. It keeps what waits small enough for the CPU's caches.
  static let pressure = 8_192
  /// Packets that are held back for all receivers together, at most. The other half is for what is not held back, of other rooms too.
  static let mostHeld = capacity / 2
  /// Of the places that are left of `mostHeld` one receiver may have one in so many. So those with the most waiting are the first to
  /// lose it. Raise it and fewer receivers keep a large picture, lower it and some receivers leave less to the others.
  static let heldShare = 8

  /// About what a packet takes of a line besides its payload: IPv4 and UDP 28 bytes, RTP 12, the tag of SRTP 10 to 16, extensions.
  static let headers = 60

  /// Bytes of a line of the CPU's caches.
  private static let line = 64

  /// Memory for all that may wait; the system provides what was used once.
  private let entries: UnsafeMutablePointer<SendEntry>
  /// Places used since nothing waited last.
  private var used: Int32 = 0
  private var firstFree: Int32 = -1
  /// Packets waiting.
  private(set) var count = 0
  /// Those of them that are held back for want of budget.
  private var held = 0
  /// Those for which something waits.
  var receivers: [Receiver] = []
  /// When the first of them is due.
  private(set) var nextDue = Instant.distantFuture

  init() {
    entries = UnsafeMutableRawPointer.allocate(
      byteCount: Self.capacity * MemoryLayout<SendEntry>.stride, alignment: Self.line
    ).bindMemory(to: SendEntry.self, capacity: Self.capacity)
    receivers.reserveCapacity(1_024)
  }

  deinit { UnsafeMutableRawPointer(entries).deallocate() }

  /// Whether every entry lies in one line of the CPU's caches.
  var isAligned: Bool { Int(bitPattern: entries) % Self.line == 0 && MemoryLayout<SendEntry>.stride == Self.line }

  /// What is held back for receivers' lines does not count: nobody's packets leave sooner for it.
  var isUnderPressure: Bool { count - held >= Self.pressure }

  /// Whether what came in one datagram more may find no place. Not sooner: the longer it grows, the more packets of one receiver
  /// leave with one call. Half of what is not taken by what is held back.
  var isNearlyFull: Bool { count - held >= (Self.capacity - held) / 2 }

  /// What waits at a place that is taken.
  subscript(index: Int32) -> SendEntry {
    unsafeAddress {
      precondition(0 <= index && index < used, "no such place")
      return UnsafePointer(entries + Int(index))
    }
  }

  /// Appends to the receiver's chain, to leave when it is due at the latest; false when the queue is full.
  mutating func append(
    _ entry: SendEntry, kind: MediaKind, receiver: Destination, chain: inout SendChain
  ) -> Bool {
    guard count < Self.capacity else { return false }
    let index = store(entry)
    let due = entry.due
    if chain.position < 0 {
      chain.position = Int32(receivers.count)
      receivers.append(Receiver(destination: receiver, due: due))
    } else if due < receivers[Int(chain.position)].due {
      receivers[Int(chain.position)].due = due
    }
    if due < nextDue { nextDue = due }
    switch kind {
    case .video: link(index, &chain.video)
    case .audio: link(index, &chain.audio)
    }
    return true
  }

  private mutating func link(_ index: Int32, _ line: inout SendChain.Line) {
    if line.last >= 0 { entries[Int(line.last)].next = index } else { line.first = index }
    line.last = index
  }

  private mutating func store(_ entry: SendEntry) -> Int32 {
    count += 1
    guard firstFree >= 0 else {
      // As many are used as wait, so there is room.
      (entries + Int(used)).initialize(to: entry)
      used += 1
      return used - 1
    }
    let index = firstFree
    firstFree = self[index].next
    entries[Int(index)] = entry
    return index
  }

  /// Gives an entry's place back and returns the next one's.
  mutating func free(_ index: Int32) -> Int32 {
    let next = self[index].next
    entries[Int(index)].next = firstFree
    firstFree = index
    count -= 1
    return next
  }

  /// Takes out of a line what is of these consumers. The rest keeps its order.
  mutating func take(_ consumers: [ConsumerID], from line: inout SendChain.Line) -> [SendEntry] {
    var (taken, next) = ([SendEntry](), line.first)
    line = SendChain.Line()
    while next >= 0 {
      let index = next
      if consumers.contains(self[index].consumer) {
        taken.append(self[index])
        next = free(index)
      } else {
        next = self[index].next
        entries[Int(index)].next = -1
        link(index, &line)
      }
    }
    return taken
  }

  /// The receivers that still wait, after a flush has moved them to the front.
  mutating func keep(_ remaining: Int) {
    receivers.removeLast(receivers.count - remaining)
    nextDue = .distantFuture
    for index in receivers.indices { nextDue = min(nextDue, receivers[index].due) }
    // With nothing waiting the places are handed out in order again.
    if count == 0 {
      used = 0
      firstFree = -1
    }
  }

  /// Notes that all from `first` on is held back. Returns how many packets these are, for `release`.
  mutating func hold(from first: Int32) -> Int {
    var (packets, next) = (0, first)
    while next >= 0 {
      packets += 1
      next = self[next].next
    }
    held += packets
    return packets
  }

  /// How many may be held back for the receiver whose `packets` were noted last.
  func mayHold(besides packets: Int) -> Int { (Self.mostHeld - held + packets) / Self.heldShare }

  /// So many packets are not held back any more.
  mutating func release(_ packets: Int) { held -= packets }

  /// Bytes from `first` on, as they take them of a line.
  func bytes(from first: Int32) -> Int {
    var (bytes, next) = (0, first)
    while next >= 0 {
      bytes += Int(self[next].length) + Self.headers
      next = self[next].next
    }
    return bytes
  }

  /// When the first of a line is due, from `first` on: what comes later may have less time.
  func firstDue(from first: Int32) -> Instant {
    var (due, next) = (self[first].due, self[first].next)
    while next >= 0 {
      due = min(due, self[next].due)
      next = self[next].next
    }
    return due
  }

  /// How many packets from `first` on may become segments of one size: their lengths differ by no more than what is
  /// padded; and the greatest of these lengths.
  func run(from first: Int32) -> (count: Int, length: Int) {
    var (shortest, longest) = (Int(self[first].length), Int(self[first].length))
    var count = 1
    var next = self[first].next
    while next >= 0 && count < SegmentBuffer.maximumSegments {
      let length = Int(self[next].length)
      guard max(longest, length) - min(shortest, length) <= SegmentBuffer.mostPadding else { break }
      (shortest, longest) = (min(shortest, length), max(longest, length))
      count += 1
      next = self[next].next
    }
    return (count, longest)
  }
}
