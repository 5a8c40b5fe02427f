// Signatures are what costs most of a request that is refused: each address has a bound of the tokens that are looked at.

import Basics
import Conference
import Logging
import RoostProtocol
import TestSupport
import Testing
import WebSockets

@testable import Signalling
@testable import Whip

@Suite struct TokenRateTests {
  /// Believes nobody, and counts how often it was asked.
  private final class Refusing: IdentityVerifier {
    let asked = Locked(0)

    func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
      asked.withLock { $0 += 1 }
      throw .missing
    }

    func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? { throw .missing }
  }

  private let verifier = Refusing()
  private let now = Locked(Instant.zero + .seconds(1))
  private let door: WhipDoor
  /// All that ask for a token: each with each of its methods.
  private let requests: [(route: HTTPRoute, method: HTTPMethod)]

  init() {
    let now = now
    door = WhipDoor(
      id: DoorID(1), log: .disabled, clock: { now.withLock { $0 } }, verifier: verifier, sink: { _ in })
    let secret = HTTPRoute.Match.pattern(PathPattern("/whep-sessions/{session}/sse/{listener}"))
    requests = door.routes.filter { $0.match != secret }.flatMap { route in
      route.methods.map { (route: route, method: $0) }
    }
  }

  private func ask(_ index: Int, of network: UInt32, _ authorization: String?) -> HTTPResponse? {
    let (route, method) = requests[index % requests.count]
    var request = HTTPRequest(
      method, path: "/whip/hall", host: "here.example", authorization: authorization,
      peer: SocketAddress(v4: network, port: 7))
    request.segments = ["room": "hall", "session": "0"]
    let answer = Locked<HTTPResponse?>(nil)
    route.handler(request) { response in answer.withLock { $0 = response } }
    return answer.withLock { $0 }
  }

  @Test func tokensAreLookedAtSoOften() throws {
    #expect(Set(requests.map(\.method)) == [.get, .head, .options, .post, .patch, .delete] && requests.count > 20)
    let (most, token) = (door.limits.tokensAtOnce, "Bearer a.b.c")
    #expect(most == 500)
    for index in 0..<most { #expect(ask(index, of: 1, token)?.status == 401) }
    for index in 0..<2 * requests.count {
      let refused = try #require(ask(index, of: 1, token))
      #expect(refused.status == 429, "\(requests[index % requests.count].method)")
      #expect(refused.headers.contains { $0.name == "retry-after" && $0.value == "1" })
    }
    #expect(verifier.asked.withLock { $0 } == most)
    // The controls: another address, requests without a token, which cost nothing, and a second later.
    #expect(ask(0, of: 2, token)?.status == 401 && ask(0, of: 1, nil)?.status == 401)
    now.withLock { $0 = $0 + .seconds(1) }
    for index in 0..<60 { #expect(ask(index, of: 1, token)?.status == (index < 50 ? 401 : 429)) }
    #expect(verifier.asked.withLock { $0 } == most + 52)
  }
}
