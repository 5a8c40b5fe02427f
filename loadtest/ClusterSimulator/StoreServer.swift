// The store's process, and the wires that lead to it.

import Basics
import ClusterStore
import Ownership

/// A statement on its way.
struct Letter {
  let machine: Int
  let connection: Int
  /// Of the process that sent it.
  let birth: Int
  let question: QuestionID
  let statement: StoreStatement
  /// When it was sent, by true time.
  let sent: Instant
  /// Whether it goes on without its connection.
  var isLate = false
}

/// An answer on its way.
struct QuestionAnswered {
  let question: QuestionID
  let answer: StoreAnswer
}

/// One process, which takes one statement at a time.
struct StoreServer {
  private(set) var table: StoreTable
  private let flaws: StoreFlaws
  /// How many faults stop it.
  var stops = 0
  /// Faults during which there is no store at all.
  var absences = 0
  /// What it was at each change, as far back as backups reach. Empty where no fault of a run asks for it.
  private var history: [(at: Instant, table: StoreTable, isBeat: Bool)] = []
  var keepsHistory = false
  /// What has come meanwhile.
  var waiting: [Letter] = []

  init(flaws: StoreFlaws) {
    table = StoreTable(mark: StoreMark(system: 1, timeline: 1, incarnation: 1), flaws: flaws)
    self.flaws = flaws
  }

  var answers: Bool { stops == 0 && absences == 0 }

  mutating func apply(_ statement: StoreStatement, at now: Instant) -> StoreAnswer {
    let answer = table.apply(statement)
    guard keepsHistory else { return answer }
    var isBeat = false
    if case .beat = statement { isBeat = true }
    history.append((now, table, isBeat))
    if history.count > 20_000 { history.removeFirst(10_000) }
    return answer
  }

  /// The store as it was then.
  private func state(at then: Instant) -> StoreTable {
    history.last { $0.at <= then }?.table ?? StoreTable(mark: table.mark, flaws: flaws)
  }

  /// After a crash: all but the last beats is on the disk, and with each other change what came before it.
  mutating func crash(at now: Instant, losing age: TimeDelta) {
    let kept = history.last { $0.at <= now - age || !$0.isBeat }?.table
    table = kept ?? table
    beginHistory(at: now)
  }

  /// A replica takes over that has heard nothing for so long.
  mutating func failOver(at now: Instant, lag: TimeDelta) {
    var mark = table.mark
    mark.timeline += 1
    table = state(at: now - lag).marked(mark)
    beginHistory(at: now)
  }

  mutating func empty(at now: Instant) {
    var mark = table.mark
    mark.incarnation += 1
    table = StoreTable(mark: mark, flaws: flaws)
    beginHistory(at: now)
  }

  /// A dump is restored into the running server. Nothing says so, but that nodes find their beats lower. One that has not beaten since the
  /// dump could not find that, so it is not covered: then there is a new incarnation, as whoever restores has to write it.
  mutating func restoreDump(at now: Instant, age: TimeDelta) {
    let dump = state(at: now - age)
    let beats = Dictionary(uniqueKeysWithValues: table.active.map { ($0.epoch, $0.beat) })
    var mark = table.mark
    if !dump.active.allSatisfy({ $0.beat < beats[$0.epoch] ?? 0 }) { mark.incarnation += 1 }
    table = dump.marked(mark)
    beginHistory(at: now)
  }

  private mutating func beginHistory(at now: Instant) { history = [(now, table, false)] }
}

/// One direction of a machine's way to the store.
struct Direction<Message> {
  var cuts = 0
  var slows = 0
  /// When the newest message arrives: none overtakes another of its connection.
  private var newest = Instant.zero
  /// What was sent while it is cut, and waits to be repeated.
  var held: [Message] = []

  mutating func arrival(at now: Instant, _ dice: inout Dice) -> Instant {
    let delay = slows > 0 ? dice.time(.milliseconds(100), .seconds(5)) : dice.time(.microseconds(100), .milliseconds(3))
    newest = max(newest + TimeDelta(nanoseconds: 1), now + delay)
    return newest
  }

  /// A new connection has an order of its own.
  mutating func beginAnew() { newest = .zero }
}

/// A machine's way to the store.
struct StoreWire {
  /// Which of its connections is the newest.
  var connection = 0
  var isOpen = false
  var out = Direction<Letter>()
  var back = Direction<QuestionAnswered>()

  var isCut: Bool { out.cuts > 0 || back.cuts > 0 }

  mutating func dial() {
    connection += 1
    isOpen = false
    out.beginAnew()
    back.beginAnew()
  }

  /// The connection is over: answers on it are lost, statements perhaps not.
  mutating func close() {
    isOpen = false
    back.held = []
  }
}
