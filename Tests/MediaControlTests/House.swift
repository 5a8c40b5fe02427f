// Workers, and who sits where: people come, publish and leave, and workers report what they do.

import RoostProtocol

@testable import MediaControl
@testable import Members

/// Workers, and who sits where.
struct House {
  typealias Key = Members.RoomKey

  var placement: RoomPlacement
  private var last: UInt64 = 0
  private(set) var seats: [Key: [SeatID]] = [:]

  init(workers: Int = 1, fullAbove: Int = 85, spread: RoomSpread = .off) {
    placement = RoomPlacement(workers: workers, fullAbove: fullAbove, spread: spread)
  }

  /// Sits down; the worker, or nil where 5002 would be the answer.
  mutating func join(_ room: UInt64, _ sends: SendingRights = .both, asks: Bool = true) -> Int? {
    let key = Key(room)
    guard !asks || placement.mediaLoad.admits(to: seats[key] == nil ? nil : key) else { return nil }
    last += 1
    seats[key, default: []].append(SeatID(last))
    return placement.place(SeatID(last), in: key, ExpectedSeat(sends))
  }

  mutating func leave(_ room: UInt64) {
    guard let seat = seats[Key(room)]?.popLast() else { return }
    placement.leave(seat)
    if seats[Key(room)]?.isEmpty == true { seats[Key(room)] = nil }
  }

  /// So many join one after the other; how many are let in.
  mutating func fill(_ room: UInt64, _ count: Int, _ sends: SendingRights = .both) -> Int {
    (0..<count).count { _ in join(room, sends) != nil }
  }

  mutating func publish(_ room: UInt64, first count: Int = .max) {
    for seat in (seats[Key(room)] ?? []).prefix(count) {
      for kind in [TrackWeight.sound, .pictures] { placement.publish(kind, of: seat) }
    }
  }

  /// So many seconds pass, in each of which a worker uses so much of a CPU.
  mutating func pass(_ seconds: Int = 3, percent: Double, of worker: Int = 0) {
    for _ in 0..<seconds { placement.report(percent, of: worker) }
  }

  mutating func move(_ seat: SeatID, from room: UInt64, to other: UInt64) {
    placement.move(seat, to: Key(other), ExpectedSeat(.both))
    seats[Key(room)]?.removeAll { $0 == seat }
    if seats[Key(room)]?.isEmpty == true { seats[Key(room)] = nil }
    seats[Key(other), default: []].append(seat)
  }

  /// Everybody leaves.
  mutating func empty() { for room in seats.keys { while seats[room] != nil { leave(room.rawValue) } } }

  var expected: Double { placement.admission[0].expected }
  var state: WorkerAdmission.State { placement.admission[0].state }
}

extension SendingRights {
  static let both = SendingRights(sound: true, pictures: true, publishers: 16)
}
