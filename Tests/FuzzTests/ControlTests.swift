// What the targets check can fail: each of these must end its process.
import Basics
import Conference
import Testing

@testable import FuzzTargets

@Suite struct ControlTests {
  @Test func aLostPacketOfTheHonestOneIsNoticed() async {
    await #expect(processExitsWith: .failure) {
      let scene = WorkerScene()
      scene.wait(3, .milliseconds(20))
      scene.loseAPacket()
      scene.renew()
    }
    await #expect(processExitsWith: .success) {
      let scene = WorkerScene()
      scene.wait(3, .milliseconds(20))
      scene.renew()
    }
  }

  @Test func whatIsClosedTwiceIsNoticed() async {
    await #expect(processExitsWith: .success) {
      var book = CoreBook.withASeat()
      book.note(.closeSeat(SeatID(1)))
    }
    await #expect(processExitsWith: .failure) {
      var book = CoreBook.withASeat()
      for _ in 0..<2 { book.note(.closeSeat(SeatID(1))) }
    }
  }

  @Test func aTrackThatIsNotThereIsNoticed() async {
    await #expect(processExitsWith: .failure) {
      var book = CoreBook()
      book.note(.setMuted(TrackID(1), true))
    }
  }
}

extension CoreBook {
  fileprivate static func withASeat() -> CoreBook {
    var book = CoreBook()
    book.note(
      .openSeat(
        SeatID(1), room: RoomKey(1), participant: ParticipantID(1), media: .video, loudest: nil, capabilities: []))
    return book
  }
}
