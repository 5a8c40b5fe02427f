// Actions that wait for the application's word, or for what workers know, and those that wait behind them. What comes behind what is said
// in `Order.swift`, what is asked in `Questions.swift`.
//
//   action ─▶ right? ─▶ ask ─▶ ticket ─▶ yes, no, nothing ─▶ perform, with all checks anew ─▶ those behind it, in order
//                        └──── later actions of the session about the same room or call

import Basics
import Members
import RoostProtocol

/// An action of a session, or a hello, that the application is asked about.
struct AskedAction: Sendable {
  private(set) var action: Action
  let kind: Question.Kind
  /// In which call, where it is about one that there is.
  let call: String?
  /// On which seat in which room, where it is about one: what it publishes there, or what others are to see of it.
  let place: MemberPlace?
  /// As what it keeps others waiting; nil for a hello.
  let matter: Matter?

  /// `place`: where who asks has a seat then.
  init(_ action: Action, _ question: Question, at place: MemberPlace?, as matter: Matter?) {
    (self.action, self.matter) = (action, matter)
    (kind, call) = (question.kind, question.call)
    switch question.kind {
    case .publish: self.place = place
    case .join, .callAccept: self.place = place.flatMap { Matter(roomName: $0.room) == matter ? $0 : nil }
    case .hello, .callStart, .callInvite: self.place = nil
    }
  }

  /// As the application wants it.
  func changed(by answer: QuestionAnswer) -> AskedAction {
    guard case .changed(let changes) = answer else { return self }
    var asked = self
    asked.action = action.changed(by: changes)
    return asked
  }

  /// Whether what is to be asked now is what was asked.
  func covers(_ question: Question) -> Bool { question.kind == kind && question.call == call }
}

/// All actions that wait.
struct Asking: Sendable {
  /// Actions of one session that are asked about at once, and actions that wait behind each. Raising it lets each session hold so much more.
  static let most = 16
  /// Bytes of all of them of one session, as their JSON is: each message of a client fits, and no more than one of the longest. Raising it
  /// lets each session hold so much more.
  static let mostBytes = 512 << 10

  /// One that waits behind another.
  struct Waiting: Sendable {
    let action: Action
    let aim: Aim
    fileprivate let bytes: Int
  }

  /// For whose word the first of a queue waits.
  private enum Awaited: Equatable, Sendable {
    case application(Ticket)
    /// That of workers, for its request.
    case workers(RequestID)
  }

  /// One that waits for a word, and what waits behind it.
  private struct Queue: Sendable {
    let first: Action
    let awaited: Awaited
    /// Of two of one session the later one has the higher.
    let number: Int
    let bytes: Int
    var behind: [Waiting] = []

    /// Whether something in it does: what is behind its first may be a join as well.
    func has(_ property: (Action.Wish) -> Bool) -> Bool {
      property(first.wish) || behind.contains { property($0.action.wish) }
    }
  }

  /// What has waited.
  struct Ready: Sendable {
    /// For what it has waited.
    enum Past: Sendable {
      /// The application has allowed it.
      case allowed(AskedAction)
      /// Workers have said this; nil where they have to be asked again.
      case heard(MediaSilence?)
      /// It has waited behind another, to be done there.
      case behind(Aim)
    }

    let action: Action
    let past: Past
    /// Whether it is the first of its queue to go on.
    fileprivate(set) var isFirst = false

    init(_ action: Action, _ past: Past) { (self.action, self.past) = (action, past) }

    init(_ waiting: Waiting) { self.init(waiting.action, .behind(waiting.aim)) }
  }

  /// What goes on, each in a step of its own.
  private struct Line: Sendable {
    var actions: [Ready] = []
    /// The seat of its session before the first of the queue went on.
    var seatBefore: SeatID?
  }

  private var queues: [SessionID: [Matter: Queue]] = [:]
  /// Requests about which workers have been asked and have said nothing yet, also where they were taken back since.
  private var held: [SessionID: Set<RequestID>] = [:]
  private var hellos: [ConnectionID: Ticket] = [:]
  /// What is a session's goes on once that is connected.
  private var ready: [GoingOn: Line] = [:]
  /// Those who may go on when this step is over.
  private var released: Set<GoingOn> = []

  /// Whether nothing waits.
  var isEmpty: Bool { queues.isEmpty && held.isEmpty && hellos.isEmpty && ready.isEmpty }

  /// Whether there is anything that others may have to come behind.
  var keepsOthersWaiting: Bool { !queues.isEmpty }

  // MARK: - Behind another

