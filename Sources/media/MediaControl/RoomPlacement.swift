// Which worker a room lives on, and where newcomers cannot be taken: what a worker did in the last second says nothing of those who have
// come and do not send yet, so they count with what they are expected to (`RoomForecast.swift`).
//
//   place, publish, leave ─▶ what each room sends and is expected to ─┐
//   a worker's CPU time, each second ─────────────────────────────────┴─▶ forecast ─▶ `MediaLoad`, where a state changes

import Members

/// The workers' share of rooms and seats.
struct RoomPlacement {
  private struct Place {
    let room: Members.RoomKey
    var seat: ExpectedSeat
    var age = SeatAge.new
  }

  private var seats: [SeatID: Place] = [:]
  private var rooms: [Members.RoomKey: (worker: Int, forecast: RoomForecast)] = [:]
  private var workers: [WorkerForecast]
  /// By worker those who came since its last report, and those who came in the second before and did not send at its end.
  private var recent: [(new: [SeatID], reported: [SeatID])]
  private var states: [WorkerAdmission.State]
  private var hasChanged = false

  /// No rooms, on so many workers, none of which takes anybody beyond `fullAbove` percent of a CPU; at 100 all do.
  init(workers: Int, fullAbove: Int = WorkerForecast.fullAbove) {
    self.workers = Array(repeating: WorkerForecast(fullAbove: fullAbove), count: workers)
    recent = Array(repeating: ([], []), count: workers)
    states = Array(repeating: .open, count: workers)
  }

  /// A room lives on one worker: its first seat goes where the fewest seats are, on a worker that takes new rooms.
  mutating func place(_ id: SeatID, in room: Members.RoomKey, _ seat: ExpectedSeat = ExpectedSeat()) -> Int {
    let worker = rooms[room]?.worker ?? emptiest
    if rooms[room] == nil {
      rooms[room] = (worker, RoomForecast())
      // It may be on a full worker where all are full, as the room of a call that was let in before.
      if states[worker] == .full { hasChanged = true }
    }
    seats[id] = Place(room: room, seat: seat)
    recent[worker].new.append(id)
    workers[worker].seats += 1
    change(room) { $0.add(seat, .new) }
    return worker
  }

  private var emptiest: Int {
    let open = workers.indices.filter { states[$0] == .open }
    let able = open.isEmpty ? workers.indices.filter { states[$0] != .full } : open
    let those = able.isEmpty ? Array(workers.indices) : able
    return those.min { workers[$0].seats < workers[$1].seats } ?? 0
  }

  /// Whether another room is on the worker of a seat, or on none yet.
  func mayMove(_ id: SeatID, to room: Members.RoomKey) -> Bool {
    guard let worker = seats[id].flatMap({ rooms[$0.room]?.worker }) else { return false }
    return rooms[room]?.worker ?? worker == worker
  }

  /// Moves a seat to another room on its worker, where one that nobody is in yet begins. It may send what `seat` says, and goes on with what it
  /// publishes.
  mutating func move(_ id: SeatID, to room: Members.RoomKey, _ seat: ExpectedSeat = ExpectedSeat()) {
    guard mayMove(id, to: room), let place = seats[id], let worker = rooms[place.room]?.worker, room != place.room
    else { return }
    if rooms[room] == nil {
      rooms[room] = (worker, RoomForecast())
      if states[worker] == .full { hasChanged = true }
    }
    var seat = seat
    seat.publishes = place.seat.publishes
    seats[id] = Place(room: room, seat: seat, age: place.age)
    change(room) { $0.add(seat, place.age) }
    takeOut(place, of: worker)
  }

  /// A seat that was placed is gone.
  mutating func leave(_ id: SeatID) {
    guard let place = seats.removeValue(forKey: id), let worker = rooms[place.room]?.worker else { return }
    workers[worker].seats -= 1
    if place.age != .settled { workers[worker].gone(place.seat) }
    takeOut(place, of: worker)
  }

  private mutating func takeOut(_ place: Place, of worker: Int) {
    change(place.room) { $0.add(place.seat, place.age, by: -1) }
    guard rooms[place.room]?.forecast.seats == 0 else { return }
    rooms[place.room] = nil
    // It may begin anew elsewhere, where there is room.
    if states[worker] == .full { hasChanged = true }
  }

  /// A seat publishes a track, or (`by` -1) no longer does.
  mutating func publish(_ kind: TrackWeight, of id: SeatID, by count: Int = 1) {
    guard let place = seats[id] else { return }
    var seat = place.seat
    seat.publishes = max(0, seat.publishes + count * kind.rawValue)
    seats[id]?.seat = seat
    change(place.room) {
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
    change(place.room) {
      $0.add(place.seat, place.age, by: -1)
      $0.add(place.seat, age)
    }
  }

  private mutating func change(_ room: Members.RoomKey, _ body: (inout RoomForecast) -> Void) {
    guard var entry = rooms[room] else { return }
    workers[entry.worker].change(&entry.forecast, body)
    rooms[room] = entry
    judge(entry.worker)
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
    MediaLoad(
      fullRooms: Set(rooms.lazy.filter { states[$0.value.worker] == .full }.map(\.key)),
      takesRooms: states.contains(.open))
  }

  /// Who is taken on each worker.
  var admission: [WorkerAdmission] { workers.indices.map { workers[$0].admission(states[$0]) } }
}
