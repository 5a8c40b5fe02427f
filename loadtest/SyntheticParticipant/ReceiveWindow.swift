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
  /// The stamp stands at the payload's end.
  var hasTrailer = false
  /// The payload itself, where somebody looks at frames.
  var payload: [UInt8]?
}

struct ReceiveWindow {
  enum Slot {
    case unknown
    case missing(since: Instant, nextRequest: Instant, requests: Int)
    case present(PacketFact)
    case delivered(wasRequested: Bool)
    case abandoned
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

  /// Packets remembered: half a second of 1,000 packets a second. A slot takes about 80 bytes.
  static let length = 512

  private var slots: [Slot] = Array(repeating: .unknown, count: length)
  private var requested = Array(repeating: false, count: length)
  private var unwrapper = SequenceUnwrapper()
  /// The next number to deliver; nil before the first packet.
  private(set) var next: Int64?
  private(set) var newest: Int64 = 0
  private(set) var first: Int64 = 0
  private(set) var missing = 0

  /// Takes a packet that is the next in order while nothing waits for others: it need not be kept. False where it is not.
  mutating func passes(_ sequence: UInt16) -> Bool {
    guard let number = next, number == newest + 1, unwrapper.peek(sequence) == number else { return false }
    _ = unwrapper.unwrap(sequence)
    if case .missing = slots[index(number)] { missing -= 1 }
    slots[index(number)] = .delivered(wasRequested: false)
    requested[index(number)] = false
    newest = number
    next = number + 1
    return true
  }

  /// Takes a packet in. `isRetransmission`: it came in the RTX stream.
  mutating func take(
    _ sequence: UInt16, _ fact: PacketFact, isRetransmission: Bool, at now: Instant
  ) -> Verdict {
    guard let next else {
      let number = unwrapper.unwrap(sequence)
      (first, newest, self.next) = (number, number, number)
      slots[index(number)] = .present(fact)
      return .new
    }
    let number = unwrapper.peek(sequence)
    guard number > newest - Int64(Self.length), number >= first else { return .late }
    if number > newest {
      extend(to: number, from: next, at: now)
      _ = unwrapper.unwrap(sequence)
      slots[index(number)] = .present(fact)
      requested[index(number)] = false
      return .new
    }
    return fill(number, fact, isRetransmission: isRetransmission)
  }

  private mutating func extend(to number: Int64, from next: Int64, at now: Instant) {
    let start = max(newest + 1, number - Int64(Self.length) + 1)
    for gap in start..<max(start, number) {
      if case .missing = slots[index(gap)] { missing -= 1 }
      slots[index(gap)] = .missing(since: now, nextRequest: now, requests: 0)
      requested[index(gap)] = false
      missing += 1
    }
    if case .missing = slots[index(number)] { missing -= 1 }
    newest = number
  }

  private mutating func fill(_ number: Int64, _ fact: PacketFact, isRetransmission: Bool) -> Verdict {
    let at = index(number)
    switch slots[at] {
    case .missing(_, _, let requests):
      slots[at] = .present(fact)
      missing -= 1
      return requests > 0 || isRetransmission ? .repaired : .reordered
    case .present, .delivered: return requested[at] || isRetransmission ? .spurious : .duplicate
    case .abandoned, .unknown: return .late
    }
  }

  /// The next packet in order, if it is here.
  mutating func deliver() -> PacketFact? {
    guard let number = next, number <= newest, case .present(let fact) = slots[index(number)] else { return nil }
    slots[index(number)] = .delivered(wasRequested: requested[index(number)])
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
      guard case .missing(let since, _, _) = slots[index(number)], now - since >= patience else { break }
      slots[index(number)] = .abandoned
      missing -= 1
      count += 1
      next = number + 1
    }
    return count
  }

  /// Numbers that are to be asked for now; each is asked for again after `again`.
  mutating func requests(at now: Instant, again: TimeDelta, into numbers: inout [UInt16]) {
    guard missing > 0, let next else { return }
    for number in max(next, newest - Int64(Self.length) + 1)..<(newest + 1) {
      guard case .missing(let since, let due, let requests) = slots[index(number)], due <= now else { continue }
      slots[index(number)] = .missing(since: since, nextRequest: now + again, requests: requests + 1)
      requested[index(number)] = true
      numbers.append(UInt16(truncatingIfNeeded: number))
    }
  }

  private func index(_ number: Int64) -> Int { Int(number & Int64(Self.length - 1)) }
}
