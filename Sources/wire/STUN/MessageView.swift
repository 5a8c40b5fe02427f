// Parsing STUN messages (RFC 8489 §5, §6.3, §14): strict bounds, nothing copied.

import Basics

/// One STUN message as values and places. Ranges are places in the message's bytes.
public struct MessageView: Sendable {
  /// Length of the header.
  public static let headerLength = 20
  /// The magic cookie (RFC 8489 §5).
  public static let cookie: UInt32 = 0x2112_a442

  /// Class and method.
  public let type: MessageType
  /// Ties a response to its request.
  public let transactionID: TransactionID
  /// Length with the header.
  public let length: Int
  /// USERNAME, not empty.
  public private(set) var username: Range<Int>?
  /// REALM of the long-term mechanism.
  public private(set) var realm: Range<Int>?
  /// NONCE of the long-term mechanism.
  public private(set) var nonce: Range<Int>?
  /// Where the MESSAGE-INTEGRITY attribute starts.
  public private(set) var integrityOffset: Int?
  /// Where the FINGERPRINT attribute starts; it is the last one.
  public private(set) var fingerprintOffset: Int?
  /// PRIORITY that the sender would give a peer-reflexive candidate.
  public private(set) var priority: UInt32?
  /// Whether the sender nominates the pair.
  public private(set) var useCandidate = false
  /// The tie-breaker of a sender in the controlled role.
  public private(set) var iceControlled: UInt64?
  /// The tie-breaker of a sender in the controlling role.
  public private(set) var iceControlling: UInt64?
  /// 300 … 699.
  public private(set) var errorCode: Int?
  /// XOR-MAPPED-ADDRESS: where the server saw the request come from.
  public private(set) var mappedAddress: SocketAddress?
  /// What must be understood and is not.
  public private(set) var unknown = UnknownAttributes()

  /// Parses a whole datagram. What follows MESSAGE-INTEGRITY is ignored except FINGERPRINT (RFC 8489 §14.5), and of
  /// attributes that come twice the first counts.
  ///
  /// Throws `notSTUN`, `wrongLength`, or `malformed` for an attribute that is known and wrong.
  public static func parse(_ bytes: Span<UInt8>) throws(STUNError) -> MessageView {
    guard bytes.count >= headerLength else { throw .wrongLength }
    guard bytes[0] & 0xc0 == 0, bytes.uint32(at: 4) == cookie else { throw .notSTUN }
    let body = Int(bytes.uint16(at: 2))
    guard body & 3 == 0, body == bytes.count - headerLength else { throw .wrongLength }
    var view = MessageView(bytes)
    var at = headerLength
    while at < bytes.count {
      guard bytes.count - at >= 4 else { throw .wrongLength }
      let length = Int(bytes.uint16(at: at + 2))
      let padded = (length + 3) & ~3
      guard padded <= bytes.count - at - 4 else { throw .wrongLength }
      try view.decode(bytes, Attribute(type: bytes.uint16(at: at), offset: at + 4, length: length))
      at += 4 + padded
    }
    return view
  }

  private init(_ bytes: Span<UInt8>) {
    type = MessageType(rawValue: bytes.uint16(at: 0))
    transactionID = TransactionID(high: bytes.uint32(at: 8), low: bytes.uint64(at: 12))
    length = bytes.count
  }

  private struct Attribute {
    var type: UInt16
    var offset: Int
    var length: Int
    var range: Range<Int> { offset..<(offset + length) }

    func require(_ wanted: Int) throws(STUNError) {
      guard length == wanted else { throw .malformed }
    }
  }

  private mutating func decode(_ bytes: Span<UInt8>, _ attribute: Attribute) throws(STUNError) {
    if attribute.type == AttributeType.fingerprint {
      try attribute.require(4)
      guard attribute.offset + 4 == bytes.count else { throw .malformed }
      fingerprintOffset = attribute.offset - 4
      return
    }
    if integrityOffset != nil { return }
    switch attribute.type {
    case AttributeType.messageIntegrity:
      try attribute.require(20)
      integrityOffset = attribute.offset - 4
    case AttributeType.username, AttributeType.realm, AttributeType.nonce: try takeText(attribute)
    case AttributeType.errorCode: try takeErrorCode(bytes, attribute)
    case AttributeType.xorMappedAddress:
      let address = try readXORMappedAddress(bytes, attribute)
      if mappedAddress == nil { mappedAddress = address }
    default: try takeICE(bytes, attribute)
    }
  }

  private mutating func takeText(_ attribute: Attribute) throws(STUNError) {
    // 763 bytes is what RFC 8489 allows for realm and nonce; user names are shorter still.
    guard (1...763).contains(attribute.length) else { throw .malformed }
    switch attribute.type {
    case AttributeType.username: if username == nil { username = attribute.range }
    case AttributeType.realm: if realm == nil { realm = attribute.range }
    default: if nonce == nil { nonce = attribute.range }
    }
  }

  private mutating func takeErrorCode(_ bytes: Span<UInt8>, _ attribute: Attribute) throws(STUNError) {
    guard attribute.length >= 4 else { throw .malformed }
    let (hundreds, rest) = (Int(bytes[attribute.offset + 2] & 7), Int(bytes[attribute.offset + 3]))
    guard (3...6).contains(hundreds), rest < 100 else { throw .malformed }
    if errorCode == nil { errorCode = hundreds * 100 + rest }
  }

  private mutating func takeICE(_ bytes: Span<UInt8>, _ attribute: Attribute) throws(STUNError) {
    switch attribute.type {
    case AttributeType.priority:
      try attribute.require(4)
      if priority == nil { priority = bytes.uint32(at: attribute.offset) }
    case AttributeType.useCandidate:
      try attribute.require(0)
      useCandidate = true
    case AttributeType.iceControlled:
      try attribute.require(8)
      if iceControlled == nil { iceControlled = bytes.uint64(at: attribute.offset) }
    case AttributeType.iceControlling:
      try attribute.require(8)
      if iceControlling == nil { iceControlling = bytes.uint64(at: attribute.offset) }
    case AttributeType.mappedAddress, AttributeType.unknownAttributes, AttributeType.messageIntegritySHA256: break
    default:
      if AttributeType.isComprehensionRequired(attribute.type) { unknown.append(attribute.type) }
    }
  }

  /// |0|family|port ^ cookie|address ^ (cookie, transaction id)| (RFC 8489 §14.2).
  private func readXORMappedAddress(_ bytes: Span<UInt8>, _ attribute: Attribute) throws(STUNError) -> SocketAddress {
    guard attribute.length >= 8 else { throw .malformed }
    let at = attribute.offset
    let port = bytes.uint16(at: at + 2) ^ UInt16(Self.cookie >> 16)
    switch bytes[at + 1] {
    case 1:
      try attribute.require(8)
      return SocketAddress(v4: bytes.uint32(at: at + 4) ^ Self.cookie, port: port)
    case 2:
      try attribute.require(20)
      return SocketAddress(
        high: bytes.uint64(at: at + 4) ^ (UInt64(Self.cookie) << 32 | UInt64(transactionID.high)),
        low: bytes.uint64(at: at + 12) ^ transactionID.low, port: port)
    default: throw .malformed
    }
  }
}
