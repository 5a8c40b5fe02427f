// Which sessions only wait, as their doors hear it. That it is right after every step `Invariants` checks in all scenes.
import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct WaitingTests {
  @Test func whoHasASeatDoesNotOnlyWait() {
    let scene = Scene()
    let anna = scene.client("anna")
    #expect(anna.isWaiting)
    _ = scene.join(anna, "demo")
    #expect(!anna.isWaiting)
    _ = scene.request(anna, .room(.leave(RoomParams(room: "demo"))))
    #expect(anna.isWaiting)
  }

  /// From the first ring to the end of the call, on every device that rings, and no longer on any.
  @Test func whoIsRungDoesNotOnlyWait() throws {
    let scene = Scene()
    let (anna, phone, tablet) = (scene.client("anna"), scene.client("ben", "phone"), scene.client("ben", "tablet"))
    let call = try scene.start(anna, ["ben"]).call.callId
    #expect(![anna, phone, tablet].contains { $0.isWaiting })
    _ = try scene.accept(phone, call)
    #expect(tablet.isWaiting && !phone.isWaiting && !anna.isWaiting, "the tablet has stopped ringing")
    _ = scene.request(anna, .call(.hangup(CallHangupParams(callId: call))))
    #expect([anna, phone, tablet].allSatisfy { $0.isWaiting })
  }

  /// Another connection begins as one that does not wait, whatever the one before was.
  @Test func aConnectionIsToldAnew() {
    let scene = Scene()
    let anna = scene.client("anna")
    scene.cut(anna)
    scene.resume(anna)
    #expect(anna.isWaiting)
  }
}
