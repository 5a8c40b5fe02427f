// A connectivity check made by hand: authentic or not, and without nomination.

import Basics
import Crypto
import STUN

enum PlainCheck {
  /// A check from one agent to another, as RFC 8445 §7.2 has it.
  static func make(from local: ICECredentials, to remote: ICECredentials, nominates: Bool = false) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: MessageWriter.maximumLength)
    var span = bytes.mutableSpan
    var hmac = HMACSHA1(key: Array(remote.password.utf8).span)
    let username = Array("\(remote.ufrag):\(local.ufrag)".utf8)
    do throws(STUNError) {
      var writer = try MessageWriter(
        MessageType(binding: .request), TransactionID(high: 1, low: UInt64.random(in: 0 ... .max)), into: &span)
      try writer.appendUsername(username.span, to: &span)
      try writer.appendPriority(1_853_824_767, to: &span)
      try writer.appendControlling(tieBreaker: 1, to: &span)
      if nominates { try writer.appendUseCandidate(to: &span) }
      try writer.appendIntegrity(to: &span) { header, body in
        hmac.reset()
        hmac.update(header)
        hmac.update(body)
        return hmac.finish()
      }
      try writer.appendFingerprint(to: &span)
      return Array(bytes.prefix(writer.length))
    } catch {
      return nil
    }
  }
}
