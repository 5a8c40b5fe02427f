// Turns at a kind of work that strangers can ask for. What is asked for at once is bounded for each network, and by what the thread that
// does it takes in one go; the rest waits for a while, and is served fairly. Pure: the time comes in as an argument.
//
//   ask ──▶ has its network a turn left? ──yes──▶ now
//                  │ no
//                  ▼
//   rank 0 ▸▸▸▸   who has not failed, and had the fewest turns
//   rank 1 ▸▸       one after the other, as the network's turns come back ──▶ served
//   …                └──────────── patience is over ────────────────────────▶ tooLate

/// How much there may be.
public struct TurnLimits: Sendable, Hashable {
  /// Turns of one network in the long run …
  public var perSecond: Double
  /// … and at once after a pause.
  public var burst: Int
  /// Turns of all networks together. Raising it lets many networks together take more of the thread that serves them.
  public var allPerSecond: Double
  /// The same at once: nobody else is served by the thread in that time.
  public var allBurst: Int
  /// How long something waits before it is told to come again.
  public var patience: TimeDelta
  /// What may wait of one network …
  public var mostOfNetwork: Int
  /// … and of all.
  public var most: Int

  /// Limits with all their parts.
  public init(
    perSecond: Double, burst: Int, allPerSecond: Double, allBurst: Int, patience: TimeDelta, mostOfNetwork: Int,
    most: Int
  ) {
    (self.perSecond, self.burst, self.allPerSecond, self.allBurst) = (perSecond, burst, allPerSecond, allBurst)
    (self.patience, self.mostOfNetwork, self.most) = (patience, mostOfNetwork, most)
  }
}

/// What waits for its turn, and who has turns left.
///
///     switch turns.ask(item, of: network, rank: TurnRank(), at: now) {
///     case .now: work(item)
///     case .waits: wake(at: turns.nextTurn(after: now))
///     case .notNow(let wait): refuse(item, retryAfter: wait)
///     }
public struct FairTurns<Item: Sendable>: Sendable {
  /// What asking comes to.
  public enum Verdict: Hashable, Sendable {
    /// It is its turn.
    case now
    /// It waits. `next` has it when its turn comes or its time is over.
    case waits(TurnTicket)
    /// Too much waits already. It may be asked for again after so many milliseconds.
    case notNow(wait: Int64)
  }

  /// What became of something that waited.
  public enum Outcome: Hashable, Sendable {
    case turn
    /// It may be asked for again after so many milliseconds.
    case tooLate(wait: Int64)
  }

  private struct Waiting {
    let item: Item
    let network: PeerNetwork
    let rank: TurnRank
  }

  /// What waits of one network: for each rank those that came first in front.
  private struct Line {
    var ranks = [[TurnTicket]](repeating: [], count: TurnRank.count)
    var count = 0
  }

  /// The limits.
  public let limits: TurnLimits
  private var buckets: NetworkBuckets
  private var all: TokenBucket
  private var waiting: [TurnTicket: Waiting] = [:]
  private var lines: [PeerNetwork: Line] = [:]
  /// When each network that something waits of has its next turn.
  private var turns = Deadlines<PeerNetwork>()
  /// All that waits, by when its patience is over. All have as much, so those that came first are in front.
  private var patience = DeadlineQueue<TurnTicket>()
  /// What had to make space for others.
  private var displaced: [(item: Item, wait: Int64)] = []
  private var last: UInt64 = 0

  /// Nothing waits, and every network has all of its turns.
  public init(limits: TurnLimits, now: Instant) {
    self.limits = limits
    buckets = NetworkBuckets(burst: limits.burst, perSecond: limits.perSecond)
    all = TokenBucket(perSecond: limits.allPerSecond, burst: limits.allBurst, now: now)
  }

  /// What waits.
  public var count: Int { waiting.count }

  /// What waits of one network.
  public func count(of network: PeerNetwork) -> Int { lines[network]?.count ?? 0 }

  /// Asks for a turn.
  public mutating func ask(
    _ item: @autoclosure () -> Item, of network: PeerNetwork, rank: TurnRank, at now: Instant
  ) -> Verdict {
    // Nobody overtakes who waits.
    if lines[network] == nil, !isSomebodyDue(at: now), all.wait(at: now) == nil, buckets.take(network, at: now) == nil {
      _ = all.take(at: now)
      return .now
    }
    guard count(of: network) < limits.mostOfNetwork || makeSpace(in: network, for: rank) else {
      return .notNow(wait: wait(of: network, rank))
    }
    guard waiting.count < limits.most || makeSpace(besides: network) else {
      return .notNow(wait: wait(of: network, rank))
    }
    last += 1
    let ticket = TurnTicket(number: last)
    waiting[ticket] = Waiting(item: item(), network: network, rank: rank)
    patience.push(now + limits.patience, ticket)
    if lines[network] == nil {
      lines[network] = Line()
      setTurn(of: network, at: now)
    }
    lines[network]?.ranks[rank.place].append(ticket)
    lines[network]?.count += 1
    return .waits(ticket)
  }

