// What an operator decides about calls: the timers of docs/calls.md and bounds.

import Basics
import RoostProtocol

/// Timers and bounds of calls.
public struct CallRules: Hashable, Sendable {
  /// How long it rings where the caller asks for nothing else …
  public var ringTimeout = TimeDelta.seconds(30)
  /// … and what they may ask for.
  public var ringTimeoutRange = TimeDelta.seconds(5)...TimeDelta.seconds(180)
  /// No device acknowledged the ring: push.
  public var deliverTimeout = TimeDelta.seconds(5)
  /// Accepted, but media did not come up.
  public var connectTimeout = TimeDelta.seconds(15)
  /// How long a leg without its socket or media keeps its seat.
  public var resumeGrace = TimeDelta.seconds(15)
  /// The caller's last socket broke while it rings.
  public var callerGrace = TimeDelta.seconds(8)
  /// A change of media that waits for its answer.
  public var mediaChangeTimeout = TimeDelta.seconds(60)
  /// A group call with one person and nobody ringing; zero: never ends by itself.
  public var aloneTimeout = TimeDelta.seconds(300)
  /// How long an ended call answers what became of it.
  public var tombstone = TimeDelta.seconds(86_400)

  /// People at once in a video call, those who are being rung included.
  public var videoSeats = 16
  /// The same in an audio call.
  public var audioSeats = 32
  /// Whether there is a push provider that wakes phones. Without it a callee with no device is unreachable.
  public var hasPush = false
  /// Whether there are webhook subscribers: then `CallEffect.webhook` has the whole call.
  public var isFollowed = false
  /// Whether calls are to be kept beyond the process: `CallEffect.keepCall`.
  public var keepsCalls = false

  /// Calls at once. Raising it raises what clients can make the server keep.
  public var maxCalls = 5_000
  /// Calls that may ring one user at once; for one more they are busy.
  public var maxRings = 8
  /// Users whom one user may ring in a minute, and as many at once; 0: as many as they like. Raise it and somebody disturbs more people
  /// in the same time.
  public var ringsPerCaller = 120
  /// How often one user may be rung in a minute, by whomever; 0: as often as anybody likes. Lower it and few can keep others from
  /// calling somebody.
  public var ringsPerCallee = 60
  /// How often one user may ring one other in a minute; 0: as often as they like.
  public var ringsPerPair = 10
  /// Users that one call may have had, come and gone.
  public var maxMembers = 400
  /// Ended calls that are remembered …
  public var maxTombstones = 10_000
  /// … of those whom one user started …
  public var maxTombstonesPerCaller = 500
  /// … and the memory for them, about, in bytes.
  public var maxTombstoneBytes = 64 << 20
  /// Records that are kept in memory, of all users together …
  public var maxRecords = 20_000
  /// … and of one user.
  public var maxRecordsPerUser = 200

  /// The defaults of docs/calls.md.
  public init() {}

  /// People at once in a call of this class.
  public func seats(_ media: MediaClass) -> Int { media == .video ? videoSeats : audioSeats }

  /// How long to ring for somebody who asks for so many milliseconds.
  func ringTime(_ milliseconds: Int64?) -> TimeDelta {
    guard let milliseconds else { return ringTimeout }
    let wanted = TimeDelta.milliseconds(Int(clamping: milliseconds))
    return min(max(wanted, ringTimeoutRange.lowerBound), ringTimeoutRange.upperBound)
  }
}
