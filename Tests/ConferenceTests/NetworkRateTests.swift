// What all who come from one address may ask for together.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct NetworkRateTests {
  private let list = Request.room(.list())

  private func scene(_ burst: Int) -> Scene {
    var rules = ConferenceRules.test
    (rules.networkRequestBurst, rules.networkRequestsPerSecond) = (burst, 10)
    return Scene(rules)
  }

  /// Somebody who has come from a host, which may be none.
  private func client(_ name: String, from host: UInt32?, _ scene: Scene) -> Client {
    scene.proof = { $0.network = host.map { PeerNetwork(SocketAddress(v4: $0, port: 1)) } }
    return scene.client(name)
  }

  /// A hello weighs five, and a list of rooms as well.
  @Test func namesOfOneAddressShareWhatItMayAsk() {
    let scene = scene(30)
    let here: UInt32 = 0xc000_0201
    let clients = ["A", "B", "C"].map { client($0, from: here, scene) }
    for client in clients { #expect(scene.code(client, list) == nil) }
    for client in clients {
      guard case .failure(let error) = scene.request(client, list) else {
        Issue.record("the seventh of five each is refused")
        continue
      }
      #expect(error.code == .rateLimited && error.data.retryable && error.data.retryAfterMs == 500)
    }
    // Other addresses, and those whose address is not known, have waited for nothing.
    #expect(scene.code(client("D", from: 0xc000_0202, scene), list) == nil)
    #expect(scene.code(client("E", from: nil, scene), list) == nil)
    scene.advance(.milliseconds(500))
    #expect(scene.code(clients[1], list) == nil)
    #expect(scene.code(clients[2], list) == .rateLimited)
    #expect(scene.code(clients[2], .session(.ping)) == nil && scene.code(clients[2], .session(.bye)) == nil)
  }

  /// Sessions under new names are begun as rarely.
  @Test func hellosCount() {
    let scene = scene(10)
    let here = Identity(network: 0xc000_0201)
    for name in ["A", "B"] { #expect(refusal(of: name, here, scene) == nil) }
    let error = refusal(of: "C", here, scene)
    #expect(error?.code == .rateLimited && error?.data.retryAfterMs == 500)
    #expect(refusal(of: "D", Identity(network: 0xc000_0202), scene) == nil)
    scene.advance(.milliseconds(500))
    #expect(refusal(of: "C", here, scene) == nil)
  }

  private func refusal(of name: String, _ identity: Identity, _ scene: Scene) -> ErrorObject? {
    var identity = identity
    (identity.user, identity.displayName) = (name, name)
    let connection = ConnectionID(UInt64(1_000_000 + scene.core.gauges.sessions), door: DoorID(7))
    let params = HelloParams(user: name)
    for effect in scene.core.apply(.hello(connection, .number(1), params, identity), at: scene.now) {
      if case .client(.reply(_, _, .failure(let error))) = effect { return error }
    }
    return nil
  }

  /// What a user may not ask for has not used up what others of the address may.
  @Test func aRefusedRequestTakesFromNobody() {
    var rules = ConferenceRules.test
    (rules.networkRequestBurst, rules.networkRequestsPerSecond) = (25, 1)
    (rules.userRequestBurst, rules.userRequestsPerSecond) = (5, 1)
    let scene = Scene(rules)
    let (anna, ben) = (client("A", from: 1, scene), client("B", from: 1, scene))
    #expect(scene.code(anna, list) == nil)
    for _ in 0..<9 { #expect(scene.code(anna, list) == .rateLimited) }
    #expect(scene.code(ben, list) == nil)
  }
}

extension Identity {
  fileprivate init(network: UInt32) {
    self.init(user: "", device: nil, displayName: "", rights: .all, isVerified: false)
    self.network = PeerNetwork(SocketAddress(v4: network, port: 1))
  }
}
