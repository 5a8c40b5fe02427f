// One step of the conference while it is made. A step begins with one input, nothing comes between its parts, and it ends
// when its effects have been handed out. It is passed along as `inout`: nothing of it is kept between two steps.
//
//   an owner ── effects, messages ──▶ one list, in order ──▶ next(): effects go out, a message is delivered ──▶ what follows, in its place

import Basics
import Calls
import RoostProtocol

/// What was given last to something new.
package struct Numbers: Sendable {
  /// What every number of a realm has in its highest bits, so that no two realms give the same.
  private let tag: UInt64
  /// To a session, a room, a seat, a track, a message.
  package var last: UInt64 = 0
  /// To a change that goes to the disk.
  package var lastTicket: UInt64 = 0

  /// What tokens and names are made of.
  package var random: any RandomNumberGenerator & Sendable

  package init(
    of realm: RealmNumber = .first, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    (tag, self.random) = (realm.tag, random)
  }

  /// The next one, for something that is known over all realms.
  fileprivate mutating func make() -> UInt64 {
    last += 1
    return tag | last
  }

  fileprivate mutating func makeTicket() -> UInt64 {
    lastTicket += 1
    return tag | lastTicket
  }
}

/// The time of a step, and what has come of it so far.
package struct Step {
  /// When it is made; the same for all of it.
  package let now: Now
  /// Whose doing it is; nil for an operator's, and while it is not known.
  package var subject: LineSubject?
  /// Whether it is an operator's: what they do to somebody is not that one's doing.
  private let isOperators: Bool
  /// What has come of it, in the order in which it is to be carried out.
  private var effects: [Effect] = []
  /// What the owner that acts now has sent, from its first message on.
  private var fresh: [Output] = []
  /// What is to be delivered behind that, the next at the end.
  private var later: [Output] = []
  /// What has come of an operator's wish; nil until it is known.
  package private(set) var outcome: Result<OperatorAnswer, ErrorObject>?

  /// From where the operator's wish came that it carries out.
  private let peer: String?
  /// What is given to what is new.
  package var numbers: Numbers
  /// Whether there is a disk that records go to.
  private let keepsRecords: Bool
  /// Whether anybody is told of events by webhook.
  package let isFollowed: Bool

  /// A step that begins now, where `numbers` are given.
  package init(
    at now: Now, by subject: LineSubject? = nil, after numbers: Numbers, keepsRecords: Bool, isFollowed: Bool = false
  ) {
    (self.now, self.subject, isOperators, peer) = (now, subject, false, nil)
    (self.numbers, self.keepsRecords, self.isFollowed) = (numbers, keepsRecords, isFollowed)
  }

  /// A step that an operator wants, from `peer`: its lines are nobody's share, and say from where.
  package init(
    at now: Now, byOperatorAt peer: String?, after numbers: Numbers, keepsRecords: Bool, isFollowed: Bool = false
  ) {
    (self.now, subject, isOperators, self.peer) = (now, nil, true, peer)
    (self.numbers, self.keepsRecords, self.isFollowed) = (numbers, keepsRecords, isFollowed)
  }

  /// A number for something new; never used again.
  package mutating func makeNumber() -> UInt64 {
    numbers.make()
  }

  /// A number for a message of a room, which is kept: the same realm gives higher ones whatever its place among the others.
  package mutating func makeMessageNumber() -> UInt64 {
    numbers.last += 1
    return numbers.last
  }

  /// Gives no number up to this one any more.
  package mutating func skipNumbers(to number: UInt64) { numbers.last = max(numbers.last, number) }

  /// A name for what goes to the disk next.
  package mutating func makeTicket() -> Ticket {
    Ticket(numbers.makeTicket())
  }

  /// Sends changes to the disk, where there is one; nobody waits for them.
  package mutating func keep(_ changes: [StoreChange]) {
    if keepsRecords, !changes.isEmpty { add(.write(makeTicket(), changes)) }
  }

  /// Adds one output behind all others.
  package mutating func add(_ effect: Effect) {
    if fresh.isEmpty { effects.append(effect) } else { fresh.append(.effect(effect)) }
  }

  package mutating func add(_ effect: ClientEffect) { add(.client(effect)) }

  package mutating func add(_ effect: MediaEffect) { add(.media(effect)) }

  package mutating func add(_ effect: StoreEffect) { add(.store(effect)) }

  package mutating func add(_ effect: OutsideEffect) { add(.outside(effect)) }

  package mutating func setRevoked(_ id: String, _ isRevoked: Bool) { add(.operation(.setRevoked(id, isRevoked))) }

  package mutating func count(_ counter: Counter) { add(.operation(.count(counter))) }

  // MARK: - To owners

  /// Sends a message, which is delivered before what comes behind it.
  package mutating func send(_ message: OwnerMessage) { fresh.append(.message(message)) }

  package mutating func send(_ message: SessionMessage) { send(.sessions(message)) }

  package mutating func send(_ message: RoomMessage) { send(.rooms(message)) }

  package mutating func send(_ message: CallMessage) { send(.calls(message)) }

  /// The next message that is to be delivered; nil where there is none. What came before it has gone out.
  package mutating func next() -> OwnerMessage? {
    while let output = fresh.popLast() { later.append(output) }
    while let output = later.popLast() {
      switch output {
      case .effect(let effect): effects.append(effect)
      case .message(let message): return message
      }
    }
    return nil
  }

  /// Says what has come of an operator's wish.
  package mutating func conclude(_ outcome: Result<OperatorAnswer, ErrorObject>) { self.outcome = outcome }

  /// Tells a session: at once where it is connected, else with its resume.
  package mutating func tell(_ event: Event, to session: SessionID) { send(.sessions(.tell(event, session))) }

  /// Tells several sessions the same.
  package mutating func tell(_ event: Event, to sessions: [SessionID]) {
    if !sessions.isEmpty { send(.sessions(.tellAll(event, sessions))) }
  }

  /// Answers a request, wherever its session is connected.
  package mutating func answer(_ key: RequestKey, _ result: Result<Reply, ErrorObject>) {
    send(.sessions(.answer(key, result)))
  }

  /// Rooms have given a session a seat, or the application has left it something else on that. `left`: of its rights there; nil: all.
  package mutating func tellSeated(_ session: SessionID, on seat: SeatID, in room: String, left: Rights? = nil) {
    send(.sessions(.seated(session, MemberPlace(seat: seat, room: room), left: left)))
  }

  /// Rooms have taken a session's seat.
  package mutating func tellUnseated(_ session: SessionID) { send(.sessions(.unseated(session))) }

  /// Tells the door of a session what has become of one of its streams.
  package mutating func tell(_ change: MediaChange, of stream: MediaConnectionID, to session: SessionID) {
    send(.sessions(.stream(session, stream, change)))
  }

  /// Tells every device of a user that may see their list what goes into it.
  package mutating func tell(_ record: UserRecord, isStored: Bool) {
    send(.sessions(.record(record, isStored: isStored)))
  }

  /// All that has come of it, where everything has been delivered.
  package consuming func end() -> [Effect] {
    assert(fresh.isEmpty && later.isEmpty, "nobody has delivered what owners are told")
    return effects
  }

  // MARK: - The log

  /// Leaves a line that is somebody's doing where nobody else's is known: time has brought it about.
  package mutating func log(
    _ event: String, _ fields: KeyValuePairs<String, String>, orOf other: @autoclosure () -> LineSubject?
  ) {
    let known = subject
    if known == nil, !isOperators { subject = other() }
    log(event, fields)
    subject = known
  }

  package mutating func log(_ event: String, _ fields: KeyValuePairs<String, String>, level: LogEntry.Level = .info) {
    log(event, fields.map { ($0.key, $0.value) }, level: level)
  }

  package mutating func log(_ event: String, _ fields: [(String, String)], level: LogEntry.Level = .info) {
    let fields = (fields + (peer.map { [("peer", $0)] } ?? [])).map { LogEntry.Field(name: $0.0, value: $0.1) }
    add(.operation(.log(LogEntry(level: level, event: event, fields: fields, subject: subject))))
  }

  /// One output that has its place among the others.
  private enum Output {
    case effect(Effect)
    case message(OwnerMessage)
  }
}
