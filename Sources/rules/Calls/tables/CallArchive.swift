// What is remembered of calls that are over, in memory and bounded: the last records of each user, and ended calls that
// still answer what became of them. It can be filled from storage at the start.

import Basics
import RoostProtocol

/// Records and tombstones.
struct CallArchive: Equatable, Sendable {
  private struct Grave: Equatable, Sendable {
    var call: Call
    var names: [ClientCall]
    var bytes: Int { names.reduce(call.bytesInMemory) { $0 + $1.bytesInMemory } }
  }

  private let rules: CallRules
  private var records: [String: [UserRecord]] = [:]
  private var unseen: [String: Set<String>] = [:]
  private var keptInOrder: Ordered<[String]> = Ordered()
  private var graves: [CallID: Grave] = [:]
  private var buried: Ordered<CallID> = Ordered()
  /// Those of each caller, in the order of their end, and what they all take.
  private var ofCallers: [String: Ordered<CallID>] = [:]
  private(set) var tombstoneBytes = 0

  init(_ rules: CallRules) { self.rules = rules }

  // MARK: - Ended calls

  /// Remembers an ended call.
  /// - Returns: calls that are forgotten now, and what those who started them called them.
  mutating func bury(
    _ call: Call, names: [ClientCall], at now: Now
  ) -> [(id: CallID, names: [ClientCall])] {
    let id = CallID(call.callId)
    var forgotten: [(id: CallID, names: [ClientCall])] = []
    if graves[id] == nil {
      buried.append(id)
      ofCallers[call.caller, default: Ordered()].append(id)
    }
    let grave = Grave(call: call, names: names)
    tombstoneBytes += grave.bytes - (graves[id]?.bytes ?? 0)
    graves[id] = grave
    if ofCallers[call.caller]?.count ?? 0 > rules.maxTombstonesPerCaller, let own = ofCallers[call.caller]?.first {
      forget(own, &forgotten)
    }
    while let oldest = buried.first, isTooMuch || isOver(oldest, at: now) {
      buried.removeFirst()
      forget(oldest, &forgotten)
    }
    // Of a caller with too many, those that are forgotten stand behind others' that are not.
    if buried.count > 2 * graves.count + 64 { buried.keep { graves[$0] != nil } }
    return forgotten
  }

  private var isTooMuch: Bool { graves.count > rules.maxTombstones || tombstoneBytes > rules.maxTombstoneBytes }

  /// It is the oldest of its caller's; in `buried` it may stay until all before it are gone.
  private mutating func forget(_ id: CallID, _ forgotten: inout [(id: CallID, names: [ClientCall])]) {
    guard let grave = graves.removeValue(forKey: id) else { return }
    tombstoneBytes -= grave.bytes
    let caller = grave.call.caller
    ofCallers[caller]?.removeFirst()
    if ofCallers[caller]?.first == nil { ofCallers[caller] = nil }
    forgotten.append((id, grave.names))
  }

  /// An ended call, for `tombstone` after its end.
  func tombstone(_ id: CallID, at now: Now) -> Call? { isOver(id, at: now) ? nil : graves[id]?.call }

  private func isOver(_ id: CallID, at now: Now) -> Bool {
    guard let endedAt = graves[id]?.call.endedAt else { return true }
    return now.wallMilliseconds - endedAt > rules.tombstone.milliseconds
  }

  var tombstones: Int { graves.count }

  /// Entries of the queue that says which is the oldest.
  var remembered: Int { buried.count }

  // MARK: - Records

  /// Keeps a record in place of the user's earlier one of the same call. Where `isUnseen` does not say, the user has yet to
  /// look at one that they missed.
  mutating func keep(_ entry: UserRecord, isUnseen: Bool? = nil) {
    let (user, callId) = (entry.user, entry.record.callId)
    records[user, default: []].removeAll { $0.record.callId == callId }
    records[user, default: []].append(entry)
    unseen[user]?.remove(callId)
    if isUnseen ?? entry.record.isMissed { unseen[user, default: []].insert(callId) }
    keptInOrder.append([user, callId])
    if records[user]?.count ?? 0 > rules.maxRecordsPerUser, let oldest = records[user]?.first {
      forget(user, oldest.record.callId)
    }
    while keptInOrder.count > rules.maxRecords, let oldest = keptInOrder.first {
      keptInOrder.removeFirst()
      // A record that was replaced stands in the queue twice; it goes with the second.
      if records[oldest[0]]?.first?.record.callId == oldest[1] { forget(oldest[0], oldest[1]) }
    }
  }

  private mutating func forget(_ user: String, _ callId: String) {
    records[user]?.removeAll { $0.record.callId == callId }
    unseen[user]?.remove(callId)
    if records[user]?.isEmpty == true { records[user] = nil }
    if unseen[user]?.isEmpty == true { unseen[user] = nil }
  }

  /// A user's record of a call.
  func record(_ callId: String, of user: String) -> UserRecord? {
    records[user]?.last { $0.record.callId == callId }
  }

  /// A page, newest first, of those before the record of call `before`.
  func page(of user: String, before: String?, limit: Int) -> (records: [UserRecord], isLast: Bool) {
    let all = records[user] ?? []
    let end = before.map { name in all.firstIndex { $0.record.callId == name } ?? 0 } ?? all.count
    let page = all[..<end].suffix(limit)
    return (page.reversed(), page.startIndex == 0)
  }

  /// The user has come into a call that they had missed.
  /// - Returns: their record of it, where they had yet to look at it.
  mutating func see(_ user: String, _ callId: String) -> UserRecord? {
    guard unseen[user]?.remove(callId) != nil else { return nil }
    if unseen[user]?.isEmpty == true { unseen[user] = nil }
    return record(callId, of: user)
  }

  /// Missed calls that the user has not looked at.
  func missed(_ user: String) -> Int { unseen[user]?.count ?? 0 }

  /// The user has looked at their list.
  mutating func see(_ user: String) { unseen[user] = nil }

  var recordCount: Int { records.values.reduce(0) { $0 + $1.count } }
}

extension Call {
  /// What it takes in memory, about: its members with their names, and the most that `extra` may be.
  var bytesInMemory: Int {
    members.reduce(512 + (extra == nil ? 0 : ProtocolLimits.opaqueBytes)) {
      $0 + 320 + $1.user.utf8.count + ($1.displayName?.utf8.count ?? 0)
    }
  }
}

extension CallRecord {
  /// Whether the user should be told that they missed something.
  public var isMissed: Bool {
    direction == .incoming && result == .missed && why != .answeredByOther && why != .rejectedByOther
  }
}

/// A queue that costs the same at both ends.
struct Ordered<Element: Equatable & Sendable>: Equatable, Sendable {
  private var elements: [Element] = []
  private var head = 0

  var count: Int { elements.count - head }
  var first: Element? { head < elements.count ? elements[head] : nil }

  mutating func append(_ element: Element) { elements.append(element) }

  /// Takes out what is not wanted any more.
  mutating func keep(_ isWanted: (Element) -> Bool) {
    elements = elements[head...].filter(isWanted)
    head = 0
  }

  mutating func removeFirst() {
    guard head < elements.count else { return }
    head += 1
    guard head > 64, head * 2 > elements.count else { return }
    elements.removeFirst(head)
    head = 0
  }
}
