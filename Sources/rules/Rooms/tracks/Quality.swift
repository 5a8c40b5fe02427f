// How everybody's media goes: from what workers measured to a level with a reason, and who is told of it.
//
//   looks of two seconds ─▶ each way: level, reason ─▶ steadied ─▶ changed? ─▶ one event to all, and one to whom it is about

import Basics
import Members
import RoostProtocol

/// How one way is: worse at the second look that says so, better at the third.
struct WayJudge: Sendable {
  /// What was found.
  struct Verdict: Hashable, Sendable {
    var level = QualityLevel.good
    var reason: QualityReason?

    var rank: Int { level == .poor ? 2 : level == .fair ? 1 : 0 }
  }

  /// From which share of lost packets, and from how many milliseconds there and back, a way is fair, and poor.
  static let fairLoss = 0.03, poorLoss = 0.1
  static let fairRoundTrip = 400, poorRoundTrip = 1_000
  private static let looksToWorsen = 2, looksToImprove = 3

  private(set) var verdict = Verdict()
  private var worse = 0, better = 0

  /// Takes a look; true where the verdict changes.
  mutating func look(_ found: Verdict) -> Bool {
    worse = found.rank > verdict.rank ? worse + 1 : 0
    better = found.rank < verdict.rank ? better + 1 : 0
    guard worse >= Self.looksToWorsen || better >= Self.looksToImprove || found.reason == .interrupted else {
      return false
    }
    (worse, better) = (0, 0)
    defer { verdict = found }
    return found != verdict
  }

  /// What a look says of the way up.
  static func up(_ report: SeatReport) -> Verdict {
    if report.isSilentUp { return Verdict(level: .poor, reason: .interrupted) }
    let worst = report.tracks.map(\.way.loss).max() ?? 0
    return byLoss(worst) ?? Verdict()
  }

  /// What a look says of the way down.
  static func down(_ report: SeatReport) -> Verdict {
    if report.isSilentDown { return Verdict(level: .poor, reason: .interrupted) }
    let loss = byLoss(report.down.loss)
    if let loss, loss.level == .poor { return loss }
    if report.paused > 0 { return Verdict(level: .poor, reason: .bandwidth) }
    if report.frozen > 0 { return Verdict(level: .fair, reason: .stalled) }
    let roundTrip = report.roundTrip ?? 0
    if roundTrip >= poorRoundTrip { return Verdict(level: .poor, reason: .delay) }
    return loss ?? (roundTrip >= fairRoundTrip ? Verdict(level: .fair, reason: .delay) : Verdict())
  }

  private static func byLoss(_ loss: Double) -> Verdict? {
    loss >= poorLoss
      ? Verdict(level: .poor, reason: .loss) : loss >= fairLoss ? Verdict(level: .fair, reason: .loss) : nil
  }
}

/// Everybody's ways, and what was said of them.
struct QualityBook: Sendable {
  private struct Entry: Sendable {
    var up = WayJudge(), down = WayJudge()
    var told = OwnQuality()
    /// Looks since then.
    var looks = 0
  }

  /// Looks between two events about the same one while only figures change: six seconds.
  private static let looksBetween = 3

  private var entries: [SeatID: Entry] = [:]
  private(set) var figures = QualityFigures()

  /// How many of these seats have each level now.
  func levels(of seats: [SeatID: Seat]) -> [QualityLevel: Int] {
    entries.reduce(into: ConferenceGauges().levels) { levels, entry in
      guard seats[entry.key] != nil else { return }
      levels[max(entry.value.up.verdict, entry.value.down.verdict).level, default: 0] += 1
    }
  }

  /// Tells a seat that begins to hear whose ways up are not good.
  static func introduce(to id: SeatID, _ rooms: Seating, _ step: inout Step) {
    guard let seat = rooms.table.seats[id], let room = rooms.table[seat.room], !room.weak.isEmpty else { return }
    let people = room.weak.sorted { $0.key < $1.key }.map(\.value)
    step.tell(.roomQuality(RoomQuality(room: room.name, people: people)), to: seat.session)
  }

  /// Takes what was measured in some rooms, and tells those whom it concerns.
  mutating func take(_ reports: [SeatReport], _ table: inout RoomTable, _ step: inout Step) {
    var changed: [RoomKey: [PersonQuality]] = [:]
    for report in reports {
      guard let seat = table.seats[report.seat] else { continue }
      figures.count(report)
      if step.isFollowed { table.update(seat.room) { $0.stays.take(report, of: seat.participant) } }
      var entry = entries[seat.id] ?? Entry()
      if entry.up.look(WayJudge.up(report)) {
        let verdict = entry.up.verdict
        let person = PersonQuality(
          participantId: "\(seat.participant)", level: verdict.level, reason: verdict.reason)
        changed[seat.room, default: []].append(person)
        table.update(seat.room) { $0.weak[seat.participant] = verdict.level == .good ? nil : person }
      }
      _ = entry.down.look(WayJudge.down(report))
      tell(own(report, entry, seat), &entry, seat, table, &step)
      entries[seat.id] = entry
    }
    for (room, people) in changed.sorted(by: { $0.key < $1.key }) {
      step.tell(.roomQuality(RoomQuality(room: table.name(of: room), people: people)), in: room, of: table)
    }
    if entries.count > table.seats.count { entries = entries.filter { table.seats[$0.key] != nil } }
  }

  /// One's own ways: at once where a level changes, and while they are not good when figures do.
  private func tell(
    _ own: OwnQuality, _ entry: inout Entry, _ seat: Seat, _ table: RoomTable, _ step: inout Step
  ) {
    entry.looks += 1
    let isNew = (own.level, own.reason, own.way) != (entry.told.level, entry.told.reason, entry.told.way)
    let isDue = own.level != .good && own != entry.told && entry.looks >= Self.looksBetween
    guard isNew || isDue else { return }
    (entry.told, entry.looks) = (own, 0)
    let event = RoomQuality(room: table.name(of: seat.room), people: [], own: own)
    step.tell(.roomQuality(event), to: seat.session)
  }

  private func own(_ report: SeatReport, _ entry: Entry, _ seat: Seat) -> OwnQuality {
    let (up, down) = (entry.up.verdict, entry.down.verdict)
    let isUp = up.rank > down.rank
    let worst = isUp ? up : down
    var own = OwnQuality()
    (own.level, own.reason) = (worst.level, worst.reason)
    own.way = worst.level == .good ? nil : isUp ? .up : .down
    (own.rtt, own.estimate) = (report.roundTrip, report.estimate)
    (own.loss, own.rate) = (report.down.loss, report.down.rate)
    (own.paused, own.freezes) = (report.paused, report.frozen)
    own.tracks = report.tracks.map {
      OwnTrackQuality(trackId: "\($0.id)", loss: $0.way.loss, jitter: $0.way.jitter, rate: $0.way.rate)
    }
    return own
  }
}

extension WayJudge.Verdict: Comparable {
  static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}
