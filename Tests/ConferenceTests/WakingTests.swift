// When phones are woken: not before it is on disk that they ring, or nobody would take that back after a crash.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct WakingTests {
  private func scene(stores: Bool = true) -> (Scene, Client) {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls, rules.calls.hasPush) = (stores, stores, true)
    let scene = Scene(rules)
    return (scene, scene.client("anna"))
  }

  /// A group call to people without a device.
  private func ring(_ scene: Scene, _ anna: Client, _ users: String...) throws -> Call {
    let start = CallStartParams(to: users, kind: .group, media: .audio)
    guard case .callStarted(let result) = try scene.request(anna, .call(.start(start))).get() else {
      throw ErrorObject(.unsupported)
    }
    return result.call
  }

  @Test func aPhoneIsWokenOnceItIsOnDiskThatItRings() throws {
    let (scene, anna) = scene()
    let call = try ring(scene, anna, "ben", "carl")
    #expect(scene.pushes.isEmpty)
    let place = try #require(
      scene.stores.lastIndex {
        $0.1.contains { if case .call(let kept) = $0 { !kept.pushedRings.isEmpty } else { false } }
      })
    let (ticket, changes) = try #require(scene.stores.last)
    #expect(place == scene.stores.count - 2 && changes.isEmpty, "what the phones wait for is behind the call")
    scene.apply(.stored(ticket, true))
    #expect(scene.pushes.map(\.to) == ["ben", "carl"] && scene.pushes.allSatisfy { $0.type == .ring })
    #expect(scene.pushes.allSatisfy { $0.callId == call.callId })
    scene.advance(.seconds(2))
    #expect(scene.pushes.count == 2, "once")
  }

  @Test func aDiskThatFailsOrHangsHoldsNoRing() throws {
    let (scene, anna) = scene()
    _ = try ring(scene, anna, "ben")
    scene.apply(.stored(try #require(scene.stores.last).0, false))
    #expect(scene.pushes.count == 1)
    _ = scene.request(anna, .call(.end(CallParams(callId: scene.pushes[0].callId))))
    scene.pushes = []
    _ = try ring(scene, anna, "carl")
    scene.advance(Storing.ringPatience - .milliseconds(1))
    #expect(scene.pushes.isEmpty)
    scene.advance(.milliseconds(1))
    #expect(scene.pushes.map(\.to) == ["carl"])
  }

  /// What takes a ring back does not wait; the ring must not come after it.
  @Test func aRingThatIsTakenBackBeforeItIsOnDiskWakesNobody() throws {
    let (scene, anna) = scene()
    let call = try ring(scene, anna, "ben", "carl")
    let first = try #require(scene.stores.last).0
    let cancel = CallCancelInviteParams(callId: call.callId, users: ["ben"])
    _ = try scene.request(anna, .call(.cancelInvite(cancel))).get()
    scene.advance(.milliseconds(1))
    _ = try scene.request(anna, .call(.invite(CallInviteParams(callId: call.callId, users: ["ben"])))).get()
    let second = try #require(scene.stores.last).0
    scene.pushes.removeAll { $0.type != .ring }
    #expect(scene.pushes.isEmpty && second > first)
    scene.apply(.stored(first, true))
    #expect(scene.pushes.map(\.to) == ["carl"], "ben's first ring is over")
    scene.apply(.stored(second, true))
    #expect(scene.pushes.map(\.to) == ["carl", "ben"])
  }

  @Test func withoutADiskNobodyWaits() throws {
    let (scene, anna) = scene(stores: false)
    _ = try ring(scene, anna, "ben")
    #expect(scene.pushes.map(\.to) == ["ben"] && scene.stores.isEmpty)
  }
}
