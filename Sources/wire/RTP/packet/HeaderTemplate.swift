// The header of a stream's packets, written once: each packet copies it and fills in what is its own. A stream has one for
// each receiver, so this runs more often than anything else that makes headers.

import Basics

/// A header with its extension block (RFC 3550 §5.1, RFC 8285 §4.2) in which only some places change from packet to packet.
public struct HeaderTemplate: Sendable {
  /// Bytes that `write` may touch: fixed header, extension header, at most 28 bytes of elements, rounded up.
  public static let room = 48

  /// What differs from packet to packet.
  public struct Fields: Sendable {
    /// The marker bit.
    public var marker: Bool
    /// 0 … 127.
    public var payloadType: UInt8
    /// The packet's number in its stream.
    public var sequenceNumber: UInt16
    /// In units of the codec's clock.
    public var timestamp: UInt32
    /// The stream's synchronisation source.
    public var ssrc: UInt32
    /// 24 bits, 6.18 fixed point seconds; see `AbsoluteSendTime`. Written where that extension was agreed on.
    public var absSendTime: UInt32
    /// The transport-wide sequence number. Written where that extension was agreed on.
    public var transportSequence: UInt16
    /// How loud, and whether it is speech; nil where it is not known. Written where that extension was agreed on.
    public var audioLevel: AudioLevel?
    /// The raw byte of video orientation; nil where it is not known. Written where that extension was agreed on.
    public var videoOrientation: UInt8?

    /// All of it.
    public init(
      marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32, absSendTime: UInt32,
      transportSequence: UInt16, audioLevel: AudioLevel?, videoOrientation: UInt8?
    ) {
      (self.marker, self.payloadType, self.sequenceNumber) = (marker, payloadType, sequenceNumber)
      (self.timestamp, self.ssrc) = (timestamp, ssrc)
      (self.absSendTime, self.transportSequence) = (absSendTime, transportSequence)
      (self.audioLevel, self.videoOrientation) = (audioLevel, videoOrientation)
    }
  }

  private static let elements = PacketView.fixedHeaderLength + 4
  /// Media identifications up to this length take the same space, so that headers of all streams to a receiver are
  /// equally long and their packets leave as segments of one call: identifications are numbers, and rooms have more than
  /// ten streams. With the extensions that browsers agree on for sound, send time and level beside it, the eleventh would
  /// begin another word.
  private static let usualMid = 2

  private var bytes = InlineArray<48, UInt8>(repeating: 0)
  // Places are bytes, not words: a template is shorter so than a line of the CPU's caches.

  /// Where the elements that every packet has end.
  private var end = UInt8(Self.elements)
  /// Where the data of these elements are; 0 where they were not agreed on.
  private var transportSequenceAt: UInt8 = 0
  private var absSendTimeAt: UInt8 = 0
  /// Bytes by which the media identification is shorter than is usual.
  private var spare: UInt8 = 0
  /// The heads of elements that only some packets have; 0 where they were not agreed on.
  private let audioLevelHead: UInt8
  private let videoOrientationHead: UInt8
  /// The identifier of dependency descriptors; 0 where they were not agreed on.
  private let descriptorID: UInt8

  /// A template for the extensions that were agreed on under `ids`. `mid` is left out where it is nil.
  public init(mid: ExtensionTag?, ids: HeaderExtensionIDs) {
    audioLevelHead = OutgoingExtensions.head(ids.audioLevel, 1) ?? 0
    videoOrientationHead = OutgoingExtensions.head(ids.videoOrientation, 1) ?? 0
    descriptorID = (1...14).contains(ids.dependencyDescriptor) ? ids.dependencyDescriptor : 0
    bytes[PacketView.fixedHeaderLength] = 0xbe
    bytes[PacketView.fixedHeaderLength + 1] = 0xde
    if let at = open(ids.transportSequence, 2) { transportSequenceAt = at }
    if let at = open(ids.absSendTime, 3) { absSendTimeAt = at }
    if let mid, let at = open(ids.mid, mid.count) {
      for index in 0..<mid.count { bytes[Int(at) + index] = mid.bytes[index] }
      spare = UInt8(max(0, Self.usualMid - mid.count))
    }
  }

  /// Whether its packets are numbered for the whole transport.
  public var hasTransportSequence: Bool { transportSequenceAt > 0 }

  /// Adds an element and says where its data go; nil when its identifier cannot be written.
  private mutating func open(_ id: UInt8, _ length: Int) -> UInt8? {
    guard let head = OutgoingExtensions.head(id, length) else { return nil }
    bytes[Int(end)] = head
    let data = end + 1
    end = data + UInt8(length)
    return data
  }

  /// Writes a header to the start of `packet` and returns its length, a multiple of 4; the payload goes right behind. Without
  /// any extension value there is no extension block. Nil when there are fewer than `room` bytes.
  public func write(_ fields: Fields, into packet: inout MutableSpan<UInt8>) -> Int? {
    guard packet.count >= Self.room else { return nil }
    return packet.withUnsafeMutableBytes { packet in
      guard let base = packet.baseAddress else { return nil }
      base.storeBytes(of: bytes, as: InlineArray<48, UInt8>.self)
      return fill(base, fields)
    }
  }

