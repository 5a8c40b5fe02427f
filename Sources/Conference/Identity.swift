// Who somebody is and what they may do, as a value: a front door's verifier makes it of what the client shows, and the
// core believes it.

/// Somebody on one of their devices.
public struct Identity: Hashable, Sendable {
  /// The user.
  public var user: String
  /// Which of the user's devices it is; nil: the core makes a name up.
  public var device: String?
  /// What others see.
  public var displayName: String
  /// What the user may do.
  public var rights: Rights
  /// Whether it has been proved that they are this user. Where not (the open demo, where anybody may say any name), nobody can
  /// put another session out without showing its resume token.
  public var isVerified: Bool

  /// An identity with all its facts.
  public init(user: String, device: String?, displayName: String, rights: Rights, isVerified: Bool) {
    (self.user, self.device, self.displayName) = (user, device, displayName)
    (self.rights, self.isVerified) = (rights, isVerified)
  }
}

/// What a user may do; each right is asked for in `Access.swift`.
public struct Rights: OptionSet, Hashable, Sendable {
  /// A bit for each right.
  public let rawValue: UInt16
  /// Rights given as bits.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Take a seat in rooms that are not calls'.
  public static let join = Rights(rawValue: 1 << 0)
  /// Publish a microphone, or the sound of a screen.
  public static let publishAudio = Rights(rawValue: 1 << 1)
  /// Publish a camera.
  public static let publishVideo = Rights(rawValue: 1 << 2)
  /// Publish the picture of a screen.
  public static let publishScreen = Rights(rawValue: 1 << 3)
  /// Receive what others publish.
  public static let subscribe = Rights(rawValue: 1 << 4)
  /// Write to others; what they write can be read without it.
  public static let chat = Rights(rawValue: 1 << 5)
  /// Start calls, and join those that one was not rung for. Those who are called may answer without it.
  public static let call = Rights(rawValue: 1 << 6)
  /// Invite others to a call.
  public static let invite = Rights(rawValue: 1 << 7)

  /// Every right there is.
  public static let all: Rights = [
    .join, .publishAudio, .publishVideo, .publishScreen, .subscribe, .chat, .call, .invite,
  ]
}
