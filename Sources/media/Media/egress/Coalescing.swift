// How long a packet waits for others to the same receiver, so that they leave as segments of one send: a trade of microseconds
// of latency for CPU. In a room where nothing would come to share the call, nothing is held, but for an audience that may wait.

import Basics
import Forwarding
import RTP

/// The longest that packets are held back before they are sent.
public struct CoalescingWindow: Hashable, Sendable {
  /// For video packets. 0 sends what one wake-up has brought and waits for nothing.
  public var video: TimeDelta
  /// For audio packets, which come one at a time and profit most.
  public var audio: TimeDelta
  /// For audio packets to an audience, who talk with nobody: where this is the only sound in the room, and goes to
  /// `Coalescing.audience` people at least. Zero treats them as all others.
  public var audience: TimeDelta

  /// 1 ms for video and 2 ms for audio unless said otherwise: docs/performance.md has the curve.
  public init(video: TimeDelta = .milliseconds(1), audio: TimeDelta = .milliseconds(2), audience: TimeDelta = .zero) {
    self.video = video
    self.audio = audio
    self.audience = audience
  }

  /// Nothing is held.
  public static let off = CoalescingWindow(video: .zero, audio: .zero)
}

/// Shortens the window where a worker is idle or a room is small, and says how long a busy worker may rest.
///
/// Where a busy worker would wake more than once in a window, for media or for what receivers report, waking for each and again for
/// what is due then costs more than the sends gain. Such a worker turns at a beat of one window: video that it finds leaves at once,
/// sound may be held until a later beat, a quarter of one being left for the turn itself. Nothing is sent later than its
/// window allows, but for what waits when a beat begins, and for small rooms, whose packets wait for the beat alone.
struct Coalescing {
  /// A room with so few tracks brings a receiver nothing more within a window; with the larger number it is worth all of it.
  static let tracks = 4...12
  /// Packets a second that a worker sends: below it has CPU to spare, above the window is needed whole.
  static let load: ClosedRange<Int64> = 4_000...16_000
  /// How long the begun frame of a busy worker waits for its end, where nothing else is waited for: its packets come back to
  /// back, and to send each receiver the first of them alone costs a call of its own.
  static let frame = TimeDelta.microseconds(250)
  /// From so many receivers on those of the only sound in a room are an audience.
  static let audience = 50
  /// Datagrams that come so close to each other wake a worker once.
  static let burst = TimeDelta.microseconds(50)
  /// So many wakings a second cost more than what is sent: who would wake so often keeps a beat however little leaves.
  static let wakings: Int64 = 3_000
  /// How often the load is looked at.
  static let interval = TimeDelta.milliseconds(50)
  /// A share that is everything.
  private static let whole: Int64 = 1_024

  private let window: CoalescingWindow
  private var since = Instant.zero
  private var packets: Int64 = 0
  private var videoPackets: Int64 = 0
  /// Packets that came, and those of them that were of rooms which are worth the whole window.
  private var (arrivals, arrivalsOfLarge): (Int64, Int64) = (0, 0)
  /// How often a datagram came that would have woken the worker, and the last of these.
  private var bursts: Int64 = 0
  private var lastBurst = Instant.zero
  private var share: Int64 = 0
  /// How long the sockets may be left alone: as long as the most urgent kind of what comes in may wait.
  private(set) var rest = TimeDelta.zero
  /// How often the worker turns, whatever comes; zero where it wakes for what comes.
  private(set) var beat = TimeDelta.zero

  /// What waits for longer than this waits for an audience alone.
  var longest: TimeDelta { max(window.video, window.audio) }

  /// Who is due within this time is sent to along with those who are due. At a beat nobody is due between two turns.
  var slack: TimeDelta { beat > .zero ? .zero : rest / 4 }

  init(_ window: CoalescingWindow) { self.window = window }

  /// Notes that a datagram came, of whatever kind.
  @inline(__always)
  mutating func arrived(at now: Instant) {
    guard now - lastBurst >= Self.burst else { return }
    bursts += 1
    lastBurst = now
  }

