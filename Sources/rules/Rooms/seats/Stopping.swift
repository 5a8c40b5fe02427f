// What webhook subscribers hear when the server stops. Clients were told before, and come back to the next process; calls go on in it, or
// it ends them.

import Basics
import Calls
import Members
import RoostProtocol

enum Stopping {
  /// All tracks, seats and rooms are over. Nothing changes in them: the process ends.
  static func tell(_ seating: Seating, _ step: inout Step) {
    guard seating.rules.hasWebhooks else { return }
    for (key, room) in seating.table.all.sorted(by: { $0.key < $1.key }) where !room.members.isEmpty {
      let seats = seating.table.members(of: key)
      var (left, stays) = (seats.count { !$0.isPlayer }, room.stays)
      for seat in seats {
        for track in seating.media.tracks(of: seat.id) {
          Publishing.report(.trackUnpublished, track, seating.table, &step)
        }
        if !seat.isPlayer { left -= 1 }
        var event = WebhookEvent.of(
          key, .roomLeft, seat, reason: Reason.stopped.rawValue, count: room.isOfCall ? nil : left, seating.table,
          at: step.now)
        event.stay = stays.end(seat.participant, at: step.now.instant)
        step.add(.webhook(event))
      }
      if !room.isOfCall { step.add(.webhook(.of(key, .roomClosed, count: 0, seating.table, at: step.now))) }
    }
  }
}
