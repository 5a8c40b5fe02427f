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

  // MARK: - Where an operator lowers the number

  /// A room in which four publish sound, and two may now.
  private func lowered() throws -> (Scene, [Client]) {
    let scene = Scene()
    scene.isVerified = true
    let clients = ["A", "B", "C", "D"].map { scene.client($0) }
    for client in clients {
      _ = try scene.join(client, "hall").get()
      #expect(refusal(scene, client) == nil)
    }
    var plan = RoomPlan(kind: "group")
    plan.publishers = 2
    _ = try scene.operate(.makeRoom("hall", plan, locked: false, lobby: false)).get()
    #expect(publishing(scene) == ["A", "B", "C", "D"], "a lower number ends nothing")
    return (scene, clients)
  }

  private func publishing(_ scene: Scene) -> [String] {
    scene.core.rooms.table.seats.values.filter { !scene.core.rooms.media[$0.id].tracks.isEmpty }.map(\.user).sorted()
  }

  @Test func whatIsAddedOrReplacedEndsNothing() throws {
    let (scene, clients) = try lowered()
    try scene.publish(clients[0], ["1:video"])
    #expect(publishing(scene) == ["A", "B", "C", "D"])
    try scene.publish(clients[0], ["2:audio"], removing: ["0", "1"])
    #expect(publishing(scene) == ["A", "B", "C", "D"])
    // The next one is refused, until there are fewer.
    let late = scene.client("E")
    _ = try scene.join(late, "hall").get()
    #expect(refusal(scene, late) == "publishers")
    for client in clients.prefix(3) { scene.request(client, .room(.leave(RoomParams(room: "hall")))) }
    #expect(refusal(scene, late) == nil)
  }

  @Test func whoHasARoleTakesOnePlaceAndNoMore() throws {
    let (scene, clients) = try lowered()
    scene.rights = Rights.all.union(.moderate)
    let host = scene.client("H")
    _ = try scene.join(host, "hall").get()
    #expect(refusal(scene, host) == nil)
    #expect(publishing(scene) == ["A", "B", "C", "H"], "so that it is no more who publish")
    try scene.publish(host, ["1:video"])
    try scene.publish(host, ["2:audio"], removing: ["0", "1"])
    #expect(publishing(scene) == ["A", "B", "C", "H"])
    // Moved there, one takes as much.
    let second = scene.client("I")
    _ = try scene.join(second, "attic").get()
    try scene.publish(second, ["0:audio", "1:video"])
    _ = try scene.operate(.move(user: "I", room: "attic", to: "hall")).get()
    #expect(publishing(scene) == ["A", "B", "H", "I"] && clients[3].takeNames().contains(.trackUnpublished))
  }
}
