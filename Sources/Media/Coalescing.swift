// How long a packet waits for others to the same receiver, so that they leave with one system call: a trade of microseconds
// of latency for CPU. In a room where nothing would come to share the call, nothing is held.

import Basics
import RTP

/// The longest that packets are held back before they are sent.
public struct CoalescingWindow: Hashable, Sendable {
  /// For video packets. 0 sends what one wake-up has brought and waits for nothing.
  public var video: TimeDelta
  /// For audio packets, which come one at a time and profit most.
  public var audio: TimeDelta

  /// 0.75 ms for video and 2 ms for audio unless said otherwise: docs/performance.md has the curve.
  public init(video: TimeDelta = .microseconds(750), audio: TimeDelta = .milliseconds(2)) {
    self.video = video
    self.audio = audio
  }

  /// Nothing is held.
  public static let off = CoalescingWindow(video: .zero, audio: .zero)
}

/// Shortens the window where a worker is idle or a room is small, and says how long a busy worker may rest.
struct Coalescing {
  /// A room with so few tracks brings a receiver nothing more within a window; with the larger number it is worth all of it.
  static let tracks = 4...12
  /// Packets a second that a worker sends: below it has CPU to spare, above the window is needed whole.
  static let load: ClosedRange<Int64> = 4_000...16_000
  /// How long the begun frame of a busy worker waits for its end, where nothing else is waited for: its packets come back to
  /// back, and to send each receiver the first of them alone costs him a call of his own.
  static let frame = TimeDelta.microseconds(250)
  /// How often the load is looked at.
  static let interval = TimeDelta.milliseconds(50)

  private let window: CoalescingWindow
  private var since = Instant.zero
  private var packets: Int64 = 0
  private var videoPackets: Int64 = 0
  private var share: Int64 = 0
  /// How long the sockets may be left alone: as long as the most urgent kind of what comes in may wait.
  private(set) var rest = TimeDelta.zero

  /// Who is due within this time is sent to along with those who are due.
  var slack: TimeDelta { rest / 4 }

  init(_ window: CoalescingWindow) { self.window = window }

  /// Notes that `count` packets of one kind are to be sent.
  mutating func note(_ count: Int, _ kind: MediaKind, at now: Instant) {
    if now - since >= Self.interval { judge(at: now) }
    packets += Int64(count)
    if kind == .video { videoPackets += Int64(count) }
  }

  private mutating func judge(at now: Instant) {
    let elapsed = now - since
    // After a silence the old count says nothing about now.
    let rate = elapsed < Self.interval * 4 ? packets * 1_000_000_000 / elapsed.nanoseconds : 0
    share = Self.share(rate, of: Self.load)
    // No longer than what is most urgent may wait. What comes meanwhile for a room that holds nothing is late by as much.
    rest = part(of: videoPackets > 0 ? min(window.video, window.audio) : window.audio, share << 10)
    (since, packets, videoPackets) = (now, 0, 0)
  }

  /// How long a packet of a room with `tracks` published tracks may wait. `endsFrame` is the marker of a video packet: the
  /// others wait for it at least.
  func hold(_ kind: MediaKind, tracks: Int, endsFrame: Bool) -> TimeDelta {
    let company = part(
      of: kind == .video ? window.video : window.audio,
      share * Self.share(Int64(tracks), of: Int64(Self.tracks.lowerBound)...Int64(Self.tracks.upperBound)))
    if kind == .audio || endsFrame { return company }
    return max(company, part(of: min(window.video, Self.frame), share << 10))
  }

  /// `share` in 1,048,576ths.
  private func part(of time: TimeDelta, _ share: Int64) -> TimeDelta {
    TimeDelta(nanoseconds: (time.nanoseconds * share) >> 20)
  }

  /// Where `value` lies between the bounds, in 1,024ths.
  private static func share(_ value: Int64, of bounds: ClosedRange<Int64>) -> Int64 {
    let clamped = min(max(value, bounds.lowerBound), bounds.upperBound)
    return (clamped - bounds.lowerBound) * 1_024 / (bounds.upperBound - bounds.lowerBound)
  }
}
