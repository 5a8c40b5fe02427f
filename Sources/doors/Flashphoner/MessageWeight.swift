// How much work messages are for the server, beside the cheapest: as at the native door (`Request.weight`), where they come to requests.

extension ClientMessage {
  /// What it takes from the budget of its connection, 1 to `Request.mostWeight`. What it comes to in the core takes from the budget of its
  /// user as well, which is counted there.
  var weight: Int {
    switch self {
    case .connection: 5
    case .ping, .pong, .unsupported: 1
    case .data(_, let wish): wish.weight
    // An offer.
    case .publish: 10
    // As a subscription: who comes into a room plays all of its streams at once.
    case .play: 2
    // As for whoever leaves: who has begun something must come to its end.
    case .stop: 1
    case .streamEvent: 1
    // A session, and a look into a room.
    case .available: 5
    }
  }
}

extension RoomWish {
  fileprivate var weight: Int {
    switch self {
    case .join: 10
    case .message: 2
    case .leave, .other: 1
    }
  }
}
