// Signatures are what costs most of a request that is refused: each address has a bound of the tokens that are looked at, and what is
// more waits.

import Basics
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import WebSockets

@testable import DoorKit
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
  /// What is to be done when something waits.
  private let errand = Locked<(@Sendable () -> Void)?>(nil)
  private let door: WhipDoor
  /// All that ask for a token: each with each of its methods.
  private let requests: [(route: HTTPRoute, method: HTTPMethod)]

  init() {
    let (now, errand) = (now, errand)
    var limits = TokenGate.limits
    limits.allBurst = 10 * TokenGate.burst
    let gate = TokenGate(verifier, clock: { now.withLock { $0 } }, limits: limits)
    gate.attach { _, body in
      errand.withLock { $0 = body }
      return true
    }
    door = WhipDoor(id: DoorID(1), log: .disabled, clock: { now.withLock { $0 } }, tokens: gate, sink: { _ in })
    let secret = HTTPRoute.Match.pattern(PathPattern("/whep-sessions/{session}/sse/{listener}"))
    requests = door.routes.filter { $0.match != secret }.flatMap { route in
      route.methods.map { (route: route, method: $0) }
    }
  }

  /// What is answered, now or later.
  private func ask(
    _ index: Int, of network: UInt32, _ authorization: String?, content: [UInt8] = []
  ) -> Locked<HTTPResponse?> {
    let (route, method) = requests[index % requests.count]
    var request = HTTPRequest(
      method, path: "/whip/hall", host: "here.example", authorization: authorization,
      peer: SocketAddress(v4: network, port: 7))
    request.segments = ["room": "hall", "session": "0"]
    request.content = content
    let answer = Locked<HTTPResponse?>(nil)
    route.handler(request) { response in answer.withLock { $0 = response } }
    return answer
  }

  private func pass(_ time: TimeDelta) {
    now.withLock { $0 = $0 + time }
    errand.withLock { $0 }?()
  }

  @Test func tokensAreLookedAtSoOften() throws {
    #expect(Set(requests.map(\.method)) == [.get, .head, .options, .post, .patch, .delete] && requests.count > 20)
    let (most, token) = (TokenGate.burst, "Bearer a.b.c")
    #expect(most == 500)
    for index in 0..<most {
      let answer = try #require(ask(index, of: 1, token).withLock { $0 })
      #expect(answer.status == 401 && answer.credentials == .failed)
    }
    let waiting = (0..<200).map { ask($0, of: 1, token) }
    #expect(waiting.allSatisfy { $0.withLock { $0 } == nil } && verifier.asked.withLock { $0 } == most)
    // The controls: another address, and requests without a token, which cost nothing.
    #expect(ask(0, of: 2, token).withLock { $0?.status } == 401 && ask(0, of: 1, nil).withLock { $0?.status } == 401)
    for _ in 0..<25 { pass(.milliseconds(100)) }
    #expect(verifier.asked.withLock { $0 } - most - 2 == 100, "fifty a second, as long as one waits")
    let answers = waiting.compactMap { $0.withLock { $0 } }
    #expect(answers.count == 200 && answers.count { $0.status == 401 } == 100)
    for refused in answers where refused.status != 401 {
      #expect(refused.status == 429 && refused.credentials == .sentAway)
      #expect(refused.headers.contains { $0.name == "retry-after" && $0.value == "1" })
    }
  }

  /// What waits with its token is kept in memory.
  @Test func bodiesOfSoManyBytesWait() {
    for index in 0..<TokenGate.burst { _ = ask(index, of: 1, "Bearer a.b.c") }
    let most = door.limits.waitingBytes
    #expect(most == 1 << 20)
    let content = [UInt8](repeating: 0, count: 1 << 16)
    let waiting = (0..<most >> 16).map { ask($0, of: 1, "Bearer a.b.c", content: content) }
    #expect(waiting.allSatisfy { $0.withLock { $0 } == nil })
    #expect(ask(0, of: 1, "Bearer a.b.c", content: [0]).withLock { $0?.status } == 429)
    #expect(ask(0, of: 1, "Bearer a.b.c").withLock { $0 } == nil, "without a body it waits")
    // When these are answered, others may wait.
    for _ in 0..<25 { pass(.milliseconds(100)) }
    for index in 0..<200 { _ = ask(index, of: 1, "Bearer a.b.c") }
    #expect(ask(0, of: 1, "Bearer a.b.c", content: [0]).withLock { $0 } == nil)
  }
}
