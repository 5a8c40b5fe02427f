// STUN messages: what a view says lies inside the message, and the checks of integrity read nothing else.
import STUN

@Sendable func readSTUN(_ input: Span<UInt8>) {
  guard let view = try? MessageView.parse(input) else { return }
  precondition(view.length == input.count)
  for range in [view.username, view.realm, view.nonce] {
    guard let range else { continue }
    precondition(!range.isEmpty && range.upperBound <= input.count)
  }
  if let offset = view.fingerprintOffset { precondition(offset + 8 == input.count) }
  if let offset = view.integrityOffset { precondition(offset + 24 <= input.count) }
  if let code = view.errorCode { precondition((300...699).contains(code)) }
  for index in 0..<view.unknown.count { precondition(view.unknown[index] < 0x8000, "others may be ignored") }
  _ = view.fingerprintHolds(input)
  _ = view.integrityHolds(input) { header, body in
    precondition(header.count == MessageView.headerLength && header.count + body.count <= input.count)
    return IntegrityTag(repeating: 0)
  }
}
