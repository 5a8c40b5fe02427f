// The plaintext of what a producer sent lately, stored once and read by every consumer: for the first send, and again
// when a receiver asks for a retransmission (RFC 4585 generic NACK).
//
//   entries (by sequence number modulo their count)     records (one ring, written in arrival order)
//   [seq, position, length, info …]  ────────────────▶ ……|OSN payload padding descriptor|OSN payload padding descriptor|…
//
// Around each payload is room for what a receiver may get besides, so that what is sealed for him is one run of bytes here and
// needs no copy: the original sequence number of a retransmission before it, RTP padding behind it.
//
// An entry is good as long as the ring has not been written over its record. Nothing is allocated after `init`.

import Basics
import RTP

/// What the forwarder knows of one stored packet besides its payload bytes; the header is rebuilt for each receiver.
public struct StoredPacket: Sendable {
  /// Unwrapped sequence number in the encoding's own numbering.
  public var sequence: Int64
  /// The publisher's RTP time stamp.
  public var timestamp: UInt32
  /// Arrival on the worker's clock.
  public var arrival: Instant
  /// Payload length in bytes, without header, extensions and padding.
  public var length: UInt16
  /// The codec that the payload type stood for.
  public var codec: CodecProfile
  /// The RTP marker bit.
  public var marker: Bool
  /// Bytes of its dependency descriptor; 0 where it has none.
  private(set) var descriptorLength: UInt8 = 0
  /// The number of its frame, which that descriptor is to say.
  private var descriptorNumber: UInt16 = 0
  /// Facts read from the payload once.
  public var info: PayloadInfo
  /// How loud the packet is; nil when it did not say.
  public var audioLevel: AudioLevel?
  /// Video orientation byte; nil when absent.
  public var orientation: UInt8?
  /// Where the record starts, counted in bytes ever written to the ring.
  var position: Int64 = 0
  /// Where the payload starts in the ring.
  var offset = 0

  /// The number of its frame, as receivers hear it where it is not moved on; nil where it has no dependency descriptor.
  public var frameNumber: UInt16? { hasDescriptor ? descriptorNumber : nil }

  /// It comes with a dependency descriptor of so many bytes, of the frame with this number.
  mutating func setDescriptor(length: UInt8, frameNumber: UInt16) {
    (descriptorLength, descriptorNumber) = (length, frameNumber)
  }

  /// Whether a dependency descriptor stands beside it.
  public var hasDescriptor: Bool { descriptorLength > 0 }

  /// Stands where no packet is: `sequence` is that of none.
  static let none = StoredPacket(
    sequence: .min, timestamp: 0, arrival: .zero, length: 0, codec: .opus, marker: false, info: PayloadInfo(),
    audioLevel: nil, orientation: nil)

  /// All but the place in the ring.
  public init(
    sequence: Int64, timestamp: UInt32, arrival: Instant, length: UInt16, codec: CodecProfile, marker: Bool,
    info: PayloadInfo, audioLevel: AudioLevel?, orientation: UInt8?
  ) {
    self.sequence = sequence
    self.timestamp = timestamp
    self.arrival = arrival
    self.length = length
    self.codec = codec
    self.marker = marker
    self.info = info
    self.audioLevel = audioLevel
    self.orientation = orientation
  }
}

/// A bounded store of the newest packets of one encoding. Owned by one thread.
///
/// Both blocks of memory are its own: filled in `init`, freed in `deinit`. What is marked as unsafe is right for these reasons:
/// * A place is a number masked by `slot`, below `capacity`, and all places hold an entry from the start. Callers have theirs from `place(of:)`.
/// * A record lies within the ring: `insert` alone says where one begins, and makes sure that payload, frame and descriptor fit behind.
///   Callers see to it that a packet's `length` is that of its payload.
///   The frame is the two bytes before and `longestPadding` behind that `changedBody` writes. An entry of nothing has no length.
/// * What is handed out is read before the next `insert`, which the caller has to see to; `body`, `payload` and `descriptor` say so.
@safe public struct PacketCache: ~Copyable {
  /// Longest payload that is stored.
  public static let longestPayload = 2_048
  /// Packets in the largest cache.
  public static let mostPackets = 512
  /// Bytes of RTP padding that a packet may get.
  public static let longestPadding = 32
  /// Longest dependency descriptor that is stored: what an element of a header extension holds (RFC 8285 §4.3).
  public static let longestDescriptor = 255
  /// What is around a payload.
  private static let frame = Retransmission.overhead + longestPadding

