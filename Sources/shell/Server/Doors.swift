// The front doors of this process by their ids: what the conference says to a connection leaves by the door it came through.

import Conference
import Flashphoner
import DoorKit
import NativeDoor
import Whip

/// A way in for clients. It makes the `ConnectionID`s of its connections with its own id.
protocol Door: Sendable {
  var id: DoorID { get }
  /// Carries out what concerns its own connections. Called on the conference thread; never blocks.
  func carryOut(_ effect: ClientEffect)
  /// Closes connections that have had no session for too long.
  func closeIdle()
}

extension FrontDoor: Door {}
extension WhipDoor: Door {}
extension FlashphonerDoor: Door {}

/// All of them.
struct Doors: Sendable {
  private let byID: [DoorID: any Door]

  /// No two of `doors` have the same id.
  init(_ doors: [any Door]) { byID = Dictionary(uniqueKeysWithValues: doors.map { ($0.id, $0) }) }

  /// Hands an effect to the door of its connection, and one for many to each: it takes the receivers that are its own.
  func deliver(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, _, _), .event(let connection, _), .closeConnection(let connection, _),
      .setWaiting(let connection, _), .stream(let connection, _, _):
      byID[connection.door]?.carryOut(effect)
    case .broadcast: for door in byID.values { door.carryOut(effect) }
    }
  }

  /// See `Door.closeIdle`.
  func closeIdle() { for door in byID.values { door.closeIdle() } }
}
