// What the targets check can fail: each of these must end its process.
import Basics
import Members
import RoostProtocol
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

  @Test func aRingOfSomebodyWhoIsBlockedIsNoticed() async {
    await #expect(processExitsWith: .success) {
      CoreWitness.withABlock(known: ["c"]).hear(.ring("c", from: "mallory"), "anna's")
      CoreWitness.withABlock(known: []).hear(.ring("c", from: "bert"), "anna's")
      CoreWitness.withABlock(known: []).hear(.ring("c", from: "mallory"), "bert's")
    }
    await #expect(processExitsWith: .failure) {
      CoreWitness.withABlock(known: []).hear(.ring("c", from: "mallory"), "anna's")
    }
  }

  /// What comes again has the reply of the first, and blocks nobody.
  @Test func aBlockThatIsOverIsNoLongerHeldAgainstTheConference() async {
    await #expect(processExitsWith: .success) {
      var witness = CoreWitness.withABlock(known: [])
      let again = witness.ask(.number(1), .block(.add(BlockParams(user: "mallory"))), "anna's")
      let over = witness.ask(.number(2), .block(.remove(BlockParams(user: "mallory"))), "anna's")
      #expect(!again && over)
      witness.hear(.ring("c", from: "mallory"), "anna's")
    }
  }
}

extension CoreWitness {
  /// Anna has blocked Mallory, and Bert is there.
  fileprivate static func withABlock(known calls: [String]) -> CoreWitness {
    var witness = CoreWitness()
    for user in ["anna", "bert"] { witness.admit("\(user)'s", user) }
    let request = Request.block(.add(BlockParams(user: "mallory")))
    if witness.ask(.number(1), request, "anna's") { witness.grant(request, "anna's", known: calls) }
    return witness
  }
}

extension Event {
  fileprivate static func ring(_ id: String, from caller: String) -> Event {
    let call = Call(
      callId: id, room: "call:\(id)", kind: .oneToOne, media: .audio, answerPolicy: .firstWins, rejectPolicy: .anyEnds,
      busyPolicy: .reject, state: .ringing, rev: 1, caller: caller, members: [], createdAt: 0)
    return .callIncoming(CallIncoming(call: call, from: caller, inProgress: false, waiting: false))
  }
}

extension CoreBook {
  fileprivate static func withASeat() -> CoreBook {
    var book = CoreBook()
    book.note(
      .openSeat(
        SeatID(1), room: RoomKey(1), participant: ParticipantID(1), media: .video, sound: SoundRules(),
        sends: SendingRights(), capabilities: []
      ))
    return book
  }
}
