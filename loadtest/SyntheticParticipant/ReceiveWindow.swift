// The latest packets of one received stream by number: which are here, which are missing and since when. Packets leave it
// in order, so that frames can be checked without keeping bytes.
//
//   … delivered … | next ─ present, missing, present … newest |

import Basics

/// What is kept of a packet until its turn comes.
struct PacketFact {
  var timestamp: UInt32
  var marker: Bool
  var startsFrame: Bool
  var startsKeyframe: Bool
  var stamp: PayloadStamp?
  /// Padding alone: it fills a number and nothing else.
  var isEmpty = false
  /// Only the header was read.
  var isSealed = false
  /// The stamp stands at the payload's end.
  var hasTrailer = false
  /// The payload itself, where somebody looks at frames.
  var payload: [UInt8]?
}

struct ReceiveWindow {
  /// What is known of a number; a byte each, because a crowd has thousands of windows.
  private enum State: UInt8 { case unknown, missing, present, delivered, abandoned }

  /// A packet that should be here.
  private struct Gap {
    var since: Instant
    var nextRequest: Instant
    var requests = 0
  }

  /// What a packet's arrival meant.
  enum Verdict: Equatable {
    case new
    /// It was missing and had not been asked for.
    case reordered
    /// It was missing and had been asked for.
    case repaired
    /// It is here already, although nobody asked for it.
    case duplicate
    /// It is here already, but it had been asked for.
    case spurious
    /// It had been given up, or is older than the window.
    case late
  }

  /// Packets remembered: half a second of 1,000 packets a second.
  static let length = 512

  private var states = Array(repeating: State.unknown, count: length)
  private var requested = Array(repeating: false, count: length)
  /// The missing ones by number.
  private var gaps: [Int64: Gap] = [:]
  /// When the first of them is to be asked for; looked at often, and a stream that falls behind has hundreds.
  private var nextRequest = Instant.distantFuture
  /// Those that came before their turn.
  private var waiting: [Int64: PacketFact] = [:]
  private var unwrapper = SequenceUnwrapper()
  /// The next number to deliver; nil before the first packet.
  private(set) var next: Int64?
  private(set) var newest: Int64 = 0
  private(set) var first: Int64 = 0

  /// Packets that should be here and are not.
  var missing: Int { gaps.count }

  /// Takes a packet that is the next in order while nothing waits for others: it need not be kept. False where it is not.
  mutating func passes(_ sequence: UInt16) -> Bool {
    guard let number = next, number == newest + 1, unwrapper.peek(sequence) == number else { return false }
    _ = unwrapper.unwrap(sequence)
    states[index(number)] = .delivered
    requested[index(number)] = false
    newest = number
    next = number + 1
    return true
  }

  /// Takes a packet in. `isRetransmission`: it came in the RTX stream.
  mutating func take(
    _ sequence: UInt16, _ fact: PacketFact, isRetransmission: Bool, at now: Instant
  ) -> Verdict {
    guard next != nil else {
      let number = unwrapper.unwrap(sequence)
      (first, newest, self.next) = (number, number, number)
      keep(fact, number)
      return .new
    }
    let number = unwrapper.peek(sequence)
    guard number > newest - Int64(Self.length), number >= first else { return .late }
    if number > newest {
      extend(to: number, at: now)
      _ = unwrapper.unwrap(sequence)
      keep(fact, number)
      requested[index(number)] = false
      return .new
    }
    return fill(number, fact, isRetransmission: isRetransmission)
  }

  private mutating func keep(_ fact: PacketFact, _ number: Int64) {
    states[index(number)] = .present
    waiting[number] = fact
  }

  private mutating func extend(to number: Int64, at now: Instant) {
    let start = max(newest + 1, number - Int64(Self.length) + 1)
    if start > newest + 1 {
      // Nothing of what was known is within the window any more.
      gaps.removeAll()
      waiting.removeAll()
    }
    for gap in start..<max(start, number) {
      forget(gap - Int64(Self.length))
      states[index(gap)] = .missing
      requested[index(gap)] = false
      gaps[gap] = Gap(since: now, nextRequest: now)
      nextRequest = now
    }
    forget(number - Int64(Self.length))
    newest = number
  }

  /// The window has run past a number.
  private mutating func forget(_ number: Int64) {
    switch states[index(number)] {
    case .missing: gaps[number] = nil
    case .present: waiting[number] = nil
    case .unknown, .delivered, .abandoned: break
    }
  }

  private mutating func fill(_ number: Int64, _ fact: PacketFact, isRetransmission: Bool) -> Verdict {
    switch states[index(number)] {
    case .missing:
      let requests = gaps.removeValue(forKey: number)?.requests ?? 0
      keep(fact, number)
      return requests > 0 || isRetransmission ? .repaired : .reordered
    case .present, .delivered: return requested[index(number)] || isRetransmission ? .spurious : .duplicate
    case .abandoned, .unknown: return .late
    }
  }

  /// The next packet in order, if it is here.
  mutating func deliver() -> PacketFact? {
    guard let number = next, number <= newest, let fact = waiting.removeValue(forKey: number) else { return nil }
    states[index(number)] = .delivered
    next = number + 1
    return fact
  }

  /// Gives up the packets at the head that have been missing for `patience`, or that the window has run past, and says
  /// how many.
  mutating func abandon(at now: Instant, patience: TimeDelta) -> Int {
    var count = 0
    while let number = next, number <= newest {
      if number <= newest - Int64(Self.length) {
        count += 1
        next = number + 1
        continue
      }
      guard let gap = gaps[number], now - gap.since >= patience else { break }
      states[index(number)] = .abandoned
      gaps[number] = nil
      count += 1
      next = number + 1
    }
    return count
  }

  /// Numbers that are to be asked for now; each is asked for again after `again`.
  mutating func requests(at now: Instant, again: TimeDelta, into numbers: inout [UInt16]) {
    guard nextRequest <= now, let next else { return }
    nextRequest = .distantFuture
    for number in max(next, newest - Int64(Self.length) + 1)...max(next, newest)
    where states[index(number)] == .missing {
      guard var gap = gaps[number] else { continue }
      if gap.nextRequest <= now {
        gap.nextRequest = now + again
        gap.requests += 1
        gaps[number] = gap
        requested[index(number)] = true
        numbers.append(UInt16(truncatingIfNeeded: number))
      }
      nextRequest = min(nextRequest, gap.nextRequest)
    }
  }

  private func index(_ number: Int64) -> Int { Int(number & Int64(Self.length - 1)) }
}