  /// What becomes of an action that may have to come behind another.
  enum Place: Sendable {
    /// It need not wait.
    case free
    /// It waits.
    case behind
    /// It ends something, and as much waits as may. It need not wait: all that it would come behind is taken back, and with it the ticket.
    case instead([Action], Ticket?)
  }

  /// Puts an action behind what it has to come behind.
  /// - Throws: 1006 where so much waits already.
  mutating func enqueue(_ action: Action, _ order: Order, of session: SessionID) throws(ErrorObject) -> Place {
    guard let matter = first(before: order, of: session), let queue = queues[session]?[matter] else { return .free }
    let bytes = action.wish.bytesToKeep
    do throws(ErrorObject) {
      guard queue.behind.count < Self.most else { throw Self.tooMany }
      try checkBytes(bytes, of: session)
    } catch {
      guard action.wish.endsSomething else { throw error }
      remove(matter, of: session)
      let ticket: Ticket? = if case .application(let ticket) = queue.awaited { ticket } else { nil }
      return .instead([queue.first] + queue.behind.map(\.action), ticket)
    }
    let waiting = Waiting(action: action, aim: Aim(order, behind: matter), bytes: bytes)
    queues[session]?[matter]?.behind.append(waiting)
    return .behind
  }

  /// Behind what an action has to wait; nil where it need not.
  private func first(before order: Order, of session: SessionID) -> Matter? {
    guard let own = queues[session] else { return nil }
    switch order {
    case .free: return nil
    case .about(let matter): return own[matter] == nil ? nil : matter
    // The newest is where the seat will be.
    case .seat: return newest(own) { $0.givesSeat }
    case .call: return newest(own) { $0.givesCall }
    case .end(let stream, let seat):
      if let seat, own[.connection(stream, of: seat)] != nil { return .connection(stream, of: seat) }
      return own.first { $0.value.behind.contains { $0.action.wish.stream == stream } }?.key
    }
  }

  /// The newest of the queues in which something does.
  private func newest(_ own: [Matter: Queue], where property: (Action.Wish) -> Bool) -> Matter? {
    own.filter { $0.value.has(property) }.max { $0.value.number < $1.value.number }?.key
  }

  private mutating func remove(_ matter: Matter, of session: SessionID) {
    queues[session]?[matter] = nil
    if queues[session]?.isEmpty == true { queues[session] = nil }
  }

  // MARK: - Bounds

  /// What it will take to keep an action: bytes; 0 for a hello.
  /// - Throws: 1006 where so much of a session waits already, 3003 where the hello of a connection does.
  func check(_ action: Action) throws(ErrorObject) -> Int {
    switch action.who {
    case .session(let key):
      if queues[key.session]?.count ?? 0 >= Self.most { throw Self.tooMany }
      let bytes = action.wish.bytesToKeep
      try checkBytes(bytes, of: key.session)
      return bytes
    case .connection(let connection, _):
      if hellos[connection] != nil || ready[.hello(connection)] != nil {
        throw ErrorObject(.invalidState, "The hello of this connection waits for its answer.")
      }
    case .operator: break
    }
    return 0
  }

  private func checkBytes(_ bytes: Int, of session: SessionID) throws(ErrorObject) {
    let kept = queues[session]?.values.reduce(0) { $1.behind.reduce($0 + $1.bytes) { $0 + $1.bytes } } ?? 0
    if kept + bytes > Self.mostBytes { throw Self.tooLong }
  }

  static var tooMany: ErrorObject {
    ErrorObject(.rateLimited, "\(most) of your requests wait for an answer; try again later.") { $0.limit = most }
  }

  private static var sameID: ErrorObject {
    ErrorObject(.rateLimited, "Another request with this id waits for its answer; try again later.")
  }

  private static var tooLong: ErrorObject {
    ErrorObject(.rateLimited, "Your requests that wait for an answer are too long together; try again later.") {
      $0.limit = mostBytes
    }
  }

  // MARK: - Waiting for a word

  /// An action is asked about, which takes so many bytes to keep.
  mutating func add(_ ticket: Ticket, _ asked: AskedAction, _ bytes: Int) {
    switch asked.action.who {
    case .session(let key):
      guard let matter = asked.matter else { return }
      begin(asked.action, .application(ticket), as: matter, of: key.session, bytes)
    case .connection(let connection, _): hellos[connection] = ticket
    case .operator: break
    }
  }

