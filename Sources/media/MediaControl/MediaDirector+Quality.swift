// What workers measure of connections, as the conference knows them: by seat and track.

import Basics
import Media
import Members

extension MediaDirector {
  /// What was measured of some rooms, one report a seat.
  func reports(_ measured: [TransportQuality]) -> [SeatReport] {
    var reports: [SeatID: SeatReport] = [:]
    for quality in measured {
      guard let connection = connections.transports[quality.transport] else { continue }
      reports[connection.seat, default: SeatReport(seat: connection.seat)].add(quality)
    }
    return reports.values.sorted { $0.seat < $1.seat }
  }
}

extension SeatReport {
  /// Adds one of the seat's connections.
  fileprivate mutating func add(_ quality: TransportQuality) {
    for track in quality.tracks {
      tracks.append(TrackReport(id: TrackID(track.producer.value), way: WayReport(track.flow)))
    }
    if quality.tracks.isEmpty {
      isSilentDown = isSilentDown || quality.isSilent
    } else {
      isSilentUp = isSilentUp || quality.isSilent
    }
    guard quality.down.rate > 0 || quality.paused > 0 || quality.frozen > 0 else { return }
    down = WayReport(quality.down)
    roundTrip = quality.roundTrip.map { Int($0.milliseconds) }
    estimate = quality.estimate.map { $0 / 1_000 }
    (paused, frozen) = (quality.paused, quality.frozen)
  }
}

extension WayReport {
  fileprivate init(_ flow: FlowQuality) {
    self.init()
    (expected, lost, isShare) = (flow.expected, flow.lost, flow.isShare)
    (jitter, rate) = (Int(flow.jitter.milliseconds), flow.rate / 1_000)
  }
}
