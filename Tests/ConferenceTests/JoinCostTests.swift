// What a join costs in a large room: the work grows as the room does, since the newcomer is told of each and each of the newcomer,
// and no faster.

import Basics
import Glibc
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite(.serialized) struct JoinCostTests {
  /// A room that is filled with people who publish sound, without clients around it.
  private struct Crowd {
    var core: ConferenceCore
    let now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
    private var lastRequest: Int64 = 0

    init(seats: Int) {
      var rules = ConferenceRules.test
      var hall = RoomRules(kind: "hall")
      (hall.media, hall.audioSeats) = (.audio, seats)
      rules.rooms = ["hall": hall]
      core = ConferenceCore(rules: rules, random: SplitMix64(seed: 1))
    }

    private mutating func request(_ number: UInt64, _ request: Request) -> [Effect] {
      lastRequest += 1
      return core.apply(.request(ConnectionID(number), .number(lastRequest), request), at: now)
    }

    mutating func hello(_ number: UInt64) {
      let params = HelloParams(user: "user\(number)", deviceId: "d")
      let identity = Identity(
        user: "user\(number)", device: "d", displayName: "User \(number)", rights: .all, isVerified: false)
      lastRequest += 1
      for case .client(.reply(_, _, .failure(let error))) in core.apply(
        .hello(ConnectionID(number), .number(lastRequest), params, identity), at: now)
      {
        Issue.record("hello: \(error)")
      }
    }

    mutating func bye(_ number: UInt64) { _ = request(number, .session(.bye)) }

    mutating func join(_ number: UInt64) -> [Effect] {
      request(number, .room(.join(RoomJoinParams(room: "hall", displayName: "User \(number)"))))
    }

    mutating func leave(_ number: UInt64) { _ = request(number, .room(.leave(RoomParams(room: "hall")))) }

    mutating func publish(_ number: UInt64) {
      let params = PublishOfferParams(pc: .publish, sdp: "offer", tracks: [AnnouncedTrack(mid: "0", kind: .audio)])
      for case .media(.negotiatePublish(let key, _, _, _)) in request(number, .peerConnection(.offer(params))) {
        let change = PublishChange(answer: "answer", added: [.init(mid: "0", kind: .audio)], removed: [])
        _ = core.apply(.publishPrepared(key, .success(change)), at: now)
      }
    }
  }

  /// CPU time of this thread for `body`, in nanoseconds.
  private static func cost(_ body: () -> Void) -> Double {
    func used() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
    let start = used()
    body()
    return used() - start
  }

  /// CPU time of a join into a room of `people`, the least of a few, and of filling the room.
  private static func costs(_ people: UInt64) -> (join: Double, fill: Double) {
    var crowd = Crowd(seats: Int(people) + 1)
    for number in 1...(people + 1) { crowd.hello(number) }
    let fill = cost {
      for number in 1...people {
        _ = crowd.join(number)
        crowd.publish(number)
      }
    }
    var least = Double.infinity
    for _ in 0..<9 {
      var effects: [Effect] = []
      least = min(least, cost { effects = crowd.join(people + 1) })
      let subscribed = effects.count { if case .media(.subscribe) = $0 { true } else { false } }
      #expect(subscribed == Int(people), "the newcomer receives each")
      crowd.leave(people + 1)
    }
    return (least, fill)
  }

  /// Four times the people: a join costs about four times as much, filling the room about sixteen times. The bound between the two is
  /// missed by what is quadratic.
  @Test func aJoinIntoALargeRoomIsLinearWork() {
    let (small, large) = (Self.costs(125), Self.costs(500))
    #expect(large.join / small.join < 8, "\(large.join / small.join)")
    #expect(large.fill / small.fill > 8, "the control: \(large.fill / small.fill)")
  }

  /// CPU time of a session's beginning and end beside so many others; with a copy of the conference held meanwhile, as the control.
  private static func endCost(beside others: UInt64, holdsCopy: Bool) -> Double {
    var crowd = Crowd(seats: 1)
    for number in 1...others { crowd.hello(number) }
    var least = Double.infinity
    for _ in 0..<9 {
      let copy = holdsCopy ? crowd.core : nil
      least = min(
        least,
        cost {
          crowd.hello(others + 1)
          crowd.bye(others + 1)
        })
      #expect(copy.map { $0.gauges.sessions == Int(others) } != false && crowd.core.gauges.sessions == Int(others))
    }
    return least
  }

  /// Nothing that grows with the sessions there are is copied or searched when one of them begins or ends.
  @Test func aSessionCostsTheSameBesideMany() {
    let (few, many) = (Self.endCost(beside: 100, holdsCopy: false), Self.endCost(beside: 4_000, holdsCopy: false))
    #expect(many / few < 2, "\(many / few)")
    let copied = Self.endCost(beside: 4_000, holdsCopy: true)
    #expect(copied / few > 2, "the control: \(copied / few)")
  }
}
