// Connectivity checks (RFC 8445 §7.2) of a peer who knows the password, unless the flags say otherwise.
import Basics
import Crypto
import STUN

/// What is odd about a check, a bit for each.
struct CheckFlags: OptionSet {
  let rawValue: UInt8
  static let nominates = CheckFlags(rawValue: 2)
  static let hasPriority = CheckFlags(rawValue: 4)
  static let isControlled = CheckFlags(rawValue: 8)
  static let hasWrongPassword = CheckFlags(rawValue: 16)
  static let lacksIntegrity = CheckFlags(rawValue: 32)
  static let lacksFingerprint = CheckFlags(rawValue: 64)
  static let isAnswer = CheckFlags(rawValue: 128)

  /// Whether it proves that its sender knows the password.
  var isAuthentic: Bool { isDisjoint(with: [.hasWrongPassword, .lacksIntegrity, .lacksFingerprint, .isAnswer]) }
}

/// The bytes of a check.
func makeCheck(_ flags: CheckFlags, _ id: TransactionID, username: String, password: String) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: 256)
  var span = bytes.mutableSpan
  guard let length = try? writeCheck(flags, id, username, password, &span) else { preconditionFailure("a check fits") }
  bytes.removeLast(bytes.count - length)
  return bytes
}

private func writeCheck(
  _ flags: CheckFlags, _ id: TransactionID, _ username: String, _ password: String, _ buffer: inout MutableSpan<UInt8>
) throws(STUNError) -> Int {
  var writer = try MessageWriter(
    MessageType(binding: flags.contains(.isAnswer) ? .success : .request), id, into: &buffer)
  try writer.appendUsername(Array(username.utf8).span, to: &buffer)
  if flags.contains(.nominates) { try writer.appendUseCandidate(to: &buffer) }
  if flags.contains(.hasPriority) { try writer.appendPriority(1, to: &buffer) }
  if flags.contains(.isControlled) { try writer.appendControlled(tieBreaker: 9, to: &buffer) }
  let key = flags.contains(.hasWrongPassword) ? "wrong" : password
  var hmac = HMACSHA1(key: Array(key.utf8).span)
  if !flags.contains(.lacksIntegrity) {
    try writer.appendIntegrity(to: &buffer) { header, body in
      hmac.reset()
      hmac.update(header)
      hmac.update(body)
      return hmac.finish()
    }
  }
  if !flags.contains(.lacksFingerprint) { try writer.appendFingerprint(to: &buffer) }
  return writer.length
}
