// What becomes of one packet on its way to one receiver.

/// How one packet's header and descriptor change on the way to one receiver.
public struct Rewrite: Sendable, Equatable {
  /// Sequence number to send.
  public var sequence: UInt16
  /// Time stamp to send.
  public var timestamp: UInt32
  /// Payload type to send.
  public var payloadType: UInt8
  /// What else changes.
  public var changes = Changes()
  /// Added to VP8's and VP9's picture identifier, and to the frame number of a dependency descriptor.
  public var pictureIDDelta: UInt16
  /// Added to VP8's TL0PICIDX.
  public var tl0Delta: UInt8

  /// What else changes of a packet where not all layers are sent.
  public struct Changes: OptionSet, Sendable, Equatable {
    /// The bits.
    public let rawValue: UInt8
    /// A set of these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The marker bit is set: what followed in its picture is left out.
    public static let setsMarker = Changes(rawValue: 1)
    /// The payload is left out: the packet came late, its layer is not sent, but its receiver waits for its number.
    public static let emptiesPayload = Changes(rawValue: 2)

    /// So many earlier packets go along with it, 0 … 3 (RFC 2198).
    public static func redundancy(_ earlier: Int) -> Changes { Changes(rawValue: UInt8(earlier & 3) << 2) }
    /// How many earlier packets go along with it.
    public var earlierPackets: Int { Int(rawValue >> 2 & 3) }
  }

  /// Bytes of payload that are sent of `packet`, without earlier ones that go along with it.
  public func length(of packet: StoredPacket) -> UInt16 { changes.contains(.emptiesPayload) ? 0 : packet.length }
}

/// What a consumer does with a packet.
public enum Decision: Sendable, Equatable {
  case forward(Rewrite)
  /// As a retransmission (RFC 4588): so much was sent behind it that its own number can no longer be used.
  case repair(Rewrite)
  case drop(DropReason)
}
