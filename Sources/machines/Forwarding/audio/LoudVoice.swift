// How loud one track is, for rooms that hear the loudest alone (RFC 6464: 0 is loudest, 127 silence). It rises within two packets, so that
// nobody's first word is missed, and falls slowly, so that nobody is cut off between two.

import Basics

/// The loudness of one track of sound. Time comes in as an argument.
public struct LoudVoice: Sendable {
  /// 127 less the level, in 1/256, from which on somebody speaks: −60 dBov.
  static let speech: Int32 = 67 << 8
  /// By how much a newcomer must be louder than who gives way, 6 dB: of two who are as loud neither drives the other out.
  static let lead: Int32 = 6 << 8
  /// How long somebody who has stopped speaking is heard on: pauses between words are shorter.
  static let hangover = TimeDelta.seconds(1)
  /// How long nobody gives way after they were let in.
  static let shortestStay = TimeDelta.milliseconds(300)
  /// Silence may send nothing: what was said so long ago is not loud any more.
  static let gap = TimeDelta.milliseconds(200)

  /// Whether its packets have said how loud they are.
  public private(set) var isTold = false
  /// Whether it is among those that are heard.
  public private(set) var isLetIn = false
  /// The newest number when it was heard last; numbers up to it are not sent again.
  public private(set) var last = Int64.min
  private var loudness: Int32 = 0
  private var lastAt = Instant.zero
  private var spokeAt = Instant(nanoseconds: .min / 64)
  private var letInAt = Instant.zero

  /// Nothing heard.
  public init() {}

  /// Takes in the level of one packet.
  public mutating func note(_ level: UInt8, at now: Instant) {
    let new = Int32(127 - (level & 0x7f)) << 8
    let old = loudness(at: now)
    loudness = old + (new - old) / (new > old ? 2 : 16)
    (lastAt, isTold) = (now, true)
    if loudness >= Self.speech { spokeAt = now }
  }

  /// Whether somebody speaks.
  public func speaks(at now: Instant) -> Bool { loudness(at: now) >= Self.speech }

  /// Whether it has been silent for so long that it need not be heard any more.
  public func isSilent(at now: Instant) -> Bool { now - spokeAt > Self.hangover }

  /// Whether it gives way to another one that speaks.
  public func givesWay(to other: LoudVoice, at now: Instant) -> Bool {
    if isSilent(at: now) { return true }
    return now - letInAt >= Self.shortestStay && other.loudness(at: now) > loudness(at: now) + Self.lead
  }

  /// Whether it is less loud than another one.
  public func isQuieter(than other: LoudVoice, at now: Instant) -> Bool { loudness(at: now) < other.loudness(at: now) }

  /// It is heard from now on.
  public mutating func letIn(at now: Instant) { (isLetIn, letInAt) = (true, now) }

  /// It is not heard any more behind number `newest`.
  public mutating func shutOut(behind newest: Int64) { (isLetIn, last) = (false, newest) }

  private func loudness(at now: Instant) -> Int32 { now - lastAt > Self.gap ? 0 : loudness }
}
