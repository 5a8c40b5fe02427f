// The front doors of this process by their ids: what the conference says to a connection leaves by the door it came through.
//
// A new door is one line in `RoostServer.doors`, and a maker like those below with its block of the configuration.

import Configuration
import DoorKit
import Flashphoner
import Members
import NativeDoor
import WebSockets
import Whip

/// Makes a door.
typealias DoorMaker = @Sendable (ServerConfiguration, DoorSurroundings) -> any ClientDoor

extension FrontDoor {
  /// At the server of the page.
  static let maker: DoorMaker = { configuration, surroundings in
    FrontDoor(
      id: surroundings.id, limits: DoorLimits(configuration), log: surroundings.log, tokens: surroundings.tokens,
      lines: surroundings.lines, isOverloaded: surroundings.isOverloaded, sink: surroundings.sink)
  }
}

extension WhipDoor {
  /// At the server of the page.
  static let maker: DoorMaker = { configuration, surroundings in
    WhipDoor(
      id: surroundings.id, surroundings: .init(configuration), log: surroundings.log, tokens: surroundings.tokens,
      lines: surroundings.lines, isOverloaded: surroundings.isOverloaded, sink: surroundings.sink)
  }
}

extension FlashphonerDoor {
  /// At a server of its own, `flashphoner` in the configuration. Without one nobody comes.
  static let maker: DoorMaker = { configuration, surroundings in
    FlashphonerDoor(
      id: surroundings.id,
      listener: WebServerConfiguration.flashphoner(configuration).map { DoorListener("flashphoner", $0) },
      appKeys: configuration.flashphoner.appKeys, limits: DoorLimits(configuration),
      grace: configuration.sessions.resumeGrace, log: surroundings.log, tokens: surroundings.tokens,
      lines: surroundings.lines, isOverloaded: surroundings.isOverloaded, sink: surroundings.sink)
  }
}

/// All of them.
struct Doors: Sendable {
  /// In the order of their makers.
  let all: [any ClientDoor]
  private let byID: [DoorID: any ClientDoor]

  /// No two of `doors` have the same id.
  init(_ doors: [any ClientDoor]) {
    all = doors
    byID = Dictionary(uniqueKeysWithValues: doors.map { ($0.id, $0) })
  }

  /// Hands an effect to the door of its connection, and one for many to each door with its own receivers.
  func deliver(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, _, _), .event(let connection, _), .closeConnection(let connection, _),
      .setWaiting(let connection, _), .stream(let connection, _, _):
      byID[connection.door]?.carryOut(effect)
    case .broadcast(let receivers, let serverTime, let event):
      guard let first = receivers.first?.connection.door else { return }
      // As a rule all of a room have come by one.
      if receivers.allSatisfy({ $0.connection.door == first }) {
        byID[first]?.carryOut(effect)
      } else {
        for (door, own) in Dictionary(grouping: receivers, by: \.connection.door) {
          byID[door]?.carryOut(.broadcast(own, serverTime: serverTime, event))
        }
      }
    }
  }

  /// See `ClientDoor.closeIdle`.
  func closeIdle() { for door in all { door.closeIdle() } }
}
