// Writing STUN messages (RFC 8489 §5, §14) into a caller's buffer.

import Basics

/// Writes one message, attribute by attribute. The buffer is handed to each call; nothing is allocated.
///
///     var writer = try MessageWriter(MessageType(binding: .success), id, into: &buffer)
///     try writer.appendMappedAddress(address, to: &buffer)
///     try writer.appendIntegrity(to: &buffer) { hmac.tag($0, $1) }
///     try writer.appendFingerprint(to: &buffer)
///     send(buffer[..<writer.length])
///
/// Every append throws `noRoom` when the attribute does not fit; the message so far stays whole.
public struct MessageWriter: Sendable {
  /// Longest message sent anywhere: it fits into the smallest datagram that IPv4 hosts must take (RFC 8489 §6.1).
  public static let maximumLength = 548

  /// Length of the message so far.
  public private(set) var length: Int
  private let transactionID: TransactionID

  /// Writes the header. Throws `noRoom`.
  public init(
    _ type: MessageType, _ transactionID: TransactionID, into buffer: inout MutableSpan<UInt8>
  ) throws(STUNError) {
    guard buffer.count >= MessageView.headerLength else { throw .noRoom }
    self.transactionID = transactionID
    length = MessageView.headerLength
    buffer.store(type.rawValue, at: 0)
    buffer.store(0 as UInt16, at: 2)
    buffer.store(MessageView.cookie, at: 4)
    buffer.store(transactionID.high, at: 8)
    buffer.store(transactionID.low, at: 12)
  }

  /// Writes an attribute's head, zeroes its padding and brings the message's length up; returns where the value goes.
  private mutating func open(_ type: UInt16, _ count: Int, _ buffer: inout MutableSpan<UInt8>) throws(STUNError) -> Int
  {
    let padded = (count + 3) & ~3
    guard count <= 0xffff, length + 4 + padded <= min(buffer.count, Self.maximumLength) else { throw .noRoom }
    let value = length + 4
    buffer.store(type, at: length)
    buffer.store(UInt16(count), at: length + 2)
    for index in (value + count)..<(value + padded) { buffer[index] = 0 }
    length = value + padded
    buffer.store(UInt16(length - MessageView.headerLength), at: 2)
    return value
  }

  private mutating func append(
    _ type: UInt16, _ value: Span<UInt8>, _ buffer: inout MutableSpan<UInt8>
  ) throws(STUNError) {
    let at = try open(type, value.count, &buffer)
    buffer.store(value, at: at)
  }

  /// Appends USERNAME.
  public mutating func appendUsername(
    _ username: Span<UInt8>, to buffer: inout MutableSpan<UInt8>
  ) throws(STUNError) {
    try append(AttributeType.username, username, &buffer)
  }

  /// Appends SOFTWARE.
  public mutating func appendSoftware(_ name: Span<UInt8>, to buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    try append(AttributeType.software, name, &buffer)
  }

  /// Appends PRIORITY.
  public mutating func appendPriority(_ priority: UInt32, to buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    buffer.store(priority, at: try open(AttributeType.priority, 4, &buffer))
  }

  /// Appends USE-CANDIDATE.
  public mutating func appendUseCandidate(to buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    _ = try open(AttributeType.useCandidate, 0, &buffer)
  }

  /// Appends ICE-CONTROLLING.
  public mutating func appendControlling(
    tieBreaker: UInt64, to buffer: inout MutableSpan<UInt8>
  ) throws(STUNError) {
    buffer.store(tieBreaker, at: try open(AttributeType.iceControlling, 8, &buffer))
  }

  /// Appends ICE-CONTROLLED.
  public mutating func appendControlled(tieBreaker: UInt64, to buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    buffer.store(tieBreaker, at: try open(AttributeType.iceControlled, 8, &buffer))
  }

  /// Appends XOR-MAPPED-ADDRESS.
  public mutating func appendMappedAddress(
    _ address: SocketAddress, to buffer: inout MutableSpan<UInt8>
  ) throws(STUNError) {
    let at = try open(AttributeType.xorMappedAddress, address.isIPv4 ? 8 : 20, &buffer)
    buffer.store((address.isIPv4 ? 1 : 2) as UInt16, at: at)
    buffer.store(address.port ^ UInt16(MessageView.cookie >> 16), at: at + 2)
    if address.isIPv4 {
      buffer.store(address.v4 ^ MessageView.cookie, at: at + 4)
    } else {
      let mask = UInt64(MessageView.cookie) << 32 | UInt64(transactionID.high)
      buffer.store(address.high ^ mask, at: at + 4)
      buffer.store(address.low ^ transactionID.low, at: at + 12)
    }
  }

  /// Appends ERROR-CODE, 300 … 699, with an empty reason phrase.
  public mutating func appendErrorCode(_ code: Int, to buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    guard (300...699).contains(code) else { throw .malformed }
    buffer.store(UInt32(code / 100) << 8 | UInt32(code % 100), at: try open(AttributeType.errorCode, 4, &buffer))
  }

  /// Appends UNKNOWN-ATTRIBUTES.
  public mutating func appendUnknownAttributes(
    _ unknown: UnknownAttributes, to buffer: inout MutableSpan<UInt8>
  ) throws(STUNError) {
    let at = try open(AttributeType.unknownAttributes, 2 * unknown.count, &buffer)
    for index in 0..<unknown.count { buffer.store(unknown[index], at: at + 2 * index) }
  }

  /// Appends MESSAGE-INTEGRITY over all that was written; only FINGERPRINT may follow. `hmac` as for
  /// `MessageView.integrityHolds`.
  public mutating func appendIntegrity(
    to buffer: inout MutableSpan<UInt8>, hmac: (_ header: Span<UInt8>, _ body: Span<UInt8>) -> IntegrityTag
  ) throws(STUNError) {
    let at = try open(AttributeType.messageIntegrity, 20, &buffer)
    let tag = MessageView.integrityTag(buffer.span, upTo: at - 4, hmac: hmac)
    for index in 0..<20 { buffer[at + index] = tag[index] }
  }

  /// Appends FINGERPRINT over all that was written; nothing may follow.
  public mutating func appendFingerprint(to buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    let at = try open(AttributeType.fingerprint, 4, &buffer)
    let checksum = CRC32.checksum(buffer.span.extracting(first: at - 4))
    buffer.store(checksum ^ MessageView.fingerprintMask, at: at)
  }
}
