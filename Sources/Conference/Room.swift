// A room: its rules, who is in it, and what was said.

import RoostProtocol

/// One room.
struct Room: Sendable {
  let name: String
  let rules: RoomRules
  /// Configured by name: it stays when the last one leaves.
  let isNamed: Bool
  /// Its class; nil while the first joiner is to decide.
  var media: MediaClass?
  /// Its seats in the order of joining.
  var members: [SeatID] = []
  var chat: ChatLog
  /// Who spoke last, as everybody was told.
  var speakers: [Speaker] = []
  /// Nobody more is let in: an operator's wish.
  var isLocked = false

  /// An empty room.
  init(name: String, rules: RoomRules, isNamed: Bool) {
    self.name = name
    self.rules = rules
    self.isNamed = isNamed
    media = rules.media
    chat = ChatLog(capacity: rules.chatHistory)
  }

  /// The class that a joiner without a wish would get.
  var effectiveMedia: MediaClass { media ?? .video }
  /// Seats taken.
  var occupied: Int { members.count }
  /// What one who is not in it sees.
  var info: RoomInfo {
    RoomInfo(
      name: name, kind: rules.kind, media: effectiveMedia, limit: rules.seats(effectiveMedia), count: occupied)
  }
}
