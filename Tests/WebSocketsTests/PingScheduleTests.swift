// When sockets are pinged and given up, in virtual time.
import Basics
import Testing

@testable import WebSockets

@Suite struct PingScheduleTests {
  /// Pings of all sockets fall on moments that they share, each no later than its interval and then exactly as often.
  @Test(arguments: [5_000_000_000, 30_000_000_000, 200_000_000, 1_000_003, 7])
  func pingsShareTheirMoments(_ interval: Int64) {
    let pace = PingPace(interval: TimeDelta(nanoseconds: interval), silence: .seconds(90))
    let moments = max(1, interval / PingPace.moment.nanoseconds)
    for number: UInt64 in [1, 2, 7, 8, 12_345] {
      let phase = Int64(number) % moments * (interval / moments)
      for opened: Int64 in [0, 1, 624_999_999, 625_000_001, 9_999_999_999_999] {
        var now = opened
        // The timer goes off a little late, each time by something else.
        for late in [0, interval / 3, interval - 1] {
          let next = pace.ping(after: Instant(nanoseconds: now), number: number).nanoseconds
          #expect(next >= now && next - now <= interval && next - now > 0)
          #expect((next - phase) % interval == 0)
          now = next + late
        }
      }
    }
  }

  /// "Never" is a time too.
  @Test func anIntervalMayBeEndless() {
    let pace = PingPace(interval: TimeDelta(nanoseconds: .max), silence: TimeDelta(nanoseconds: .max))
    for number: UInt64 in [1, 2, 8] {
      #expect(
        pace.ping(after: Instant(nanoseconds: 1 << 50), number: number) > Instant(nanoseconds: 1 << 50)
          + .seconds(864_000))
    }
  }

  /// Sockets that are pinged and heard, in a schedule whose alarm is always right.
  private struct Stage {
    var schedule = PingSchedule()
    var states: [WebSocketID: PingState] = [:]
    var pings: [WebSocketID: [Instant]] = [:]
    var silent: [WebSocketID: Instant] = [:]
    /// When it was said that they owe an answer for too long.
    var overdue: [WebSocketID: [Instant]] = [:]
    var wakes = 0

    mutating func begin(_ id: WebSocketID, _ pace: PingPace, at now: Instant) {
      var state = states[id] ?? PingState(pace: pace, now: now)
      schedule.begin(&state, id, pace, at: now)
      states[id] = state
    }

    /// `answers` says who answers pings; `late` by how much each alarm is late.
    mutating func run(until end: Instant, late: TimeDelta = .zero, answers: (WebSocketID) -> Bool = { _ in true }) {
      while schedule.next <= end {
        let due = schedule.next
        let now = due + late
        wakes += 1
        schedule.woke(due: due, at: now)
        while let (id, moment) = schedule.nextDue(at: now) {
          guard var state = states[id] else { continue }
          switch schedule.look(&state, id, moment, at: now) {
          case .nothing: break
          case .ping:
            pings[id, default: []].append(now)
            if answers(id) { schedule.heard(&state, at: now) }
          case .overdue: overdue[id, default: []].append(now)
          case .silent: silent[id] = now
          }
          states[id] = silent[id] == nil ? state : nil
        }
      }
    }
  }

  private let limits = WebSocketLimits()
  private let start = Instant(nanoseconds: 123_456_789)

  @Test func whoWaitsIsPingedRarelyAndOthersOften() {
    var stage = Stage()
    stage.begin(WebSocketID(rawValue: 1), limits.pace(.waiting(nil)), at: start)
    stage.begin(WebSocketID(rawValue: 2), limits.pace(.busy), at: start)
    stage.run(until: start + .seconds(600))
    #expect(stage.pings[WebSocketID(rawValue: 1)]?.count == 20)
    #expect(stage.pings[WebSocketID(rawValue: 2)]?.count == 120)
    #expect(stage.silent.isEmpty)
  }

  @Test func whoDoesNotAnswerIsDeadAfterThree() {
    var stage = Stage()
    let (waiting, busy) = (WebSocketID(rawValue: 1), WebSocketID(rawValue: 2))
    stage.begin(waiting, limits.pace(.waiting(nil)), at: start)
    stage.begin(busy, limits.pace(.busy), at: start)
    stage.run(until: start + .seconds(200)) { _ in false }
    #expect(stage.silent == [waiting: start + .seconds(90), busy: start + .seconds(15)])
    #expect(stage.pings[waiting]?.count == 3 && stage.pings[busy]?.count == 3)
    #expect(stage.schedule.count == 0, "nothing is left of who is gone")
  }

  /// It is said once, five seconds after the first ping without an answer, and anew after something came.
  @Test func whoOwesAnAnswerForFiveSecondsIsToldOfOnce() throws {
    var stage = Stage()
    let (waiting, busy, alive) = (WebSocketID(rawValue: 1), WebSocketID(rawValue: 2), WebSocketID(rawValue: 3))
    stage.begin(waiting, limits.pace(.waiting(nil)), at: start)
    for id in [busy, alive] { stage.begin(id, limits.pace(.busy), at: start) }
    stage.run(until: start + .seconds(89)) { $0 == alive }
    for id in [waiting, busy] {
      #expect(stage.overdue[id] == [try #require(stage.pings[id]?.first) + .seconds(5)])
    }
    #expect(stage.overdue[alive] == nil && stage.pings[alive]?.count == 18)
    // A ping that is due at the same moment goes out all the same.
    #expect(stage.pings[busy]?.count == 3)
    var state = try #require(stage.states[waiting])
    #expect(state.isOverdue)
    stage.schedule.heard(&state, at: start + .seconds(89))
    #expect(!state.isOverdue)
    stage.states[waiting] = state
    stage.run(until: start + .seconds(130)) { $0 == alive }
    #expect(stage.overdue[waiting]?.count == 2)
  }

  /// What the thread has missed is nobody's silence.
  @Test func aStalledThreadMakesNobodyOverdue() {
    var stage = Stage()
    let id = WebSocketID(rawValue: 1)
    stage.begin(id, limits.pace(.busy), at: start)
    stage.run(until: start + .seconds(5)) { _ in false }
    // The next look was meant for the tenth second at the latest, and comes a minute later.
    stage.run(until: start + .seconds(9), late: .seconds(60)) { _ in false }
    #expect(stage.overdue[id] == nil)
  }

  /// A call begins in the midst of a long wait: what did not come before counts for nothing, and pings are quick at once.
  @Test func aChangeOfPaceTakesEffectAtOnce() {
    var stage = Stage()
    let id = WebSocketID(rawValue: 7)
    stage.begin(id, limits.pace(.waiting(nil)), at: start)
    stage.run(until: start + .seconds(20))
    let rings = start + .seconds(25)
    stage.begin(id, limits.pace(.busy), at: rings)
    stage.run(until: rings + .seconds(5))
    #expect(stage.silent.isEmpty && stage.pings[id]?.filter { $0 > rings }.count == 1)
    for second in 6...60 {
      stage.begin(id, limits.pace(second % 2 == 0 ? .waiting(nil) : .busy), at: rings + .seconds(second))
    }
    #expect(stage.schedule.count <= 30, "old entries go when their time comes")
    stage.run(until: rings + .seconds(200))
    #expect(stage.schedule.count == 1 && stage.silent.isEmpty)
  }

  /// However many there are, no moment has more of them than another.
  @Test func pingsAreSpreadEvenly() {
    var stage = Stage()
    for number in 1...UInt64(6_000) {
      stage.begin(WebSocketID(rawValue: number), limits.pace(.waiting(nil)), at: start)
    }
    stage.run(until: start + .seconds(30))
    stage.pings = [:]
    stage.wakes = 0
    stage.run(until: start + .seconds(60))
    var bySecond: [Int64: Int] = [:]
    for moment in stage.pings.values.joined() {
      bySecond[(moment - start).nanoseconds / 1_000_000_000, default: 0] += 1
    }
    #expect(bySecond.count == 30 && bySecond.values.allSatisfy { (190...210).contains($0) }, "\(bySecond)")
    #expect(stage.wakes <= 600, "a wake-up serves all of its moment")
  }

  /// While this thread could not look, nothing could be seen to come. A look that is a little late is none of that.
  @Test(arguments: [(TimeDelta.seconds(60), false), (.milliseconds(10), true)])
  func aStalledMachineIsNoSilentPeer(_ late: TimeDelta, _ isDead: Bool) {
    var stage = Stage()
    let id = WebSocketID(rawValue: 3)
    stage.begin(id, limits.pace(.busy), at: start)
    stage.run(until: start + .seconds(15), late: late) { _ in false }
    #expect((stage.silent[id] != nil) == isDead)
  }
}
