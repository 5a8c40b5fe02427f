// Which workers a room lives on, and where newcomers cannot be taken: what a worker did in the last second says nothing of those who have
// come and do not send yet, so they count with what they are expected to (`RoomForecast.swift`).
//
//   place, publish, leave ─▶ what each room sends and is expected to ─┐
//   a worker's CPU time, each second ─────────────────────────────────┴─▶ forecast ─▶ `MediaLoad`, where a state changes

import Members

/// The workers' share of rooms and seats.
struct RoomPlacement {
  private struct Place {
    let room: Members.RoomKey
    let worker: Int
    var seat: ExpectedSeat
    var age = SeatAge.new
  }

  private var seats: [SeatID: Place] = [:]
  private var rooms: [Members.RoomKey: RoomParts] = [:]
  /// How many rooms have parts on both of two workers.
  private var shared: [WorkerPair: Int] = [:]
  private let spread: RoomSpread
  private var workers: [WorkerForecast]
  /// By worker those who came since its last report, and those who came in the second before and did not send at its end.
  private var recent: [(new: [SeatID], reported: [SeatID])]
  private var states: [WorkerAdmission.State]
  private var hasChanged = false

  /// No rooms, on so many workers, none of which takes anybody beyond `fullAbove` percent of a CPU; at 100 all do.
  init(workers: Int, fullAbove: Int = WorkerForecast.fullAbove, spread: RoomSpread = .off) {
    self.workers = Array(repeating: WorkerForecast(fullAbove: fullAbove), count: workers)
    recent = Array(repeating: ([], []), count: workers)
    states = Array(repeating: .open, count: workers)
    self.spread = spread
  }

  /// Seats somebody: the first of a room where the fewest seats are, on a worker that takes new rooms; others beside them, where rooms are not
  /// spread.
  mutating func place(_ id: SeatID, in room: Members.RoomKey, _ seat: ExpectedSeat = ExpectedSeat()) -> Int {
    let worker = rooms[room].map(choose) ?? emptiest
    begin(room, on: worker)
    seats[id] = Place(room: room, worker: worker, seat: seat)
    recent[worker].new.append(id)
    workers[worker].seats += 1
    change(room, on: worker) { $0.add(seat, .new) }
    return worker
  }

  /// The worker of a further seat in a room.
  private func choose(_ room: RoomParts) -> Int {
    let own = room.workers
    let open = workers.indices.filter { states[$0] == .open && !own.contains($0) }
    let able = own.filter { states[$0] != .full }
    switch spread {
    case .off: return own[0]
    case .always:
      func load(_ worker: Int) -> (Int, Int) { (room[worker]?.forecast.seats ?? 0, workers[worker].seats) }
      let all = able.isEmpty && open.isEmpty ? own : (able + open).sorted()
      return all.min { load($0) < load($1) } ?? own[0]
    case .load:
      let choices = [
        able.filter { !workers[$0].isNearlyFull }, open.filter { !workers[$0].isNearlyFull }, able, open, own,
      ]
      return choices.first { !$0.isEmpty }?.min { workers[$0].percent < workers[$1].percent } ?? own[0]
    }
  }

  /// A part of a room begins on a worker, where there is none yet.
  private mutating func begin(_ room: Members.RoomKey, on worker: Int) {
    if rooms[room]?[worker] != nil { return }
    let others = workers(of: room)
    rooms[room, default: RoomParts()].begin(on: worker)
    for other in others { shared[WorkerPair(worker, other), default: 0] += 1 }
    noteParts(worker, others)
  }

