// Which of the events that wait on disk are in the hands of the thread that tells a web server: a bounded part of them, in order. Pure.
//
//   on disk, by number:  ■ settled   □ in hand   ▨ of a lane that has enough in hand, or that rests   · not looked at
//                        ■ ■ □ ■ ▨ □ ▨ □ · · · · · · ·
//                                      ▲ seen
//
// A lane whose first event was not taken rests: nothing of it is in hand until it is due.

import Basics

/// What of one realm's events is in hand.
struct EventWindow: Sendable {
  /// Events in hand. More cost their memory; fewer let the thread that tells run dry while the disk is busy.
  static let most = 1024

  /// Events of one lane in hand, so that one room that the web server does not take holds up no other.
  static let mostOfLane = 64

  /// Events that are read from disk at a time. More make tickets wait for longer.
  static let step = 256

  /// Lanes that rest; who has failed for longest makes space for another, or no new one is begun. More cost their memory: a name and times each.
  static let mostResting = 16_384

  /// Lanes in hand at once that have rested. More let events that are refused take the places of others.
  static let mostRetried = 64

  private struct Lane: Sendable {
    var inHand: Set<Int64> = []
    /// The highest number that was in hand.
    var last: Int64
    /// Whether the disk may have more of it, with numbers up to `seen`.
    var isBehind = false
    /// How often its first event was not taken, where it rests or has rested.
    var attempts = 0
    /// When it was first to be read again, where it rests or has rested: who comes first has failed for longest.
    var since: Instant?

    /// Whether more of it should be read. What was not taken comes alone.
    var isHungry: Bool { isBehind && attempts == 0 && inHand.count <= EventWindow.mostOfLane / 2 }
    var isOver: Bool { inHand.isEmpty && !isBehind }
  }

  private var lanes: [ExactText: Lane] = [:]
  private var laneOf: [Int64: ExactText] = [:]
  private var hungry: Set<ExactText> = []
  private var resting = Deadlines<ExactText>()
  /// The same lanes, by how long they have failed.
  private var failing = Deadlines<ExactText>()
  /// Those in hand that have rested.
  private var retried = 0
  /// All up to this number are settled, in hand, or of a lane that is behind.
  private(set) var seen: Int64 = 0
  /// The highest number on disk.
  private(set) var last: Int64 = 0

  /// Lanes that may rest.
  private let mostResting: Int

  /// Nothing is in hand, and everything up to `last` is on disk.
  init(last: Int64, mostResting: Int = Self.mostResting) { (self.last, self.mostResting) = (last, mostResting) }

  /// Numbers in hand.
  var inHand: Set<Int64> { Set(laneOf.keys) }
  var count: Int { laneOf.count }

  /// Numbers up to this are on disk.
  mutating func note(last number: Int64) { last = max(last, number) }

  /// Whether the next events should be read, those after `seen`.
  var wantsMore: Bool { seen < last && laneOf.count <= Self.most / 2 && resting.count < mostResting }

  /// When a lane that rests is to be read again; nil while none rests, or others that have rested are in hand.
  var nextDue: Instant? { retried < Self.mostRetried && laneOf.count < Self.most ? resting.next : nil }

  /// What becomes of an event that is offered.
  enum Place {
    /// It is to be handed over.
    case inHand
    /// It stays on disk until its lane has less in hand.
    case behind
    /// It stays on disk, and is offered again.
    case full
  }

  /// Takes the next event that waits after `seen`, if there is space for it.
  mutating func offer(_ number: Int64, lane name: String) -> Place {
    guard laneOf.count < Self.most, resting.count < mostResting else { return .full }
    seen = max(seen, number)
    let name = ExactText(name)
    if let lane = lanes[name], lane.isBehind || lane.attempts > 0 || lane.inHand.count >= Self.mostOfLane {
      lanes[name]?.isBehind = true
      look(at: name)
      return .behind
    }
    hold(number, name)
    return .inHand
  }

  /// The disk has nothing that waits between `seen` and this number.
  mutating func skip(to number: Int64) { seen = max(seen, number) }

  /// A lane of which more should be read.
  struct Wanted: Sendable {
    var lane: ExactText
    /// Those with numbers above this, and up to `seen`.
    var after: Int64
    var limit: Int
    /// How often its first event was not taken; 0 where it has not rested.
    var attempts: Int
  }

  /// What should be read first.
  func wanted(at now: Instant) -> Wanted? {
    let space = Self.most - laneOf.count
    guard space > 0 else { return nil }
    if let due = nextDue, due <= now, let name = resting.first, let lane = lanes[name] {
      return Wanted(lane: name, after: lane.last, limit: 1, attempts: lane.attempts)
    }
    guard let name = hungry.first, let lane = lanes[name] else { return nil }
    return Wanted(lane: name, after: lane.last, limit: min(Self.mostOfLane - lane.inHand.count, space), attempts: 0)
  }

  /// What was read of such a lane.
  mutating func take(_ numbers: [Int64], of wanted: Wanted) {
    let name = wanted.lane
    if resting[name] != nil {
      resting.cancel(name)
      failing.cancel(name)
      if numbers.isEmpty { begin(name) } else { retried += 1 }
    }
    for number in numbers { hold(number, name) }
    if numbers.count < wanted.limit { lanes[name]?.isBehind = false }
    look(at: name)
  }

  /// The first event of a lane was not taken, so often: nothing of it is in hand any more, and it rests until then. False where nothing was.
  mutating func rest(_ name: ExactText, attempts: Int, until due: Instant) -> Bool {
    guard var lane = lanes[name], let first = lane.inHand.min() else { return false }
    if lane.attempts > 0 { retried -= 1 }
    for number in lane.inHand { laneOf[number] = nil }
    (lane.inHand, lane.last, lane.isBehind, lane.attempts) = ([], first - 1, true, max(attempts, 1))
    let since = lane.since ?? due
    lane.since = since
    lanes[name] = lane
    resting.set(name, at: due)
    failing.set(name, at: since)
    look(at: name)
    return true
  }

  /// Where as many lanes rest as may: the first event of the one that has failed for longest is given up. The rest of it begins again.
  mutating func giveUp() -> (lane: ExactText, number: Int64)? {
    guard resting.count >= mostResting, let name = failing.first, let lane = lanes[name] else { return nil }
    resting.cancel(name)
    failing.cancel(name)
    let number = lane.last + 1
    lanes[name]?.last = number
    begin(name)
    look(at: name)
    return (name, number)
  }

  /// The first event of a lane is another one now.
  private mutating func begin(_ name: ExactText) {
    lanes[name]?.attempts = 0
    lanes[name]?.since = nil
  }

  private mutating func hold(_ number: Int64, _ lane: ExactText) {
    guard laneOf.updateValue(lane, forKey: number) == nil else { return }
    lanes[lane, default: Lane(last: number)].inHand.insert(number)
    lanes[lane]?.last = number
  }

  /// It has been delivered, or given up; false where it was not in hand.
  @discardableResult
  mutating func settle(_ number: Int64) -> Bool {
    guard let name = laneOf.removeValue(forKey: number), var lane = lanes[name] else { return false }
    lane.inHand.remove(number)
    if lane.attempts > 0 {
      (lane.attempts, lane.since) = (0, nil)
      retried -= 1
    }
    lanes[name] = lane
    look(at: name)
    return true
  }

  /// Keeps in mind whether more of a lane is to be read, or forgets it.
  private mutating func look(at name: ExactText) {
    guard let lane = lanes[name] else { return }
    if lane.isHungry { hungry.insert(name) } else { hungry.remove(name) }
    if lane.isOver { lanes[name] = nil }
  }
}
