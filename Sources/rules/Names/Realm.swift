// A realm: what one application's users, rooms and calls are kept apart in from those of all others (docs/access.md).

/// The name of a realm. Users, rooms, calls, records, bans and hooks of two realms never meet, whatever they are called.
public struct Realm: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Where everybody is whose key names no realm, and all on a server without keys.
  public static let `default` = Realm(known: "default")
  /// Realms at once, `default` among them: each costs its tables, and a thread where it has webhooks.
  public static let most = 64
  /// Bytes of a name. It stands in rows, log lines and labels of metrics.
  public static let mostBytes = 64
  /// What is expected of a name, for people who read errors.
  public static let rule = "1 to \(mostBytes) ASCII letters, digits and - _ ."

  /// The name.
  public let name: String

  private init(known name: String) { self.name = name }

  /// The realm of this name; nil for what is none.
  public init?(_ name: String) {
    guard (1...Self.mostBytes).contains(name.utf8.count), name.utf8.allSatisfy(Self.isLetter) else { return nil }
    self.name = name
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  /// By name.
  public static func < (a: Realm, b: Realm) -> Bool { a.name < b.name }
  /// The name.
  public var description: String { name }
}

/// Something that has happened or was answered in a realm: its own members, and `realm` where that is said.
public struct InRealm<Content: Encodable>: Encodable {
  private enum Key: CodingKey { case realm }

  private let content: Content
  private let realm: Realm?

  /// `content`, which encodes itself as an object; without a realm as it is.
  public init(_ content: Content, _ realm: Realm?) { (self.content, self.realm) = (content, realm) }

  /// `{…, "realm": "clinic"}`.
  public func encode(to encoder: any Encoder) throws {
    try content.encode(to: encoder)
    var members = encoder.container(keyedBy: Key.self)
    try members.encodeIfPresent(realm?.name, forKey: .realm)
  }
}
