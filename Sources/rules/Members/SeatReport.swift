// What workers measured of seats' media.

import Basics
import RoostProtocol

/// What one direction brought in a look.
public struct WayReport: Hashable, Sendable {
  /// Packets that should have come, and those that did not.
  public var expected = 0, lost = 0
  /// Whether they are a share and no counts.
  public var isShare = false
  /// Milliseconds by which the time between packets varies.
  public var jitter = 0
  /// kbit/s.
  public var rate = 0

  /// Nothing.
  public init() {}

  /// Of so few packets nothing follows.
  package static let fewest = 20

  /// The share that was lost, in whole percents.
  package var loss: Double { expected < Self.fewest ? 0 : (Double(lost) / Double(expected) * 100).rounded() / 100 }
}

/// What a worker measured of one seat's media in two seconds.
public struct SeatReport: Hashable, Sendable {
  /// Whose.
  public var seat: SeatID
  /// One of its tracks, as it arrives.
  public struct TrackReport: Hashable, Sendable {
    /// Which.
    public var id: TrackID
    /// How it arrives.
    public var way: WayReport

    /// A track, as it arrives.
    public init(id: TrackID, way: WayReport) {
      self.id = id
      self.way = way
    }
  }

  /// What it publishes.
  public var tracks: [TrackReport] = []
  /// What is sent to it.
  public var down = WayReport()
  /// Milliseconds there and back; nil where nothing measures it.
  public var roundTrip: Int?
  /// kbit/s that its line is estimated to carry; nil where it has shown no limit.
  public var estimate: Int?
  /// Videos that its line does not carry, and those that stand still.
  public var paused = 0, frozen = 0
  /// Nothing at all comes from it on the connection that it publishes on, or on the one that it is sent media on.
  public var isSilentUp = false, isSilentDown = false

  /// Nothing measured.
  public init(seat: SeatID) { self.seat = seat }
}

/// Looks of two seconds at seats' media, counted by what they found: bounded, however many seats there are.
public struct QualityFigures: Hashable, Sendable {
  /// Upper bounds in percent; one more count is for what is above.
  public static let lossBounds: [Int] = [0, 1, 2, 5, 10, 20]
  /// Upper bounds in milliseconds; one more count is for what is above.
  public static let jitterBounds: [Int] = [5, 10, 20, 50, 100]

  /// Looks at tracks by the loss of what comes.
  public private(set) var lossUp = [UInt64](repeating: 0, count: lossBounds.count + 1)
  /// Looks at seats by the loss of what they are sent.
  public private(set) var lossDown = [UInt64](repeating: 0, count: lossBounds.count + 1)
  /// Looks at tracks by the jitter of their arrival.
  public private(set) var jitter = [UInt64](repeating: 0, count: jitterBounds.count + 1)
  /// Videos that stood still at a look.
  public private(set) var frozen: UInt64 = 0
  /// Videos that were paused at a look, for want of bandwidth.
  public private(set) var paused: UInt64 = 0

  package init() {}

  package mutating func count(_ report: SeatReport) {
    for track in report.tracks where track.way.expected >= WayReport.fewest {
      Self.count(Int(track.way.loss * 100), Self.lossBounds, &lossUp)
      Self.count(track.way.jitter, Self.jitterBounds, &jitter)
    }
    if report.down.rate > 0 { Self.count(Int(report.down.loss * 100), Self.lossBounds, &lossDown) }
    frozen &+= UInt64(report.frozen)
    paused &+= UInt64(report.paused)
  }

  private static func count(_ value: Int, _ bounds: [Int], _ counts: inout [UInt64]) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] &+= 1
  }
}
