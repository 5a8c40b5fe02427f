// Reading RTP header extensions, one-byte and two-byte form (RFC 8285 §4.2, §4.3).

import Basics

/// Walks the elements of a packet's header extension. A malformed element ends the walk; what came before it stands.
public struct HeaderExtensionCursor: Sendable {
  /// One element: its identifier and where its data is.
  public struct Element: Sendable, Equatable {
    /// 1 … 14 in the one-byte form, 1 … 255 in the two-byte form.
    public var id: UInt8
    /// Where the data begins in the packet.
    public var offset: Int
    /// 1 … 16 in the one-byte form, 0 … 255 in the two-byte form.
    public var length: Int
    /// The data's place in the packet.
    @inlinable public var range: Range<Int> { offset..<(offset + length) }

    @usableFromInline init(id: UInt8, offset: Int, length: Int) {
      self.id = id
      self.offset = offset
      self.length = length
    }
  }

  @usableFromInline var offset: Int
  @usableFromInline let end: Int
  @usableFromInline let isTwoByte: Bool

  /// A walk over the extension of a packet; over nothing where there is none or it is of another profile.
  @inlinable public init(_ view: PacketView) {
    isTwoByte = view.extensionProfile & 0xfff0 == 0x1000
    offset = view.extensionOffset
    let known = view.extensionProfile == 0xbede || isTwoByte
    end = known ? view.extensionOffset + view.extensionLength : view.extensionOffset
  }

  /// The next element; nil at the end.
  @inlinable public mutating func next(_ bytes: Span<UInt8>) -> Element? {
    let end = min(end, bytes.count)
    while offset < end, bytes[offset] == 0 { offset += 1 }
    guard offset < end else { return nil }
    let id: UInt8
    let length: Int
    let data: Int
    if isTwoByte {
      guard offset + 1 < end else { return finish() }
      (id, length, data) = (bytes[offset], Int(bytes[offset + 1]), offset + 2)
    } else {
      (id, length, data) = (bytes[offset] >> 4, Int(bytes[offset] & 0x0f) + 1, offset + 1)
      // 15 is reserved, and 0 with a length ends the reading too (RFC 8285 §4.2).
      if id == 15 || id == 0 { return finish() }
    }
    guard data + length <= end else { return finish() }
    offset = data + length
    return Element(id: id, offset: data, length: length)
  }

  @usableFromInline mutating func finish() -> Element? {
    offset = end
    return nil
  }
}

/// How loud the audio of a packet is (RFC 6464 §3).
public struct AudioLevel: Sendable, Hashable {
  /// 0 … 127 in −dBov: 0 is the loudest, 127 silence.
  public var level: UInt8
  /// Whether the sender believes that somebody speaks.
  public var voice: Bool

  /// A level of −`level` dBov; only the low seven bits count.
  @inlinable public init(level: UInt8, voice: Bool) {
    self.level = level & 0x7f
    self.voice = voice
  }

  /// The extension's data byte.
  @inlinable public var byte: UInt8 { level | (voice ? 0x80 : 0) }
}

/// The header extensions of one packet that the server understands. Ranges are places in the packet.
public struct ParsedExtensions: Sendable, Equatable {
  /// Identification tag of the media line (RFC 8843 §15).
  public var mid: Range<Int>?
  /// The RTP stream id (RFC 8852): which simulcast encoding this is.
  public var rid: Range<Int>?
  /// In a retransmission stream, the stream id of what it repairs (RFC 8852).
  public var repairedRid: Range<Int>?
  /// Send time in seconds, 6.18 fixed point, wrapping every 64 s.
  public var absSendTime: UInt32?
  /// The transport-wide sequence number.
  public var transportSequence: UInt16?
  /// How loud, and whether it is speech.
  public var audioLevel: AudioLevel?
  /// The raw byte of video orientation (3GPP TS 26.114 §7.4.5): camera, flip, rotation.
  public var videoOrientation: UInt8?

  /// The dependency descriptor (AV1 RTP payload format 1.0, appendix A).
  public var dependencyDescriptor: Range<Int>?

  /// Nothing found.
  @inlinable public init() {}

  /// Reads the extensions of a packet in one pass. Identifiers that are 0 were not agreed on and are not looked for;
  /// elements of a wrong length are passed over.
  @inlinable public init(_ bytes: Span<UInt8>, _ view: PacketView, ids: HeaderExtensionIDs) {
    guard view.hasExtension else { return }
    var cursor = HeaderExtensionCursor(view)
    while let element = cursor.next(bytes) { read(element, bytes, ids) }
  }

  @inlinable mutating func read(
    _ element: HeaderExtensionCursor.Element, _ bytes: Span<UInt8>, _ ids: HeaderExtensionIDs
  ) {
    switch element.id {
    case 0: break
    case ids.transportSequence:
      if element.length >= 2 { transportSequence = bytes.uint16(at: element.offset) }
    case ids.absSendTime:
      if element.length == 3 { absSendTime = bytes.uint24(at: element.offset) }
    case ids.audioLevel:
      guard element.length >= 1 else { break }
      let byte = bytes[element.offset]
      audioLevel = AudioLevel(level: byte, voice: byte & 0x80 != 0)
    case ids.videoOrientation:
      if element.length >= 1 { videoOrientation = bytes[element.offset] }
    case ids.dependencyDescriptor:
      if element.length >= 3 { dependencyDescriptor = element.range }
    case ids.mid:
      if element.length > 0 { mid = element.range }
    case ids.rid:
      if element.length > 0 { rid = element.range }
    case ids.repairedRid:
      if element.length > 0 { repairedRid = element.range }
    default: break
    }
  }
}
