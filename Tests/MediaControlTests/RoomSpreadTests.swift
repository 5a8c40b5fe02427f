// Rooms over several workers: where seats go, when such a room is full, and what its parts are expected to need.

import Basics
import RoostProtocol
import Testing

@testable import MediaControl
@testable import Members

@Suite struct RoomSpreadTests {
  private typealias Key = Members.RoomKey

  private static let streamCost = WorkerForecast.cost

  /// Where those go who come one after the other.
  private func workers(_ house: inout House, _ count: Int, room: UInt64 = 1) -> [Int?] {
    (0..<count).map { _ in house.join(room) }
  }

  @Test(arguments: [RoomSpread.load, .off]) func aRoomBeginsASecondPartWhereItsWorkerIsNearlyFull(spread: RoomSpread) {
    var house = House(workers: 2, spread: spread)
    #expect(workers(&house, 10) == Array(repeating: 0, count: 10))
    house.publish(1)
    house.pass(percent: 74)
    house.pass(percent: 79)
    guard spread != .off else {
      // The control: all stay on the first, until nobody is let in.
      #expect(house.join(1) == 0)
      house.pass(percent: 90)
      #expect(house.join(1) == nil && house.placement.mediaLoad.fullRooms == [Key(1)])
      return
    }
    #expect(house.join(1) == 1)
    #expect(house.placement.workers(of: Key(1)) == [0, 1] && house.placement.shareRoom(WorkerPair(1, 0)))
    house.pass(percent: 90)
    #expect(house.join(1) == 1 && house.placement.mediaLoad == MediaLoad())
  }

  /// One of its workers has room, or a worker that it is not on yet; or none has.
  @Test func aSpreadRoomIsFullWhereAllAre() {
    var house = House(workers: 3, spread: .load)
    _ = workers(&house, 2)
    house.pass(percent: 90)
    _ = workers(&house, 2)
    house.pass(percent: 90, of: 1)
    #expect(house.placement.workers(of: Key(1)) == [0, 1])
    #expect(house.placement.mediaLoad == MediaLoad(), "a third worker takes rooms")
    house.pass(percent: 90, of: 2)
    #expect(house.placement.takeChange() == MediaLoad(fullRooms: [Key(1)], takesRooms: false))
    #expect(house.join(1) == nil)
    house.pass(percent: 10, of: 1)
    #expect(house.placement.takeChange() == MediaLoad())
    #expect(house.join(1) == 1)
  }

  /// A lecture that people come to until the server says 5002, on workers that use what a stream costs: how many are in.
  private func audience(workers: Int, _ spread: RoomSpread, limit: Int = 15) -> Int {
    var house = House(workers: workers, fullAbove: limit, spread: spread)
    var seats = [house.join(1) ?? 0: 1]
    house.publish(1)
    for count in 1...1_000 {
      if count.isMultiple(of: 6) {
        for worker in 0..<workers {
          let own = seats[worker] ?? 0
          // The speaker's own worker has a copy for the other one; that one takes it in.
          let streams = worker == 0 ? own - 1 + (seats.count - 1) : own == 0 ? 0 : own + 1
          house.pass(1, percent: Self.streamCost * Double(4 * streams), of: worker)
        }
      }
      guard let worker = house.join(1, SendingRights()) else { continue }
      seats[worker, default: 0] += 1
    }
    return seats.values.reduce(0, +)
  }

  @Test func theAudienceIsAlmostTwice() {
    let alone = audience(workers: 1, .off)
    #expect((200..<300).contains(alone), "\(alone)")
    let spread = audience(workers: 2, .load)
    #expect(Double(spread) >= 1.8 * Double(alone), "\(spread) and \(alone)")
    // The control: another worker is of no use to a room that lives on one.
    #expect(audience(workers: 2, .off) == alone)
  }

