// What the disk did not take and must know all the same once it takes something again: which calls run, what is over and
// looked at, what web servers are to be told. Chat is not among it: its sender was told that it is not stored.

import Calls
import Members
import Names
import Storage

/// Changes that wait for a disk that is full. Pure.
struct UnwrittenChanges: Sendable {
  /// Changes that are remembered. More cost memory while the disk is full; beyond it the oldest are given up, first what came of events: without
  /// it they come twice.
  static let most = 20_000

  /// What a change is about: a later one takes its place.
  private enum Subject: Hashable {
    case call(String)
    case tombstone(String)
    case record(user: String, call: String)
    case room(String)
    case ban(room: String, user: String)
    case addressBan(KeptAddressBan.Subject)
    case revocation(String)
    case narrowing(KeptNarrowing.Subject)
    case block(KeptBlock)
    case door(String)
    case settings(String)
    case seen(String)
    case delivery(String)
    case event(String)
    case settledEvent(Int64)
    case lostEvents(String)
    case toldDropped([Int64])
  }

  /// What it is about, in one realm.
  private struct Key: Hashable {
    let realm: Realm
    let subject: Subject
  }

  private enum Change {
    case store(RealmChange)
    case outbox(OutboxChange)
    case event(EventChange)

    /// Whether it says what came of events that are on disk.
    var isMark: Bool {
      switch self {
      case .event(.add), .event(.missed), .store, .outbox: false
      case .event(.delivered), .event(.dropped), .event(.toldDropped), .event(.expired), .event(.toldLost): true
      }
    }
  }

  private var waiting: [Key: (order: UInt64, change: Change)] = [:]
  private var last: UInt64 = 0
  /// Events that were given up, by realm: they get numbers all the same.
  private var missed: [Realm: Int64] = [:]

  var isEmpty: Bool { waiting.isEmpty && missed.isEmpty }
  var count: Int { waiting.count }

  /// In the order in which they were made.
  var changes: [RealmChange] { inOrder.compactMap { if case .store(let change) = $0 { change } else { nil } } }
  var outbox: [OutboxChange] { inOrder.compactMap { if case .outbox(let change) = $0 { change } else { nil } } }
  /// The same, behind those that were given up, which are older.
  var events: [EventChange] {
    missed.map { .missed($0.key, $0.value) }
      + inOrder.compactMap { if case .event(let change) = $0 { change } else { nil } }
  }

  private var inOrder: [Change] { waiting.values.sorted { $0.order < $1.order }.map(\.change) }

  /// Takes what could not be written.
  mutating func add(_ changes: [RealmChange], _ outbox: [OutboxChange], _ events: [EventChange] = []) {
    for change in changes {
      if let subject = Self.subject(change.change) {
        put(Key(realm: change.realm, subject: subject), .store(change))
      }
    }
    // Names of messages for web servers are random: no two realms have one.
    for change in outbox { put(Key(realm: .default, subject: Self.subject(change)), .outbox(change)) }
    for change in events { add(change) }
    guard waiting.count > Self.most else { return }
    // By the half, so that the sorting is worth it.
    let worth = waiting.map { (key: $0.key, value: $0.value, place: ($0.value.change.isMark ? 0 : 1, $0.value.order)) }
    let oldest = worth.sorted { $0.place < $1.place }.prefix(waiting.count - Self.most / 2)
    for (key, value, _) in oldest {
      waiting[key] = nil
      if case .event(.add(let event)) = value.change { missed[event.realm, default: 0] += 1 }
    }
  }

  private mutating func put(_ key: Key, _ change: Change) {
    last += 1
    waiting[key] = (last, change)
  }

  private mutating func add(_ change: EventChange) {
    if case .missed(let realm, let count) = change { return missed[realm, default: 0] += count }
    let key: (realm: Realm, subject: Subject)? =
      switch change {
      case .add(let event): (event.realm, .event(event.id))
      case .delivered(let realm, let number), .expired(let realm, let number): (realm, .settledEvent(number))
      case .dropped(let realm, let event): (realm, .settledEvent(event.number))
      case .toldDropped(let realm, let numbers): (realm, .toldDropped(numbers))
      case .toldLost(let realm, let id): (realm, .lostEvents(id))
      case .missed: nil
      }
    if let key { put(Key(realm: key.realm, subject: key.subject), .event(change)) }
  }

  /// Nil for what is not to be made later where it cannot be made now.
  private static func subject(_ change: StoreChange) -> Subject? {
    switch change {
    case .call(let kept): .call(kept.call.callId)
    case .forgetCall(let call): .call(call)
    case .tombstone(let kept): .tombstone(kept.call.callId)
    case .record(let kept): .record(user: kept.entry.user, call: kept.entry.record.callId)
    case .forgetRoom(let room): .room(room)
    case .seen(let user): .seen(user)
    case .ban(let kept): .ban(room: kept.room, user: kept.user)
    case .forgetBan(let room, let user): .ban(room: room, user: user)
    case .addressBan(let kept): .addressBan(kept.subject)
    case .forgetAddressBan(let subject): .addressBan(subject)
    case .revocation(let kept): .revocation(kept.tokenID)
    case .forgetRevocation(let id): .revocation(id)
    case .narrowing(let kept): .narrowing(kept.subject)
    case .forgetNarrowing(let subject): .narrowing(subject)
    case .block(let kept), .forgetBlock(let kept): .block(kept)
    case .door(let kept): .door(kept.room)
    case .forgetDoor(let room): .door(room)
    case .room(let kept): .settings(kept.room)
    case .forgetSettings(let room): .settings(room)
    // Its sender was told.
    case .message: nil
    }
  }

  private static func subject(_ change: OutboxChange) -> Subject {
    switch change {
    case .keep(let delivery): .delivery(delivery.id)
    case .forget(let id): .delivery(id)
    }
  }
}