  /// Notes that a packet of a room with `tracks` published tracks is to be sent `count` times.
  mutating func note(_ count: Int, _ kind: MediaKind, tracks: Int, at now: Instant) {
    if now - since >= Self.interval { judge(at: now) }
    packets += Int64(count)
    if kind == .video { videoPackets += Int64(count) }
    arrivals += 1
    if tracks >= Self.tracks.upperBound { arrivalsOfLarge += 1 }
  }

  private mutating func judge(at now: Instant) {
    let elapsed = now - since
    // After a silence the old count says nothing about now.
    let rate = elapsed < Self.interval * 4 ? packets * 1_000_000_000 / elapsed.nanoseconds : 0
    share = Self.share(rate, of: Self.load)
    // No longer than what is most urgent may wait. What comes meanwhile for a room that holds nothing is late by as much.
    let turn = min(window.video, window.audio)
    rest = part(of: videoPackets > 0 ? turn : window.audio, share << 10)
    // Where sound of large rooms is most of what comes, packets that are held for others let the worker rest already.
    let isAlwaysHeld = videoPackets == 0 && arrivalsOfLarge * 2 > arrivals
    let isBusy = share == Self.whole || bursts > elapsed.nanoseconds / (1_000_000_000 / Self.wakings)
    beat = isBusy && !isAlwaysHeld && turn * bursts > elapsed ? turn : .zero
    (since, packets, videoPackets, bursts, arrivals, arrivalsOfLarge) = (now, 0, 0, 0, 0, 0)
  }

  /// How long a turn that began at `began` and ends at `now` is followed by rest: until the next beat, and not at all where that
  /// went by during the turn, since what comes meanwhile would only make the next turn longer. Nil where no beat is kept.
  func untilBeat(at now: Instant, began: Instant) -> TimeDelta? {
    // Who has nothing to send does not judge either, and must not go on turning for nothing.
    guard beat > .zero, now - since < Self.interval * 2 else { return nil }
    let next = began + (beat - TimeDelta(nanoseconds: began.nanoseconds % beat.nanoseconds))
    return max(.zero, next - now)
  }

  /// Notes a packet that goes to so many receivers in a room with so many tracks, of which so many are sounds, and says how long it may
  /// wait from its arrival.
  @inline(__always)
  mutating func hold(
    _ packet: StoredPacket, _ kind: MediaKind, receivers: Int, tracks: Int, sounds: Int, at now: Instant
  ) -> TimeDelta {
    note(receivers, kind, tracks: tracks, at: now)
    if kind == .audio, let audience = holdForAudience(sounds: sounds, receivers: receivers) { return audience }
    return hold(kind, tracks: tracks, endsFrame: packet.marker)
  }

  /// How long sound may wait from its arrival that goes to so many receivers in a room with so many sounds; nil where those are
  /// no audience.
  func holdForAudience(sounds: Int, receivers: Int) -> TimeDelta? {
    guard window.audience > .zero, sounds == 1, receivers >= Self.audience else { return nil }
    return part(of: max(.zero, window.audience - beat - beat / 4), share << 10)
  }

  /// How long a packet of a room with `tracks` published tracks may wait from its arrival, besides for the beat.
  /// `endsFrame` is the marker of a video packet: the others wait for it at least.
  func hold(_ kind: MediaKind, tracks: Int, endsFrame: Bool) -> TimeDelta {
    // What comes waits for the beat already, and the turn that sends it takes its time.
    let longest = max(.zero, (kind == .video ? window.video : window.audio) - beat - beat / 4)
    let held = part(
      of: longest,
      share * Self.share(Int64(tracks), of: Int64(Self.tracks.lowerBound)...Int64(Self.tracks.upperBound)))
    if kind == .audio || endsFrame { return held }
    return max(held, part(of: min(longest, Self.frame), share << 10))
  }

  /// `share` in 1,048,576ths.
  private func part(of time: TimeDelta, _ share: Int64) -> TimeDelta {
    TimeDelta(nanoseconds: (time.nanoseconds * share) >> 20)
  }

  /// Where `value` lies between the bounds, in 1,024ths.
  private static func share(_ value: Int64, of bounds: ClosedRange<Int64>) -> Int64 {
    let clamped = min(max(value, bounds.lowerBound), bounds.upperBound)
    return (clamped - bounds.lowerBound) * whole / (bounds.upperBound - bounds.lowerBound)
  }
}
