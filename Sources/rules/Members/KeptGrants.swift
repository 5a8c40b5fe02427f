// What operators have taken from users, as it is kept: tokens that are not believed any more, and grants.

import Basics
import RoostProtocol

/// A token that was taken back, by its name.
public struct KeptRevocation: Hashable, Sendable {
  /// `jti` of the token.
  public var tokenID: String
  /// When no such token can be good any more, in milliseconds since 1970 UTC: then it is forgotten.
  public var until: Int64

  /// A token that was taken back.
  public init(tokenID: String, until: Int64) { (self.tokenID, self.until) = (tokenID, until) }
}

/// What is left of the grants in a user's tokens.
public struct KeptNarrowing: Hashable, Sendable {
  /// How far clocks may be apart.
  package static let skew = TimeDelta.seconds(60)
  /// How long a token counts as an old one that does not say when it was made. None is good for longer than that from now.
  package static let undatedTime = TimeDelta.seconds(24 * 3_600)
  /// How long any token can be good that is an old one: made a minute ahead, for a day, and believed for a minute more.
  package static let time = undatedTime + skew + skew

  /// Whom it is about, and where.
  public struct Subject: Hashable, Sendable {
    /// The user.
    public var user: String
    /// In which room; nil: everywhere.
    public var room: String?

    /// A user, everywhere or in a room.
    public init(user: String, room: String?) { (self.user, self.room) = (user, room) }
  }

  /// Whom it is about, and where.
  public var subject: Subject
  /// What is left to them where their token gives it.
  public var rights: Rights
  /// When it was said, in milliseconds since 1970 UTC.
  public var at: Int64

  /// What an operator has left.
  public init(_ subject: Subject, rights: Rights, at: Int64) {
    (self.subject, self.rights, self.at) = (subject, rights, at)
  }

  /// When no token can be good any more that it is about, in milliseconds since 1970 UTC.
  public var until: Int64 { at.saturating(adding: Self.time) }

  /// Whether it is about this token. One that was made later is the issuer's word, and counts more; clocks may be a minute apart. One that
  /// does not say when it was made is taken for an old one for a day.
  package func holds(for identity: Identity, at now: Now) -> Bool {
    guard identity.isVerified else { return false }
    if let issuedAt = identity.issuedAt { return issuedAt <= at.saturating(adding: Self.skew) }
    return now.wallMilliseconds < at.saturating(adding: Self.undatedTime)
  }
}

extension Int64 {
  /// What stands in a file may be any number.
  package func saturating(adding time: TimeDelta) -> Int64 {
    let (sum, isOver) = addingReportingOverflow(time.milliseconds)
    return isOver ? .max : sum
  }
}
