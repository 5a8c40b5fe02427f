// What one user may ask for over all connections together.

import Basics
import RoostProtocol
import Testing

@testable import Conference

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

  /// The control: with a larger budget all of it passes.
  @Test func withMoreToAskNobodyIsRefused() {
    let scene = scene(1_000)
    let (phone, laptop) = (scene.client("A", "phone"), scene.client("A", "laptop"))
    for client in [phone, laptop, phone, laptop, phone] { #expect(scene.code(client, list) == nil) }
  }
}
