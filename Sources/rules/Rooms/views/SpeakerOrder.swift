// Who has spoken in a room, the last first. Views follow it, so it changes seldom: a cough, or two who speak at once, change nothing.

import Basics
import Members

/// The order in which people of one room have spoken.
struct SpeakerOrder: Sendable {
  /// How long somebody has to speak before they come to the front. Lower it and pictures change at a cough; raise it and they are late.
  static let patience = TimeDelta.seconds(1)

  /// One who speaks now.
  private struct Voice {
    let seat: SeatID
    let since: Instant
    /// Has yet to come to the front.
    var mayCome: Bool
  }

  /// Who has spoken, the last first.
  private(set) var seats: [SeatID] = []
  private var voices: [Voice] = []

  /// These speak now, the loudest first. Who goes on where the one in front has stopped may come to the front too.
  mutating func heard(_ loudest: [SeatID], at now: Instant) {
    voices = loudest.map { seat in voices.first { $0.seat == seat } ?? Voice(seat: seat, since: now, mayCome: true) }
    if let front = seats.first, !loudest.contains(front), !voices.isEmpty { voices[0].mayCome = true }
  }

  /// When `poll` may change something; nil while it will not.
  var nextDeadline: Instant? { voices.filter(\.mayCome).map { $0.since + Self.patience }.min() }

  /// Lets those come to the front who have spoken for long enough, the loudest last. Whether the order has changed.
  mutating func poll(at now: Instant) -> Bool {
    let before = seats
    for index in voices.indices.reversed() where voices[index].mayCome && voices[index].since + Self.patience <= now {
      voices[index].mayCome = false
      let seat = voices[index].seat
      seats.removeAll { $0 == seat }
      seats.insert(seat, at: 0)
    }
    return seats != before
  }

  /// Somebody is gone.
  mutating func remove(_ seat: SeatID) {
    seats.removeAll { $0 == seat }
    voices.removeAll { $0.seat == seat }
  }
}
