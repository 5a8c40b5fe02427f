// What somebody without a right may not do. That a refusal changes nothing is looked at by the scene.

import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AccessTests {
  /// The reason of a refusal; nil where there was none, or another error.
  private func reason(_ scene: Scene, _ client: Client, _ request: Request) -> String? {
    guard let error = scene.refusal(client, request), error.code == .forbidden else { return nil }
    return error.data.reason
  }

  private func client(_ scene: Scene, _ user: String, without right: Grant) -> Client {
    scene.rights = Rights.all.subtracting(right)
    defer { scene.rights = .all }
    return scene.client(user)
  }

  private func offer(_ tracks: AnnouncedTrack...) -> Request {
    .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks)))
  }

  /// Whatever a door has overlooked: a session of somebody whom Swift takes for another begins at no door.
  @Test func nobodyComesInByAnEqualName() {
    let scene = Scene()
    let kim = scene.client("Kim")
    let identities = [
      Identity(user: "\u{212a}im", device: "d1", displayName: "Kim", rights: .all, isVerified: true),
      Identity(user: "Kim", device: "\u{1100}\u{1161}", displayName: "Kim", rights: .all, isVerified: true),
      Identity(user: "\u{301}Kim", device: nil, displayName: "Kim", rights: .all, isVerified: false),
    ]
    for (number, identity) in identities.enumerated() {
      let connection = ConnectionID(UInt64(900 + number))
      let effects = scene.core.apply(
        .hello(connection, .number(1), HelloParams(user: identity.user), identity), at: scene.now)
      guard case .client(.reply(connection, .number(1), .failure(let error)))? = effects.first, effects.count == 1
      else {
        Issue.record("\(effects)")
        continue
      }
      #expect(error.code == .invalidParams && error.data.field == (number == 1 ? "deviceId" : "user"))
    }
    #expect(scene.core.gauges.sessions == 1 && scene.code(kim, .room(.join(RoomJoinParams(room: "demo")))) == nil)
  }

  /// A token's rooms begin with its bytes, and a call's room with those of `call:`, wherever a letter ends.
  @Test func beginningsAreThoseOfBytes() {
    let scene = Scene()
    scene.proof = { $0.rooms = RoomScope("team-*") }
    for room in ["team-a", "team-\u{301}"] {
      #expect(scene.code(scene.client("A in \(room)"), .room(.join(RoomJoinParams(room: room)))) == nil, "\(room)")
    }
    #expect(reason(scene, scene.client("A"), .room(.join(RoomJoinParams(room: "team\u{2010}a")))) == "room")
    scene.proof = { _ in }
    #expect(CallRoom.isName("call:\u{301}x") && CallRoom.callId("call:\u{301}x") == "\u{301}x")
    let ben = scene.client("B")
    #expect(scene.code(ben, .room(.join(RoomJoinParams(room: "call:\u{301}x")))) == .forbidden)
  }

  @Test func joiningARoomIsARight() {
    let scene = Scene()
    let anna = client(scene, "A", without: .join)
    #expect(reason(scene, anna, .room(.join(RoomJoinParams(room: "demo")))) == "join")
    #expect(scene.core.gauges.participants == 0)
  }

  @Test func eachSourceIsARight() throws {
    let scene = Scene()
    let microphone = AnnouncedTrack(mid: "0", kind: .audio, label: "")
    let camera = AnnouncedTrack(mid: "1", kind: .video, label: "", source: .camera)
    let screen = AnnouncedTrack(mid: "2", kind: .video, label: "", source: .screen)
    let cases: [(Grant, AnnouncedTrack, String)] = [
      (.publishAudio, microphone, "publish:audio"), (.publishVideo, camera, "publish:video"),
      (.publishScreen, screen, "publish:screen"),
    ]
    for (right, track, name) in cases {
      let room = "room \(name)"
      let anna = client(scene, name, without: right)
      _ = try scene.join(anna, room).get()
      #expect(reason(scene, anna, offer(track)) == name)
      #expect(reason(scene, anna, offer(microphone, camera, screen)) == name)
      for (_, other, _) in cases where other.mid != track.mid { #expect(scene.code(anna, offer(other)) == nil) }
    }
  }

  /// Negotiation may find a line that was not announced: what it is counts.
  @Test func aLineThatWasNotAnnouncedNeedsTheRightToo() throws {
    let scene = Scene()
    let anna = client(scene, "A", without: .publishVideo)
    _ = try scene.join(anna).get()
    scene.unannounced = [PublishChange.Line(mid: "7", kind: .video)]
    #expect(reason(scene, anna, offer()) == "publish:video")
    #expect(scene.core.gauges.tracks == 0)
  }

  @Test func whoMayNotSubscribeReceivesNothing() throws {
    let scene = Scene()
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    let track = try #require(try scene.publish(anna, ["0:audio"])["0"])
    let ben = client(scene, "B", without: .subscribe)
    _ = try scene.join(ben).get()
    _ = try scene.publish(anna, ["1:video"])
    #expect(scene.core.gauges.subscriptions == 0, "neither what there was nor what came")
    #expect(reason(scene, ben, .subscription(.subscribe(SubscribeParams(trackId: track)))) == "subscribe")
  }

  @Test func writingIsARight() throws {
    let scene = Scene()
    let anna = client(scene, "A", without: .chat)
    _ = try scene.join(anna).get()
    #expect(reason(scene, anna, .chat(.send(ChatSendParams(room: "demo", text: "hello")))) == "chat")
    #expect(scene.code(anna, .chat(.history(ChatHistoryParams(room: "demo")))) == nil, "reading is not")
  }

  @Test func callingAndInvitingAreRights() throws {
    let scene = Scene()
    let (anna, ben) = (client(scene, "A", without: .call), client(scene, "B", without: .invite))
    _ = scene.client("C")
    let start = CallStartParams(to: ["A", "C"], kind: .group, media: .audio)
    #expect(reason(scene, anna, .call(.start(CallStartParams(to: ["B"], kind: .group, media: .audio)))) == "call")
    guard case .callStarted(let started) = try scene.request(ben, .call(.start(start))).get() else {
      Issue.record("no call")
      return
    }
    let id = started.call.callId
    #expect(reason(scene, ben, .call(.invite(CallInviteParams(callId: id, users: ["D"])))) == "invite")
    #expect(reason(scene, anna, .call(.join(CallJoinParams(callId: id)))) == "call")
    #expect(scene.code(anna, .call(.accept(CallAcceptParams(callId: id)))) == nil, "whoever is called may answer")
  }

  /// Who is neither in the call nor rung joins it, whatever the request is called.
  @Test func comingBackByAcceptIsJoining() throws {
    let scene = Scene()
    let (anna, ben) = (client(scene, "A", without: .call), scene.client("B"))
    let stranger = client(scene, "S", without: .call)
    _ = (scene.client("C"), scene.client("D"))
    let accept = { (id: String) in Request.call(.accept(CallAcceptParams(callId: id))) }
    let id = try scene.start(ben, ["A", "C"], .group).call.callId
    #expect(scene.code(anna, .call(.reject(CallRejectParams(callId: id)))) == nil)
    #expect(reason(scene, anna, accept(id)) == "call", "declined, then accepted")
    #expect(scene.core.gauges.participants == 1)
    #expect(scene.code(anna, accept("nothing")) == .callNotFound)
    #expect(scene.code(stranger, accept(id)) == .notInvited)
    #expect(scene.code(ben, .call(.invite(CallInviteParams(callId: id, users: ["A"])))) == nil)
    #expect(scene.code(anna, accept(id)) == nil, "whoever is rung again may answer")
    #expect(scene.code(anna, accept(id)) == nil, "and once more on the same device")
    #expect(scene.code(anna, .call(.hangup(CallHangupParams()))) == nil)
    #expect(reason(scene, anna, accept(id)) == "call", "left, then accepted")
    #expect(scene.code(ben, .call(.end(CallParams(callId: id)))) == nil)
    #expect(scene.code(anna, accept(id)) == .callEnded)
  }

  @Test func aHelloThatNobodyVerifiedBeginsNoSession() {
    let scene = Scene()
    let anna = scene.stranger("A")
    let hello = Request.session(.hello(HelloParams(user: "A")))
    scene.apply(.request(anna.connection, .number(1), hello))
    #expect(anna.replies[.number(1)] == [.failure(ErrorObject(.notLoggedIn))])
    #expect(scene.core.gauges.sessions == 0)
  }
}
