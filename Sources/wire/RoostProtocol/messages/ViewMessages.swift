// Params, results and events of `view.*`: places on a screen whose track the server exchanges, without negotiation.

/// What a view shows by itself.
public enum ViewFollow: String, WireName {
  /// Who speaks, and never oneself.
  case activeSpeaker
}

/// Params of `view.open`.
public struct ViewOpenParams: Codable, Hashable, Sendable {
  /// How many more, 1 to 49.
  public var count: Int  // 1...views
  /// What they carry; `video` where absent.
  public var kind: TrackKind?

  /// All fields, in the order of the protocol.
  public init(count: Int, kind: TrackKind? = nil) {
    self.count = count
    self.kind = kind
  }
}

/// Result of `view.open`.
public struct ViewOpenResult: Codable, Hashable, Sendable {
  /// The new ones, each a subscription that shows nothing yet.
  public var views: [String]

  /// All fields, in the order of the protocol.
  public init(views: [String]) {
    self.views = views
  }
}

/// What one view is to show: a track, or what it follows, or (where both are absent) nothing.
public struct ViewWish: Codable, Hashable, Sendable {
  /// The view.
  public var subscriptionId: String
  /// A track of somebody in the room, of the view's kind.
  public var trackId: String?
  /// What to show by itself.
  public var follow: ViewFollow?

  /// All fields, in the order of the protocol.
  public init(subscriptionId: String, trackId: String? = nil, follow: ViewFollow? = nil) {
    self.subscriptionId = subscriptionId
    self.trackId = trackId
    self.follow = follow
  }
}

/// Params of `view.show`.
public struct ViewShowParams: Codable, Hashable, Sendable {
  /// What is to change, all in one step; 1 to 49.
  public var views: [ViewWish]  // rule

  /// All fields, in the order of the protocol.
  public init(views: [ViewWish]) {
    self.views = views
  }
}

/// A line of a subscribe offer that carries a view.
public struct OfferedView: Codable, Hashable, Sendable {
  /// The line.
  public var mid: String
  /// The view.
  public var subscriptionId: String

  /// All fields, in the order of the protocol.
  public init(mid: String, subscriptionId: String) {
    self.mid = mid
    self.subscriptionId = subscriptionId
  }
}

/// Params of `view.changed`: a view shows something else from now on.
public struct ViewChanged: Codable, Hashable, Sendable {
  /// The view.
  public var subscriptionId: String
  /// What it shows; absent for nothing.
  public var trackId: String?
  /// Whose that is.
  public var participantId: String?
  /// The RTP time stamp of the first picture of it; absent where none is to be expected now.
  public var rtpTimestamp: UInt32?
  /// Why it shows nothing, where that was not wished for.
  public var reason: SubscriptionReason?

  /// All fields, in the order of the protocol.
  public init(
    subscriptionId: String, trackId: String? = nil, participantId: String? = nil, rtpTimestamp: UInt32? = nil,
    reason: SubscriptionReason? = nil
  ) {
    self.subscriptionId = subscriptionId
    self.trackId = trackId
    self.participantId = participantId
    self.rtpTimestamp = rtpTimestamp
    self.reason = reason
  }
}
