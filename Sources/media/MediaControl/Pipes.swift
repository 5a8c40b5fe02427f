// Pipes between workers: one for each two that have a room in common, opened when a track is to cross for the first time.

import Media

/// A pipe that is to be opened, or closed, between two workers.
public struct PipeOrder: Sendable, Equatable {
  /// Never used before.
  public let key: PipeKey
  /// The worker of the lower number, and the other.
  public let first: Int, second: Int
}

/// The pipes there are, by pair. One goes on for as long as its workers share a room: what is looked at now and then would else make and free its
/// memory each time.
struct Pipes {
  private var keys: [WorkerPair: PipeKey] = [:]
  private var last: UInt64 = 0
  private var opened: [PipeOrder] = [], closed: [PipeOrder] = []

  var isEmpty: Bool { keys.isEmpty }

  /// The pipe between two workers, which is opened where there is none.
  mutating func key(_ a: Int, _ b: Int) -> PipeKey {
    let pair = WorkerPair(a, b)
    if let key = keys[pair] { return key }
    last += 1
    let key = PipeKey(last)
    keys[pair] = key
    opened.append(PipeOrder(key: key, first: pair.first, second: pair.second))
    return key
  }

  /// Closes those of pairs that have nothing in common any more.
  mutating func close(where isOver: (WorkerPair) -> Bool) {
    guard !keys.isEmpty else { return }
    for (pair, key) in keys.sorted(by: { $0.value.value < $1.value.value }) where isOver(pair) {
      keys[pair] = nil
      closed.append(PipeOrder(key: key, first: pair.first, second: pair.second))
    }
  }

  /// What was opened and closed since this was asked last. What was opened is to be opened before workers are told of it; what was closed ends
  /// behind all that they are told.
  mutating func poll() -> (opened: [PipeOrder], closed: [PipeOrder]) {
    defer { (opened, closed) = ([], []) }
    return (opened, closed)
  }
}
