// What the core is told of how busy the media workers are, and what it tells them of who comes.

import RoostProtocol

/// Which rooms have no room for newcomers although seats are free.
public struct MediaLoad: Hashable, Sendable {
  /// Rooms with somebody in them whose media cannot take another participant now.
  public var fullRooms: Set<RoomKey>
  /// Whether there is room for a room that nobody is in yet. It ends first, so that people who are in rooms can still be joined.
  public var takesRooms: Bool

  /// Room for everybody unless said otherwise.
  public init(fullRooms: Set<RoomKey> = [], takesRooms: Bool = true) {
    self.fullRooms = fullRooms
    self.takesRooms = takesRooms
  }

  /// Whether somebody may sit down in `room`; nil stands for a room that nobody is in yet.
  package func admits(to room: RoomKey?) -> Bool { room.map { !fullRooms.contains($0) } ?? takesRooms }
}

extension ErrorObject {
  /// Doors open again when a worker has reported, which it does each second.
  private static let nextReport: Int64 = 1000

  /// The workers have no room for somebody: `reason` `media`, with when it is worth trying again.
  package static let mediaFull = ErrorObject(.overloaded) { ($0.reason, $0.retryAfterMs) = ("media", nextReport) }
}

/// What somebody who sits down may send, so that the media side leaves room for it.
public struct SendingRights: Hashable, Sendable {
  /// Whether they may send sound, and pictures.
  public var sound: Bool, pictures: Bool
  /// How many of their room may send at once; `Int.max` for all.
  public var publishers: Int

  /// How many are expected to send at once in a room, however large, that is not said to have speakers and listeners: as many as in a call.
  public static func senders(_ media: MediaClass) -> Int { media == .video ? 16 : 32 }

  /// Nothing, unless said otherwise.
  public init(sound: Bool = false, pictures: Bool = false, publishers: Int = .max) {
    self.sound = sound
    self.pictures = pictures
    self.publishers = publishers
  }
}
