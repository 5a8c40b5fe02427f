// Params and results of `user.block`, `user.unblock` and `user.blocked`.

/// Params of `user.block` and `user.unblock`.
public struct BlockParams: Codable, Hashable, Sendable {
  /// Whose calls shall not ring.
  public var user: String  // name

  /// All fields, in the order of the protocol.
  public init(user: String) { self.user = user }
}

/// Result of `user.blocked`.
public struct BlockedResult: Codable, Hashable, Sendable {
  /// Whom one has blocked, in the order of their names.
  public var users: [String]

  /// All fields, in the order of the protocol.
  public init(users: [String]) { self.users = users }
}
