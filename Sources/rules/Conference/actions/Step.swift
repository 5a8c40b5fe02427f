// One step of the conference while it is made. A step begins with one input, nothing comes between its parts, and it ends
// when its effects have been handed out. It is passed along as `inout`: nothing of it is kept between two steps.

import Basics
import RoostProtocol

/// The time of a step, and what has come of it so far.
struct Step {
  /// When it is made; the same for all of it.
  let now: Now
  /// Whose doing it is; nil for an operator's, and while it is not known.
  var subject: LineSubject?
  /// Whether it is an operator's: what they do to somebody is not that one's doing.
  private let isOperators: Bool
  /// What has come of it, in the order in which it is to be carried out.
  private(set) var effects: [Effect] = []

  /// From where the operator's wish came that it carries out.
  private let peer: String?

  /// A step that begins now.
  init(at now: Now, by subject: LineSubject? = nil) {
    (self.now, self.subject, isOperators, peer) = (now, subject, false, nil)
  }

  /// A step that an operator wants, from `peer`: its lines are nobody's share, and say from where.
  init(at now: Now, byOperatorAt peer: String?) { (self.now, subject, isOperators, self.peer) = (now, nil, true, peer) }

  mutating func add(_ effect: ClientEffect) { effects.append(.client(effect)) }

  mutating func add(_ effect: MediaEffect) { effects.append(.media(effect)) }

  mutating func add(_ effect: StoreEffect) { effects.append(.store(effect)) }

  mutating func add(_ effect: OutsideEffect) { effects.append(.outside(effect)) }

  mutating func setRevoked(_ id: String, _ isRevoked: Bool) { effects.append(.operation(.setRevoked(id, isRevoked))) }

  mutating func count(_ counter: Counter) { effects.append(.operation(.count(counter))) }

  /// Leaves a line that is somebody's doing where nobody else's is known: time has brought it about.
  mutating func log(
    _ event: String, _ fields: KeyValuePairs<String, String>, orOf other: @autoclosure () -> LineSubject?
  ) {
    let known = subject
    if known == nil, !isOperators { subject = other() }
    log(event, fields)
    subject = known
  }

  mutating func log(_ event: String, _ fields: KeyValuePairs<String, String>, level: LogEntry.Level = .info) {
    log(event, fields.map { ($0.key, $0.value) }, level: level)
  }

  mutating func log(_ event: String, _ fields: [(String, String)], level: LogEntry.Level = .info) {
    let fields = (fields + (peer.map { [("peer", $0)] } ?? [])).map { LogEntry.Field(name: $0.0, value: $0.1) }
    effects.append(.operation(.log(LogEntry(level: level, event: event, fields: fields, subject: subject))))
  }
}
