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

  /// The control: with a larger budget all of it passes.
  @Test func withMoreToAskNobodyIsRefused() {
    let scene = scene(1_000)
    let (phone, laptop) = (scene.client("A", "phone"), scene.client("A", "laptop"))
    for client in [phone, laptop, phone, laptop, phone] { #expect(scene.code(client, list) == nil) }
  }
}
