// How much of a CPU a worker is going to need, as far as it can be known from who is there.
//
//   CPU time of the last second ÷ what its rooms sent ─▶ what a stream costs here ─┐
//   those who have come and do not send yet, as many as usually do ────────────────┴─▶ percent of a CPU

import Members

/// How heavy a track is: pictures are about three times as many packets as sound.
enum TrackWeight: Int {
  case sound = 1
  case pictures = 3
}

/// What somebody may send and sends, in weights of tracks.
struct ExpectedSeat {
  /// What they may send: one track of each kind that they have the right to.
  var may = 0
  /// What they publish.
  var publishes = 0
  /// How many of their room may send at once.
  var publishers = Int.max

  init() {}

  init(_ sending: SendingRights) {
    may =
      (sending.sound ? TrackWeight.sound.rawValue : 0) + (sending.pictures ? TrackWeight.pictures.rawValue : 0)
    publishers = sending.publishers
  }
}

/// Some of a room's seats together.
private struct Crowd {
  var seats = 0
  /// Those who may send, and those who do.
  var able = 0, sending = 0
  /// What they may send, and what they publish.
  var may = 0, publishes = 0

  mutating func add(_ seat: ExpectedSeat, by count: Int) {
    seats += count
    if seat.may > 0 { able += count }
    if seat.publishes > 0 { sending += count }
    may += seat.may * count
    publishes += seat.publishes * count
  }
}

/// How long somebody has been there, as far as their worker has reported since.
enum SeatAge {
  /// Nothing that was measured has them in it.
  case new
  /// They are sent what the room sends, and may not have begun to send.
  case reported
  /// They send what they are going to.
  case settled
}

/// What the other parts of a room do, all of them together.
struct OtherParts: Equatable {
  /// How many there are.
  var workers = 0
  /// What they publish, and how many there do.
  var publishes = 0, sending = 0
  /// What they are expected to publish.
  var expected = 0.0
}

/// What a room, or its part on one worker, sends, and what it is expected to. What others publish reaches a worker once, and each who is there.
struct RoomForecast {
  /// How many who may send are thought of besides those who are there, in the share of those that do.
  static let doubt = 2.0

  private var new = Crowd(), reported = Crowd(), settled = Crowd()
  private var publishers = Int.max
  /// Nothing where the room is on one worker.
  var away = OtherParts()
  /// What counts in the sums of the room's worker.
  fileprivate var counted = Sums()

  var seats: Int { new.seats + reported.seats + settled.seats }
  /// What those publish of whom that is known, and how many they are.
  var publishes: Int { settled.publishes }
  var sending: Int { settled.sending }

  mutating func add(_ seat: ExpectedSeat, _ age: SeatAge, by count: Int = 1) {
    if seat.may > 0 { publishers = seat.publishers }
    switch age {
    case .new: new.add(seat, by: count)
    case .reported: reported.add(seat, by: count)
    case .settled: settled.add(seat, by: count)
    }
  }

  /// `usual` is the share of those who may send that do, on the worker.
  fileprivate func sums(usual: Double) -> Sums {
    var sums = Sums()
    sums.able = reported.able + settled.able
    sums.sending = reported.sending + settled.sending
    let (present, publishes) = (reported.seats + settled.seats, expected(usual))
    sums.streams =
      Double(settled.publishes * max(0, present - 1))
      + crossing(Double(settled.publishes), Double(away.publishes), present)
    sums.expected = publishes * Double(max(0, seats - 1)) + crossing(publishes, away.expected, seats)
    return sums
  }

  /// Streams of tracks on other workers to so many seats, and between workers: a copy of each own track for each of the others, and one of each
  /// of theirs.
  private func crossing(_ own: Double, _ theirs: Double, _ seats: Int) -> Double {
    own * Double(away.workers) + (seats > 0 ? theirs * Double(seats + 1) : 0)
  }

  /// What it is expected to publish.
  fileprivate func expected(_ usual: Double) -> Double { Double(settled.publishes) + newcomers(usual) }

  /// What those who have just come are expected to publish: as much as they do, and as those before them did.
  private func newcomers(_ usual: Double) -> Double {
    let (able, publishes) = (new.able + reported.able, Double(new.publishes + reported.publishes))
    guard able > 0 else { return publishes }
    let may = Double(new.may + reported.may)
    let share =
      (Double(reported.sending + settled.sending) + Self.doubt * usual)
      / (Double(reported.able + settled.able) + Self.doubt)
    // No more than may send at once, wherever they are.
    let free = Double(max(0, publishers - settled.sending - away.sending)) * may / Double(able)
    return max(publishes, min(may * share, free))
  }
}

