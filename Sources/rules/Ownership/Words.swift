// What nodes of a cluster and their store talk about: nodes, leases, and what tells one state of the store from another.

import Names

/// Which process of a cluster: it grows with each that starts or begins anew, and is never given twice.
public struct NodeEpoch: Hashable, Comparable, Sendable {
  /// The number; 0 is nobody's.
  public let rawValue: UInt32
  /// The epoch of this number.
  public init(_ rawValue: UInt32) { self.rawValue = rawValue }
  /// Nobody's.
  public static let none = NodeEpoch(0)

  /// The one behind it; nil where numbers have run out.
  public var next: NodeEpoch? { rawValue == .max ? nil : NodeEpoch(rawValue + 1) }
  /// Earlier.
  public static func < (a: NodeEpoch, b: NodeEpoch) -> Bool { a.rawValue < b.rawValue }
}

/// How often a lease has been taken: whoever decides under a higher one came later.
public struct LeaseEpoch: Hashable, Comparable, Sendable {
  /// The number; 0 is that of a lease which nobody has ever had.
  public let rawValue: UInt64
  /// The epoch of this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The one behind it. At a million a second the numbers last for half a million years.
  public var next: LeaseEpoch { LeaseEpoch(rawValue &+ 1) }
  /// Earlier.
  public static func < (a: LeaseEpoch, b: LeaseEpoch) -> Bool { a.rawValue < b.rawValue }
}

/// What one node alone decides about: a room, or all calls of a realm.
public struct LeaseName: Hashable, Comparable, Sendable {
  /// Of which kind it is.
  public enum Kind: UInt8, Sendable {
    /// A named room.
    case room
    /// The calls of a realm.
    case switchboard
  }

  /// Of which kind it is.
  public let kind: Kind
  /// Whose it is.
  public let realm: Realm
  /// The room's name; empty for a switchboard.
  public let name: String

  /// A room of a realm.
  public static func room(_ name: String, in realm: Realm = .default) -> LeaseName {
    LeaseName(kind: .room, realm: realm, name: name)
  }
  /// The calls of a realm.
  public static func switchboard(of realm: Realm) -> LeaseName {
    LeaseName(kind: .switchboard, realm: realm, name: "")
  }

  /// By realm, kind and name.
  public static func < (a: LeaseName, b: LeaseName) -> Bool {
    (a.realm.name, a.kind.rawValue, a.name) < (b.realm.name, b.kind.rawValue, b.name)
  }
}

/// Who decides about something, as the store has it. It holds as long as the holder's row is active.
public struct Lease: Hashable, Sendable {
  /// What is decided about.
  public let name: LeaseName
  /// Who decides; nil where the last holder has given it back.
  public var holder: NodeEpoch?
  /// Since which change of holders.
  public var epoch: LeaseEpoch

  /// A row of the store.
  public init(_ name: LeaseName, holder: NodeEpoch?, epoch: LeaseEpoch) {
    (self.name, self.holder, self.epoch) = (name, holder, epoch)
  }
}

/// What tells one state of the store from another: a store that was emptied, restored or replaced has another mark.
public struct StoreMark: Hashable, Sendable {
  /// The identifier that the database's server was made with.
  public var system: UInt64
  /// How often a replica has taken over.
  public var timeline: UInt32
  /// A row of ours, written anew where records are restored.
  public var incarnation: UInt64

  /// A mark of these.
  public init(system: UInt64, timeline: UInt32, incarnation: UInt64) {
    (self.system, self.timeline, self.incarnation) = (system, timeline, incarnation)
  }
}

/// A process, by a number that it has drawn at random. A store that has gone back may give an epoch again, and this tells who has it.
public struct ProcessNumber: Hashable, Sendable {
  /// The number.
  public let rawValue: UInt64
  /// The process of this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A node, as the store has it.
public struct NodeRow: Hashable, Sendable {
  /// Its name, by which operators know it. A process that starts again has the same.
  public let name: String
  /// The boot of the machine that it runs on.
  public let boot: String
  /// Whose row it is.
  public let process: ProcessNumber
  /// Which process it is, in the order in which they came.
  public let epoch: NodeEpoch
  /// Grows with each beat.
  public var beat: UInt64 = 0
  /// Whether another node has put it out. It stays so: the process begins anew under another epoch.
  public var isFenced = false
  /// Grows whenever it gets a lease or loses one, so that the node notices changes whose answer it has not had.
  public var changes: UInt64 = 0
  /// The newest node that it has seen.
  public var knows: NodeEpoch = .none

  /// A node that has just come.
  public init(name: String, boot: String, process: ProcessNumber, epoch: NodeEpoch) {
    (self.name, self.boot, self.process, self.epoch) = (name, boot, process, epoch)
  }
}
