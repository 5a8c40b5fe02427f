// What the core is told of how busy the media workers are.

/// Which rooms have no room for newcomers although seats are free.
public struct MediaLoad: Hashable, Sendable {
  /// Rooms whose media cannot take another participant now.
  public var fullRooms: Set<RoomKey>
  /// Whether no room can, new ones included.
  public var isFull: Bool
  /// Whether there is room for a room that nobody is in yet. It ends first, so that people who are in rooms can still be joined.
  public var takesRooms: Bool

  /// Room for everybody unless said otherwise.
  public init(fullRooms: Set<RoomKey> = [], isFull: Bool = false, takesRooms: Bool = true) {
    self.fullRooms = fullRooms
    self.isFull = isFull
    self.takesRooms = takesRooms
  }

  /// Whether somebody may sit down in `room`; nil stands for a room that nobody is in yet.
  package func admits(to room: RoomKey?) -> Bool {
    guard let room else { return takesRooms && !isFull }
    return !isFull && !fullRooms.contains(room)
  }
}

/// What somebody who sits down may send, so that the media side leaves room for it.
public struct SendingRights: Hashable, Sendable {
  /// Whether they may send sound, and pictures.
  public var sound: Bool, pictures: Bool
  /// How many of their room may send at once; `Int.max` for all.
  public var publishers: Int

  /// Nothing, unless said otherwise.
  public init(sound: Bool = false, pictures: Bool = false, publishers: Int = .max) {
    self.sound = sound
    self.pictures = pictures
    self.publishers = publishers
  }
}
