// A request that is refused changes nothing. Every refusal of every scene is held against that (`Scene.request`); here each
// method that can be refused is.

import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RefusalTests {
  /// Two in a room with a track each, one who is elsewhere, and a call.
  private struct Cast {
    let scene: Scene
    let (anna, ben, carl): (Client, Client, Client)
    let (dora, emil): (Client, Client)
    /// Another device of Anna's, in another room.
    let laptop: Client
    let track: String
    let call: String

    init() throws {
      var rules = ConferenceRules.test
      rules.storesRecords = true
      scene = Scene(rules)
      (anna, ben) = try scene.two()
      track = try #require(try scene.publish(anna, ["0:audio", "1:video"])["0"])
      _ = try scene.publish(ben, ["0:audio"])
      carl = scene.client("C")
      _ = try scene.join(carl, "voice").get()
      laptop = scene.client("A", "d2")
      _ = try scene.join(laptop, "voice").get()
      (dora, emil) = (scene.client("D"), scene.client("E"))
      let start = CallStartParams(to: ["E"], kind: .oneToOne, media: .video)
      guard case .callStarted(let started) = try scene.request(dora, .call(.start(start))).get() else {
        throw ErrorObject(.internalError)
      }
      call = started.call.callId
      _ = try scene.request(emil, .call(.accept(CallAcceptParams(callId: call)))).get()
    }

    /// Requests that are refused, each for a reason that is found late.
    var requests: [(Client, Request)] {
      let nobody = CallParams(callId: "nobody")
      let audio = AnnouncedTrack(mid: "0", kind: .video, label: "x")
      var takeOver = RoomJoinParams(room: "demo", takeover: true)
      takeOver.displayName = "B"
      return [
        (anna, .session(.hello(HelloParams(user: "A", deviceId: "d1")))),
        (anna, .session(.resume(ResumeParams(resumeToken: anna.token, lastSeq: 0)))),
        (anna, .block(.add(BlockParams(user: "A")))),
        (carl, .room(.join(RoomJoinParams(room: "demo", displayName: "a")))),
        (anna, .room(.join(RoomJoinParams(room: "demo", displayName: "b")))),
        (laptop, .room(.join(takeOver))),
        (anna, .room(.info(RoomParams(room: "call:\(call)")))),
        (anna, .room(.moderate(ModerateParams(room: "demo", action: .kick, user: "B")))),
        (carl, .room(.raiseHand(RaiseHandParams(room: "demo", raised: true)))),
        (carl, .chat(.send(ChatSendParams(room: "demo", text: "hello")))),
        (carl, .chat(.history(ChatHistoryParams(room: "demo")))),
        (carl, .message(.send(MessageSendParams(room: "demo", topic: "x", data: 1)))),
        (carl, .message(.request(MessageRequestParams(room: "demo", to: "A", topic: "x", data: 1)))),
        (carl, .message(.request(MessageRequestParams(callId: call, to: "D", topic: "x", data: 1)))),
        (anna, .message(.answer(MessageAnswerParams(requestId: "q1", data: 1)))),
        (carl, .message(.send(MessageSendParams(callId: call, topic: "x", data: 1)))),
        (carl, .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: [audio])))),
        (anna, .peerConnection(.answer(SubscribeAnswerParams(offerId: 99, sdp: "answer")))),
        (scene.client("F"), .peerConnection(.restart(RestartParams(pc: .subscribe)))),
        (ben, .track(.unpublish(TrackParams(trackId: track)))), (ben, .track(.mute(TrackParams(trackId: track)))),
        (ben, .track(.unmute(TrackParams(trackId: track)))),
        (anna, .subscription(.subscribe(SubscribeParams(trackId: track)))),
        (anna, .subscription(.unsubscribe(SubscriptionParams(subscriptionId: "s999")))),
        (anna, .subscription(.update(SubscriptionUpdateParams(subscriptionId: "s999", paused: true)))),
        (anna, .subscription(.swap(SwapParams(a: "s998", b: "s999")))),
        (carl, .view(.open(ViewOpenParams(count: 1)))),
        (anna, .view(.show(ViewShowParams(views: [ViewWish(subscriptionId: "s999")])))),
        (dora, .call(.start(CallStartParams(to: ["D"], kind: .oneToOne, media: .video)))),
        (anna, .call(.ringing(nobody))), (carl, .call(.accept(CallAcceptParams(callId: call)))),
        (carl, .call(.reject(CallRejectParams(callId: call)))),
        (carl, .call(.cancel(CallCancelParams(callId: call)))),
        (carl, .call(.hangup(CallHangupParams(callId: call)))),
        (carl, .call(.invite(CallInviteParams(callId: call, users: ["A"])))),
        (carl, .call(.cancelInvite(CallCancelInviteParams(callId: call, users: ["A"])))),
        (carl, .call(.join(CallJoinParams(callId: call)))), (carl, .call(.get(nobody))),
        (carl, .call(.mediaChange(MediaChangeParams(callId: call, action: .request, media: .audio)))),
        (carl, .call(.end(CallParams(callId: call)))),
      ]
    }
  }

  /// Methods that nothing is refused of.
  private static let willing: Set<Method> = [
    .sessionToken, .sessionBye, .ping, .userQuery, .userUnblock, .userBlocked, .roomLeave, .roomList, .callCurrent,
    .callAvailable, .callHistory,
  ]

  @Test func aRefusalOfAnyMethodChangesNothing() throws {
    let cast = try Cast()
    var refused: Set<Method> = []
    for (client, request) in cast.requests {
      let checked = cast.scene.checkedRefusals
      #expect(cast.scene.code(client, request) != nil, "\(request.method.rawValue) was not refused")
      #expect(cast.scene.checkedRefusals == checked + 1, "\(request.method.rawValue) was not looked at")
      refused.insert(request.method)
    }
    #expect(refused == Set(Method.allCases).subtracting(Self.willing))
  }

  /// The comparison finds what it is there for, however deep.
  @Test func aChangeIsFound() throws {
    let cast = try Cast()
    let before = cast.scene.core
    #expect(Differences.between(before, cast.scene.core).isEmpty)
    let mute = Request.track(.mute(TrackParams(trackId: cast.track)))
    #expect(cast.scene.code(cast.anna, mute) == nil)
    let found = Differences.between(before, cast.scene.core)
    #expect(found.contains { $0.hasPrefix("core.rooms.seating.media.tracks[") }, "\(found)")
    let ring = CallStartParams(to: ["C"], kind: .oneToOne, media: .audio)
    let quiet = cast.scene.core
    #expect(cast.scene.code(cast.ben, .call(.start(ring))) == nil)
    #expect(Differences.between(quiet, cast.scene.core).contains { $0.hasPrefix("core.calls.") })
  }
}
