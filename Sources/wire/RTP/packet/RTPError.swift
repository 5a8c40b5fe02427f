// What can be wrong with an RTP or RTCP packet.

/// Why a packet was refused.
public enum RTPError: Error, Equatable, Sendable {
  /// Shorter than its own fields say.
  case truncated
  /// Not version 2.
  case wrongVersion
  /// The padding count is zero or larger than what it could cover (RFC 3550 §5.1).
  case badPadding
  /// Lengths are in order, contents are not.
  case malformed
  /// The caller's buffer cannot hold what is to be written.
  case noRoom
}
