// What somebody says of themselves once more in the room they are in: everybody hears of it, so it is counted.

import Basics
import RoostProtocol
import Testing

@testable import Conference

@Suite struct RenewalRateTests {
  private func scene(_ burst: Int) -> Scene {
    var rules = ConferenceRules.test
    (rules.chatBurst, rules.chatPerSecond) = (burst, 2)
    return Scene(rules)
  }

  private func rejoin(_ scene: Scene, _ client: Client, name: String? = nil, _ metadata: JSONValue? = nil)
    -> ErrorObject?
  {
    scene.refusal(client, .room(.join(RoomJoinParams(room: "demo", displayName: name, metadata: metadata))))
  }

  /// What everybody reads is a message: it needs the grant to write, and a chat that is not disabled.
  @Test func whoMayNotWriteChangesNothingThatOthersRead() throws {
    let scene = Scene()
    scene.rights = Rights.all.subtracting(.chat)
    let quiet = scene.client("Q")
    scene.rights = .all
    _ = try scene.join(quiet) { $0.displayName = "quiet" }.get()
    let ben = scene.client("B")
    _ = try scene.join(ben).get()
    for change in [("loud", nil), (nil, ["x": 1])] as [(String?, JSONValue?)] {
      let error = rejoin(scene, quiet, name: change.0, change.1)
      #expect(error?.code == .forbidden && error?.data.reason == "chat")
    }
    #expect(
      rejoin(scene, quiet, name: "quiet") == nil && rejoin(scene, quiet) == nil, "what changes nothing is no message")
    #expect(rejoin(scene, ben, name: "benjamin") == nil)
    let key = try #require(scene.core.state.rooms[named: "demo"])
    scene.core.state.rooms.update(key) { $0.moderation.isChatDisabled = true }
    #expect(rejoin(scene, ben, name: "ben")?.data.reason == "chat_disabled")
  }

  /// To unmute is told to everybody: twenty times at once it is free, then it costs what a message costs.
  @Test func unmutingIsFreeAtFirst() throws {
    let scene = scene(3)
    let (anna, _) = try scene.two()
    let track = try #require(try scene.publish(anna, ["0:audio"])["0"])
    func unmute() -> ErrorCode? {
      #expect(scene.code(anna, .track(.mute(TrackParams(trackId: track)))) == nil, "muting is always free")
      return scene.code(anna, .track(.unmute(TrackParams(trackId: track))))
    }
    for _ in 0..<(ChatLimits.freeUnmutes + 3) { #expect(unmute() == nil) }
    #expect(unmute() == .rateLimited)
    #expect(scene.code(anna, .chat(.send(ChatSendParams(room: "demo", text: "hi")))) == .rateLimited, "one budget")
    scene.advance(.seconds(1))
    #expect(unmute() == nil && scene.code(anna, .chat(.send(ChatSendParams(room: "demo", text: "hi")))) == nil)
  }

  @Test func namesAndMetadataChangeSoOftenAndNoMore() throws {
    let scene = scene(3)
    let (anna, ben) = try scene.two()
    #expect(rejoin(scene, anna, name: "one") == nil && rejoin(scene, anna, ["x": 1]) == nil)
    #expect(rejoin(scene, anna, name: "two", ["x": 2]) == nil, "both at once are one change")
    #expect(ben.takeNames() == [.participantUpdated, .participantUpdated, .participantUpdated])
    for change in [("three", nil), (nil, ["x": 3])] as [(String?, JSONValue?)] {
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
    func start(_ metadata: JSONValue? = nil) -> Request {
      .call(
        .start(CallStartParams(to: ["B"], kind: .oneToOne, media: .video, clientCallId: "mine", metadata: metadata)))
    }
    guard case .callStarted(let started) = try scene.request(anna, start()).get() else {
      throw ErrorObject(.internalError)
    }
    let id = started.call.callId
    func accept(_ metadata: JSONValue) -> Request { .call(.accept(CallAcceptParams(callId: id, metadata: metadata))) }
    #expect(scene.code(ben, accept(["x": 0])) == nil, "the seat itself costs nothing of it")
    #expect(scene.code(ben, accept(["x": 1])) == nil)
    #expect(scene.code(ben, .call(.join(CallJoinParams(callId: id, metadata: ["x": 2])))) == nil)
    _ = anna.take()
    #expect(scene.code(ben, accept(["x": 3])) == .rateLimited)
    #expect(scene.code(ben, .call(.join(CallJoinParams(callId: id, metadata: ["x": 3])))) == .rateLimited)
    #expect(anna.take().isEmpty && scene.code(ben, accept(["x": 2])) == nil)
    for (index, code) in [nil, nil, ErrorCode.rateLimited].enumerated() {
      #expect(scene.code(anna, start(["y": .integer(Int64(index))])) == code)
    }
  }
}
