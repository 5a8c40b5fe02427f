// What the stay of each person in a room is like, added up for webhook subscribers until they leave.

import Basics
import Calls
import Members

/// The stays of one room, by the place, which outlives a seat.
struct Stays: Sendable {
  /// What one look of a worker covers, in milliseconds.
  static let look: Int64 = 2_000

  private struct Stay {
    var figures = StayFigures()
    /// Looks that had a round trip, and the sum of it in milliseconds.
    var (roundTrips, roundTrip) = (0, 0)
    var spoken = TimeDelta.zero
  }

  private var stays: [ParticipantID: Stay] = [:]
  /// Who speaks now, and since when.
  private var speaking: [ParticipantID: Instant] = [:]

  /// These speak now.
  mutating func heard(_ speakers: [ParticipantID], at now: Instant) {
    for participant in speaking.keys where !speakers.contains(participant) { stop(participant, at: now) }
    for participant in speakers { speaking[participant] = speaking[participant] ?? now }
  }

  /// They speak no more: nothing of them is heard.
  mutating func stop(_ participant: ParticipantID, at now: Instant) {
    guard let since = speaking.removeValue(forKey: participant) else { return }
    let spoken = stays[participant]?.spoken ?? .zero
    stays[participant, default: Stay()].spoken = spoken + (now - since)
  }

  /// What a worker measured.
  mutating func take(_ report: SeatReport, of participant: ParticipantID) {
    var stay = stays[participant] ?? Stay()
    stay.figures.take(report)
    if let roundTrip = report.roundTrip {
      (stay.roundTrips, stay.roundTrip) = (stay.roundTrips + 1, stay.roundTrip + roundTrip)
      stay.figures.worstRoundTrip = max(stay.figures.worstRoundTrip ?? 0, roundTrip)
    }
    stays[participant] = stay
  }

  /// Somebody leaves: what their stay was like.
  mutating func end(_ participant: ParticipantID, at now: Instant) -> StayFigures {
    stop(participant, at: now)
    guard let stay = stays.removeValue(forKey: participant) else { return StayFigures() }
    var figures = stay.figures
    figures.spokenMs = stay.spoken.milliseconds
    if stay.roundTrips > 0 { figures.roundTrip = stay.roundTrip / stay.roundTrips }
    return figures
  }
}

extension StayFigures {
  /// Adds a look.
  fileprivate mutating func take(_ report: SeatReport) {
    measuredMs += Stays.look
    for track in report.tracks {
      up.take(track.way)
      worstJitter = max(worstJitter, track.way.jitter)
    }
    down.take(report.down)
    if report.frozen > 0 { frozenMs += Stays.look }
    if report.paused > 0 { pausedMs += Stays.look }
    if report.isSilentUp || report.isSilentDown { silentMs += Stays.look }
  }
}

extension StayFigures.Way {
  fileprivate mutating func take(_ way: WayReport) {
    guard !way.isShare else { return }
    packets += way.expected
    lost += way.lost
  }
}