/// Rooms of a worker together.
private struct Sums {
  /// What they have sent in the last second, and what they are going to, in streams of sound.
  var streams = 0.0, expected = 0.0
  /// Those who may send and have been there for some time, and those of them who do.
  var able = 0, sending = 0
}

/// Who is taken on a worker, and why.
public struct WorkerAdmission: Sendable {
  /// Who is taken: everybody; only those who go to rooms where somebody is; nobody.
  public enum State: Int, Comparable, Sendable {
    case open, noNewRooms, full

    /// Whether more are taken.
    public static func < (a: State, b: State) -> Bool { a.rawValue < b.rawValue }
  }

  /// Who is.
  public let state: State
  /// The share of a CPU that the worker's thread used in the last second, and the one that it is expected to need, both in percent.
  public let used: Double, expected: Double
}

/// What a worker does, and is going to.
struct WorkerForecast {
  /// The share of a CPU, in percent, above which a worker has no room for another stream's bursts, unless it is told otherwise.
  static let fullAbove = 85
  /// What a stream of sound to one receiver costs before anything has been measured, in percent of a CPU: fifty packets of 2.8 µs.
  static let cost = 0.014
  /// How many streams that assumption is worth beside those that are measured.
  static let trust = 200.0
  /// What is measured counts within these bounds: muted tracks cost nothing until they are unmuted.
  static let bounds = cost / 4...cost * 6
  /// New rooms are refused from this share of the limit on, so that those who are in rooms can still be joined.
  static let roomShare = 0.9
  /// What is left each second of those who have gone.
  static let memory = 0.9
  /// The limit has to be undercut by so much before anybody is taken again: by what is expected, and by what was measured (70 where the limit
  /// is 85).
  static let calm = 0.95, measuredCalm = 14.0 / 17

  private let limit: Double
  /// What it used of a CPU in the last second, in percent; whether that has been above the limit, and is not calm again.
  private var used = 0.0, isOverloaded = false
  private var sums = Sums()
  /// Those who might have sent and left before they were settled: whoever comes and goes is not waited for in full each time.
  private var gone = (able: 0.0, sending: 0.0)
  var seats = 0

  /// One that is full above so many percent of a CPU, 1 to 100; at 100 it never is.
  init(fullAbove: Int) { limit = fullAbove >= 100 ? .infinity : Double(max(fullAbove, 1)) }

  /// Notes what its last second was like. Those who left are forgotten by and by.
  mutating func note(_ percent: Double) {
    used = percent
    if used > limit { isOverloaded = true } else if used < max(1, limit * Self.measuredCalm) { isOverloaded = false }
    gone = (gone.able * Self.memory, gone.sending * Self.memory)
  }

  /// Somebody has left who had just come.
  mutating func gone(_ seat: ExpectedSeat) {
    if seat.may > 0 { gone.able += 1 }
    if seat.publishes > 0 { gone.sending += 1 }
  }

  /// What one of its rooms is expected to publish here.
  func expected(of room: RoomForecast) -> Double { room.expected(usual) }

  /// Whether a room that is here shall take further people elsewhere: what is left is for its pipes, and for who begins to send. So it is also
  /// where no limit is set.
  var isNearlyFull: Bool { percent > min(limit, Double(Self.fullAbove)) * Self.roomShare }

  /// Whether it is far from its limit.
  var isQuiet: Bool { !isOverloaded && percent < limit / 2 }

  func admission(_ state: WorkerAdmission.State) -> WorkerAdmission {
    WorkerAdmission(state: state, used: used, expected: percent)
  }

  /// Changes one of its rooms.
  mutating func change(_ room: inout RoomForecast, _ body: (inout RoomForecast) -> Void) {
    body(&room)
    let before = room.counted
    room.counted = room.sums(usual: usual)
    sums.streams += room.counted.streams - before.streams
    sums.expected += room.counted.expected - before.expected
    sums.able += room.counted.able - before.able
    sums.sending += room.counted.sending - before.sending
  }

  /// Of those who may send how many do.
  private var usual: Double {
    (Double(sums.sending) + gone.sending + RoomForecast.doubt) / (Double(sums.able) + gone.able + RoomForecast.doubt)
  }

  /// The share of a CPU that it is going to need, in percent.
  var percent: Double {
    let cost = (used + Self.cost * Self.trust) / (sums.streams + Self.trust)
    return used + min(max(cost, Self.bounds.lowerBound), Self.bounds.upperBound)
      * (sums.expected - sums.streams)
  }

  func state(after last: WorkerAdmission.State) -> WorkerAdmission.State {
    if isOverloaded { return .full }
    let percent = percent
    if percent > (last == .full ? limit * Self.calm : limit) { return .full }
    let rooms = limit * Self.roomShare
    return percent > (last == .open ? rooms : rooms * Self.calm) ? .noNewRooms : .open
  }
}
