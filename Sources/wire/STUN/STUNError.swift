// What can be wrong with a STUN message.

/// Why a message was refused.
public enum STUNError: Error, Equatable, Sendable {
  /// Shorter than a header, or than its own lengths say, or longer.
  case wrongLength
  /// The first two bits or the magic cookie are not STUN's (RFC 8489 §5).
  case notSTUN
  /// An attribute that is known has a wrong length or content.
  case malformed
  /// The caller's buffer cannot hold what is to be written.
  case noRoom
}
