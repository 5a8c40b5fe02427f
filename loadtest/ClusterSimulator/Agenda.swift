// What will happen, in order of time. Things of one instant come in any order, and in the same one for a seed.

import Basics

/// What happens at one moment.
enum Happening {
  /// A time that the node has asked for. `birth`: of the process that it is meant for.
  case deadline(machine: Int, birth: Int)
  /// A process goes on: it takes what has come, or shows what it has committed.
  case turn(machine: Int, birth: Int)
  case toStore(Letter)
  case fromStore(machine: Int, connection: Int, QuestionAnswered)
  case connectionUp(machine: Int, connection: Int)
  case begin(fault: Int)
  case end(fault: Int)
  /// Somebody asks this machine for something.
  case want(machine: Int)
}

/// Happenings by time.
struct Agenda {
  private typealias Entry = (at: Instant, tie: UInt64, what: Happening)

  private var heap: [Entry] = []

  var count: Int { heap.count }

  mutating func add(_ what: Happening, at: Instant, tie: UInt64) {
    heap.append((at, tie, what))
    var child = heap.count - 1
    while child > 0, Self.isBefore(heap[child], heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func next() -> (at: Instant, what: Happening)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.at, first.what)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [parent * 2 + 1, parent * 2 + 2] where child < heap.count && Self.isBefore(heap[child], heap[least])
      {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  private static func isBefore(_ a: Entry, _ b: Entry) -> Bool { (a.at, a.tie) < (b.at, b.tie) }
}
