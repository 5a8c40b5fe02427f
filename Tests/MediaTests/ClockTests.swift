// Two clocks: what a receiver is told of when sounds and pictures were captured is of one clock, whoever they are from.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ClockTests {
  /// A report that was held up for seconds changes nothing; three of them that agree, and one that is early, are another clock.
  @Test func aReportThatWasHeldUpIsNoOtherClock() {
    func ntp(_ milliseconds: Int) -> UInt64 { UInt64(milliseconds) * (1 << 32) / 1_000 }
    var clock = PublisherClock()
    let start = Instant.zero + .seconds(100)
    func take(_ captured: Int, after milliseconds: Int) {
      clock.take(ntp: ntp(captured), at: start + .milliseconds(milliseconds))
    }
    take(50_000, after: 0)
    let lead = clock.lead
    take(51_000, after: 2_500)
    take(51_100, after: 2_500)
    take(52_500, after: 2_520)
    #expect(clock.lead == lead && clock.since == .zero)
    // Five seconds late again and again: the clock has been set back.
    for step in 0..<3 {
      #expect(clock.lead == lead)
      take(55_000 + step * 1_000, after: 10_000 + step * 1_000)
    }
    #expect(clock.since > .zero && clock.lead != lead)
  }

  /// Two publishers whose clocks are hours apart, and one who has a view of pictures and one of sound.
  private struct Room {
    let call: Call
    let pictures: [ProducerKey], sounds: [ProducerKey]
    let picture: ConsumerKey, sound: ConsumerKey

    init(way: TimeDelta = Link.good.delay) throws {
      let call = try Call(seed: 11)
      let publishers = try ["anna", "bert"].map { try call.join($0) }
      publishers[0].clockAhead = .seconds(3_600)
      publishers[1].clockAhead = .seconds(7 * 3_600)
      publishers[1].uplink.delay = way
      let viewer = try call.join("dora")
      pictures = publishers.map { call.publish($0, .video) }
      sounds = publishers.map { call.publish($0, .audio) }
      picture = call.subscribe(viewer, to: pictures[0])
      sound = call.subscribe(viewer, to: sounds[0])
      self.call = call
      call.run(.seconds(4))
    }

    func stream(_ key: ConsumerKey) throws -> ReceivedStream { try #require(call.stream(key)) }
    func show(_ producer: ProducerKey, on view: ConsumerKey) {
      call.apply(.show(view, producer))
      call.run(.seconds(6))
    }
  }

  /// The publishers' own words would put sound and picture six hours apart, as they did.
  @Test func aPictureAndASoundOfTwoPeopleAreInStep() throws {
    let room = try Room()
    let shown = room.call.now
    room.show(room.pictures[1], on: room.picture)
    for view in [room.picture, room.sound] {
      let stream = try room.stream(view)
      #expect(try #require(stream.reports.last).at > shown, "it is told anew")
      let error = try #require(stream.captureError(since: shown + .milliseconds(200)))
      #expect(error < .milliseconds(2), "\(error)")
    }
  }

  /// A receiver goes on by the report that it has until the next one comes.
  @Test func theReportBeforeASwitchIsRightBehindItToo() throws {
    let room = try Room()
    let before = try [room.picture, room.sound].map { try #require(try room.stream($0).reports.last).report }
    let shown = room.call.now
    room.show(room.pictures[1], on: room.picture)
    room.show(room.sounds[1], on: room.sound)
    for (view, report) in zip([room.picture, room.sound], before) {
      let stream = try room.stream(view)
      #expect(stream.ordered.last?.stamp?.producer != nil)
      let error = try #require(stream.captureError(of: report, since: shown))
      #expect(error < .milliseconds(40), "a browser hears no difference below: \(error)")
    }
  }

  /// Told times are of one clock through all reports: none of them jumps by the difference of the publishers' clocks.
  @Test func reportsOfAViewNeverGoBack() throws {
    let room = try Room()
    for turn in 1...6 { room.show(room.pictures[turn % 2], on: room.picture) }
    let reports = try room.stream(room.picture).reports
    #expect(reports.count > 10)
    for (old, new) in zip(reports, reports.dropFirst()) {
      let told = Double(new.report.ntp.value &- old.report.ntp.value) / 4_294_967_296
      #expect(abs(told - (new.at - old.at).seconds) < 0.002, "\(told) s in \((new.at - old.at).seconds)")
    }
  }

  /// What one publisher's line is slower by is all that is left.
  @Test func aSlowLineIsLateByItsWay() throws {
    let room = try Room(way: .milliseconds(60))
    let shown = room.call.now
    room.show(room.pictures[1], on: room.picture)
    let stream = try room.stream(room.picture)
    let since = shown + .milliseconds(300)
    #expect(try #require(stream.captureError(way: .milliseconds(60), since: since)) < .milliseconds(2))
    // The control: told by a way that it did not take, the same stream is out by the rest.
    #expect(try #require(stream.captureError(since: since)) > .milliseconds(45))
  }

  // MARK: The clock alone

  private static let start = Instant(nanoseconds: 1_000_000_000_000)

  /// What it says in seconds of the server's clock; the publisher's is an hour ahead, and its report was `delay` on its way.
  private static func take(
    _ clock: inout PublisherClock, second: Int, ahead: Int = 3_600, delay: TimeDelta
  ) -> (ntp: UInt64, arrival: Instant) {
    let sent = start + .seconds(second)
    let ntp = VirtualPeer.ntp(sent + .seconds(ahead))
    clock.take(ntp: ntp, at: sent + delay)
    return (ntp, sent + delay)
  }

  private static func told(_ clock: PublisherClock, _ report: (ntp: UInt64, arrival: Instant)) -> Double? {
    clock.serverTime(of: report.ntp, arrival: report.arrival, elapsed: 0, origin: .zero).map {
      Double($0) / 4_294_967_296 - start.seconds
    }
  }

  @Test func theReportThatWasHeldUpLeastCounts() throws {
    var clock = PublisherClock()
    #expect(clock.serverTime(of: 1, arrival: .zero, elapsed: 0, origin: .zero) == nil, "nothing is known")
    for (second, delay) in [(0, 300), (1, 12), (2, 400), (3, 90)] {
      let report = Self.take(&clock, second: second, delay: .milliseconds(delay))
      let late = second == 0 ? 0.3 : 0.012
      #expect(abs(try #require(Self.told(clock, report)) - Double(second) - late) < 0.001)
    }
  }

  @Test func aClockThatDriftsIsFollowed() throws {
    var clock = PublisherClock()
    for second in 0..<200 {
      // A millisecond a second, which is more than any crystal.
      let delay = TimeDelta.milliseconds(10 + second)
      let report = Self.take(&clock, second: second, delay: delay)
      let error = try #require(Self.told(clock, report)) - Double(second) - delay.seconds
      #expect(abs(error) <= 0.001 * Double(PublisherClock.window), "\(second): \(error)")
    }
  }

  @Test func aClockThatIsSetAnewIsNotMixedWithTheOld() throws {
    var clock = PublisherClock()
    let old = Self.take(&clock, second: 0, delay: .milliseconds(10))
    #expect(Self.told(clock, old) != nil)
    let new = Self.take(&clock, second: 1, ahead: -500, delay: .milliseconds(10))
    #expect(Self.told(clock, old) == nil, "reported by a clock that is no more")
    #expect(abs(try #require(Self.told(clock, new)) - 1.01) < 0.001)
  }

  @Test func noClockTrapsOnAnyTime() {
    for ntp in [0, 1, UInt64.max, 1 << 63, 0xffff_ffff] {
      for now in [Instant.zero, Instant(nanoseconds: .max - 1)] {
        var clock = PublisherClock()
        clock.take(ntp: ntp, at: now)
        clock.take(ntp: ~ntp, at: now)
        for origin in [TimeDelta.zero, TimeDelta(nanoseconds: .max)] {
          _ = clock.serverTime(of: ntp, arrival: now, elapsed: .max, origin: origin)
        }
        #expect(clock.lead != nil)
      }
    }
  }
}

extension Instant {
  fileprivate var seconds: Double { Double(nanoseconds) / 1e9 }
}
