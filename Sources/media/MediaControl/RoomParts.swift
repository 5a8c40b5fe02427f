// A room's parts: its seats on one worker are one. What a part is sent by the others and sends them is in its forecast.

import Members

/// How rooms live on workers.
public enum RoomSpread: Sendable {
  /// Each on one.
  case off
  /// On a further one where those that a room has are nearly full.
  case load
  /// On all of them: seats are dealt.
  case always
}

/// Two different workers, in either order.
struct WorkerPair: Hashable, Sendable {
  /// The lower number, and the higher one.
  let first: Int, second: Int

  init(_ a: Int, _ b: Int) { (first, second) = (min(a, b), max(a, b)) }
}

/// Where a room lives: at least on one worker, for as long as it is kept.
struct RoomParts {
  /// The seats on one worker.
  struct Part {
    let worker: Int
    fileprivate(set) var forecast = RoomForecast()
  }

  /// The first is where the room began, or the oldest that is left.
  private(set) var parts: [Part] = []

  var isSpread: Bool { parts.count > 1 }
  var workers: [Int] { parts.map(\.worker) }

  /// The seats on a worker, where there are any.
  subscript(worker: Int) -> Part? { parts.first { $0.worker == worker } }

  /// A part begins where there is none yet. It ends with its last seat.
  mutating func begin(on worker: Int) { if self[worker] == nil { parts.append(Part(worker: worker)) } }

  /// Changes the part on a worker, and what the others are sent by it; whether that was its last seat.
  mutating func change(
    on worker: Int, _ workers: inout [WorkerForecast], _ body: (inout RoomForecast) -> Void
  ) -> Bool {
    guard let index = parts.firstIndex(where: { $0.worker == worker }) else { return false }
    workers[worker].change(&parts[index].forecast, body)
    let isOver = parts[index].forecast.seats == 0
    if isOver { parts.remove(at: index) }
    // The last one that is left is sent nothing by others.
    if isSpread || isOver { share(&workers) }
    return isOver
  }

  /// Tells each part what the others do: first what they send, then what they are expected to, which depends on that.
  private mutating func share(_ workers: inout [WorkerForecast]) {
    let (publishes, sending) = parts.reduce((0, 0)) { ($0.0 + $1.forecast.publishes, $0.1 + $1.forecast.sending) }
    let others = parts.count - 1
    for index in parts.indices {
      workers[parts[index].worker].change(&parts[index].forecast) {
        ($0.away.workers, $0.away.publishes, $0.away.sending) = (others, publishes - $0.publishes, sending - $0.sending)
      }
    }
    let expected = parts.map { workers[$0.worker].expected(of: $0.forecast) }
    let sum = expected.reduce(0, +)
    for index in parts.indices {
      // Alone it is exactly nothing, whatever was added and taken away before.
      workers[parts[index].worker].change(&parts[index].forecast) {
        $0.away.expected = others == 0 ? 0 : max(0, sum - expected[index])
      }
    }
  }
}
