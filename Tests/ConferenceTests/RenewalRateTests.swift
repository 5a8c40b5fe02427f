// What somebody says of themselves once more in the room they are in: everybody hears of it, so it is counted.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RenewalRateTests {
  private func scene(_ burst: Int) -> Scene {
    var rules = ConferenceRules.test
    (rules.chatBurst, rules.chatPerSecond) = (burst, 2)
    return Scene(rules)
  }

  private func rejoin(_ scene: Scene, _ client: Client, name: String? = nil, _ metadata: RawJSON? = nil)
    -> ErrorObject?
  {
    scene.refusal(client, .room(.join(RoomJoinParams(room: "demo", displayName: name, metadata: metadata))))
  }

  /// A client whose token may do all but write.
  private func quiet(_ scene: Scene, _ device: String = "d1") -> Client {
    scene.rights = Rights.all.subtracting(.chat)
    defer { scene.rights = .all }
    return scene.client("quiet", device)
  }

  /// What everybody reads is a message: it needs the grant to write, and a chat that is not disabled.
  @Test func whoMayNotWriteChangesNothingThatOthersRead() throws {
    let scene = Scene()
    let (quiet, ben) = (quiet(scene), scene.client("B"))
    _ = try scene.join(quiet) { $0.displayName = "Quiet" }.get()
    _ = try scene.join(ben).get()
    for change in [("loud", nil), (nil, ["x": 1]), ("QUIET", nil)] as [(String?, RawJSON?)] {
      let error = rejoin(scene, quiet, name: change.0, change.1)
      #expect(error?.code == .forbidden && error?.data.reason == "chat")
    }
    #expect(ben.take().isEmpty, "nobody hears of a refusal")
    #expect(rejoin(scene, quiet, name: "Quiet", .emptyObject) == nil && rejoin(scene, quiet) == nil)
    #expect(rejoin(scene, ben, name: "benjamin") == nil && rejoin(scene, ben, ["x": 1]) == nil, "who may, does")
  }

  @Test func moderatorsAloneChangeTheirNamesWhereChatIsDisabled() throws {
    let here = try Assembly()
    #expect(rejoin(here.scene, here.ben, name: "benjamin", ["x": 1]) == nil, "who may, does")
    #expect(here.moderate(here.host, .disableChat) == nil)
    _ = here.carl.take()
    for change in [("ben", nil), (nil, ["x": 2])] as [(String?, RawJSON?)] {
      #expect(rejoin(here.scene, here.ben, name: change.0, change.1)?.data.reason == "chat_disabled")
    }
    #expect(here.carl.take().isEmpty && rejoin(here.scene, here.ben, name: "benjamin", ["x": 1]) == nil)
    #expect(rejoin(here.scene, here.host, name: "Host") == nil)
    #expect(here.moderate(here.host, .enableChat) == nil && rejoin(here.scene, here.ben, name: "ben") == nil)
    // Nor is another device a way around it.
    #expect(here.moderate(here.host, .disableChat) == nil)
    let phone = here.scene.client("B", "phone")
    let snapshot = try here.scene.join(phone, here.room) {
      ($0.displayName, $0.metadata, $0.takeover, $0.resumeToken) = ("loud", ["x": 2], true, here.ben.token)
    }.get()
    let kept = snapshot.participants.first { $0.user == "B" }
    #expect(kept?.displayName == "ben" && kept?.metadata == ["x": 1])
  }

  /// Another device is no way around it. It gets the seat, which keeps what the others read of it.
  @Test func whoMayNotWriteKeepsTheirNameOnAnotherDevice() throws {
    let scene = Scene()
    let (quiet, ben) = (quiet(scene), scene.client("B"))
    _ = try scene.join(quiet) { ($0.displayName, $0.metadata) = ("Quiet", ["x": 1]) }.get()
    _ = try scene.join(ben).get()
    func takeOver(_ old: Client, _ new: Client, _ name: String) throws -> Participant? {
      let snapshot = try scene.join(new) {
        ($0.displayName, $0.metadata, $0.takeover, $0.resumeToken) = (name, ["x": 2], true, old.token)
      }.get()
      return snapshot.participants.first { $0.user == new.user }
    }
    let phones = [self.quiet(scene, "phone"), self.quiet(scene, "tablet")]
    let kept = try takeOver(quiet, phones[0], "loud")
    #expect(kept?.displayName == "Quiet" && kept?.metadata == ["x": 1])
    let changed = try takeOver(ben, scene.client("B", "phone"), "Ben")
    #expect(changed?.displayName == "Ben" && changed?.metadata == ["x": 2], "who may write, does")
    #expect(try takeOver(phones[0], phones[1], "Ben")?.displayName == "Quiet", "nobody looks at it")
  }

  /// A seat in a call is nobody's blackboard either.
  @Test func whoMayNotWriteChangesNothingInACall() throws {
    let scene = Scene()
    let (anna, quiet) = (scene.client("A"), quiet(scene))
    let start = CallStartParams(to: ["quiet"], kind: .oneToOne, media: .video)
    guard case .callStarted(let started) = try scene.request(anna, .call(.start(start))).get() else {
      throw ErrorObject(.internalError)
    }
    let id = started.call.callId
    func accept(_ metadata: RawJSON) -> Request { .call(.accept(CallAcceptParams(callId: id, metadata: metadata))) }
    #expect(scene.code(quiet, accept(["x": 1])) == nil && scene.code(quiet, accept(["x": 1])) == nil)
    _ = anna.take()
    #expect(scene.refusal(quiet, accept(["x": 2]))?.data.reason == "chat")
    let join = CallJoinParams(callId: id, metadata: ["x": 2])
    #expect(scene.refusal(quiet, .call(.join(join)))?.data.reason == "chat")
    #expect(anna.take().isEmpty)
    let phone = self.quiet(scene, "phone")
    let over = CallJoinParams(callId: id, takeover: true, resumeToken: quiet.token, metadata: ["x": 2])
    guard case .callRoom(let result) = try scene.request(phone, .call(.join(over))).get() else {
      throw ErrorObject(.internalError)
    }
    #expect(result.room.participants.first { $0.user == "quiet" }?.metadata == ["x": 1])
  }

  /// To unmute is told to everybody: twenty times at once it is free, then it costs what a message costs.
  @Test func unmutingIsFreeAtFirst() throws {
    let scene = scene(3)
    let (anna, ben) = try scene.two()
    let track = try #require(try scene.publish(anna, ["0:audio"])["0"])
    func unmute() -> ErrorCode? {
      #expect(scene.code(anna, .track(.mute(TrackParams(trackId: track)))) == nil, "muting is always free")
      return unmutedAlready()
    }
    func unmutedAlready() -> ErrorCode? { scene.code(anna, .track(.unmute(TrackParams(trackId: track)))) }
    let hello = Request.chat(.send(ChatSendParams(room: "demo", text: "hi")))
    // Of the budget for messages nothing is gone after the twentieth, one message after each that follows.
    for _ in 0..<ChatLimits.freeUnmutes { #expect(unmute() == nil) }
    #expect(scene.code(anna, hello) == nil)
    for _ in 0..<2 { #expect(unmute() == nil) }
    #expect(unmute() == .rateLimited && scene.code(anna, hello) == .rateLimited, "one budget")
    for _ in 0..<9 { #expect(scene.code(anna, .track(.mute(TrackParams(trackId: track)))) == nil) }
    #expect(scene.code(ben, hello) == nil, "nobody else waits")
    scene.advance(.milliseconds(500))
    #expect(unmute() == nil && unmute() == .rateLimited)
    scene.advance(.seconds(ChatLimits.freeUnmutes))
    for _ in 0..<(ChatLimits.freeUnmutes + 3) { #expect(unmute() == nil && unmutedAlready() == nil) }
    #expect(unmute() == .rateLimited)
  }

  @Test func namesAndMetadataChangeSoOftenAndNoMore() throws {
    let scene = scene(3)
    let (anna, ben) = try scene.two()
    #expect(rejoin(scene, anna, name: "one") == nil && rejoin(scene, anna, ["x": 1]) == nil)
    #expect(rejoin(scene, anna, name: "two", ["x": 2]) == nil, "both at once are one change")
    #expect(ben.takeNames() == [.participantUpdated, .participantUpdated, .participantUpdated])
    for change in [("three", nil), (nil, ["x": 3])] as [(String?, RawJSON?)] {
      let error = rejoin(scene, anna, name: change.0, change.1)
      #expect(error?.code == .rateLimited && error?.data.retryAfterMs == 500)
    }
    #expect(ben.take().isEmpty)
    #expect(scene.code(anna, .chat(.send(ChatSendParams(room: "demo", text: "hi")))) == .rateLimited, "one budget")
    // What changes nothing costs nothing and tells nobody; nobody else waits.
    for _ in 0..<9 { #expect(rejoin(scene, anna, name: "two", ["x": 2]) == nil) }
    #expect(ben.take().isEmpty && rejoin(scene, ben, name: "Ben") == nil)
    scene.advance(.milliseconds(500))
    #expect(rejoin(scene, anna, name: "three") == nil)
    #expect(rejoin(scene, anna, name: "four")?.code == .rateLimited)
  }

  /// A seat in a call is said more of by accepting, joining or starting again.
  @Test func theSameHoldsInACall() throws {
    let scene = scene(2)
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    func start(_ metadata: RawJSON? = nil) -> Request {
      .call(
        .start(CallStartParams(to: ["B"], kind: .oneToOne, media: .video, clientCallId: "mine", metadata: metadata)))
    }
    guard case .callStarted(let started) = try scene.request(anna, start()).get() else {
      throw ErrorObject(.internalError)
    }
    let id = started.call.callId
    func accept(_ metadata: RawJSON) -> Request { .call(.accept(CallAcceptParams(callId: id, metadata: metadata))) }
    #expect(scene.code(ben, accept(["x": 0])) == nil, "the seat itself costs nothing of it")
    #expect(scene.code(ben, accept(["x": 1])) == nil)
    #expect(scene.code(ben, .call(.join(CallJoinParams(callId: id, metadata: ["x": 2])))) == nil)
    _ = anna.take()
    #expect(scene.code(ben, accept(["x": 3])) == .rateLimited)
    #expect(scene.code(ben, .call(.join(CallJoinParams(callId: id, metadata: ["x": 3])))) == .rateLimited)
    #expect(anna.take().isEmpty && scene.code(ben, accept(["x": 2])) == nil)
    for (index, code) in [nil, nil, ErrorCode.rateLimited].enumerated() {
      #expect(scene.code(anna, start(["y": RawJSON(.integer(Int64(index)))])) == code)
    }
  }
}
