// Realms of rooms.yaml: users, rooms and calls that are kept apart from those of others (docs/access.md).
import Basics
import Names
import RoostProtocol

/// What one realm has of its own; the rest of the file holds for all.
public struct RealmSettings: Hashable, Sendable {
  /// Its named rooms.
  public var rooms: [String: RoomSettings] = [:]
  /// What happens when somebody joins a name that is not among them.
  public var unknownRooms: UnknownRooms
  /// Who is told by HTTP what happens in it.
  public var webhooks = ServerConfiguration.Webhooks()
  /// Who is asked by HTTP before something is done in it.
  public var hooks = ServerConfiguration.Hooks()
  /// How much it may have.
  public var quotas = RealmQuotas()

  /// No rooms of its own.
  public init(unknownRooms: UnknownRooms) { self.unknownRooms = unknownRooms }
}

/// Bounds of one realm; nil: as much as the server has.
public struct RealmQuotas: Hashable, Sendable {
  /// Sessions at once.
  public var sessions: Int?
  /// Seats at once.
  public var participants: Int?
  /// Rooms at once that are neither configured nor calls'.
  public var rooms: Int?
  /// Calls at once.
  public var calls: Int?

  /// No bounds.
  public init() {}
}

extension ServerConfiguration {
  /// All realms that there are, `default` first.
  public var realmNames: [Realm] { [.default] + realms.keys.filter { $0 != .default }.sorted() }

  /// What a realm has of its own. What stands at the top of the file is `default`'s.
  public func settings(of realm: Realm) -> RealmSettings {
    var settings = realms[realm] ?? RealmSettings(unknownRooms: unknownRooms)
    guard realm == .default else { return settings }
    (settings.rooms, settings.unknownRooms) = (rooms, unknownRooms)
    (settings.webhooks, settings.hooks) = (webhooks, hooks)
    return settings
  }

  /// Web servers that are told or asked something, by their keys: `webhooks.push` and so on, in the order of realms.
  public var webhookEndpoints: [(key: String, endpoint: Webhooks.Endpoint, timeout: TimeDelta)] {
    realmNames.flatMap { realm in
      let (webhooks, hooks) = (settings(of: realm).webhooks, settings(of: realm).hooks)
      let path = realm == .default ? "" : "realms.\(realm)."
      return [
        ("webhooks.push", webhooks.push, webhooks.timeout), ("webhooks.events", webhooks.events, webhooks.timeout),
        ("hooks", hooks.application, hooks.timeout),
      ].compactMap { name, endpoint, timeout in endpoint.map { ("\(path)\(name)", $0, timeout) } }
    }
  }
}

// MARK: - Reading

extension ServerConfiguration {
  /// Reads `realms:`, behind `rooms:`, `webhooks:` and `hooks:` of the top.
  mutating func readRealms(_ root: inout Section) {
    let (kinds, unknown) = (kinds, unknownRooms)
    let isTaken = ["rooms", "unknown_rooms", "webhooks", "hooks"].filter { root.mark(of: $0) != nil }
    var read: [Realm: RealmSettings] = [:]
    var hasRooms = false
    let written = root.names("realms") { name, mark, keys -> Bool? in
      guard let realm = Realm(name) else {
        keys.report.complain(mark, String(keys.path.dropLast()), "not a name of a realm: expected \(Realm.rule)")
        return nil
      }
      var settings = RealmSettings(unknownRooms: unknown)
      settings.read(&keys, kinds: kinds)
      for key in isTaken where realm == .default && keys.mark(of: key) != nil {
        keys.complain(key, "the realm default has \(key) at the top of the file already; write them in one place")
      }
      if realm == .default { hasRooms = keys.mark(of: "rooms") != nil }
      read[realm] = settings
      return true
    }
    let count = read.keys.contains(.default) ? read.count : read.count + 1
    if written != nil, count > Realm.most {
      root.complain("realms", "\(count) realms, default among them; \(Realm.most) is the most")
    }
    realms = read
    guard let own = read[.default] else { return }
    if hasRooms { rooms = own.rooms }
    if !isTaken.contains("unknown_rooms") { unknownRooms = own.unknownRooms }
    if !isTaken.contains("webhooks") { webhooks = own.webhooks }
    if !isTaken.contains("hooks") { hooks = own.hooks }
  }
}

extension RealmSettings {
  fileprivate mutating func read(_ keys: inout Section, kinds: [String: RoomSettings]) {
    if let named = keys.namedRooms(kinds: kinds) { rooms = named }
    keys.read("unknown_rooms", .unknownRooms(kinds: kinds), &unknownRooms)
    keys.section("webhooks") { webhooks.read(&$0) }
    keys.section("hooks") { hooks.read(&$0) }
    keys.section("quotas") {
      $0.read("sessions", .quota, &quotas.sessions)
      $0.read("participants", .quota, &quotas.participants)
      $0.read("rooms", .quota, &quotas.rooms)
      $0.read("calls", .quota, &quotas.calls)
    }
  }
}

extension ValueKind where Value == Int {
  fileprivate static var quota: Self { .integer(0...1_000_000) }
}

extension ValueKind where Value == Realm {
  /// One that there is.
  static func realm(of known: [Realm]) -> Self {
    Self { node, context in
      if let realm = node.text.flatMap({ Realm($0) }), known.contains(realm) { return realm }
      let names = known.map(\.name)
      let hint = node.text.flatMap { nearest($0, names) }.map { "did you mean \($0)?" } ?? "name it under realms first"
      context.complain(node, "expected a realm (\(names.listed)), found \(node.described); \(hint)")
      return nil
    }
  }
}
