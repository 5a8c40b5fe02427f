// Tokens that an operator takes back, and grants: what runs ends in the same step, and nothing brings it back.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RevokingTests {
  private func scene(_ rules: ConferenceRules = .test, restored: RestoredState = RestoredState()) -> Scene {
    let scene = Scene(rules, restored: restored)
    scene.isVerified = true
    return scene
  }

  private func client(_ user: String, _ token: String?, _ scene: Scene, _ device: String = "d1") -> Client {
    scene.proof = { $0.tokenID = token }
    return scene.client(user, device)
  }

  private func hello(_ user: String, _ token: String?, _ scene: Scene) -> ErrorObject? {
    scene.proof = { $0.tokenID = token }
    if case .failure(let error) = scene.hello(scene.stranger(user, "new")) { return error }
    return nil
  }

  private func revoke(_ id: String, _ scene: Scene) -> Int? {
    if case .success(.removed(let count)) = scene.operate(.revoke(id)) { return count }
    return nil
  }

  @Test func whoCameByItGoesInTheSameStep() throws {
    let scene = scene()
    let (anna, other, ben) = (client("A", "t1", scene), client("A", "t1", scene, "d2"), client("B", "t2", scene))
    let carl = client("C", nil, scene)
    for one in [anna, ben, carl] { _ = try scene.join(one).get() }
    _ = (anna.take(), ben.take(), other.take())
    #expect(revoke("t1", scene) == 2)
    let closing = Event.sessionClosing(SessionClosing(action: .stop, reason: .tokenRevoked))
    #expect(anna.events.last == closing && other.events.last == closing)
    #expect(anna.closed == .tokenRevoked && other.closed == .tokenRevoked)
    #expect(ben.mirror.room?.participants.map(\.user) == ["B", "C"] && ben.closed == nil)
    #expect(scene.core.gauges.sessions == 2 && scene.counters[.left(.removed)] == 1)
    scene.cut(anna)
    guard case .failure(let error) = scene.resume(anna) else {
      Issue.record("it cannot be resumed")
      return
    }
    #expect(error.code == .resumeExpired)
    #expect(revoke("nobody's", scene) == 0)
  }

  @Test func noDoorBelievesItFromThenOn() throws {
    let scene = scene()
    let ben = client("B", "t2", scene)
    #expect(revoke("t1", scene) == 0)
    let refused = hello("A", "t1", scene)
    #expect(refused?.code == .authFailed && refused?.data.reason == "token_invalid")
    #expect(hello("A", "t3", scene) == nil && hello("C", nil, scene) == nil)
    // Nor does a session take it for its next.
    scene.proof = { $0.tokenID = "t1" }
    let further = scene.refusal(ben, .session(.token(TokenParams(token: "B"))))
    #expect(further?.code == .authFailed && further?.data.reason == "token_invalid" && ben.closed == nil)
    #expect(scene.operate(.liftRevocation("t1")) == .success(.lifted(1)))
    #expect(hello("A", "t1", scene) == nil)
    guard case .failure(let error) = scene.operate(.liftRevocation("t1")) else {
      Issue.record("it is not taken back")
      return
    }
    #expect(error.code == .userNotFound)
  }

  /// A session that was renewed has two tokens, and none of them may be taken back.
  @Test(arguments: ["t1", "t2"]) func ofRenewedSessionsBothTokensCount(taken: String) {
    let scene = scene()
    let anna = client("A", "t1", scene)
    scene.proof = { $0.tokenID = "t2" }
    #expect(scene.refusal(anna, .session(.token(TokenParams(token: "A")))) == nil)
    #expect(revoke("t3", scene) == 0 && anna.closed == nil)
    #expect(revoke(taken, scene) == 1)
    #expect(anna.closed == .tokenRevoked)
  }

  @Test func whoIsAwayGoesToo() throws {
    let scene = scene()
    let anna = client("A", "t1", scene)
    _ = try scene.join(anna).get()
    scene.cut(anna)
    #expect(revoke("t1", scene) == 1)
    #expect(scene.core.gauges.sessions == 0 && scene.core.gauges.participants == 0)
  }

  @Test func aCallEndsWithItsToken() throws {
    let scene = scene()
    let (anna, ben) = (client("A", "t1", scene), client("B", "t2", scene))
    _ = try scene.talk(anna, ben)
    #expect(revoke("t1", scene) == 1)
    #expect(scene.core.gauges.calls == 0 && scene.core.gauges.participants == 0 && ben.closed == nil)
  }

  @Test func itIsKeptAndForgottenInTime() throws {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    let scene = scene(rules)
    let until = scene.now.wallMilliseconds + RevocationTable.time.milliseconds
    #expect(revoke("t1", scene) == 0)
    let kept = KeptRevocation(tokenID: "t1", until: until)
    #expect(scene.stores.last?.1 == [.revocation(kept)])
    #expect(scene.operate(.revoked()) == .success(.revoked([kept], next: nil)))

    // After a restart it holds as well.
    var restored = RestoredState()
    restored.revocations = [kept, KeptRevocation(tokenID: "old", until: scene.now.wallMilliseconds - 1)]
    let next = self.scene(rules, restored: restored)
    #expect(hello("A", "t1", next)?.code == .authFailed && hello("A", "old", next) == nil)
    #expect(next.operate(.revoked()) == .success(.revoked([kept], next: nil)))

    scene.advance(RevocationTable.time - .milliseconds(1))
    #expect(hello("A", "t1", scene)?.code == .authFailed)
    scene.advance(.milliseconds(1))
    #expect(scene.operate(.revoked()) == .success(.revoked([], next: nil)))
    #expect(scene.stores.last?.1 == [.forgetRevocation("t1")])
  }

  @Test func soManyAndNoMore() {
    var restored = RestoredState()
    let until = Scene().now.wallMilliseconds + 60_000
    restored.revocations = (1..<RevocationTable.most).map { KeptRevocation(tokenID: "t\($0)", until: until) }
    let scene = scene(restored: restored)
    #expect(revoke("last", scene) == 0 && revoke("last", scene) == 0)
    guard case .failure(let error) = scene.operate(.revoke("one more")) else {
      Issue.record("there is no space")
      return
    }
    #expect(error.code == .tooLarge && error.data.limit == RevocationTable.most)
    #expect(scene.operate(.liftRevocation("t1")) == .success(.lifted(1)) && revoke("one more", scene) == 0)
    let longest = String(repeating: "j", count: RevocationTable.longestName)
    #expect(scene.operate(.liftRevocation("t2")) == .success(.lifted(1)) && revoke(longest, scene) == 0)
    guard case .failure(let long) = scene.operate(.revoke(longest + "j")) else {
      Issue.record("no token has such a name")
      return
    }
    #expect(long.code == .invalidParams && long.data.field == "jti")
  }
}