  /// `packet` begins with the template's bytes.
  @inline(__always)
  private func fill(_ packet: UnsafeMutableRawPointer, _ fields: Fields) -> Int {
    var end = Int(end)
    if transportSequenceAt > 0 {
      packet.storeBytes(of: fields.transportSequence.bigEndian, toByteOffset: Int(transportSequenceAt), as: UInt16.self)
    }
    if absSendTimeAt > 0 {
      let at = Int(absSendTimeAt)
      packet.storeBytes(of: UInt8(truncatingIfNeeded: fields.absSendTime >> 16), toByteOffset: at, as: UInt8.self)
      let low = UInt16(truncatingIfNeeded: fields.absSendTime)
      packet.storeBytes(of: low.bigEndian, toByteOffset: at + 1, as: UInt16.self)
    }
    if let level = fields.audioLevel, audioLevelHead > 0 {
      packet.storeBytes(
        of: (UInt16(audioLevelHead) << 8 | UInt16(level.byte)).bigEndian, toByteOffset: end, as: UInt16.self)
      end += 2
    }
    if let orientation = fields.videoOrientation, videoOrientationHead > 0 {
      packet.storeBytes(
        of: (UInt16(videoOrientationHead) << 8 | UInt16(orientation)).bigEndian, toByteOffset: end, as: UInt16.self)
      end += 2
    }
    let first = UInt32((fields.marker ? 0x80 : 0) | fields.payloadType & 0x7f) << 16 | UInt32(fields.sequenceNumber)
    packet.storeBytes(of: fields.timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
    packet.storeBytes(of: fields.ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
    guard end > Self.elements else {
      packet.storeBytes(of: (0x8000_0000 | first).bigEndian, as: UInt32.self)
      return PacketView.fixedHeaderLength
    }
    packet.storeBytes(of: (0x9000_0000 | first).bigEndian, as: UInt32.self)
    // What fills the last word up is zero in the template.
    let words = (end + Int(spare) - Self.elements + 3) / 4
    packet.storeBytes(of: UInt16(truncatingIfNeeded: words).bigEndian, toByteOffset: Self.elements - 2, as: UInt16.self)
    return Self.elements + 4 * words
  }
}

// MARK: dependency descriptors

extension HeaderTemplate {
  /// Bytes that `describe` may touch: the elements of `room` in the two-byte form, and one of 255 bytes.
  public static let describedRoom = 384
  /// Data of an element in the one-byte form (RFC 8285 §4.2).
  private static let longestShort = 16

  /// Adds a dependency descriptor (AV1 RTP payload format 1.0, appendix A) to a header of `header` bytes that `write` has made, with
  /// `frameNumber` in the place of its own. A descriptor that is longer than 16 bytes takes all elements of the packet into the
  /// two-byte form (RFC 8285 §4.3). Returns the new length, a multiple of 4. Nil, and no change, when descriptors were not agreed on, for
  /// one of less than 3 or more than 255 bytes, or when there are fewer than `describedRoom` bytes.
  public func describe(
    _ descriptor: UnsafeRawBufferPointer, frameNumber: UInt16, header: Int, of packet: inout MutableSpan<UInt8>
  ) -> Int? {
    guard descriptorID > 0, (3...255).contains(descriptor.count), header <= Self.room,
      packet.count >= Self.describedRoom
    else { return nil }
    let isLong = descriptor.count > Self.longestShort
    var at = isLong ? lengthen(header: header, of: &packet) : Self.elementsEnd(header: header, packet)
    if isLong {
      (packet[at], packet[at + 1]) = (descriptorID, UInt8(descriptor.count))
      at += 2
    } else {
      packet[at] = descriptorID << 4 | UInt8(descriptor.count - 1)
      at += 1
    }
    for index in descriptor.indices { packet[at + index] = descriptor[index] }
    packet.store(frameNumber, at: at + 1)
    at += descriptor.count
    while at & 3 != 0 {
      packet[at] = 0
      at += 1
    }
    packet[0] |= 0x10
    packet.store(isLong ? 0x1000 : 0xbede as UInt16, at: Self.elements - 4)
    packet.store(UInt16((at - Self.elements) / 4), at: Self.elements - 2)
    return at
  }

  /// Where the elements of a header end, without what fills it up.
  private static func elementsEnd(header: Int, _ packet: borrowing MutableSpan<UInt8>) -> Int {
    var end = elements
    while end < header, packet[end] != 0 { end += 2 + Int(packet[end] & 0x0f) }
    return end
  }

  /// Writes all elements of a header anew in the two-byte form; returns where they end.
  private func lengthen(header: Int, of packet: inout MutableSpan<UInt8>) -> Int {
    let end = Self.elementsEnd(header: header, packet)
    var short = InlineArray<48, UInt8>(repeating: 0)
    for index in Self.elements..<max(end, Self.elements) { short[index] = packet[index] }
    var (from, to) = (Self.elements, Self.elements)
    while from < end {
      let length = Int(short[from] & 0x0f) + 1
      (packet[to], packet[to + 1]) = (short[from] >> 4, UInt8(length))
      for index in 0..<length { packet[to + 2 + index] = short[from + 1 + index] }
      from += 1 + length
      to += 2 + length
    }
    return to
  }
}
