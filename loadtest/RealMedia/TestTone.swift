// Generated sound that says whose it is: a steady tone, its pitch made from the identity.

import Glibc
import OpusCodec

enum TestTone {
  /// Pitches, 125 Hz apart: 20 ms tell those apart with ease.
  private static let pitches: UInt64 = 24
  private static let amplitude = 12_000.0

  /// The pitch of an identity in Hz.
  static func frequency(_ identity: UInt64) -> Double { 500 + Double((identity >> 7) % pitches) * 125 }

  /// The samples of 20 ms, number `number` of a sound without seams: every pitch fits 8 ms a whole number of times… and so 40.
  static func samples(_ identity: UInt64, number: Int) -> [Int16] {
    let step = 2 * Double.pi * frequency(identity) / Double(opusSampleRate)
    return (0..<opusFrameLength).map { index in
      Int16(amplitude * sin(step * Double(number * opusFrameLength + index)))
    }
  }

  /// How much of the sound's energy is at the identity's pitch, 0 … 1; nil when it is silent (Goertzel's algorithm).
  static func share(of identity: UInt64, in samples: [Int16]) -> Double? {
    let energy = samples.reduce(0.0) { $0 + Double($1) * Double($1) }
    guard samples.count >= opusFrameLength / 2, energy > 1_000 * Double(samples.count) else { return nil }
    let coefficient = 2 * cos(2 * Double.pi * frequency(identity) / Double(opusSampleRate))
    var (one, two) = (0.0, 0.0)
    for sample in samples { (one, two) = (Double(sample) + coefficient * one - two, one) }
    let power = one * one + two * two - coefficient * one * two
    return min(1, 2 * power / (Double(samples.count) * energy))
  }
}
