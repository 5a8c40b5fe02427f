// Which missing packets were restored from the redundancy of later ones (RFC 2198), so that one that comes after all is no loss of its
// publisher's line, and no duplicate either.

/// Remembers the last 64 numbers. Numbers never meet those of another SSRC.
struct RestoredNumbers: Sendable {
  private var newest: Int64 = .min / 2
  /// Bit `n` stands for the number `n` before `newest`.
  private var bits: UInt64 = 0

  /// Notes a packet that was restored.
  mutating func note(_ number: Int64) {
    if number > newest {
      let step = number - newest
      bits = step < 64 ? bits << UInt64(step) | 1 : 1
      newest = number
    } else if newest - number < 64 {
      bits |= 1 << UInt64(newest - number)
    }
  }

  /// Whether a packet was restored; it is forgotten with the answer.
  mutating func take(_ number: Int64) -> Bool {
    guard number <= newest, newest - number < 64 else { return false }
    let bit = UInt64(1) << UInt64(newest - number)
    defer { bits &= ~bit }
    return bits & bit != 0
  }
}
