// The grant `call` in calls: who is rung may answer without it, and that is all. Who has lost it hears no more of calls.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct CallGrantTests {
  private static let guest: Rights = [.join, .subscribe, .publishAudio]

  private func scene(_ rules: ConferenceRules = .test, restored: RestoredState = RestoredState()) -> Scene {
    let scene = Scene(rules, restored: restored)
    scene.isVerified = true
    return scene
  }

  private func client(_ scene: Scene, _ user: String, _ rights: Rights, _ device: String = "d1") -> Client {
    scene.rights = rights
    defer { scene.rights = .all }
    return scene.client(user, device)
  }

  private func renew(_ scene: Scene, _ client: Client, _ rights: Rights) {
    scene.rights = rights
    #expect(scene.code(client, .session(.token(TokenParams(token: client.user)))) == nil)
    scene.rights = .all
  }

  private func accept(_ id: String, takeover: Bool? = nil) -> Request {
    .call(.accept(CallAcceptParams(callId: id, takeover: takeover)))
  }

  private func get(_ id: String) -> Request { .call(.get(CallParams(callId: id))) }

  // MARK: - Answering

  @Test func whoIsRungAnswersWithoutIt() throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), client(scene, "B", Self.guest))
    let id = try scene.start(anna, ["B"]).call.callId
    #expect(scene.code(ben, get(id)) == nil, "what rings here is no secret")
    for _ in 0..<2 { #expect(scene.code(ben, accept(id)) == nil) }
    try scene.mediaUp(anna, ben)
    #expect(ben.takeNames().contains(.callActive) && scene.code(ben, get(id)) == nil)
    #expect(scene.code(anna, .call(.hangup(CallHangupParams()))) == nil)
    #expect(ben.takeNames() == [.callEnded, .roomClosed])
    #expect(scene.refusal(ben, get(id))?.data.reason == "call")
    #expect(scene.code(ben, .call(.hangup(CallHangupParams(callId: id)))) == nil, "once more does no harm")
  }

  @Test(arguments: [nil, true]) func theLegOfTheSessionBeforeIsNotTakenUp(takeover: Bool?) throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let id = try scene.talk(anna, ben).call.callId
    let again = client(scene, "B", [.join])
    #expect(scene.refusal(again, accept(id, takeover: takeover))?.data.reason == "call")
    #expect(scene.refusal(again, .call(.join(CallJoinParams(callId: id))))?.data.reason == "call")
    renew(scene, again, [.join, .call])
    #expect(scene.code(again, accept(id, takeover: takeover)) == nil)
  }

  @Test func anotherDeviceDoesNotTakeTheLegOver() throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let id = try scene.talk(anna, ben).call.callId
    let tablet = client(scene, "B", [.join], "tablet")
    #expect(scene.code(tablet, accept(id)) == .answeredElsewhere, "what has become of it they may know")
    #expect(scene.refusal(tablet, accept(id, takeover: true))?.data.reason == "call")
    #expect(scene.code(scene.client("B", "laptop"), accept(id, takeover: true)) == nil)
  }

  /// After a restart nobody has the leg until somebody comes back.
  @Test func aLegWithoutADeviceIsNotTakenUp() throws {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
    let before = scene(rules)
    let (anna, ben) = (before.client("A"), before.client("B"))
    let id = try before.start(anna, ["B"], .group).call.callId
    _ = try before.accept(ben, id)
    try before.mediaUp(anna, ben)
    var state = RestoredState()
    for case .call(let call) in before.stores.flatMap(\.1) { state.calls.running = [call] }
    let scene = scene(rules, restored: state)
    let guest = client(scene, "B", [.join])
    for takeover in [nil, true] {
      #expect(scene.refusal(guest, accept(id, takeover: takeover))?.data.reason == "call")
    }
    #expect(scene.code(scene.client("B", "d2"), accept(id)) == nil)
  }

  // MARK: - The cap

  @Test func comingBackByAnsweringHeedsTheCap() throws {
    let scene = scene()
    let (anna, ben, carl) = (scene.client("A"), scene.client("B"), scene.client("C"))
    let id = try scene.start(anna, ["B", "C"], .group).call.callId
    for client in [ben, carl] { #expect(scene.code(client, accept(id)) == nil) }
    #expect(scene.code(ben, .call(.hangup(CallHangupParams(callId: id)))) == nil)
    scene.proof = { $0.cap = 2 }
    renew(scene, ben, .all)
    for request in [accept(id), .call(.join(CallJoinParams(callId: id)))] {
      let refusal = try #require(scene.refusal(ben, request))
      #expect(refusal.code == .callFull && refusal.data.limit == 2 && refusal.data.joined == 3)
    }
    scene.proof = { $0.cap = 3 }
    renew(scene, ben, .all)
    #expect(scene.code(ben, accept(id)) == nil)
  }

  // MARK: - Without the grant nothing is heard

  @Test func whoHasLostItHearsNoMoreOfTheCall() throws {
    let scene = scene()
    let (anna, ben, carl) = (scene.client("A"), scene.client("B"), scene.client("C"))
    let laptop = scene.client("B", "laptop")
    let id = try scene.start(anna, ["B", "C"], .group).call.callId
    for client in [ben, carl] { #expect(scene.code(client, accept(id)) == nil) }
    #expect(scene.code(carl, .call(.hangup(CallHangupParams(callId: id)))) == nil)
    for client in [ben, carl, laptop] { _ = client.take() }
    renew(scene, ben, Rights.all.subtracting(.call))
    #expect(ben.takeNames() == [.sessionGrants, .roomClosed, .memberRemoved], "that it is over for them they hear")
    #expect(laptop.takeNames() == [.callRecord], "this one may see the list")
    _ = scene.client("D")
    #expect(scene.code(anna, .call(.invite(CallInviteParams(callId: id, users: ["D"])))) == nil)
    for client in [carl, laptop] { #expect(client.takeNames() == [.callInvited]) }
    #expect(ben.take().isEmpty)
    #expect(scene.refusal(ben, get(id))?.data.reason == "call")
    #expect(scene.code(laptop, get(id)) == nil)
    // Hanging up once more succeeds, and shows them alone.
    guard case .call(let own) = try scene.request(ben, .call(.hangup(CallHangupParams(callId: id)))).get() else {
      throw ErrorObject(.internalError)
    }
    #expect(own.call.members.map(\.user) == ["B"])
    #expect(scene.code(anna, .call(.end(CallParams(callId: id)))) == nil)
    for client in [carl, laptop] { #expect(client.takeNames() == [.callEnded]) }
    #expect(ben.take().isEmpty && scene.refusal(ben, get(id))?.data.reason == "call")
  }

  /// A caller's other devices hear how the call goes, but for those that may not call.
  @Test func aCallersOtherDeviceNeedsItToo() throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let (laptop, kiosk) = (scene.client("A", "laptop"), client(scene, "A", Self.guest, "kiosk"))
    let id = try scene.start(anna, ["B"]).call.callId
    #expect(scene.code(ben, accept(id)) == nil)
    #expect(laptop.takeNames() == [.callCreated, .callAccepted] && kiosk.take().isEmpty)
    renew(scene, kiosk, .all)
    renew(scene, laptop, Self.guest)
    for client in [laptop, kiosk] { _ = client.take() }
    try scene.mediaUp(anna, ben)
    #expect(laptop.take().isEmpty && kiosk.takeNames() == [.callActive])
  }
}
