// SSRCs that look random and never come twice: a key stream depends on the SSRC, so one that ended must not begin anew under
// the same key (RFC 3711 §9.1).

/// A walk through all 32-bit numbers in a scrambled order, from a random start. Its memory is one number, however long a
/// connection lives.
struct SSRCSequence: Sendable {
  private var state: UInt32

  init(start: UInt32) { state = start }

  /// The next SSRC; 0 is left out, as some stacks take it for none.
  mutating func next() -> UInt32 {
    while true {
      // Odd steps visit every number once; the scrambling (the end of MurmurHash3) maps numbers one to one.
      state &+= 0x9e37_79b9
      var mixed = state
      mixed = (mixed ^ mixed >> 16) &* 0x85eb_ca6b
      mixed = (mixed ^ mixed >> 13) &* 0xc2b2_ae35
      mixed ^= mixed >> 16
      if mixed != 0 { return mixed }
    }
  }
}
