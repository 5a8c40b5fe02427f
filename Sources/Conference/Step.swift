// One step of the conference while it is made. A step begins with one input, nothing comes between its parts, and it ends
// when its effects have been handed out. It is passed along as `inout`: nothing of it is kept between two steps.

import Basics
import RoostProtocol

/// The time of a step, and what has come of it so far.
struct Step {
  /// When it is made; the same for all of it.
  let now: Now
  /// What has come of it, in the order in which it is to be carried out.
  private(set) var effects: [Effect] = []

  /// From where the operator's wish came that it carries out.
  private let peer: String?

  /// A step that begins now. `peer`: from where an operator wants it.
  init(at now: Now, byOperatorAt peer: String? = nil) { (self.now, self.peer) = (now, peer) }

  mutating func add(_ effect: ClientEffect) { effects.append(.client(effect)) }

  mutating func add(_ effect: MediaEffect) { effects.append(.media(effect)) }

  mutating func add(_ effect: StoreEffect) { effects.append(.store(effect)) }

  mutating func add(_ effect: OutsideEffect) { effects.append(.outside(effect)) }

  mutating func setRevoked(_ id: String, _ isRevoked: Bool) { effects.append(.operation(.setRevoked(id, isRevoked))) }

  mutating func count(_ counter: Counter) { effects.append(.operation(.count(counter))) }

  mutating func log(_ event: String, _ fields: KeyValuePairs<String, String>, level: LogEntry.Level = .info) {
    log(event, fields.map { ($0.key, $0.value) }, level: level)
  }

  mutating func log(_ event: String, _ fields: [(String, String)], level: LogEntry.Level = .info) {
    let fields = (fields + (peer.map { [("peer", $0)] } ?? [])).map { LogEntry.Field(name: $0.0, value: $0.1) }
    effects.append(.operation(.log(LogEntry(level: level, event: event, fields: fields))))
  }
}
