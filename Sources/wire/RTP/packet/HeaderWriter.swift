// Writing RTP headers: the fixed header (RFC 3550 §5.1) and a one-byte extension block (RFC 8285 §4.2).

import Basics

/// A short text for a header extension (mid, rid), held inline so that stamping it on a packet allocates nothing.
public struct ExtensionTag: Sendable, Equatable {
  /// 1 … 16.
  public let count: Int
  @usableFromInline let bytes: InlineArray<16, UInt8>

  /// The text's UTF-8; nil when it is empty or longer than 16 bytes, which the one-byte form cannot hold.
  public init?(_ text: String) {
    guard (1...16).contains(text.utf8.count) else { return nil }
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    for (index, byte) in text.utf8.enumerated() { bytes[index] = byte }
    self.bytes = bytes
    count = text.utf8.count
  }

  /// Whether the bytes at `range` of a packet are this text.
  @inlinable public func matches(_ packet: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard range.count == count, range.upperBound <= packet.count else { return false }
    for index in 0..<count where packet[range.lowerBound + index] != bytes[index] { return false }
    return true
  }

  /// Byte-wise equality.
  public static func == (a: ExtensionTag, b: ExtensionTag) -> Bool {
    guard a.count == b.count else { return false }
    for index in 0..<a.count where a.bytes[index] != b.bytes[index] { return false }
    return true
  }
}

/// The extension values to stamp on a packet. A value is written when it is not nil and its identifier is 1 … 14.
public struct OutgoingExtensions: Sendable, Equatable {
  /// The media line's tag.
  public var mid: ExtensionTag?
  /// Which encoding this is; only senders of simulcast need it.
  public var rid: ExtensionTag?
  /// 24 bits, 6.18 fixed point seconds; see `AbsoluteSendTime`.
  public var absSendTime: UInt32?
  /// The transport-wide sequence number.
  public var transportSequence: UInt16?
  /// How loud, and whether it is speech.
  public var audioLevel: AudioLevel?
  /// The raw byte of video orientation.
  public var videoOrientation: UInt8?

  /// None.
  public init() {}
}

/// The header of an RTP packet to be written.
public struct RTPHeader: Sendable, Equatable {
  /// Longest header that `write` makes: fixed header, extension header, all six elements and padding.
  public static let maximumLength = 64

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
  /// The extension values.
  public var extensions: OutgoingExtensions

  /// A header; without extension values by default.
  public init(
    marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32,
    extensions: OutgoingExtensions = OutgoingExtensions()
  ) {
    self.marker = marker
    self.payloadType = payloadType
    self.sequenceNumber = sequenceNumber
    self.timestamp = timestamp
    self.ssrc = ssrc
    self.extensions = extensions
  }

  /// Writes the header at `offset` and returns its length, a multiple of 4; the payload goes right behind. Without any
  /// extension value there is no extension block. Throws `noRoom` when fewer than `maximumLength` bytes are left there.
  public func write(
    into packet: inout MutableSpan<UInt8>, at offset: Int = 0, ids: HeaderExtensionIDs
  ) throws(RTPError) -> Int {
    guard offset >= 0, packet.count - offset >= Self.maximumLength else { throw .noRoom }
    let elements = offset + PacketView.fixedHeaderLength + 4
    var end = extensions.write(into: &packet, at: elements, ids: ids)
    let hasExtension = end > elements
    if hasExtension {
      while (end - elements) & 3 != 0 {
        packet[end] = 0
        end += 1
      }
      packet.store(0xbede as UInt16, at: elements - 4)
      packet.store(UInt16((end - elements) / 4), at: elements - 2)
    } else {
      end = elements - 4
    }
    packet[offset] = hasExtension ? 0x90 : 0x80
    packet[offset + 1] = payloadType & 0x7f | (marker ? 0x80 : 0)
    packet.store(sequenceNumber, at: offset + 2)
    packet.store(timestamp, at: offset + 4)
    packet.store(ssrc, at: offset + 8)
    return end - offset
  }
}

extension OutgoingExtensions {
  /// Writes the elements at `start` and returns where they end.
  func write(into packet: inout MutableSpan<UInt8>, at start: Int, ids: HeaderExtensionIDs) -> Int {
    var end = start
    if let transportSequence, open(ids.transportSequence, 2, &packet, &end) {
      packet.store(transportSequence, at: end - 2)
    }
    if let absSendTime, open(ids.absSendTime, 3, &packet, &end) { packet.store24(absSendTime, at: end - 3) }
    if let audioLevel, open(ids.audioLevel, 1, &packet, &end) { packet[end - 1] = audioLevel.byte }
    if let videoOrientation, open(ids.videoOrientation, 1, &packet, &end) { packet[end - 1] = videoOrientation }
    if let mid, open(ids.mid, mid.count, &packet, &end) { mid.copy(to: &packet, at: end - mid.count) }
    if let rid, open(ids.rid, rid.count, &packet, &end) { rid.copy(to: &packet, at: end - rid.count) }
    return end
  }

  /// Writes an element's head and moves `end` behind its data; false when its identifier cannot be written.
  private func open(_ id: UInt8, _ length: Int, _ packet: inout MutableSpan<UInt8>, _ end: inout Int) -> Bool {
    guard let head = Self.head(id, length) else { return false }
    packet[end] = head
    end += 1 + length
    return true
  }

  /// The head of an element with `length` bytes of data; nil when its identifier cannot be written.
  static func head(_ id: UInt8, _ length: Int) -> UInt8? {
    (1...14).contains(id) ? id << 4 | UInt8(truncatingIfNeeded: length - 1) : nil
  }
}

extension ExtensionTag {
  func copy(to packet: inout MutableSpan<UInt8>, at offset: Int) {
    for index in 0..<count { packet[offset + index] = bytes[index] }
  }
}
