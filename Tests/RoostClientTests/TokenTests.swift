// A session is warned that its token is over soon, and shows the next one.
import Basics
import Foundation
import RoostProtocol
import TestSupport
import Testing

@testable import RoostClient

@Suite struct TokenTests {
  private static let warning = Event.sessionExpiring(SessionExpiring(expiresAt: 1_795_251_066_370, remainingMs: 60_000))

  /// Tokens one after the other; those of `failures` cannot be had.
  private static func source(failing failures: Set<Int> = []) -> TokenSource {
    let count = Locked(0)
    return {
      let n = count.withLock { count in
        count += 1
        return count
      }
      if failures.contains(n) { throw CancellationError() }
      return "token \(n)"
    }
  }

  private static func shown(_ server: FakeServer) -> [String] {
    server.requests.compactMap { if case .session(.token(let params)) = $0 { params.token } else { nil } }
  }

  private static func hellos(_ server: FakeServer) -> [String?] {
    server.requests.compactMap { if case .session(.hello(let params)) = $0 { .some(params.token) } else { nil } }
  }

  @Test func theAppHearsTheWarningAndRenewsByHand() async throws {
    let server = try FakeServer { _ in false }
    let session = try await RoostSession.connect(
      to: server.url, hello: HelloParams(user: "anna", token: "first"), options: quick())
    let gathered = Gathered(await session.events())
    server.latest?.event(1, Self.warning)
    #expect(
      await eventually {
        gathered.contains { if case .event(let message) = $0 { message.event == Self.warning } else { false } }
      })
    #expect(Self.shown(server) == [], "without a source the app does it")
    try await session.renew(token: "second")
    #expect(Self.shown(server) == ["second"])
    await session.close()
  }

  /// The token that was shown is the one for what comes: the session is resumed, and where that fails, a new one has a fresh one.
  @Test func aSourceRenewsInTimeAndTheSessionIsResumed() async throws {
    let resumes = Locked(0)
    let server = try FakeServer { call in
      guard case .session(.resume) = call.request else { return false }
      let isFirst = resumes.withLock { count in
        count += 1
        return count == 1
      }
      if !isFirst { call.refuse(ErrorObject(.resumeExpired)) }
      return !isFirst
    }
    let options = quick { $0.token = Self.source() }
    let session = try await RoostSession.connect(to: server.url, hello: HelloParams(user: "anna"), options: options)
    let gathered = Gathered(await session.events())
    #expect(Self.hellos(server) == ["token 1"], "a hello without one gets one")
    server.latest?.event(1, Self.warning)
    #expect(await eventually { Self.shown(server) == ["token 2"] })
    server.latest?.hangUp()
    #expect(await eventually { gathered.contains { $0 == .resumed(replayed: 0) } })
    #expect(Self.shown(server) == ["token 2"] && Self.hellos(server).count == 1, "nothing has to be shown again")
    server.latest?.hangUp()
    #expect(await eventually { gathered.contains { if case .restarted = $0 { true } else { false } } })
    #expect(Self.hellos(server) == ["token 1", "token 3"])
    // And the next warning is heeded, too.
    server.latest?.event(1, Self.warning)
    #expect(await eventually { Self.shown(server) == ["token 2", "token 4"] })
    await session.close()
  }

  @Test func aSourceThatFailsIsAskedAgainAndARefusedTokenIsNot() async throws {
    let server = try FakeServer { call in
      guard case .session(.token(let params)) = call.request, params.token == "token 5" else { return false }
      call.refuse(ErrorObject(.authFailed))
      return true
    }
    let options = quick {
      $0.token = Self.source(failing: [1, 2])
      $0.tokenPause = .milliseconds(5)
    }
    let session = try await RoostSession.connect(
      to: server.url, hello: HelloParams(user: "anna", token: "first"), options: options)
    #expect(Self.hellos(server) == ["first"])
    server.latest?.event(1, Self.warning)
    #expect(await eventually { Self.shown(server) == ["token 3"] })
    server.latest?.event(2, Self.warning)
    #expect(await eventually { Self.shown(server) == ["token 3", "token 4"] })
    server.latest?.event(3, Self.warning)
    #expect(await eventually { Self.shown(server).count == 3 })
    await session.renewal.end()
    #expect(Self.shown(server).last == "token 5", "what was refused would be refused again")
    await session.close()
  }

  @Test func withoutATokenThereIsNoSession() async throws {
    let server = try FakeServer { _ in false }
    let options = quick { $0.token = Self.source(failing: [1]) }
    await #expect(throws: RoostError.self) {
      _ = try await RoostSession.connect(to: server.url, hello: HelloParams(user: "anna"), options: options)
    }
    #expect(server.requests == [])
  }
}
