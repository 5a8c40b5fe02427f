// A small generator whose numbers come back with the same seed (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", 2014). For what needs to differ and not to be secret.

/// SplitMix64: every seed is a good one.
public struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
  private var state: UInt64

  /// The sequence of this seed.
  public init(seed: UInt64) { state = seed }

  /// The next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// True for about `probability` of the calls; 0 costs no number.
  public mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && Double(next() >> 11) / Double(1 << 53) < probability
  }
}
