// The one thread that a door's sessions belong to: the service thread of its web server. Whatever another thread has for them is posted.
//
//   conference thread ──effect──▶ ┌───────┐          ┌─▶ apply(effect) ─▶ the session's machine ─▶ sink(Command)
//   tokens' timer ──────call────▶ │ queue │ ─ turn ─▶├─▶ the call
//   once a second ─────────────▶  └───────┘          └─▶ keepHouse
import Basics
import Members
import Threads
import WebSockets

/// What a door's sessions do with what is posted to them. All of it is called on the door's thread.
public protocol DoorSessions: AnyObject, Sendable {
  /// Carries out an effect. Those of one connection come in their order.
  func apply(_ effect: ClientEffect)
  /// Something was to be said to this connection, and did not fit: it has to end, as one whose network broke.
  func overflowed(_ connection: ConnectionID)
  /// Ends what has had its time. Called about once a second.
  func keepHouse()
}

/// Takes what other threads have for a door's sessions, in order, and hands it over on the door's thread.
///
///     thread.attach(sender)            // once, at the start
///     thread.post(effect, to: door)    // from any thread: never waits for a session
///
/// Before a web server is attached everything is done at once, on the thread that posts it.
public final class DoorThread: Sendable {
  /// Effects that may wait for the next time that the thread looks; one for sixteen connections counts as two. Raise it, and a thread that
  /// stands still takes more memory before connections are dropped.
  public static let capacity = 65_536
  /// Messages that the effects of one turn come to. Between turns the thread reads what clients say. Raise it, and they wait longer while a
  /// large room fills.
  static let messagesOfTurn = 1_024

  private enum Item: Sendable {
    case effect(ClientEffect)
    case call(@Sendable () -> Void)
  }

  private struct State {
    private var items: [Item] = []
    private var weight = 0
    private var overflowed: Set<ConnectionID> = []
    var isHouseDue = false
    /// A turn is on its way, or under way.
    var isTurning = false
    private(set) var isClosed = false

    /// Forgets all, and takes nothing more.
    mutating func close() {
      self = State()
      isClosed = true
    }

    var isEmpty: Bool { items.isEmpty && overflowed.isEmpty && !isHouseDue }

    mutating func add(_ effect: ClientEffect) {
      guard weight < DoorThread.capacity else { return overflowed.formUnion(effect.connections) }
      items.append(.effect(effect))
      weight += effect.weight
    }

    /// The gate of tokens bounds how many there are.
    mutating func add(_ call: @escaping @Sendable () -> Void) { items.append(.call(call)) }

    /// All effects and calls, so that whoever posts never copies what waits.
    mutating func takeItems() -> [Item] {
      defer { (items, weight) = ([], 0) }
      return items
    }

    /// Whose effects did not fit, and whether house is to be kept.
    mutating func takeRest() -> (overflowed: Set<ConnectionID>, isHouseDue: Bool) {
      defer { (overflowed, isHouseDue) = ([], false) }
      return (overflowed, isHouseDue)
    }
  }

  private let state = Locked(State())
  /// What the thread has taken and not done yet, the next one last. No other touches it.
  private let taken = Locked<[Item]>([])
  private let server = Locked<WebSocketSender?>(nil)
  /// The number of the web server's thread, once it has said so.
  private let number = Locked<UInt?>(nil)

  /// The thread of a door that has no web server yet.
  public init() {}

  /// From now on the door's thread is that of this web server.
  public func attach(_ sender: WebSocketSender) {
    server.withLock { $0 = sender }
    sender.wake { [number] in number.withLock { $0 = OwnerThread.currentNumber } }
  }

  /// The way to the web server; nil before there is one.
  public var sender: WebSocketSender? { server.withLock { $0 } }

  /// Whether the door's sessions may be touched here.
  public var isCurrent: Bool { number.withLock { $0 }.map { $0 == OwnerThread.currentNumber } ?? true }

  /// Whether anything waits.
  var keeps: Bool { state.withLock { !$0.isEmpty } || taken.withLock { !$0.isEmpty } }

  /// Hands over an effect. The connections of one that does not fit are dropped, whoever has filled the queue.
  public func post(_ effect: ClientEffect, to door: some DoorSessions) { change(door) { $0.add(effect) } }

  /// Does something on the door's thread: at once where this is it, else in its turn.
  public func run(for door: some DoorSessions, _ work: @escaping @Sendable () -> Void) {
    if isCurrent { work() } else { change(door) { $0.add(work) } }
  }

  /// Has the door keep house soon; once, however often it is asked for until then.
  public func keepHouse(of door: some DoorSessions) { change(door) { $0.isHouseDue = true } }

  private func change(_ door: some DoorSessions, _ add: (inout State) -> Void) {
    let isFirst = state.withLock { state in
      if state.isClosed { return false }
      add(&state)
      defer { state.isTurning = true }
      return !state.isTurning
    }
    if isFirst { begin(door) }
  }

  private func begin(_ door: some DoorSessions) {
    guard let sender else {
      while turn(door) {}
      return
    }
    let isTaken = sender.wake { [self] in if turn(door) { begin(door) } }
    // The server is stopped.
    if isTaken { return }
    state.withLock { $0.close() }
    taken.withLock { $0 = [] }
  }

  /// - Returns: whether more waits.
  private func turn(_ door: some DoorSessions) -> Bool {
    let rest = state.withLock { $0.takeRest() }
    for connection in rest.overflowed { door.overflowed(connection) }
    if taken.withLock({ $0.isEmpty }) {
      let items = state.withLock { $0.takeItems() }
      taken.withLock { $0 = items.reversed() }
    }
    var messages = 0
    while messages < Self.messagesOfTurn, let item = taken.withLock({ $0.popLast() }) {
      switch item {
      case .effect(let effect):
        messages += effect.messages
        door.apply(effect)
      case .call(let work):
        messages += 1
        work()
      }
    }
    if rest.isHouseDue { door.keepHouse() }
    let hasMore = taken.withLock { !$0.isEmpty }
    return state.withLock { state in
      state.isTurning = hasMore || !state.isEmpty
      return state.isTurning
    }
  }
}

/// A value that a door's thread alone touches. Debug builds trap where another does.
///
/// The lock in it is never waited for: one thread takes it. It keeps the value whole where there is no web server, as in tests and fuzzers.
public final class Owned<Value: Sendable>: Sendable {
  private let value: Locked<Value>
  private let thread: DoorThread

  /// A value of the sessions of `thread`.
  public init(_ value: Value, by thread: DoorThread) { (self.value, self.thread) = (Locked(value), thread) }

  /// Runs `body` with the value, on the door's thread. Not to be called again inside `body`.
  public func with<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    assert(thread.isCurrent, "sessions of a door were touched by another thread")
    return try value.withLock(body)
  }
}

extension ClientEffect {
  /// The connections that it is for.
  var connections: [ConnectionID] {
    switch self {
    case .reply(let connection, _, _), .event(let connection, _), .closeConnection(let connection, _),
      .setWaiting(let connection, _), .stream(let connection, _, _):
      [connection]
    case .broadcast(let receivers, _, _): receivers.map(\.connection)
    }
  }

  /// Messages that it comes to.
  var messages: Int { if case .broadcast(let receivers, _, _) = self { receivers.count } else { 1 } }

  /// What it counts for in a queue: its receivers take little beside what they are told.
  var weight: Int { if case .broadcast(let receivers, _, _) = self { 1 + receivers.count / 16 } else { 1 } }
}
