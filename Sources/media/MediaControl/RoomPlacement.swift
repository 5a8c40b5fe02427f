// Which worker a room lives on, and where newcomers cannot be taken.

import Members

/// The workers' share of rooms and seats.
struct RoomPlacement {
  private var rooms: [Members.RoomKey: (worker: Int, seats: Int)] = [:]
  /// Seats on each worker.
  private var load: [Int]
  private var overloaded: Set<Int> = []

  /// No rooms, on so many workers.
  init(workers: Int) { load = Array(repeating: 0, count: workers) }

  /// A room lives on one worker: its first seat goes where the fewest seats are, on a worker that is not overloaded.
  mutating func place(_ room: Members.RoomKey) -> Int {
    let able = load.indices.filter { !overloaded.contains($0) }
    let worker = rooms[room]?.worker ?? (able.min { load[$0] < load[$1] } ?? 0)
    rooms[room] = (worker, (rooms[room]?.seats ?? 0) + 1)
    load[worker] += 1
    return worker
  }

  /// A seat that was placed is gone.
  mutating func leave(_ room: Members.RoomKey, worker: Int) {
    load[worker] -= 1
    rooms[room]?.seats -= 1
    if rooms[room]?.seats == 0 { rooms[room] = nil }
  }

  /// Notes that a worker has become too busy for newcomers, or can take them again.
  mutating func setOverloaded(_ isOverloaded: Bool, worker: Int) {
    if isOverloaded { overloaded.insert(worker) } else { overloaded.remove(worker) }
  }

  /// Where newcomers cannot be taken: the rooms on overloaded workers, and everywhere when all workers are.
  var mediaLoad: MediaLoad {
    MediaLoad(
      fullRooms: Set(rooms.lazy.filter { overloaded.contains($0.value.worker) }.map(\.key)),
      isFull: overloaded.count == load.count)
  }
}