  private let bytes: UnsafeMutableRawBufferPointer
  private let entries: UnsafeMutablePointer<StoredPacket>
  /// Places for entries, a power of two.
  private let capacity: Int
  private var written: Int64 = 0

  /// Room for `byteCapacity` bytes of payload and what is around them in at most `packetCapacity` packets (rounded up to a
  /// power of two).
  public init(byteCapacity: Int, packetCapacity: Int) {
    unsafe bytes = .allocate(
      byteCount: max(byteCapacity, Self.longestPayload + Self.frame + Self.longestDescriptor), alignment: 64)
    var capacity = 16
    while capacity < packetCapacity { capacity *= 2 }
    unsafe entries = .allocate(capacity: capacity)
    unsafe entries.initialize(repeating: .none, count: capacity)
    self.capacity = capacity
  }

  deinit {
    unsafe bytes.deallocate()
    unsafe entries.deallocate()
  }

  /// Stores a payload under `packet.sequence`, in place of the oldest; one longer than `longestPayload` is not stored. Beside it stands
  /// its dependency descriptor, of as many bytes as the packet says.
  public mutating func insert(
    _ packet: StoredPacket, payload: UnsafeRawBufferPointer,
    descriptor: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    guard payload.count <= Self.longestPayload else { return }
    var entry = packet
    if descriptor.count < Int(entry.descriptorLength) { entry.setDescriptor(length: 0, frameNumber: 0) }
    let size = payload.count + Self.frame + Int(entry.descriptorLength)
    let start = unsafe Int(written % Int64(bytes.count))
    // A record never wraps: what is left at the end of the ring stays unused.
    let wraps = unsafe start + size > bytes.count
    if wraps { unsafe written += Int64(bytes.count - start) }
    entry.position = written
    entry.offset = (wraps ? 0 : start) + Retransmission.overhead
    if let source = payload.baseAddress, let base = unsafe bytes.baseAddress {
      unsafe (base + entry.offset).copyMemory(from: source, byteCount: payload.count)
    }
    if entry.descriptorLength > 0 {
      let kept = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[descriptorRange(of: entry)])
      unsafe kept.copyMemory(from: UnsafeRawBufferPointer(rebasing: descriptor.prefix(kept.count)))
    }
    written += Int64(size)
    unsafe entries[slot(packet.sequence)] = entry
  }

  /// The payload at a place, as its publisher sent it.
  public func withPayload<Result>(at place: Int, _ read: (Span<UInt8>) -> Result) -> Result {
    unsafe read(payload(at: place).assumingMemoryBound(to: UInt8.self).span)
  }

  /// The same, good until the next `insert`.
  public func payload(at place: Int) -> UnsafeRawBufferPointer {
    let start = unsafe entries[place].offset
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<(start + Int(entries[place].length))])
  }

  /// The packet with this unwrapped sequence number, if it is still here.
  public func find(_ sequence: Int64) -> StoredPacket? { place(of: sequence).map { unsafe entries[$0] } }

  /// Where the packet with this unwrapped sequence number is until the next `insert`, if it is still here.
  public func place(of sequence: Int64) -> Int? {
    let place = slot(sequence)
    guard unsafe entries[place].sequence == sequence, unsafe written - entries[place].position <= Int64(bytes.count)
    else {
      return nil
    }
    return place
  }

  /// A packet by its place, to read of it what is needed.
  public subscript(place: Int) -> StoredPacket {
    unsafeAddress {
      precondition(0 <= place && place < capacity, "no such place")
      return unsafe UnsafePointer(entries + place)
    }
  }

  /// What is sealed for a receiver, as it is good until the next call or `insert`: the payload, with the numbers in its
  /// descriptor moved on as `rewrite` says, before it the original sequence number of a retransmission (RFC 4588 §4), and
  /// behind it `padding` bytes of RTP padding (RFC 3550 §5.1), at most `longestPadding`.
  public mutating func body(
    at place: Int, rewrite: Rewrite, originalSequence: UInt16? = nil, padding: Int = 0
  ) -> UnsafeRawBufferPointer {
    let length = unsafe Int(rewrite.length(of: entries[place]))
    if unsafe entries[place].info.hasPictureNumbers || originalSequence != nil || padding > 0 {
      return unsafe changedBody(at: place, length, rewrite, originalSequence, padding)
    }
    return unsafe UnsafeRawBufferPointer(
      start: bytes.baseAddress.map { unsafe $0 + entries[place].offset }, count: length)
  }

  /// As `body`, where something of the record is written anew.
  @inline(never)
  private mutating func changedBody(
    at place: Int, _ length: Int, _ rewrite: Rewrite, _ originalSequence: UInt16?, _ padding: Int
  ) -> UnsafeRawBufferPointer {
    var start = unsafe entries[place].offset
    var end = start + length
    let record = unsafe UnsafeMutableRawBufferPointer(
      rebasing: bytes[(start - Retransmission.overhead)..<(end + Self.longestPadding)])
    // Whoever was sent the packet before may have got other numbers.
    if unsafe entries[place].info.hasPictureNumbers {
      unsafe entries[place].info.write(
        rewrite, to: UnsafeMutableRawBufferPointer(rebasing: record[Retransmission.overhead...].prefix(length)))
    }
    if let originalSequence {
      start -= Retransmission.overhead
      unsafe record.storeBytes(of: originalSequence.bigEndian, as: UInt16.self)
    }
    if padding > 0, padding <= Self.longestPadding {
      let tail = unsafe record[(Retransmission.overhead + length)...].prefix(padding)
      for index in unsafe tail.indices { unsafe record[index] = 0 }
      unsafe record[tail.endIndex - 1] = UInt8(truncatingIfNeeded: padding)
      end += padding
    }
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// The dependency descriptor of a packet by its place, as it came; empty where it has none. Good until the next `insert`.
  public func descriptor(at place: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(rebasing: bytes[descriptorRange(of: entries[place])])
  }

  private func descriptorRange(of entry: StoredPacket) -> Range<Int> {
    let start = entry.offset + Int(entry.length) + Self.longestPadding
    return start..<(start + Int(entry.descriptorLength))
  }

  /// A stream can begin with this packet, as is known now; nil where it is no longer here.
  mutating func markBeginning(_ sequence: Int64) -> StoredPacket? {
    guard let place = place(of: sequence) else { return nil }
    unsafe entries[place].info.startsKeyframe = true
    return unsafe entries[place]
  }

  /// Copies a packet's payload to `at`, which moves behind it. The caller has made sure that it fits.
  func copy(_ packet: StoredPacket, to payload: UnsafeMutableRawBufferPointer, _ at: inout Int) {
    let length = Int(packet.length)
    unsafe UnsafeMutableRawBufferPointer(rebasing: payload[at...]).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: bytes[packet.offset..<(packet.offset + length)]))
    at += length
  }

  /// The place of a number: below `capacity`, which is a power of two.
  private func slot(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }
}

