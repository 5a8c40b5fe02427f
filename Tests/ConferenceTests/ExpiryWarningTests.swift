// Clients hear that their token is over soon, and go on with the next one (docs/protocol.md, session.token).

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ExpiryWarningTests {
  /// How much later than its token a session ends.
  private static let skew: Int64 = 60_000

  private func scene(_ rules: ConferenceRules = .test) -> Scene {
    let scene = Scene(rules)
    scene.isVerified = true
    return scene
  }

  /// From now on tokens are good for so long; when they end.
  @discardableResult
  private func tokens(_ scene: Scene, for milliseconds: Int64) -> Int64 {
    let end = scene.now.wallMilliseconds + milliseconds
    scene.proof = { ($0.expiresAt, $0.endsAt) = (end, end + Self.skew) }
    return end
  }

  private func renew(_ scene: Scene, _ client: Client) -> ErrorObject? {
    scene.refusal(client, .session(.token(TokenParams(token: client.user))))
  }

  @Test func aClientIsWarnedAMinuteBeforeItsTokenEnds() throws {
    let scene = scene()
    let first = tokens(scene, for: 90_000)
    let (anna, ben) = try scene.two()
    scene.advance(.milliseconds(29_999))
    #expect(anna.events.isEmpty)
    scene.advance(.milliseconds(1))
    let warning = Event.sessionExpiring(SessionExpiring(expiresAt: first, remainingMs: 60_000))
    #expect(anna.take() == [warning] && ben.take() == [warning], "each of its own token")

    // Anna shows the next one. Ben does not.
    let second = tokens(scene, for: 300_000)
    #expect(renew(scene, anna) == nil)
    scene.advance(.milliseconds(119_999))
    #expect(anna.events.isEmpty && ben.events.isEmpty, "it is said once")
    scene.advance(.milliseconds(1))
    #expect(ben.closed == .tokenExpired && anna.closed == nil, "the first token's session would end here")

    // The session that was renewed is resumed as any other.
    _ = anna.take()
    scene.cut(anna)
    guard case .resumed(.replayed(0)) = try scene.resume(anna).get() else {
      Issue.record("not resumed")
      return
    }
    scene.advance(.milliseconds(119_999))
    #expect(anna.events.isEmpty)
    scene.advance(.milliseconds(1))
    #expect(anna.take() == [.sessionExpiring(SessionExpiring(expiresAt: second, remainingMs: 60_000))])
    scene.advance(.milliseconds(120_000))
    #expect(anna.take() == [.sessionClosing(SessionClosing(action: .stop, reason: .tokenExpired))])
  }

  @Test func withLessThanAMinuteLeftItIsSaidAtOnce() throws {
    let scene = scene()
    let first = tokens(scene, for: 20_000)
    let anna = scene.client("A")
    scene.advance(.zero)
    #expect(anna.take() == [.sessionExpiring(SessionExpiring(expiresAt: first, remainingMs: 20_000))])
    // Who answers each warning by a token that is as short is not told without end.
    let second = tokens(scene, for: 20_000)
    #expect(renew(scene, anna) == nil)
    scene.advance(.milliseconds(9_999))
    #expect(anna.events.isEmpty)
    scene.advance(.milliseconds(1))
    #expect(anna.take() == [.sessionExpiring(SessionExpiring(expiresAt: second, remainingMs: 10_000))])
    // One that is over already is good for a minute, as clocks differ.
    tokens(scene, for: -57_000)
    #expect(renew(scene, anna) == nil)
    scene.advance(.milliseconds(2_999))
    #expect(anna.events.isEmpty && anna.closed == nil)
    scene.advance(.milliseconds(1))
    #expect(anna.takeNames() == [.sessionClosing] && anna.closed == .tokenExpired)
    let over = tokens(scene, for: -57_000)
    let ben = scene.client("B")
    scene.advance(.zero)
    #expect(ben.take().first == .sessionExpiring(SessionExpiring(expiresAt: over, remainingMs: 0)))
  }

  @Test func whoWasAwayHearsItOnComingBack() throws {
    let scene = scene()
    let end = tokens(scene, for: 61_000)
    let anna = scene.client("A")
    scene.cut(anna)
    scene.advance(.milliseconds(1_000))
    guard case .resumed(.replayed(1)) = try scene.resume(anna).get() else {
      Issue.record("not resumed")
      return
    }
    #expect(anna.take() == [.sessionExpiring(SessionExpiring(expiresAt: end, remainingMs: 60_000))])
  }

  /// Among what was missed the warning may be gone; then it is said anew, with what is left.
  @Test func afterAGapItIsSaidAgain() throws {
    let scene = scene()
    let end = tokens(scene, for: 61_000)
    let (anna, ben) = try scene.two()
    scene.cut(anna)
    scene.advance(.milliseconds(1_500))
    for _ in 0..<(scene.core.rules.replayEvents + 1) {
      _ = try scene.request(ben, .chat(.send(ChatSendParams(room: "demo", text: "on")))).get()
    }
    guard case .resumed(.resync) = try scene.resume(anna).get() else {
      Issue.record("no resync")
      return
    }
    let warnings = anna.take().filter { $0.name == .sessionExpiring }
    #expect(warnings == [.sessionExpiring(SessionExpiring(expiresAt: end, remainingMs: 59_500))])
  }

  @Test func withoutATokenNobodyIsWarned() throws {
    let scene = Scene()
    let (anna, _) = try scene.two()
    scene.advance(.seconds(200_000))
    #expect(!anna.takeNames().contains(.sessionExpiring))
    #expect(scene.core.sessions.table.warnings.count == 0)
  }
}
