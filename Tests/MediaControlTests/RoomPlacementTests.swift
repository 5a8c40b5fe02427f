// Which worker a room lives on, and who is taken: those who have come and do not send yet count with what they are expected to.

import Basics
import RoostProtocol
import Testing

@testable import MediaControl
@testable import Members

@Suite struct RoomPlacementTests {
  private typealias Key = Members.RoomKey

  /// A room that begins on a full worker, by a move, takes nobody more; and what is expected of who is moved is what the new room allows.
  @Test func aRoomThatBeginsByAMoveIsFullWhereItsWorkerIs() {
    var house = House()
    _ = house.fill(1, 2)
    house.publish(1)
    house.pass(percent: 95)
    _ = house.placement.takeChange()
    guard let seat = house.seats[Key(1)]?.first else { return }
    house.placement.move(seat, to: Key(7), ExpectedSeat(.both))
    #expect(house.placement.takeChange()?.fullRooms.contains(Key(7)) == true)
  }

  /// A worker whose people have gone is the emptiest again, however many there were.
  @Test func whoLeavesIsNoLoadAnyMore() {
    var house = House(workers: 2)
    for _ in 0..<5 { #expect(house.join(1) == 0) }
    #expect(house.join(2) == 1)
    for _ in 0..<4 { house.leave(1) }
    #expect(house.join(3) == 0, "one and one: the first of them")
    #expect(house.join(2) == 1)
    house.leave(3)
    house.leave(1)
    // Nobody is left on the first, two on the second: two rooms go to the first before it is even.
    for number in 10..<12 as Range<UInt64> { #expect(house.join(number) == 0) }
    house.leave(2)
    #expect(house.join(12) == 1)
    for room in [2, 10, 11, 12] as [UInt64] { house.leave(room) }
    #expect(abs(house.expected) < 1e-9 && house.seats.isEmpty)
  }

  /// A room stays where it is for as long as somebody is in it, and is nowhere after that.
  @Test func aRoomIsForgottenWithItsLastSeat() {
    var house = House(workers: 2)
    for _ in 0..<2 { #expect(house.join(1) == 0) }
    house.placement.report(90, of: 0)
    #expect(house.placement.mediaLoad == MediaLoad(fullRooms: [Key(1)]))
    house.leave(1)
    #expect(house.placement.mediaLoad == MediaLoad(fullRooms: [Key(1)]))
    #expect(house.join(1, asks: false) == 0, "it stays, though its worker is too busy for others")
    for _ in 0..<2 { house.leave(1) }
    #expect(house.placement.mediaLoad == MediaLoad(), "nobody is turned away from a room that is not there")
    #expect(house.join(1) == 1, "it begins anew, where there is room")
  }

  /// A worker is told which of the two it is about: one that recovers is not another that did.
  @Test func eachWorkerIsOverloadedForItself() {
    var house = House(workers: 2)
    for worker in 0..<2 { house.placement.report(90, of: worker) }
    #expect(!house.placement.mediaLoad.takesRooms && house.join(1) == nil)
    house.placement.report(20, of: 1)
    #expect(house.placement.mediaLoad.takesRooms && house.join(1) == 1)
  }

  /// What a worker uses of a CPU in a second, the limit, and whether it is full then. It is open again a second after that was little.
  @Test(arguments: [
    (50.0, 85, false), (80, 85, false), (85, 85, false), (90, 85, true), (100, 85, true), (6, 5, true), (4, 5, false),
    (2, 1, true),
    (1, 1, false), (100, 99, true), (100, 100, false),
  ])
  func aWorkerIsFullAboveItsLimit(_ percent: Double, _ limit: Int, _ isFull: Bool) {
    var house = House(fullAbove: limit)
    house.pass(1, percent: percent)
    #expect((house.state == .full) == isFull)
    house.pass(1, percent: 0)
    #expect(house.state == .open)
  }

  /// Between 70 and 85 percent it stays as it was.
  @Test func aFullWorkerTakesPeopleAgainWellBelowTheLimit() {
    var house = House()
    for (percent, state) in [(77.0, WorkerAdmission.State.noNewRooms), (90, .full), (77, .full), (50, .open)] {
      house.pass(1, percent: percent)
      #expect(house.state == state, "\(percent)")
    }
  }

  /// Nine rooms of sixteen come within a second, before anybody sends. Six of them would fill the worker.
  @Test func whoComesBeforeSendingCountsAtOnce() {
    var house = House()
    let rooms = (1...9 as ClosedRange<UInt64>).map { house.fill($0, 16) }
    #expect(rooms.prefix(5).allSatisfy { $0 == 16 })
    #expect(rooms.suffix(2).allSatisfy { $0 == 0 })
    #expect(house.expected < 90)
    // The control: what has been measured says that there is room for all.
    house = House(fullAbove: 100)
    #expect((1...9 as ClosedRange<UInt64>).allSatisfy { house.fill($0, 16) == 16 })
  }

  /// What those inside cost is what others are expected to: rooms of sixteen that take 5 % each on this machine, or 25.
  @Test(arguments: [(5.0, 14...18), (25.0, 3...4)]) func whatARoomCostsIsLearnt(
    _ each: Double, _ expected: ClosedRange<Int>
  ) {
    var house = House()
    var full = 0
    for room in 1...40 as ClosedRange<UInt64> {
      if house.fill(room, 16) == 16 { full += 1 }
      house.publish(room)
      house.pass(percent: Double(full) * each)
      if house.state != .open { break }
    }
    #expect(expected.contains(full))
  }

  /// Who is in a room can still be joined when new rooms are refused.
  @Test func newRoomsAreRefusedFirst() {
    var house = House()
    #expect(house.fill(1, 10) == 10)
    house.publish(1)
    house.pass(percent: 79)
    #expect(house.state == .noNewRooms && house.join(2) == nil)
    #expect(house.join(1) == 0)
    house.pass(percent: 84)
    house.pass(percent: 60)
    #expect(house.state == .open && house.join(2) == 0)
  }

  /// An audience that pours in at fifty a second, where everybody may send and one does.
  @Test(arguments: [true, false]) func anAudienceIsLetIn(_ mayAllSend: Bool) {
    var house = House()
    let sends = mayAllSend ? SendingRights(sound: true, pictures: true, publishers: 16) : SendingRights()
    #expect(house.join(1) == 0)
    house.publish(1)
    house.pass(percent: 1)
    for second in 1...10 {
      #expect(house.fill(1, 50, sends) == 50, "second \(second)")
      house.pass(1, percent: Double(50 * second) * 0.08)
    }
    // The control: where all of them send they are too many.
    house = House()
    for _ in 0..<4 {
      _ = house.fill(1, 50)
      house.publish(1)
      house.pass(1, percent: 40)
    }
    #expect(house.seats[Key(1)].map { $0.count < 150 } == true)
  }

  /// A hundred calls of two a second are let in where calls cost what they do.
  @Test func callsAreLetIn() {
    var house = House()
    for second in 0..<5 {
      for call in 0..<100 {
        let room = UInt64(second * 100 + call)
        #expect(house.fill(room, 2) == 2)
        house.publish(room)
      }
      house.pass(1, percent: Double(second + 1) * 12)
    }
  }

  /// People come with their microphones and cameras off: they cost nothing, and more of them are let in.
  @Test func whoDoesNotSendIsNotWaitedFor() {
    var house = House()
    for room in 1...20 as ClosedRange<UInt64> {
      #expect(house.fill(room, 16) == 16)
      house.pass(percent: 1)
    }
  }

  /// A room that empties on a full worker begins anew on another one, and is not taken for full there.
  @Test func aRoomThatBeginsAnewElsewhereIsOpen() {
    var house = House(workers: 2)
    #expect(house.join(1) == 0)
    house.placement.report(90, of: 0)
    #expect(house.placement.takeChange()?.fullRooms == [Key(1)])
    house.leave(1)
    #expect(house.join(1) == 1)
    #expect(house.placement.takeChange() == MediaLoad())
  }

  /// A hundred who come and go each second, and never send, close the doors once at most.
  @Test func whoComesAndGoesIsNotWaitedForEachTime() {
    var house = House()
    for second in 0..<8 {
      _ = house.fill(1, 100)
      if second > 0 { #expect(house.fill(2, 4) == 4, "second \(second)") }
      for room in [1, 2] as [UInt64] { while house.seats[Key(room)] != nil { house.leave(room) } }
      house.pass(1, percent: 5)
    }
  }

  /// Doors close at once, and open with a report: who comes and goes at the edge moves nothing.
  @Test func doorsAtTheEdgeStayClosed() {
    var house = House()
    #expect(house.fill(1, 10) == 10)
    house.publish(1)
    house.pass(percent: 83)
    while house.join(1) != nil {}
    for _ in 0..<3 {
      house.leave(1)
      #expect(house.state == .full && house.join(1) == nil)
    }
    house.pass(1, percent: 60)
    #expect(house.state == .open)
  }

  /// Who may send nothing says nothing of how many of their room may.
  @Test func spectatorsLiftNoBound() {
    var house = House(fullAbove: 100)
    _ = house.fill(1, 60)
    let before = house.expected
    #expect(house.join(1, SendingRights()) == 0)
    #expect(house.expected < before * 1.1)
  }

  /// The sums of a worker are those of its rooms, whatever came and went: nothing is left when all have gone.
  @Test func nothingIsLeftOfThoseWhoHaveGone() {
    var house = House(fullAbove: 100)
    var dice = SplitMix64(seed: 7)
    for _ in 0..<3_000 {
      let room = UInt64.random(in: 1...8, using: &dice)
      switch Int.random(in: 0..<6, using: &dice) {
      case 0...2: _ = house.join(room)
      case 3: house.leave(room)
      case 4: house.publish(room, first: 2)
      default: house.pass(1, percent: 10)
      }
    }
    for room in 1...8 as ClosedRange<UInt64> { while house.seats[Key(room)] != nil { house.leave(room) } }
    house.pass(percent: 0)
    #expect(abs(house.expected) < 1e-6)
  }
}
