// Where few may publish at once: whose the places are, and for whom they wait.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct PlaceTests {
  private func refusal(_ scene: Scene, _ client: Client) -> String? {
    do {
      try scene.publish(client, ["0:audio"])
      return nil
    } catch let error as ErrorObject {
      return error.data.reason
    } catch {
      return "\(error)"
    }
  }

  /// A speaker on the stage of an open server, and a listener who wants the place.
  private func stage() throws -> (Scene, Client, Client) {
    let scene = Scene()
    let (a, b) = try scene.two(in: "stage")
    #expect(refusal(scene, a) == nil)
    return (scene, a, b)
  }

  @Test func whoReloadsThePageFindsTheirPlaceAgain() throws {
    // Some pages close the socket, others say goodbye before that, as Roost's own.
    for saysBye in [true, false] {
      let (scene, a, b) = try stage()
      if saysBye { scene.request(a, .session(.bye)) } else { scene.cut(a, clean: true) }
      #expect(refusal(scene, b) == "publishers", "it waits")
      scene.advance(.milliseconds(1_999))
      #expect(refusal(scene, b) == "publishers")
      let again = scene.client("A")
      _ = try scene.join(again, "stage").get()
      #expect(refusal(scene, again) == nil)
      #expect(refusal(scene, b) == "publishers")
    }
  }

  /// The page of an open server has another user at each load. Where users are proved, a name is nobody's.
  @Test func onAnOpenServerTheNameTellsWhoseThePlaceIs() throws {
    for isVerified in [false, true] {
      let scene = Scene()
      scene.isVerified = isVerified
      let (a, b) = (scene.client("guest-1"), scene.client("B"))
      _ = try scene.join(a, "stage") { $0.displayName = "Anna" }.get()
      _ = try scene.join(b, "stage").get()
      #expect(refusal(scene, a) == nil)
      scene.request(a, .session(.bye))
      let again = scene.client("guest-2")
      _ = try scene.join(again, "stage") { $0.displayName = "ANNA" }.get()
      #expect(refusal(scene, b) == "publishers")
      #expect(refusal(scene, again) == (isVerified ? "publishers" : nil))
    }
  }

  @Test func aPlaceWaitsForTheGraceAndNoLonger() throws {
    let (scene, a, b) = try stage()
    scene.cut(a, clean: true)
    scene.advance(.milliseconds(2_000))
    #expect(refusal(scene, b) == nil)
  }

  @Test func aLostSocketKeepsTheSeatAndNothingElse() throws {
    let (scene, a, b) = try stage()
    scene.cut(a)
    scene.advance(.milliseconds(1_999))
    #expect(refusal(scene, b) == "publishers")
    scene.advance(.milliseconds(1))
    #expect(refusal(scene, b) == nil)
  }

  @Test func anotherDeviceAndANewHelloFindItToo() throws {
    let (scene, a, b) = try stage()
    let phone = scene.client("A", "d2")
    _ = try scene.join(phone, "stage") { ($0.takeover, $0.resumeToken) = (true, a.token) }.get()
    #expect(refusal(scene, b) == "publishers" && refusal(scene, phone) == nil)
    let anew = scene.stranger("A", "d2")
    scene.hello(anew, token: phone.token)
    #expect(refusal(scene, b) == "publishers")
    _ = try scene.join(anew, "stage").get()
    #expect(refusal(scene, anew) == nil)
  }

  @Test func whoLeavesOnPurposeGivesItUp() throws {
    let (scene, a, b) = try stage()
    scene.request(a, .room(.leave(RoomParams(room: "stage"))))
    #expect(refusal(scene, b) == nil)
    let (other, c, d) = try stage()
    try other.publish(c, [], removing: ["0"])
    #expect(refusal(other, d) == nil)
  }

  @Test func whoIsPutOutHasNoPlaceLeft() throws {
    let (scene, _, b) = try stage()
    _ = scene.operate(.remove(user: "A", room: "stage"))
    #expect(refusal(scene, b) == nil)
  }

  // MARK: - With roles

  @Test func thePlaceIsLeftFreeForWhoHasTheRole() throws {
    let here = try Assembly(in: "stage")
    #expect(refusal(here.scene, here.ben) == "publishers", "a moderator is there who has not begun")
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .speaker } == nil)
    #expect(refusal(here.scene, here.carl) == "publishers")
    #expect(refusal(here.scene, here.ben) == nil)
    #expect(refusal(here.scene, here.host) == "publishers", "of those with a role the first has it")
  }

  @Test func whoHasTheRoleNeedNotWait() throws {
    let scene = Scene()
    scene.isVerified = true
    let (a, b) = try scene.two(in: "stage")
    #expect(refusal(scene, a) == nil)
    scene.rights = Rights.all.union(.moderate)
    let host = scene.client("H")
    _ = try scene.join(host, "stage").get()
    _ = a.take()
    #expect(refusal(scene, host) == nil)
    #expect(a.takeNames().contains(.trackUnpublished), "they hear that they have made way")
    #expect(scene.core.rooms.media.tracks.count == 1 && refusal(scene, a) == "publishers")
    #expect(refusal(scene, b) == "publishers")
  }

  @Test func whoLosesTheRoleLosesThePlace() throws {
    let here = try Assembly(in: "stage")
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .speaker } == nil)
    #expect(refusal(here.scene, here.ben) == nil)
    _ = here.ben.take()
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .participant } == nil)
    #expect(here.ben.takeNames() == [.roomModerated, .trackUnpublished])
    #expect(here.scene.core.gauges.tracks == 0)
    // The same where it is the grant.
    #expect(refusal(here.scene, here.host) == nil)
    here.scene.rights = .all
    #expect(here.scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
    #expect(here.scene.core.gauges.tracks == 0)
  }
}
