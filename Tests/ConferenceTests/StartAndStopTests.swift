// What webhook subscribers hear of the server's own start and stop, and that no two processes give the same numbers.

import Basics
import Calls
import Members
import Names
import RoostProtocol
import Testing

@testable import Conference
@testable import Rooms

@Suite struct StartAndStopTests {
  private static var rules: ConferenceRules {
    var rules = ConferenceRules.test
    (rules.calls.isFollowed, rules.calls.keepsCalls, rules.storesRecords) = (true, true, true)
    return rules
  }

  private func hooks(_ effects: [Effect]) -> [WebhookEvent] {
    effects.compactMap { if case .outside(.webhook(let event)) = $0 { event } else { nil } }
  }

  /// Before all else that a start brings, as that calls of before are over.
  @Test func aStartIsToldFirst() throws {
    let scene = Scene(Self.rules)
    let (a, _) = (scene.client("a"), scene.client("b"))
    let start = CallStartParams(to: ["b"], kind: .oneToOne, media: .audio)
    _ = try scene.request(a, .call(.start(start))).get()
    var state = RestoredState()
    for case .call(let call) in scene.stores.flatMap(\.1) { state.calls.running = [call] }
    var core = ConferenceCore(rules: Self.rules, random: SplitMix64(seed: 1))
    let heard = hooks(core.restore(state, at: Now(instant: scene.now.instant, wallMilliseconds: 7)))
    #expect(heard.map(\.type) == [.serverStarted, .callEnded])
    #expect(heard.first?.at == 7 && heard.first?.room == nil)
    var quiet = ConferenceCore(rules: .test, random: SplitMix64(seed: 1))
    #expect(hooks(quiet.restore(state, at: scene.now)).isEmpty, "nobody follows")
  }

  @Test func whoIsThereAtAStopIsSaidToBeGone() throws {
    let scene = Scene(Self.rules)
    let (a, b) = (scene.client("a"), scene.client("b"))
    let seats = [try scene.join(a, "x").get(), try scene.join(b, "x").get()].map(\.selfId)
    let track = try #require(try scene.publish(a, ["0:audio"]).values.first)
    let seat = try scene.seat(a)
    let room = try #require(scene.core.rooms.table.seats[seat]?.room)
    scene.apply(.activeSpeakers(room, [SpeakerLevel(seat: seat, level: 100)]))
    scene.advance(.seconds(3))
    for client in [a, b] { _ = client.take() }
    scene.hooks = []
    scene.apply(.drain(retryAfterMilliseconds: 1_000))
    #expect(scene.hooks.isEmpty, "who is told to come back is still there")
    for client in [a, b] { _ = client.take() }
    scene.apply(.stop)
    #expect(scene.hooks.map(\.type) == [.trackUnpublished, .roomLeft, .roomLeft, .roomClosed])
    #expect(scene.hooks.map(\.count) == [nil, 1, 0, 0] && scene.hooks.allSatisfy { $0.room == "x" })
    #expect(scene.hooks.map(\.participantId) == [seats[0], seats[0], seats[1], nil])
    #expect(scene.hooks[0].track?.trackId == track && scene.hooks[1].stay?.spokenMs == 3_000)
    #expect(scene.hooks[1...2].allSatisfy { $0.reason == "stopped" && $0.stay != nil })
    #expect(a.take().isEmpty && b.take().isEmpty, "their clients heard of the stop before")
  }

  /// The leg ends with the process, the call does not: who comes back to the next one goes on.
  @Test func aCallOutlivesTheStopAndItsLegsDoNot() throws {
    let scene = Scene(Self.rules)
    let (a, b) = (scene.client("a"), scene.client("b"))
    let start = CallStartParams(to: ["b"], kind: .group, media: .audio)
    guard case .callStarted(let started) = try scene.request(a, .call(.start(start))).get() else {
      Issue.record("no call")
      return
    }
    let call = started.call.callId
    _ = try scene.request(b, .call(.accept(CallAcceptParams(callId: call)))).get()
    scene.hooks = []
    scene.apply(.stop)
    #expect(scene.hooks.map(\.type) == [.callLegEnded, .callLegEnded])
    #expect(Set(scene.hooks.map(\.user)) == ["a", "b"])
    #expect(scene.hooks.allSatisfy { $0.room == "call:" + call && $0.count == nil && $0.reason == "stopped" })
    #expect(scene.core.calls.count == 1)
  }

  @Test func nobodyFollowsAndNothingIsSaid() throws {
    let scene = Scene()
    _ = try scene.join(scene.client("a"), "x").get()
    scene.apply(.stop)
    #expect(scene.hooks.isEmpty)
  }

  /// A receiver may keep seats and tracks by their names alone.
  @Test func noTwoProcessesGiveTheSameNumbers() throws {
    var seen: Set<String> = []
    for process in [1, 2, 3, 131_071] as [UInt64] {
      var state = RestoredState()
      state.process = process
      let scene = Scene(Self.rules, restored: state)
      let a = scene.client("a")
      seen.insert(try scene.join(a, "x").get().selfId)
      seen.formUnion(try scene.publish(a, ["0:audio", "1:video"]).values)
      #expect(RealmNumber(of: try scene.seat(a).rawValue) == .first)
    }
    #expect(seen.count == 12)
    // Without a file nothing is counted, and they begin as small as they can.
    let scene = Scene(Self.rules)
    _ = try scene.join(scene.client("a"), "x").get()
    #expect(try scene.seat(try #require(scene.clients.values.first)).rawValue < 100)
  }

  /// The highest process in the highest realm.
  @Test func thereIsSpaceForProcessesAndRealms() {
    let highest = RealmNumber.numbers(before: 131_071) + (1 << 40) - 1
    for place in [0, 1, UInt8(Realm.most - 1)] {
      let number = RealmNumber(place)
      #expect(RealmNumber(of: number.tag | highest) == number && Int64(exactly: number.tag | highest) != nil)
    }
    #expect(RealmNumber.numbers(before: 131_072) == 0, "they begin anew, and no other realm is named")
  }
}
