// Which worker a room lives on once others have gone: a seat that is left counts nowhere any more.

import Testing

@testable import Members
@testable import MediaControl

@Suite struct RoomPlacementTests {
  private let hall = Members.RoomKey(1)
  private let den = Members.RoomKey(2)
  private let attic = Members.RoomKey(3)

  /// A worker whose people have gone is the emptiest again, however many there were.
  @Test func whoLeavesIsNoLoadAnyMore() {
    var placement = RoomPlacement(workers: 2)
    for _ in 0..<5 { #expect(placement.place(hall) == 0) }
    #expect(placement.place(den) == 1)
    for _ in 0..<4 { placement.leave(hall, worker: 0) }
    #expect(placement.place(attic) == 0, "one and one: the first of them")
    #expect(placement.place(den) == 1)
    placement.leave(attic, worker: 0)
    placement.leave(hall, worker: 0)
    // Nobody is left on the first, two on the second: two rooms go to the first before it is even.
    for number in 10..<12 as Range<UInt64> { #expect(placement.place(Members.RoomKey(number)) == 0) }
    placement.leave(den, worker: 1)
    #expect(placement.place(Members.RoomKey(12)) == 1)
  }

  /// A room stays where it is for as long as somebody is in it, and is nowhere after that.
  @Test func aRoomIsForgottenWithItsLastSeat() {
    var placement = RoomPlacement(workers: 2)
    for _ in 0..<2 { #expect(placement.place(hall) == 0) }
    placement.setOverloaded(true, worker: 0)
    #expect(placement.mediaLoad == MediaLoad(fullRooms: [hall]))
    placement.leave(hall, worker: 0)
    #expect(placement.mediaLoad == MediaLoad(fullRooms: [hall]))
    #expect(placement.place(hall) == 0, "it stays, though its worker is too busy for others")
    for _ in 0..<2 { placement.leave(hall, worker: 0) }
    #expect(placement.mediaLoad == MediaLoad(), "nobody is turned away from a room that is not there")
    #expect(placement.place(hall) == 1, "it begins anew, where there is room")
  }

  /// A worker is told which of the two it is about: one that recovers is not another that did.
  @Test func eachWorkerIsOverloadedForItself() {
    var placement = RoomPlacement(workers: 2)
    for worker in 0..<2 { placement.setOverloaded(true, worker: worker) }
    #expect(placement.mediaLoad.isFull)
    placement.setOverloaded(false, worker: 1)
    #expect(!placement.mediaLoad.isFull && placement.place(hall) == 1)
  }
}