extension PayloadInfo {
  /// Whether its descriptor has numbers that differ from receiver to receiver.
  fileprivate var hasPictureNumbers: Bool { pictureID != nil || tl0PictureIndex != nil }

  /// Moves the VP8 or VP9 picture identifier and TL0PICIDX on (RFC 7741 §4.2), in the width they have. From what was read
  /// once, and not from what stands in the payload.
  fileprivate func write(_ rewrite: Rewrite, to payload: UnsafeMutableRawBufferPointer) {
    // Each place is held against the payload before it is written: what was read once came with another one.
    if let picture = pictureID {
      let value = picture.value &+ rewrite.pictureIDDelta
      let at = Int(picture.offset)
      if picture.isLong, at + 1 < payload.count {
        unsafe payload[at] = 0x80 | UInt8(truncatingIfNeeded: value >> 8)
        unsafe payload[at + 1] = UInt8(truncatingIfNeeded: value)
      } else if !picture.isLong, at < payload.count {
        unsafe payload[at] = UInt8(truncatingIfNeeded: value) & 0x7f
      }
    }
    if let tl0 = tl0PictureIndex, Int(tl0.offset) < payload.count {
      unsafe payload[Int(tl0.offset)] = tl0.value &+ rewrite.tl0Delta
    }
  }
}
