// What the core is told of how busy the media workers are.

/// Which rooms have no room for newcomers although seats are free.
public struct MediaLoad: Hashable, Sendable {
  /// Rooms whose media cannot take another participant now.
  public var fullRooms: Set<RoomKey>
  /// Whether no room can, new ones included.
  public var isFull: Bool

  /// Room for everybody unless said otherwise.
  public init(fullRooms: Set<RoomKey> = [], isFull: Bool = false) {
    self.fullRooms = fullRooms
    self.isFull = isFull
  }

  /// Whether somebody may sit down in `room`; nil stands for a room that is yet to be made.
  package func admits(to room: RoomKey?) -> Bool { !isFull && !(room.map(fullRooms.contains) ?? false) }
}