  /// The next whose turn it is, or whose time is over; nil when nothing is to be done before `nextTurn`.
  public mutating func next(at now: Instant) -> (item: Item, outcome: Outcome)? {
    if let gone = displaced.popLast() { return (gone.item, .tooLate(wait: gone.wait)) }
    if let served = serve(at: now) { return (served, .turn) }
    while let ticket = patience.pop(at: now) {
      guard let late = remove(ticket) else { continue }
      return (late.item, .tooLate(wait: wait(of: late.network, late.rank)))
    }
    return nil
  }

  /// When `next` has something to say: at once where that is not after `now`.
  public func nextTurn(after now: Instant) -> Instant {
    guard displaced.isEmpty else { return now }
    guard !waiting.isEmpty else { return .distantFuture }
    let all = now + .milliseconds(Int(all.wait(at: now) ?? 0))
    return min(patience.next, max(turns.next ?? .distantFuture, all))
  }

  /// Whoever asked is gone.
  public mutating func withdraw(_ ticket: TurnTicket) { _ = remove(ticket) }

  private func isSomebodyDue(at now: Instant) -> Bool { turns.next.map { $0 <= now } ?? false }

  private mutating func setTurn(of network: PeerNetwork, at now: Instant) {
    turns.set(network, at: now + .milliseconds(Int(buckets.wait(of: network, at: now) ?? 0)))
  }

  private mutating func serve(at now: Instant) -> Item? {
    while isSomebodyDue(at: now), all.wait(at: now) == nil, let network = turns.popDue(at: now) {
      if buckets.take(network, at: now) == nil, let ticket = front(of: network), let served = remove(ticket) {
        _ = all.take(at: now)
        if lines[network] != nil { setTurn(of: network, at: now) }
        return served.item
      }
      setTurn(of: network, at: now)
    }
    return nil
  }

  /// Who is first in a network's line.
  private mutating func front(of network: PeerNetwork) -> TurnTicket? {
    for place in 0..<TurnRank.count {
      dropGone(of: network, place)
      if let first = lines[network]?.ranks[place].first { return first }
    }
    return nil
  }

  /// Those in front that are gone.
  private mutating func dropGone(of network: PeerNetwork, _ place: Int) {
    guard let first = lines[network]?.ranks[place].first, waiting[first] == nil else { return }
    let gone = lines[network]?.ranks[place].prefix { waiting[$0] == nil }.count
    lines[network]?.ranks[place].removeFirst(gone ?? 0)
  }

  private mutating func remove(_ ticket: TurnTicket) -> Waiting? {
    guard let gone = waiting.removeValue(forKey: ticket) else { return nil }
    lines[gone.network]?.count -= 1
    if lines[gone.network]?.count == 0 {
      lines[gone.network] = nil
      turns.cancel(gone.network)
    } else {
      dropGone(of: gone.network, gone.rank.place)
    }
    return gone
  }

  /// Where a line is full, the last of the lowest rank in it makes space for one of a higher.
  private mutating func makeSpace(in network: PeerNetwork, for rank: TurnRank) -> Bool {
    dropLast(of: network, from: rank.place + 1)
  }

  /// Tells the last of the lowest rank from `least` on to come again.
  private mutating func dropLast(of network: PeerNetwork, from least: Int) -> Bool {
    for place in stride(from: TurnRank.count - 1, through: least, by: -1) {
      while let ticket = lines[network]?.ranks[place].popLast() {
        guard let gone = remove(ticket) else { continue }
        displaced.append((gone.item, wait(of: network, gone.rank)))
        return true
      }
    }
    return false
  }

  /// Where as much waits as may, the last of the longest line makes space for a network that has none.
  private mutating func makeSpace(besides network: PeerNetwork) -> Bool {
    guard lines[network] == nil, let longest = lines.max(by: { $0.value.count < $1.value.count }),
      longest.value.count > 1
    else { return false }
    return dropLast(of: longest.key, from: 0)
  }

  /// Until when as many have had their turn as wait in front of it. Who has failed is told a longer time.
  private func wait(of network: PeerNetwork, _ rank: TurnRank) -> Int64 {
    let ahead = lines[network].map { $0.ranks[0...rank.place].reduce(1) { $0 + $1.count } } ?? 1
    let longest = rank.failures == 0 ? 1_000.0 : 10_000.0
    return Int64(min(max(Double(ahead) / limits.perSecond * 1_000, 200), longest))
  }
}

/// Names something that waits for its turn.
public struct TurnTicket: Hashable, Sendable {
  fileprivate let number: UInt64
}

/// Who is served first: who has not failed yet, and of those whoever had the fewest turns. Who was sent away is no worse for it, else those
/// who come again and again and are served would keep them out for ever.
public struct TurnRank: Hashable, Sendable {
  /// How often they have failed, as far as it makes a difference.
  public let failures: Int
  /// How many of their turns came to something, likewise.
  public let turns: Int
  private static let most = 3

  /// The rank of one who has failed so often, and had so many turns besides.
  public init(failures: Int = 0, turns: Int = 0) {
    (self.failures, self.turns) = (min(max(failures, 0), Self.most), min(max(turns, 0), Self.most))
  }

  fileprivate static let count = (most + 1) * (most + 1)
  fileprivate var place: Int { failures * (Self.most + 1) + turns }
}