  /// Where no limit is reached the forecast is the one of rooms that are not spread, to the last bit.
  @Test func onePartCostsWhatItDid() {
    var houses = [RoomSpread.off, .load].map { House(workers: 3, spread: $0) }
    var dice = SplitMix64(seed: 11)
    for _ in 0..<10_000 {
      let (room, roll) = (UInt64.random(in: 1...6, using: &dice), Int.random(in: 0..<6, using: &dice))
      let (worker, percent) = (Int.random(in: 0..<3, using: &dice), Double.random(in: 0...3, using: &dice))
      for index in houses.indices {
        switch roll {
        case 0, 1: if (houses[index].seats[Key(room)]?.count ?? 0) < 8 { _ = houses[index].join(room) }
        case 2: houses[index].leave(room)
        case 3: houses[index].publish(room, first: 1)
        default: houses[index].pass(1, percent: percent, of: worker)
        }
      }
      let (one, other) = (houses[0].placement.admission, houses[1].placement.admission)
      guard zip(one, other).allSatisfy({ $0.used == $1.used && $0.expected == $1.expected && $0.state == $1.state })
      else {
        Issue.record("\(one) \(other)")
        return
      }
    }
    #expect(houses[1].placement.admission.contains { $0.expected > 1 })
    // The control: one further worker is not nothing.
    #expect(
      Self.percent(publishes: 4, seats: 3, OtherParts()) < Self.percent(publishes: 4, seats: 3, OtherParts(workers: 1)))
  }

  /// What a worker is expected to need for some who have just come, of whom each publishes so much.
  private static func percent(publishes: Int, seats: Int, publishers: Int = .max, _ away: OtherParts) -> Double {
    var (worker, room) = (WorkerForecast(fullAbove: 85), RoomForecast())
    var seat = ExpectedSeat()
    (seat.may, seat.publishes, seat.publishers) = (4, publishes, publishers)
    worker.change(&room) {
      $0.away = away
      for _ in 0..<seats { $0.add(seat, .new) }
    }
    return worker.percent
  }

  /// Two who send at one worker, and one who watches at the other.
  @Test func pipesCount() {
    var workers = [WorkerForecast(fullAbove: 85), WorkerForecast(fullAbove: 85)]
    var room = RoomParts()
    for worker in 0...1 { room.begin(on: worker) }
    var seat = ExpectedSeat()
    (seat.may, seat.publishes) = (4, 4)
    for _ in 0..<2 { #expect(!room.change(on: 0, &workers) { $0.add(seat, .new) }) }
    func streams(_ worker: Int) -> Double { workers[worker].percent / Self.streamCost }
    #expect(abs(streams(0) - (8 + 8)) < 1e-9, "each to the other, and a copy of each over the pipe")
    #expect(streams(1) == 0, "nobody is there")
    #expect(!room.change(on: 1, &workers) { $0.add(ExpectedSeat(), .new) })
    #expect(abs(streams(1) - 2 * 8) < 1e-9, "to who watches, and taken in")
    // The control: where they are alone it is what they send each other.
    #expect(room.change(on: 1, &workers) { $0.add(ExpectedSeat(), .new, by: -1) })
    #expect(abs(streams(0) - 8) < 1e-9 && abs(streams(1)) < 1e-9)
  }

  @Test func whoSendsAtOnceIsBoundedOverAllParts() {
    let bounded = Self.percent(publishes: 0, seats: 5, publishers: 2, OtherParts(workers: 1, sending: 2))
    #expect(bounded == 0)
    #expect(Self.percent(publishes: 0, seats: 5, publishers: 2, OtherParts(workers: 1)) > 0, "the control")
  }

  @Test func seatsAreDealt() {
    var house = House(workers: 3, spread: .always)
    #expect(workers(&house, 7) == [0, 1, 2, 0, 1, 2, 0])
    // The fewest of the room, then the fewest at all.
    #expect(workers(&house, 4, room: 2) == [1, 2, 0, 1])
    house = House(workers: 3, spread: .load)
    #expect(workers(&house, 7) == Array(repeating: 0, count: 7), "the control")
  }

  /// A worker that is full is dealt nobody, for as long as there is another one.
  @Test func seatsAreNotDealtToWhoIsFull() {
    var house = House(workers: 2, spread: .always)
    house.pass(percent: 90)
    #expect(workers(&house, 3) == [1, 1, 1])
    house.pass(percent: 10)
    #expect(workers(&house, 2) == [0, 0])
  }

  @Test func nothingIsLeftOfPartsThatHaveGone() {
    for spread in [RoomSpread.always, .load] {
      var house = House(workers: 3, fullAbove: spread == .load ? 5 : 85, spread: spread)
      var dice = SplitMix64(seed: 7)
      let pairs = [WorkerPair(0, 1), WorkerPair(0, 2), WorkerPair(1, 2)]
      var shared: Set<WorkerPair> = []
      for _ in 0..<3_000 {
        let room = UInt64.random(in: 1...8, using: &dice)
        switch Int.random(in: 0..<7, using: &dice) {
        case 0...2: _ = house.join(room, asks: false)
        case 3: house.leave(room)
        case 4: house.publish(room, first: 2)
        case 5:
          guard let seat = house.seats[Key(room)]?.first else { continue }
          let other = room % 8 + 1
          if house.placement.mayMove(seat, to: Key(other)) { house.move(seat, from: room, to: other) }
        default: house.pass(1, percent: 3, of: Int.random(in: 0..<3, using: &dice))
        }
        shared.formUnion(pairs.filter { house.placement.shareRoom($0) })
      }
      #expect(shared.count == 3, "the control: there were such rooms")
      house.empty()
      for worker in 0..<3 { house.pass(percent: 0, of: worker) }
      #expect(house.placement.admission.allSatisfy { abs($0.expected) < 1e-6 })
      #expect(pairs.allSatisfy { !house.placement.shareRoom($0) })
      #expect((1...8 as ClosedRange<UInt64>).allSatisfy { house.placement.workers(of: Key($0)) == [] })
      #expect(house.join(1) == 0)
    }
  }

  /// A limit that lets everybody in still says when a worker is busy.
  @Test(arguments: [(RoomSpread.load, 1), (.off, 0)]) func fullAboveAHundredSpreads(spread: RoomSpread, worker: Int) {
    var house = House(workers: 2, fullAbove: 100, spread: spread)
    #expect(house.join(1) == 0)
    house.pass(percent: 80)
    #expect(house.join(1) == worker)
  }

  /// Who moves keeps their worker: to a room that is there, or on none yet. Where seats are dealt any room may come to it.
  @Test(arguments: [(RoomSpread.off, false), (.load, false), (.always, true)])
  func aMoveExtendsARoomWhereSeatsAreDealt(spread: RoomSpread, extends: Bool) {
    var house = House(workers: 2, spread: spread)
    #expect(house.join(1) == 0 && house.join(2) == 1)
    guard let seat = house.seats[Key(1)]?.first else { return }
    #expect(house.placement.mayMove(seat, to: Key(2)) == extends)
    #expect(house.placement.mayMove(seat, to: Key(3)))
    house.placement.move(seat, to: Key(2))
    #expect(house.placement.workers(of: Key(2)) == (extends ? [1, 0] : [1]))
    #expect(house.placement.workers(of: Key(1)) == (extends ? [] : [0]))
  }
}
