// How much one peer connection may bring in: sound, video, RTP that nobody knows yet, and RTCP, each by itself.
//
//   datagram ─▶ whose, which class ─▶ is there room? ─no─▶ dropped unread
//                                          │ yes
//                                     authenticated ─▶ taken from the bound
//
// What is above a bound is dropped before anything is decrypted. Only authentic packets take from it: who forges the peer's address
// uses up none of it.

import Basics
import RTP

/// What is counted together, by what the header of a datagram says.
public enum IntakeClass: Int, Sendable {
  case sound, video
  /// RTP of an SSRC that belongs to no track yet: the first packet of a stream.
  case unrouted
  /// RTCP.
  case control

  /// What packets of a track count as.
  init(_ kind: MediaKind) { self = kind == .audio ? .sound : .video }
}

/// A bound for bytes in time. Counted as the time that they take at the rate.
struct IntakeMeter {
  /// Nanoseconds that 1,024 bytes take; 0 where there is no bound.
  private var cost: Int64
  /// How far what came may be ahead of the clock.
  private var slack: Int64
  /// The time until which what came is paid for, in nanoseconds.
  private var paid: Int64 = 0

  /// A bound of `bitsPerSecond`, nil for none.
  init(bitsPerSecond: Int?) { (cost, slack) = Self.price(bitsPerSecond) }

  private static func price(_ bitsPerSecond: Int?) -> (cost: Int64, slack: Int64) {
    guard let bitsPerSecond else { return (0, .max / 4) }
    let cost = max(1, 8 * 1_024 * 1_000_000_000 / Int64(max(bitsPerSecond, 1)))
    return (cost, max(1_000_000_000, cost * Int64(PublisherBounds.burstBytes / 1_024)))
  }

  /// Another bound from now on. What is paid stays paid.
  mutating func change(to bitsPerSecond: Int?) { (cost, slack) = Self.price(bitsPerSecond) }

  /// Whether so many bytes are within the bound now.
  @inline(__always)
  func admits(_ bytes: Int, at now: Instant) -> Bool {
    max(paid, now.nanoseconds) + price(bytes) - now.nanoseconds <= slack
  }

  /// So many bytes came, and were authentic.
  @inline(__always)
  mutating func take(_ bytes: Int, at now: Instant) { paid = max(paid, now.nanoseconds) + price(bytes) }

  @inline(__always)
  private func price(_ bytes: Int) -> Int64 { (Int64(max(bytes, PublisherBounds.leastBytes)) &* cost) >> 10 }
}

/// The bounds of one peer connection.
struct PublisherBounds {
  /// Bytes that may come at once, where a second at the rate is less.
  static let burstBytes = 256 << 10
  /// What a packet counts at least, so that the number of packets is bounded as well.
  static let leastBytes = 128
  /// Bits per second for each track of sound: three times what Opus takes at most (510 kbit/s), as redundancy repeats it, and headers.
  static let soundBitsPerSecond = 1_600_000
  /// For streams that belong to no track yet. A stream is known from its first packet on.
  static let unroutedBitsPerSecond = 1_000_000
  /// For RTCP. A browser that receives forty-nine videos over a bad line sends a fifth of it.
  static let controlBitsPerSecond = 8_000_000

  /// How often it is said that a bound was met.
  static let tellingInterval = TimeDelta.seconds(60)

  private let videoBitsPerSecond: Int?
  private var meters: InlineArray<4, IntakeMeter>
  private var tracks = (sounds: 0, videos: 0)
  private var nextTelling = Instant.zero

  /// No tracks yet. `videoBitsPerSecond` is for each track of video; nil: none of the bounds holds.
  init(videoBitsPerSecond: Int?) {
    self.videoBitsPerSecond = videoBitsPerSecond
    let isBound = videoBitsPerSecond != nil
    meters = [
      IntakeMeter(bitsPerSecond: isBound ? 0 : nil), IntakeMeter(bitsPerSecond: isBound ? 0 : nil),
      IntakeMeter(bitsPerSecond: isBound ? Self.unroutedBitsPerSecond : nil),
      IntakeMeter(bitsPerSecond: isBound ? Self.controlBitsPerSecond : nil),
    ]
  }

  /// The connection has so many tracks now.
  mutating func count(sounds: Int, videos: Int) {
    guard let videoBitsPerSecond else { return }
    tracks = (sounds, videos)
    meters[IntakeClass.sound.rawValue].change(to: sounds * Self.soundBitsPerSecond)
    meters[IntakeClass.video.rawValue].change(to: videos * videoBitsPerSecond)
  }

  /// Whether a datagram of `bytes` is within its bound now.
  @inline(__always)
  func admits(_ bytes: Int, of kind: IntakeClass, at now: Instant) -> Bool {
    meters[kind.rawValue].admits(bytes, at: now)
  }

  /// A datagram of `bytes` was authentic.
  @inline(__always)
  mutating func take(_ bytes: Int, of kind: IntakeClass, at now: Instant) { meters[kind.rawValue].take(bytes, at: now) }

  /// What a class may bring, in bits per second.
  private func limit(of kind: IntakeClass) -> Int {
    switch kind {
    case .sound: tracks.sounds * Self.soundBitsPerSecond
    case .video: tracks.videos * (videoBitsPerSecond ?? 0)
    case .unrouted: Self.unroutedBitsPerSecond
    case .control: Self.controlBitsPerSecond
    }
  }

  /// Something of this class was dropped. Returns the bound where that is to be told: a flood is told of once a minute.
  mutating func takeNews(of kind: IntakeClass, at now: Instant) -> Int? {
    guard now >= nextTelling else { return nil }
    nextTelling = now + Self.tellingInterval
    return limit(of: kind)
  }
}
