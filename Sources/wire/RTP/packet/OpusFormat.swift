// What two ends agree on about Opus besides its payload type (RFC 7587 §6.1), as values.

/// How a track's Opus is sent, as its publisher offered it and the server answered.
public struct OpusFormat: Sendable, Hashable {
  /// Bits per second that `maxaveragebitrate` may say (RFC 7587 §6.1).
  public static let bitRates = 6_000...510_000

  /// Two channels (`stereo`, `sprop-stereo`).
  public var isStereo = false
  /// Music, by what is offered: its publisher is not told to pause in silence. More than `stereo=1`, which says what it can play.
  public var isMusic = false
  /// No packets in silence (`usedtx`); nil where nothing is said.
  public var pausesInSilence: Bool?
  /// A constant bit rate (`cbr`).
  public var isConstantRate = false
  /// What the encoder stays below on average, within `bitRates` (`maxaveragebitrate`); nil leaves it to the encoder.
  public var maxBitsPerSecond: Int?
  /// Forward error correction in the packets (`useinbandfec`).
  public var hasFEC = true
  /// The shortest packet, in milliseconds (`minptime`).
  public var minPacketMilliseconds = 10

  /// Mono, as browsers send it when nothing else is said.
  public init() {}

  /// Whatever Opus there is: in stereo, perhaps.
  public static let any = {
    var any = OpusFormat()
    any.isStereo = true
    return any
  }()

  /// What an encoder sends when nothing is said about it, bits per second (RFC 7587 §3.1.1).
  public var usualBitsPerSecond: Int { isStereo ? 64_000 : 32_000 }
}
