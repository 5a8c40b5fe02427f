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
  var table: StoreTable
  /// How many faults stop it.
  var stops = 0
  /// What has come meanwhile.
  var waiting: [Letter] = []

  init(flaws: StoreFlaws) {
    table = StoreTable(mark: StoreMark(system: 1, timeline: 1, incarnation: 1), flaws: flaws)
  }
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
