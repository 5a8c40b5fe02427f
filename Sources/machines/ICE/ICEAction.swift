// What an agent makes of a message or of time passing.

import Basics

/// Why a message was not taken for a valid check.
public enum ICEDropReason: UInt8, Sendable, Equatable, CaseIterable {
  /// Not a STUN message at all, or a broken one.
  case malformed
  /// FINGERPRINT is missing or wrong.
  case badFingerprint
  /// A response to nothing, an indication, or a method other than binding.
  case unexpected
  /// USERNAME or MESSAGE-INTEGRITY is missing: answered 400.
  case incomplete
  /// USERNAME is not ours: answered 401.
  case wrongUsername
  /// MESSAGE-INTEGRITY is wrong: answered 401.
  case wrongIntegrity
  /// An attribute that must be understood is not: answered 420.
  case unknownAttribute
  /// The peer believes that it is controlled, as we always are: answered 487.
  case roleConflict
  /// The reply buffer is too short.
  case noRoom
  /// More than the peer may send: unread on a path that has passed a check, authentic on a new one.
  case overRate

  /// Whether the message was shown to be signed with the password.
  public var isAuthentic: Bool {
    switch self {
    case .unknownAttribute, .roleConflict, .noRoom: true
    case .malformed, .badFingerprint, .unexpected, .incomplete, .wrongUsername, .wrongIntegrity, .overRate: false
    }
  }
}

/// A change of where media goes.
public enum ICEEvent: Sendable, Equatable {
  /// The peer nominated its first address.
  case connected(SocketAddress)
  /// Media now goes to another address of the same peer.
  case moved(from: SocketAddress, to: SocketAddress)
  /// The peer is back after `consentExpired`.
  case recovered(SocketAddress)
  /// Nothing was heard from the peer for the consent timeout while media flowed: nothing may be sent to it any more (RFC 7675 §5.1).
  case consentExpired
}

/// What to do after a message.
public enum ICEAction: Sendable, Equatable {
  /// Nothing.
  case ignored(ICEDropReason)
  /// Send the first `length` bytes of the reply buffer, an error response, back to where the message came from.
  case refused(length: Int, ICEDropReason)
  /// Send the first `length` bytes of the reply buffer, a success response, back; the check was authentic.
  case reply(length: Int, ICEEvent?)
}
