// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

extension Request {
  /// The most that a request weighs.
  public static let mostWeight = 10

  /// What it takes from the budgets of its connection and its user, 1 to `mostWeight`. A heavier one makes or reads SDP,
  /// looks through many rooms or users, reads the disk, or is told to many.
  public var weight: Int {
    switch self {
    case .session(.bye), .session(.ping), .room(.leave), .room(.info), .room(.raiseHand), .message(.send),
      .message(.request), .message(.answer), .track(.mute), .track(.unmute), .subscription(.update),
      .subscription(.swap), .view(.show), .call(.ringing), .call(.reject), .call(.cancel), .call(.hangup),
      .call(.cancelInvite), .call(.current), .call(.end): 1
    case .block(.add), .block(.remove), .room(.moderate), .chat(.send), .subscription(.subscribe),
      .subscription(.unsubscribe), .call(.get), .call(.mediaChange): 2
    case .session(.hello), .session(.resume), .session(.token), .userQuery, .block(.list), .room(.list),
      .chat(.history), .peerConnection(.answer), .peerConnection(.restart), .track(.unpublish), .view(.open),
      .call(.invite), .call(.available), .call(.history): 5
    case .room(.join), .peerConnection(.offer), .call(.start), .call(.accept), .call(.join): 10
    }
  }

  /// Whether it only ends something: then no budget of a user's refuses it, so that nobody stays where they do not
  /// want to be.
  public var endsSomething: Bool {
    switch self {
    case .session(.bye), .room(.leave), .track(.unpublish), .track(.mute), .subscription(.unsubscribe),
      .call(.reject), .call(.cancel), .call(.hangup), .call(.cancelInvite), .call(.end): true
    case .session(.hello), .session(.resume), .session(.token), .session(.ping), .userQuery, .block(.add),
      .block(.remove), .block(.list), .room(.join), .room(.list), .room(.info), .room(.moderate), .room(.raiseHand),
      .chat(.send), .chat(.history), .message(.send), .message(.request), .message(.answer), .peerConnection(.offer),
      .peerConnection(.answer), .peerConnection(.restart), .track(.unmute), .subscription(.subscribe),
      .subscription(.update), .subscription(.swap), .view(.open), .view(.show), .call(.start), .call(.ringing),
      .call(.accept), .call(.invite), .call(.join), .call(.get), .call(.current), .call(.available), .call(.history),
      .call(.mediaChange): false
    }
  }
}
