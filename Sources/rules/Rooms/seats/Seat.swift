// What a seat can do, and names: those of people in a room, and those of the rooms of calls.

import Basics
import Members
import RoostProtocol

/// Why a media connection is over.
struct MediaFailure: Sendable {
  let step: MediaStep
  let reason: String
}

extension Seat {
  /// - Throws: 4006 when this media connection has failed for good.
  func checkMedia(_ connection: MediaConnectionID, _ advice: String) throws(ErrorObject) {
    guard let failure = failures[connection] else { return }
    throw ErrorObject(.transportFailed, "\(failure.reason) \(advice)") {
      $0.step = failure.step
    }
  }
}

extension Seat {
  /// Whether a seat gets every track of this kind unasked. Who has views of a kind has places for it.
  func takesAll(_ kind: TrackKind, _ media: TrackTable) -> Bool { autoSubscribe && !media[id].viewKinds.contains(kind) }

  /// Whether its media are lost with this connection, which its client has closed: with the one that it receives on always, and with
  /// the one that it publishes on while it has tracks there. The end of others is for the front doors that opened them.
  func misses(_ connection: MediaConnectionID, _ media: TrackTable) -> Bool {
    connection == .subscribe || connection == .publish && media.tracks(of: id).contains { $0.connection == connection }
  }
}

extension Identity {
  /// Whether somebody with it takes no seat in a room with these rules.
  func isPlayer(in rules: RoomRules) -> Bool { onlyPlays && rules.players != nil }
}

extension MemberFacts {
  /// Whether it takes no seat in a room.
  func isPlayer(in room: RoomKey, _ table: RoomTable) -> Bool {
    table[room].map { identity.isPlayer(in: $0.rules) } ?? false
  }
}