  /// A part of a room has ended; it is on these others still.
  private mutating func end(_ room: Members.RoomKey, on worker: Int) {
    let others = workers(of: room)
    if others.isEmpty { rooms[room] = nil }
    for other in others {
      let pair = WorkerPair(worker, other)
      shared[pair] = shared[pair].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
    noteParts(worker, others)
  }

  /// Where a room begins or ends: it may be on a full worker where all are full, as the room of a call that was let in before, and may begin
  /// anew where there is room. A room with several parts is full or not by all of them.
  private mutating func noteParts(_ worker: Int, _ others: [Int]) {
    if states[worker] == .full || !others.isEmpty && states.contains(.full) { hasChanged = true }
  }

  private var emptiest: Int {
    let open = workers.indices.filter { states[$0] == .open }
    let able = open.isEmpty ? workers.indices.filter { states[$0] != .full } : open
    let those = able.isEmpty ? Array(workers.indices) : able
    return those.min { workers[$0].seats < workers[$1].seats } ?? 0
  }

  /// The workers that a room has seats on, in the order in which they came to it.
  func workers(of room: Members.RoomKey) -> [Int] { rooms[room]?.workers ?? [] }

  /// Whether there is a room with seats on both.
  func shareRoom(_ pair: WorkerPair) -> Bool { shared[pair] != nil }

  /// Whether another room is on the worker of a seat, or on none yet, or may come to any.
  func mayMove(_ id: SeatID, to room: Members.RoomKey) -> Bool {
    guard let worker = seats[id]?.worker else { return false }
    return rooms[room].map { spread == .always || $0[worker] != nil } ?? true
  }

  /// Moves a seat to another room on its worker, where one that nobody is in yet begins. It may send what `seat` says, and goes on with what it
  /// publishes.
  mutating func move(_ id: SeatID, to room: Members.RoomKey, _ seat: ExpectedSeat = ExpectedSeat()) {
    guard mayMove(id, to: room), let place = seats[id], room != place.room else { return }
    begin(room, on: place.worker)
    var seat = seat
    seat.publishes = place.seat.publishes
    seats[id] = Place(room: room, worker: place.worker, seat: seat, age: place.age)
    change(room, on: place.worker) { $0.add(seat, place.age) }
    takeOut(place)
  }

  /// A seat that was placed is gone.
  mutating func leave(_ id: SeatID) {
    guard let place = seats.removeValue(forKey: id) else { return }
    workers[place.worker].seats -= 1
    if place.age != .settled { workers[place.worker].gone(place.seat) }
    takeOut(place)
  }

  private mutating func takeOut(_ place: Place) {
    change(place.room, on: place.worker) { $0.add(place.seat, place.age, by: -1) }
  }

  /// A seat publishes a track, or (`by` -1) no longer does.
  mutating func publish(_ kind: TrackWeight, of id: SeatID, by count: Int = 1) {
    guard let place = seats[id] else { return }
    var seat = place.seat
    seat.publishes = max(0, seat.publishes + count * kind.rawValue)
    seats[id]?.seat = seat
    change(place.room, on: place.worker) {
      $0.add(place.seat, place.age, by: -1)
      $0.add(seat, place.age)
    }
  }

  /// Notes what a worker used of a CPU in its last second. Who sends is in it from then on; who does not yet gets another second.
  mutating func report(_ percent: Double, of worker: Int) {
    guard workers.indices.contains(worker) else { return }
    workers[worker].note(percent)
    let (reported, new) = (recent[worker].reported, recent[worker].new)
    recent[worker] = ([], [])
    for id in reported { grow(id, to: .settled) }
    for id in new {
      let sends = (seats[id]?.seat.publishes ?? 0) > 0
      grow(id, to: sends ? .settled : .reported)
      if !sends { recent[worker].reported.append(id) }
    }
    judge(worker, isReport: true)
  }

  private mutating func grow(_ id: SeatID, to age: SeatAge) {
    guard let place = seats[id] else { return }
    seats[id]?.age = age
    change(place.room, on: place.worker) {
      $0.add(place.seat, place.age, by: -1)
      $0.add(place.seat, age)
    }
  }

  private mutating func change(
    _ room: Members.RoomKey, on worker: Int, _ body: (inout RoomForecast) -> Void
  ) {
    guard let isOver = rooms[room]?.change(on: worker, &workers, body) else { return }
    judge(worker)
    if isOver { end(room, on: worker) }
    // What one part sends is work for the others.
    for part in rooms[room]?.parts ?? [] where part.worker != worker { judge(part.worker) }
  }

  /// Doors close at once. They open with a report, so that those who come and go at the edge do not have them open and close each time; or
  /// where so many have gone that there may be none.
  private mutating func judge(_ worker: Int, isReport: Bool = false) {
    let state = workers[worker].state(after: states[worker])
    guard state != states[worker] else { return }
    if state < states[worker], !isReport, !workers[worker].isQuiet { return }
    (states[worker], hasChanged) = (state, true)
  }

  /// Where newcomers cannot be taken, if that has changed since it was asked last: the rooms on full workers, and new rooms somewhat before
  /// the last worker is full.
  mutating func takeChange() -> MediaLoad? {
    guard hasChanged else { return nil }
    hasChanged = false
    return mediaLoad
  }

  /// The same now.
  var mediaLoad: MediaLoad {
    let takesRooms = states.contains(.open)
    if takesRooms && spread != .off { return MediaLoad() }
    let full = rooms.lazy.filter { $0.value.workers.allSatisfy { states[$0] == .full } }
    return MediaLoad(fullRooms: Set(full.map(\.key)), takesRooms: takesRooms)
  }

  /// Who is taken on each worker.
  var admission: [WorkerAdmission] { workers.indices.map { workers[$0].admission(states[$0]) } }
}
