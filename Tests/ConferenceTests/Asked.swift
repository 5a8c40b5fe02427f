// A conference that asks its application before some actions, for tests.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// A conference that asks before some actions, with one who asks for them.
struct Asked {
  let scene: Scene
  let anna: Client

  static let join = Request.room(.join(RoomJoinParams(room: "demo")))
  static let leave = Request.room(.leave(RoomParams(room: "demo")))
  static let info = Request.room(.info(RoomParams(room: "demo")))
  static let offer = Request.peerConnection(
    .offer(
      PublishOfferParams(
        pc: .publish, sdp: "offer", tracks: [AnnouncedTrack(mid: "0", kind: .audio, label: "l")])))
  static let call = Request.call(.start(CallStartParams(to: ["B"], kind: .oneToOne, media: .audio)))

  init(
    _ kinds: Set<Question.Kind>, allowsUnanswered: Bool = false, _ change: (inout ConferenceRules) -> Void = { _ in }
  ) {
    var rules = ConferenceRules.test
    (rules.questions.kinds, rules.questions.allowsUnanswered) = (kinds, allowsUnanswered)
    change(&rules)
    scene = Scene(rules)
    anna = scene.client("A")
  }

  /// One that runs already.
  init(_ scene: Scene, _ anna: Client) { (self.scene, self.anna) = (scene, anna) }

  /// Asks for something. What is said to it meanwhile; nil: nothing.
  @discardableResult
  func send(_ request: Request, id: RequestID? = nil, from client: Client? = nil) -> RequestID {
    let client = client ?? anna
    let id = id ?? client.makeID()
    client.requests[id] = request
    scene.apply(.request(client.connection, id, request))
    return id
  }

  /// A hello that wants the place of the session before it.
  func send(_ client: Client, _ id: RequestID) {
    let params = HelloParams(user: client.user, deviceId: client.device, takeover: true)
    var identity = Identity(
      user: client.user, device: client.device, displayName: client.user, rights: .all, isVerified: false)
    scene.proof(&identity)
    scene.apply(.hello(client.connection, id, params, identity))
  }

  /// Everybody is at home from now on.
  static func move(_ scene: Scene) {
    scene.proof = { $0.network = PeerNetwork(SocketAddress(host: "192.0.2.1", port: 1)) }
  }

  func answer(_ answer: QuestionAnswer, _ index: Int? = nil) {
    let at = index ?? scene.questions.count - 1
    scene.apply(.answered(scene.questions[at].ticket, answer))
  }

  func reply(_ id: RequestID, _ client: Client? = nil) -> Result<Reply, ErrorObject>? {
    let replies = (client ?? anna).replies[id] ?? []
    #expect(replies.count <= 1, "one reply at most")
    return replies.last
  }

  func error(_ id: RequestID, _ client: Client? = nil) -> ErrorObject? { reply(id, client)?.error }
  func isDone(_ id: RequestID, _ client: Client? = nil) -> Bool { reply(id, client).map { $0.error == nil } ?? false }

  var isQuiet: Bool { scene.core.asking.isEmpty && scene.core.storing.waiters.isEmpty }
}

extension ConferenceCore {
  /// Asks about these from now on.
  mutating func ask(about kinds: Set<Question.Kind>) {
    var rules = rules
    rules.questions.kinds = kinds
    storing = Storing(rules: rules)
  }
}
