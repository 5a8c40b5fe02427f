// How much work requests are for the server, beside the cheapest: what budgets of requests are counted in.

extension Request {
  /// The most that a request weighs.
  public static let mostWeight = 10

  /// What it takes from the budgets of its connection and its user, 1 to `mostWeight`. A heavier one makes or reads SDP, looks
  /// through many rooms or users, reads the disk, or is told to many.
  public var weight: Int {
    switch self {
    case .session(let request): request.weight
    case .userQuery: 5
    case .block(.list): 5
    case .block: 2
    case .room(let request): request.weight
    case .chat(.send): 2
    case .chat(.history): 5
    case .peerConnection(.offer): 10
    case .peerConnection(.answer), .peerConnection(.restart): 5
    case .track(.unpublish): 5
    case .track(.mute), .track(.unmute): 1
    case .subscription(.subscribe), .subscription(.unsubscribe): 2
    case .subscription(.update), .subscription(.swap): 1
    case .view(.open): 5
    case .view(.show): 1
    case .call(let request): request.weight
    }
  }
}

extension Request {
  /// Whether it only ends something: then no budget of a user's refuses it, so that nobody stays where they do not want to be.
  public var endsSomething: Bool {
    switch self {
    case .session(.bye), .room(.leave), .track(.unpublish), .track(.mute), .subscription(.unsubscribe): true
    case .call(.hangup), .call(.cancel), .call(.reject), .call(.end), .call(.cancelInvite): true
    case .session(.hello), .session(.resume), .session(.token), .session(.ping), .userQuery, .block, .room(.join),
      .room(.list), .room(.info), .room(.moderate), .room(.raiseHand), .chat, .peerConnection, .track(.unmute),
      .subscription(.subscribe), .subscription(.update), .subscription(.swap), .view, .call(.start), .call(.ringing),
      .call(.accept), .call(.invite), .call(.join), .call(.get), .call(.current), .call(.available), .call(.history),
      .call(.mediaChange):
      false
    }
  }
}

extension SessionRequest {
  fileprivate var weight: Int {
    switch self {
    case .hello, .resume, .token: 5
    case .bye, .ping: 1
    }
  }
}

extension RoomRequest {
  fileprivate var weight: Int {
    switch self {
    case .join: 10
    case .list: 5
    case .moderate: 2
    case .leave, .info, .raiseHand: 1
    }
  }
}

extension CallRequest {
  fileprivate var weight: Int {
    switch self {
    case .start, .accept, .join: 10
    case .invite, .history, .available: 5
    case .get, .mediaChange: 2
    case .ringing, .reject, .cancel, .hangup, .cancelInvite, .current, .end: 1
    }
  }
}