  /// An action of a session waits for what workers know of a seat, unless so much waits already. Their word is known by the id of its request,
  /// which a client may use again once it is out of the window of requests: of two with one id, one may wait.
  mutating func hold(_ action: Action, about seat: SeatID, _ step: inout Step) {
    guard case .session(let key) = action.who, let matter = action.wish.place else { return }
    do throws(ErrorObject) {
      let bytes = try check(action)
      if queues[key.session]?[matter] != nil { throw Self.tooMany }
      if held[key.session]?.contains(key.id) == true { throw Self.sameID }
      held[key.session, default: []].insert(key.id)
      begin(action, .workers(key.id), as: matter, of: key.session, bytes)
      step.send(.sessions(.awaitSilence(action, about: seat)))
    } catch {
      step.refuse(action, error)
    }
  }

  private mutating func begin(
    _ action: Action, _ awaited: Awaited, as matter: Matter, of session: SessionID, _ bytes: Int
  ) {
    var own = queues[session] ?? [:]
    let number = (own.values.map(\.number).max() ?? 0) + 1
    own[matter] = Queue(first: action, awaited: awaited, number: number, bytes: bytes)
    queues[session] = own
  }

  /// It has its answer. What waits behind it.
  mutating func end(_ ticket: Ticket, of who: Action.Who) -> [Waiting] {
    switch who {
    case .session(let key): return end(.application(ticket), of: key.session) ?? []
    case .connection(let connection, _): hellos[connection] = nil
    case .operator: break
    }
    return []
  }

  /// Workers have said what they know. What waits behind it; nil where it was taken back meanwhile.
  mutating func endHold(of key: RequestKey) -> [Waiting]? {
    held[key.session]?.remove(key.id)
    if held[key.session]?.isEmpty == true { held[key.session] = nil }
    return end(.workers(key.id), of: key.session)
  }

  private mutating func end(_ awaited: Awaited, of session: SessionID) -> [Waiting]? {
    guard let queue = queues[session]?.first(where: { $0.value.awaited == awaited }) else { return nil }
    remove(queue.key, of: session)
    return queue.value.behind
  }

  /// A session is over, and with it all that it waits for.
  mutating func forget(_ session: SessionID) -> [Ticket] {
    (ready[.session(session)], held[session]) = (nil, nil)
    return (queues.removeValue(forKey: session) ?? [:]).values.compactMap {
      if case .application(let ticket) = $0.awaited { ticket } else { nil }
    }
  }

  // MARK: - Going on

  /// A queue goes on: behind all that does already, or as the next, where others of it do.
  mutating func makeReady(_ queue: [Ready], of who: GoingOn, isNext: Bool = false) {
    var queue = queue
    if !queue.isEmpty {
      queue[0].isFirst = true
      let others = ready[who]?.actions ?? []
      ready[who, default: Line()].actions = isNext ? queue + others : others + queue
    }
    release(who)
  }

  /// How much of a session goes on when it is connected.
  func readyCount(of session: SessionID) -> Int { ready[.session(session)]?.actions.count ?? 0 }

  /// Whose hello goes on on a connection; nil: nobody's.
  func hello(on connection: ConnectionID) -> Identity? {
    guard case .hello(_, let identity)? = ready[.hello(connection)]?.actions.first?.action.wish else { return nil }
    return identity
  }

  /// What they have waited with may go on.
  mutating func release(_ who: GoingOn) { if ready[who] != nil { released.insert(who) } }

  /// Those with whom something is to go on behind this step, in order.
  mutating func takeReleased() -> [GoingOn] {
    if released.isEmpty { return [] }
    defer { released = [] }
    return released.filter { ready[$0] != nil }.sorted()
  }

  /// What goes on next, of one who has this seat now. The seat that they had before the first of its queue went on.
  mutating func popReady(of who: GoingOn, on seat: SeatID?) -> (next: Ready, seatBefore: SeatID?)? {
    guard var line = ready[who] else { return nil }
    let next = line.actions.removeFirst()
    if next.isFirst { line.seatBefore = seat }
    ready[who] = line.actions.isEmpty ? nil : line
    return (next, line.seatBefore)
  }

  /// What has waited for the seat that comes of something waits on where that waits for another word.
  mutating func enqueueAgain(_ action: Action, _ aim: Aim, of session: SessionID) -> Bool {
    guard case .seat(of: let matter) = aim, queues[session]?[matter] != nil else { return false }
    queues[session]?[matter]?.behind.append(Waiting(action: action, aim: aim, bytes: action.wish.bytesToKeep))
    return true
  }

  /// Whether the hello of a connection waits, or goes on.
  func holds(_ connection: ConnectionID) -> Bool {
    hellos[connection] != nil || ready[.hello(connection)] != nil
  }

  /// A connection is over, and with it its hello.
  mutating func forget(_ connection: ConnectionID) -> Ticket? {
    ready[.hello(connection)] = nil
    return hellos.removeValue(forKey: connection)
  }
}
