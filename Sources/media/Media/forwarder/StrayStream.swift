// A publisher's packets that find no track: they cost it its line, and nobody is sent them. One such stream is watched at a time.
//
//   packet of no track ─▶ watched ── five seconds ─▶ told once ── a stream finds its track ─▶ told again

import Basics
import RTP

/// Why packets find no track.
public enum StrayCause: UInt8, Sendable, Hashable {
  /// They bear a MID of no published line.
  case unknownMid
  /// Their payload type stands on no published line.
  case unknownPayloadType
  /// They bear neither MID nor RID, their SSRC was not declared, and more than one line has their payload type.
  case ambiguous
  /// Their line is there, and another SSRC is sending on it, or no layer of it is theirs.
  case occupied
}

/// A stream of a publisher that belongs to no track.
public struct StrayStreamReport: Sendable, Hashable {
  /// Its SSRC.
  public var ssrc: UInt32
  /// The payload type of its newest packet.
  public var payloadType: UInt8
  /// Why.
  public var cause: StrayCause
}

/// What is known of the stray streams of one transport.
struct StrayStream: Sendable {
  /// Packets find no track for so long before that is told.
  static let patience = TimeDelta.seconds(5)
  /// A pause after which a stream is another one. Sound in silence, and screens that stand still, send seldom.
  static let pause = TimeDelta.seconds(2)
  /// After so long without a stray packet, streams that have found tracks were those that had found none.
  private static let calm = TimeDelta.seconds(1)

  private(set) var ssrc: UInt32?
  /// When the first of its packets came without a pause, and the newest.
  private(set) var since = Instant.zero
  private var last = Instant.zero
  private(set) var isTold = false
  /// Whether a stream has found its track since.
  private var hasFound = false
  private var isSettled = false

  /// A packet found no track. True where that is to be told. Retransmissions are not watched: they would hide what they repeat.
  mutating func note(_ new: UInt32, isMedia: Bool, at now: Instant) -> Bool {
    guard isMedia else { return false }
    if ssrc != new {
      // Several at once: the first is watched as long as it sends.
      if ssrc != nil && now - last < Self.pause { return false }
      (ssrc, since) = (new, now)
    } else if now - last >= Self.pause {
      since = now
    }
    last = now
    guard !isTold, now - since >= Self.patience else { return false }
    (isTold, hasFound, isSettled) = (true, false, false)
    return true
  }

  /// A stream has found its track.
  mutating func found(_ found: UInt32) {
    hasFound = true
    if found == ssrc { (ssrc, isSettled) = (nil, true) }
  }

  /// True once where what was told is so no longer. `flows`: packets of the stream are taken now.
  mutating func settles(flows: Bool, at now: Instant) -> Bool {
    guard isTold, isSettled || (hasFound || flows) && now - last >= Self.calm else { return false }
    isTold = false
    return true
  }
}
