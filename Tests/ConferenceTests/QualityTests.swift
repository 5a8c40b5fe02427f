// How everybody's media does: who is told what of it, and when.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct QualityTests {
  private let scene = Scene()

  /// A look at a seat: shares lost of what comes from it and of what it is sent, in percent.
  private func look(_ client: Client, up: Int = 0, down: Int = 0, _ change: (inout SeatReport) -> Void = { _ in }) {
    guard let seat = scene.core.seat(of: client.connection) else { return }
    var report = SeatReport(seat: seat)
    var way = WayReport()
    (way.expected, way.lost, way.rate) = (200, 2 * up, 300)
    if up > 0 { report.tracks = [SeatReport.TrackReport(id: TrackID(7), way: way)] }
    way.lost = 2 * down
    report.down = way
    change(&report)
    scene.apply(.quality([report]))
  }

  private func people() throws -> (Client, Client) {
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a).get()
    _ = try scene.join(b).get()
    _ = (a.take(), b.take())
    return (a, b)
  }

  /// What a client was told since: levels and reasons of others' ways up, and of its own.
  private func told(_ client: Client) -> (people: [String], own: [String]) {
    var found = (people: [String](), own: [String]())
    for case .roomQuality(let quality) in client.take() {
      found.people += quality.people.map { "\($0.level.rawValue) \($0.reason?.rawValue ?? "-")" }
      if let own = quality.own {
        found.own.append("\(own.level.rawValue) \(own.reason?.rawValue ?? "-") \(own.way?.rawValue ?? "-")")
      }
    }
    return found
  }

  @Test func aWeakWayUpIsToldToAllOnceAndItsEndToo() throws {
    let (a, b) = try people()
    look(a, up: 15)
    #expect(told(b).people.isEmpty, "one look is no reason")
    look(a, up: 15)
    #expect(told(b).people == ["poor loss"])
    let own = told(a)
    #expect((own.people, own.own) == (["poor loss"], ["poor loss up"]))
    for _ in 0..<2 { look(a, up: 1) }
    #expect(told(b).people.isEmpty)
    look(a, up: 1)
    #expect(told(b).people == ["good -"])
    #expect(told(a).own == ["good - -"])
    for _ in 0..<20 { look(a, up: 1) }
    #expect(a.take().isEmpty && b.take().isEmpty, "nothing has changed")
  }

  @Test func whereNothingComesItIsToldAtOnce() throws {
    let (a, b) = try people()
    look(a, up: 1) { $0.isSilentUp = true }
    #expect(told(b).people == ["poor interrupted"])
    #expect(told(a).own == ["poor interrupted up"])
  }

  /// The control of both: what others cannot help is not told to them, and figures of so few packets mean nothing.
  @Test func onesOwnWayDownIsNobodyElsesBusiness() throws {
    let (a, b) = try people()
    for _ in 0..<2 { look(a) { $0.paused = 2 } }
    #expect(told(a).own == ["poor bandwidth down"])
    #expect(b.take().isEmpty)
    for _ in 0..<4 { look(b, down: 50) { $0.down.expected = WayReport.fewest - 1 } }
    #expect(b.take().isEmpty)
  }

  @Test(arguments: [
    (4, 0, 0, "fair loss"), (0, 1, 0, "fair stalled"), (0, 0, 500, "fair delay"), (0, 0, 1_200, "poor delay"),
  ])
  func reasons(_ loss: Int, _ frozen: Int, _ roundTrip: Int, _ verdict: String) throws {
    let (a, _) = try people()
    for _ in 0..<2 {
      look(a, down: loss) { ($0.frozen, $0.roundTrip) = (frozen, roundTrip) }
    }
    #expect(told(a).own == [verdict + " down"])
  }

  /// While it is not good, figures that change come every third look at most; the same ones do not come again.
  @Test func figuresAreToldNowAndThen() throws {
    let (a, _) = try people()
    for index in 0..<14 { look(a, down: 5 + index % 2) }
    #expect(told(a).own.count == 5)
    for _ in 0..<3 { look(a, down: 5) }
    _ = a.take()
    for _ in 0..<9 { look(a, down: 5) }
    #expect(a.take().isEmpty)
  }

  @Test func whoComesLaterIsToldWhoseWayIsWeak() throws {
    let (a, _) = try people()
    for _ in 0..<2 { look(a, up: 15) }
    let c = scene.client("C")
    _ = try scene.join(c).get()
    let seat = try #require(scene.core.seat(of: c.connection))
    _ = c.take()
    scene.apply(.media(seat, .subscribe, .connected))
    #expect(told(c).people == ["poor loss"])
  }

  @Test func figuresForOperatorsAreBounded() throws {
    let (a, _) = try people()
    for loss in 1..<60 { look(a, up: loss, down: loss) { $0.frozen = 1 } }
    let gauges = scene.core.gauges
    #expect(gauges.quality.lossUp.reduce(0, +) == 59)
    #expect(gauges.quality.lossUp.count == QualityFigures.lossBounds.count + 1)
    #expect(gauges.quality.frozen == 59)
    #expect(gauges.levels[.poor] == 1)
    scene.request(a, .room(.leave(RoomParams(room: "demo"))))
  }
}
