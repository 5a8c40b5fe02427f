// Which of the events that wait on disk are in the hands of the thread that tells a web server: a bounded part of them, in order. Pure.
//
//   on disk, by number:  ■ settled   □ in hand   ▨ of a lane that has enough in hand (behind)   · not looked at
//                        ■ ■ □ ■ ▨ □ ▨ □ · · · · · · ·
//                                      ▲ seen

import Basics

/// What of one realm's events is in hand.
struct EventWindow: Sendable {
  /// Events in hand. More cost their memory; fewer let the thread that tells run dry while the disk is busy.
  static let most = 1024

  /// Events of one lane in hand, so that one room that the web server does not take holds up no other.
  static let mostOfLane = 64

  /// Events that are read from disk at a time. More make tickets wait for longer.
  static let step = 256

  private struct Lane: Sendable {
    var inHand = 0
    /// The highest number that was in hand.
    var last: Int64
    /// Whether the disk has more of it, with numbers up to `seen`.
    var isBehind = false
  }

  private var lanes: [ExactText: Lane] = [:]
  private var laneOf: [Int64: ExactText] = [:]
  /// All up to this number are settled, in hand, or of a lane that is behind.
  private(set) var seen: Int64 = 0
  /// The highest number on disk.
  private(set) var last: Int64 = 0

  /// Nothing is in hand, and everything up to `last` is on disk.
  init(last: Int64) { self.last = last }

  /// Numbers in hand.
  var inHand: Set<Int64> { Set(laneOf.keys) }
  var count: Int { laneOf.count }

  /// Numbers up to this are on disk.
  mutating func note(last number: Int64) { last = max(last, number) }

  /// Whether the next events should be read, those after `seen`.
  var wantsMore: Bool { seen < last && laneOf.count <= Self.most / 2 }

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
    guard laneOf.count < Self.most else { return .full }
    seen = max(seen, number)
    let name = ExactText(name)
    if let lane = lanes[name], lane.isBehind || lane.inHand >= Self.mostOfLane {
      lanes[name]?.isBehind = true
      return .behind
    }
    hold(number, name)
    return .inHand
  }

  /// The disk has nothing that waits between `seen` and this number.
  mutating func skip(to number: Int64) { seen = max(seen, number) }

  /// A lane of which more should be read: up to `limit` with numbers above `after` and up to `seen`.
  var wanted: (lane: String, after: Int64, limit: Int)? {
    let space = Self.most - laneOf.count
    guard space > 0, let next = lanes.first(where: { $0.value.isBehind && $0.value.inHand <= Self.mostOfLane / 2 })
    else { return nil }
    return (next.key.text, next.value.last, min(Self.mostOfLane - next.value.inHand, space))
  }

  /// What was read of such a lane.
  mutating func take(_ numbers: [Int64], ofLane name: String, wanted limit: Int) {
    let name = ExactText(name)
    for number in numbers { hold(number, name) }
    guard numbers.count < limit else { return }
    lanes[name]?.isBehind = false
    if lanes[name]?.inHand == 0 { lanes[name] = nil }
  }

  private mutating func hold(_ number: Int64, _ lane: ExactText) {
    guard laneOf.updateValue(lane, forKey: number) == nil else { return }
    lanes[lane, default: Lane(last: number)].inHand += 1
    lanes[lane]?.last = number
  }

  /// It has been delivered, or given up; false where it was not in hand.
  @discardableResult
  mutating func settle(_ number: Int64) -> Bool {
    guard let name = laneOf.removeValue(forKey: number), var lane = lanes[name] else { return false }
    lane.inHand -= 1
    lanes[name] = lane.inHand == 0 && !lane.isBehind ? nil : lane
    return true
  }
}
