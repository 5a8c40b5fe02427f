// Sessions that were replaced lately.

import Members

/// The last sessions that were replaced, so that their resume is told so (1008) rather than that it expired.
struct ReplacedSessions: Sendable {
  /// Raising it makes 1008 truthful for longer, at about 100 bytes each.
  static let capacity = 1024
  private var tokens: [SessionID: ResumeToken] = [:]
  private var order: [SessionID] = []
  private var oldest = 0

  /// Remembers a session, in place of the oldest when there are too many.
  mutating func insert(_ token: ResumeToken) {
    tokens[token.session] = token
    if order.count < Self.capacity {
      order.append(token.session)
    } else {
      tokens[order[oldest]] = nil
      order[oldest] = token.session
      oldest = (oldest + 1) % Self.capacity
    }
  }

  /// Whether this is the token of a session that was replaced.
  func contains(_ token: ResumeToken) -> Bool { tokens[token.session] == token }
}
