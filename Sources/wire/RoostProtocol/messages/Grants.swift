// What a token allows, and where (docs/access.md).

/// One thing that somebody may do, by its name in tokens and in `session.grants`.
public struct Grant: OpenName, Comparable {
  /// The word on the wire.
  public let rawValue: String
  /// Its bit in `Rights`, which are asked for all the time; 0: a word that means nothing here.
  fileprivate let bit: UInt16

  /// Any word.
  public init(rawValue: String) {
    self.rawValue = rawValue
    bit = Self.words.firstIndex(of: rawValue).map { 1 << UInt16($0) } ?? 0
  }

  private static let words = [
    "join", "publish:audio", "publish:video", "publish:screen", "subscribe", "chat", "call", "invite", "moderate",
    "record", "admin",
  ]

  /// Take a seat in rooms that are not calls'.
  public static let join = Self(rawValue: "join")
  /// Publish sound.
  public static let publishAudio = Self(rawValue: "publish:audio")
  /// Publish a camera.
  public static let publishVideo = Self(rawValue: "publish:video")
  /// Publish a screen.
  public static let publishScreen = Self(rawValue: "publish:screen")
  /// Receive what others publish.
  public static let subscribe = Self(rawValue: "subscribe")
  /// Write to others.
  public static let chat = Self(rawValue: "chat")
  /// Start and join calls, and ask who can be called.
  public static let call = Self(rawValue: "call")
  /// Invite others to a call.
  public static let invite = Self(rawValue: "invite")
  /// Moderate rooms.
  public static let moderate = Self(rawValue: "moderate")
  /// Record rooms.
  public static let record = Self(rawValue: "record")
  /// Operate the server.
  public static let admin = Self(rawValue: "admin")

  /// Those there are; a later server may know more.
  public static let known = words.map(Self.init)

  /// By name.
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// What somebody may do: a set of grants. Words that are none of those there are (`Grant.known`) are never in it.
public struct Rights: SetAlgebra, Hashable, Sendable {
  /// A bit for each grant there is, in their order.
  private var bits: UInt16

  /// Nothing.
  public init() { bits = 0 }
  private init(bits: UInt16) { self.bits = bits }

  /// All there are.
  public static let everything = Rights(Grant.known)
  /// Every grant of a participant: those that give no power over others.
  public static let all: Rights = [
    .join, .publishAudio, .publishVideo, .publishScreen, .subscribe, .chat, .call, .invite,
  ]

  /// The grants that it is, in the order of the table in docs/access.md.
  public var grants: [Grant] { Grant.known.filter(contains) }

  /// Whether it is among them.
  public func contains(_ grant: Grant) -> Bool { bits & grant.bit != 0 }
  /// Those in either.
  public func union(_ other: Rights) -> Rights { Rights(bits: bits | other.bits) }
  /// Those in both.
  public func intersection(_ other: Rights) -> Rights { Rights(bits: bits & other.bits) }
  /// Those in one alone.
  public func symmetricDifference(_ other: Rights) -> Rights { Rights(bits: bits ^ other.bits) }
  /// Adds those in the other.
  public mutating func formUnion(_ other: Rights) { bits |= other.bits }
  /// Keeps those in the other.
  public mutating func formIntersection(_ other: Rights) { bits &= other.bits }
  /// Keeps those in one alone.
  public mutating func formSymmetricDifference(_ other: Rights) { bits ^= other.bits }

  /// Adds a grant, unless it is a word that means nothing here.
  @discardableResult
  public mutating func insert(_ grant: Grant) -> (inserted: Bool, memberAfterInsert: Grant) {
    let before = bits
    bits |= grant.bit
    return (bits != before, grant)
  }

  /// Takes a grant out.
  @discardableResult
  public mutating func remove(_ grant: Grant) -> Grant? {
    let before = bits
    bits &= ~grant.bit
    return bits == before ? nil : grant
  }

  /// Adds a grant.
  @discardableResult
  public mutating func update(with grant: Grant) -> Grant? { insert(grant).inserted ? nil : grant }

  /// With one grant more.
  public func union(_ grant: Grant) -> Rights { Rights(bits: bits | grant.bit) }
  /// Without one grant.
  public func subtracting(_ grant: Grant) -> Rights { Rights(bits: bits & ~grant.bit) }
}

/// The claim `room`: one room, or all whose names begin in one way. Never a regular expression.
public enum RoomScope: Hashable, Sendable {
  /// This room alone.
  case exactly(String)
  /// Rooms whose names begin so, and go on.
  case prefix(String)

  /// Reads `lecture`, or `team-*`; nil for a star anywhere else than at the end of a name, or alone: a token for all rooms has no claim.
  public init?(_ text: String) {
    let stars = text.unicodeScalars.count { $0 == "*" }
    guard stars > 0 else {
      guard !text.isEmpty else { return nil }
      self = .exactly(text)
      return
    }
    guard stars == 1, text.unicodeScalars.last == "*" else { return nil }
    let start = String(String.UnicodeScalarView(text.unicodeScalars.dropLast()))
    guard !start.isEmpty else { return nil }
    self = .prefix(start)
  }

  /// Whether a room is among them, by its bytes, as an issuer compares names: a prefix ends wherever it ends, also before an accent that
  /// is written upon its last letter.
  public func contains(_ room: String) -> Bool {
    switch self {
    case .exactly(let name): room.utf8.elementsEqual(name.utf8)
    case .prefix(let start): room.utf8.count > start.utf8.count && room.utf8.starts(with: start.utf8)
    }
  }

  /// Whether both name the same rooms, by their bytes.
  public static func == (a: RoomScope, b: RoomScope) -> Bool {
    switch (a, b) {
    case (.exactly(let name), .exactly(let other)): name.utf8.elementsEqual(other.utf8)
    case (.prefix(let start), .prefix(let other)): start.utf8.elementsEqual(other.utf8)
    case (.exactly, .prefix), (.prefix, .exactly): false
    }
  }

  /// Over their bytes.
  public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }

  /// As the claim says it.
  public var text: String {
    switch self {
    case .exactly(let name): name
    case .prefix(let start): start + "*"
    }
  }
}
