// Failed tries at a token: how many are answered as such, whose, and what is written down of them.
import Basics
import Conference
import Logging
import RoostProtocol
import Testing
import Threads

@testable import Signalling

/// Knows one token.
private struct OneToken: IdentityVerifier {
  func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
    guard let token = hello.token else { throw .missing }
    guard token != "old" else { throw UnprovenIdentity(.expired) }
    guard token == "good" else { throw UnprovenIdentity(.signature) }
    return Identity(user: hello.user, device: nil, displayName: hello.user, rights: .all, isVerified: true)
  }

  func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? {
    try verify(HelloParams(user: "anna", token: token), from: peer)
  }
}

@Suite struct LimitedTriesTests {
  private let verifier = OneToken()
  private let now = Locked(Instant.zero + .seconds(100))
  private let lines = Locked<[String]>([])
  private let stranger = SocketAddress(v4: 0xcb00_7101, port: 5000)

  private func limited() -> LimitedTries {
    let log = Logger(level: .debug) { [lines] line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    return LimitedTries(verifier, log: log) { [now] in now.withLock { $0 } }
  }

  private func code(_ tries: LimitedTries, _ token: String?, from peer: SocketAddress?) -> ErrorObject? {
    do throws(UnprovenIdentity) {
      _ = try tries.verify(HelloParams(user: "anna", token: token), from: peer)
      return nil
    } catch { return error.error }
  }

  @Test func afterFiftyFailuresOneIsToldToWait() throws {
    let tries = limited()
    for number in 0..<LimitedTries.burst {
      let port = UInt16(5000 + number)
      let peer = SocketAddress(v4: 0xcb00_7101, port: port)
      #expect(code(tries, number % 2 == 0 ? "bad" : nil, from: peer)?.code == .authFailed, "\(number)")
    }
    let refusal = try #require(code(tries, "bad", from: stranger))
    #expect(refusal.code == .rateLimited && refusal.data.retryAfterMs == 1000)
    #expect(code(tries, "good", from: stranger) == nil, "a neighbour's guesses keep nobody out")
    #expect(throws: UnprovenIdentity.self) { try tries.renew("bad", from: stranger) }
    #expect(tries.statistics == TokenStatistics(failed: UInt64(LimitedTries.burst), slowed: 2))

    let neighbour = SocketAddress(v4: 0xcb00_7102, port: 5000)
    #expect(code(tries, "good", from: neighbour) == nil, "another address has nothing to do with it")
    now.withLock { $0 += .seconds(1) }
    #expect(code(tries, "good", from: stranger) == nil)
    #expect(code(tries, "bad", from: stranger)?.code == .authFailed)
    #expect(code(tries, "bad", from: stranger)?.code == .rateLimited, "one more each second")
    let told = lines.withLock { $0 }.filter { $0.contains("tokens_slowed") && $0.contains("203.0.113.1") }
    #expect(told.count == 2, "once each time that it begins: \(told)")
  }

  /// What the core counts by networks, it counts by that of the one who was believed.
  @Test func whoIsBelievedHasTheirNetwork() throws {
    let tries = limited()
    for peer in [stranger, nil] {
      let identity = try tries.verify(HelloParams(user: "anna", token: "good"), from: peer)
      #expect(identity.network == PeerNetwork(peer))
      #expect(try tries.renew("good", from: peer)?.network == PeerNetwork(peer))
    }
  }

  @Test func goodTokensAndThoseThatAreOverTakeNothing() {
    let tries = limited()
    for _ in 0..<200 {
      #expect(code(tries, "good", from: stranger) == nil)
      #expect(code(tries, "old", from: stranger)?.data.reason == "token_expired")
    }
    #expect(tries.statistics == TokenStatistics())
  }
}
