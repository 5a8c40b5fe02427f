import Crypto
import STUN

/// HMAC-SHA1 of `header` followed by `body`.
func tag(_ key: [UInt8], _ header: Span<UInt8>, _ body: Span<UInt8>) -> IntegrityTag {
  var hmac = HMACSHA1(key: key.span)
  hmac.update(header)
  hmac.update(body)
  return hmac.finish()
}

func integrityHolds(_ message: [UInt8], key: [UInt8]) throws -> Bool {
  try MessageView.parse(message.span).integrityHolds(message.span) { tag(key, $0, $1) }
}

func fingerprintHolds(_ message: [UInt8]) throws -> Bool {
  try MessageView.parse(message.span).fingerprintHolds(message.span)
}

/// What `write` leaves in a buffer of `capacity` bytes.
func message(
  _ messageClass: MessageClass = .request, capacity: Int = MessageWriter.maximumLength,
  _ write: (inout MessageWriter, inout MutableSpan<UInt8>) throws(STUNError) -> Void
) throws(STUNError) -> [UInt8] {
  var buffer = [UInt8](repeating: 0xee, count: capacity)
  var span = buffer.mutableSpan
  let id = TransactionID(high: 0xb7e7_a701, low: 0xbc34_d686_fa87_dfae)
  var writer = try MessageWriter(MessageType(binding: messageClass), id, into: &span)
  try write(&writer, &span)
  let length = writer.length
  return Array(buffer[..<length])
}
