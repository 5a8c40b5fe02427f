// What one user may ask for over all connections together.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct UserRateTests {
  private let list = Request.room(.list())

  private func scene(_ burst: Int) -> Scene {
    var rules = ConferenceRules.test
    (rules.userRequestBurst, rules.userRequestsPerSecond) = (burst, 10)
    return Scene(rules)
  }

  @Test func twoDevicesShareWhatTheirUserMayAsk() throws {
    let scene = scene(20)
    let (phone, laptop) = (scene.client("A", "phone"), scene.client("A", "laptop"))
    // Four that weigh five, whichever device asks.
    for client in [phone, laptop, phone, laptop] { #expect(scene.code(client, list) == nil) }
    guard case .failure(let error) = scene.request(phone, list) else {
      Issue.record("the fifth is refused")
      return
    }
    #expect(error.code == .rateLimited && error.data.retryable && error.data.retryAfterMs == 500)
    #expect(scene.code(laptop, list) == .rateLimited)
    // Nobody else waits for them, and going is always possible.
    #expect(scene.code(scene.client("B"), list) == nil)
    #expect(scene.code(phone, .session(.ping)) == nil && scene.code(phone, .session(.bye)) == nil)
    scene.advance(.milliseconds(500))
    #expect(scene.code(laptop, list) == nil)
    #expect(scene.code(laptop, list) == .rateLimited)
  }

  /// Whoever only says a name uses up nothing of who it is; the control has proven it, and both are one.
  @Test(arguments: [false, true]) func aNameThatIsSaidIsNobodys(isProven: Bool) {
    let scene = scene(20)
    scene.isVerified = isProven
    func come(_ device: String, from host: UInt32) -> Client {
      scene.proof = { $0.network = PeerNetwork(SocketAddress(v4: host, port: 1)) }
      return scene.client("A", device)
    }
    let (anna, other) = (come("phone", from: 0xc000_0201), come("else", from: 0xc000_0202))
    for _ in 0..<5 { _ = scene.code(other, list) }
    #expect(scene.code(other, list) == .rateLimited)
    #expect(scene.code(anna, list) == (isProven ? .rateLimited : nil))
  }

  /// What ends something is not refused, or who asks too much would stay where they do not want to be.
  @Test func whoAsksTooMuchMayLeave() {
    let scene = scene(20)
    let phone = scene.client("A")
    #expect(scene.code(phone, .room(.join(RoomJoinParams(room: "demo")))) == nil)
    for _ in 0..<5 { _ = scene.code(phone, list) }
    #expect(scene.code(phone, list) == .rateLimited)
    #expect(scene.code(phone, .room(.leave(RoomParams(room: "demo")))) == nil)
  }

  /// What a further proof does not allow any more ends at once, whatever another device of the user has asked for.
  @Test func aFurtherProofIsNeverRefused() throws {
    let scene = scene(30)
    scene.isVerified = true
    let (phone, laptop) = (scene.client("A", "phone"), scene.client("A", "laptop"))
    _ = try scene.join(phone, "demo").get()
    _ = try scene.publish(phone, ["0:audio"])
    for _ in 0..<3 { _ = scene.code(laptop, list) }
    #expect(scene.code(laptop, list) == .rateLimited)
    scene.rights = Rights.all.subtracting(.publishAudio)
    let token = Request.session(.token(TokenParams(token: "A")))
    #expect(scene.code(phone, token) == nil)
    #expect(scene.core.gauges.tracks == 0)
    #expect(scene.code(phone, list) == .rateLimited, "the budget is as it was")
    // Where nobody verifies tokens, one is a request like any other.
    let open = self.scene(20)
    let anna = open.client("A")
    for _ in 0..<4 { _ = open.code(anna, list) }
    #expect(open.code(anna, token) == .rateLimited)
  }

  // MARK: - Streams of doors beside the native one

  private func publish(_ scene: Scene, _ client: Client, _ stream: UInt64) -> ErrorObject? {
    let tracks = [AnnouncedTrack(mid: "0", kind: .audio, label: "s\(stream)")]
    return ask(scene, client, .publish(MediaConnectionID(stream), .init(pc: .publish, sdp: "offer", tracks: tracks)))
  }

  private func ask(_ scene: Scene, _ client: Client, _ request: StreamRequest) -> ErrorObject? {
    let id = client.makeID()
    scene.apply(.stream(client.connection, id, request))
    return client.replies[id]?.last?.error
  }

  /// A room and two streams cost ten each, and a third is one too many; what ends, and what others change, is never refused.
  @Test func streamsAreTakenFromTheSameBudget() throws {
    let scene = scene(30)
    let anna = scene.client("A", capabilities: .object(["clientOffers": .bool(true)]))
    _ = try scene.join(anna, "demo") { $0.autoSubscribe = false }.get()
    for stream in 2...3 as ClosedRange<UInt64> { #expect(publish(scene, anna, stream) == nil) }
    let refused = publish(scene, anna, 4)
    #expect(refused?.code == .rateLimited && refused?.data.retryAfterMs == 1_000)
    #expect(scene.code(anna, list) == .rateLimited, "requests and streams have one budget")
    #expect(ask(scene, anna, .show(MediaConnectionID(2), tracks: []))?.code == .notSubscribed)
    #expect(ask(scene, anna, .close(MediaConnectionID(3))) == nil)
    let play = StreamRequest.play(MediaConnectionID(5), tracks: [], lines: [.audio], sdp: "offer")
    #expect(ask(scene, anna, play)?.code == .rateLimited)
    scene.advance(.milliseconds(500))
    #expect(ask(scene, anna, play)?.code == .trackNotFound, "an offer to play costs five")
    scene.advance(.seconds(1))
    #expect(publish(scene, anna, 4) == nil)
  }

  /// Names that a door makes of one user's are that user for their budget; in the control they are users of their own.
  @Test(arguments: [true, false]) func namesThatAreMadeOfAnotherShareItsBudget(isSaid: Bool) throws {
    let scene = scene(20)
    scene.proof = { identity in
      identity.network = PeerNetwork(SocketAddress(v4: 0xc000_0201, port: 1))
      if isSaid { identity.countsAs = "A" }
    }
    let (one, two) = (scene.client("A-1"), scene.client("A-2"))
    for _ in 0..<4 { #expect(scene.code(one, list) == nil) }
    #expect(scene.code(one, list) == .rateLimited)
    #expect(scene.code(two, list) == (isSaid ? .rateLimited : nil))
  }

  /// The control: with a larger budget all of it passes.
  @Test func withMoreToAskNobodyIsRefused() {
    let scene = scene(1_000)
    let (phone, laptop) = (scene.client("A", "phone"), scene.client("A", "laptop"))
    for client in [phone, laptop, phone, laptop, phone] { #expect(scene.code(client, list) == nil) }
  }
}
