// Joins transport-wide feedback with what was sent (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
//
//   feedback ─▶ too old? ─▶ numbers unwrapped ─▶ history ─▶ results: received, in order of number · lost · late

import Basics
import RTP

/// A packet of which feedback says that it arrived.
struct ReceivedPacket {
  var sentAt = Instant.zero
  /// On the receiver's clock, whose zero means nothing.
  var arrivedAt = TimeDelta.zero
  var size = ByteCount.zero
  var kind = PacketKind.video
  var cluster: UInt16 = 0
}

/// What one feedback said of the packets that arrived, taken together.
struct ArrivalSummary {
  var packets = 0
  var size = ByteCount.zero
  /// Size of the first packet, in order of number.
  var firstSize = ByteCount.zero
  /// On the receiver's clock.
  var firstArrived = TimeDelta(nanoseconds: .max)
  var lastArrived = TimeDelta(nanoseconds: .min)
  /// The shortest time that a packet was under way. The zero of the receiver's clock is unknown: only differences mean something.
  var leastDelay = TimeDelta(nanoseconds: .max)
  /// Departure of the packet with the highest number.
  var sentAt = Instant.zero
}

/// A walk over the arrivals of one feedback. Indices count from its first number.
private struct FeedbackWalk {
  static let nanosecondsPerTick: Int64 = 250_000

  /// Index of the first packet that is known, and how many are.
  private let oldest: Int
  private let known: UInt
  /// Index of the first packet of which nothing was said before.
  private let fresh: Int
  /// A packet's place in the ring is its index plus this, cut by the mask.
  private let shift: Int
  private let mask: Int
  /// Arrival of the last packet, unwrapped; also of those that are not known.
  var ticks: Int64 = 0
  private(set) var newest = Int64.min
  private(set) var late = 0
  private(set) var answered = 0
  private(set) var sum = ArrivalSummary()

  init(_ history: SendHistory, base: Int64, decided: Int64) {
    oldest = Int(truncatingIfNeeded: history.oldest &- base)
    known = UInt(bitPattern: Int(truncatingIfNeeded: history.next &- history.oldest))
    fresh = Int(truncatingIfNeeded: decided &- base)
    shift = Int(truncatingIfNeeded: base)
    mask = history.ring.count - 1
  }

  /// Marks the packets of a run, and adds them up.
  mutating func add(
    _ run: TransportFeedback.Run, _ bytes: Span<UInt8>, _ ring: inout MutableSpan<SentPacket>
  ) {
    let end = run.index &+ run.count
    if run.index >= max(fresh, oldest), end &- oldest <= Int(bitPattern: known) {
      addFresh(run, bytes, &ring)
    } else {
      addKnown(run, bytes, &ring)
    }
  }

  /// All packets of the run are known, and nothing was said of any. Each variable of the loop is a local one: there are thousands of
  /// rounds a second.
  @inline(never)
  private mutating func addFresh(
    _ run: TransportFeedback.Run, _ bytes: Span<UInt8>, _ ring: inout MutableSpan<SentPacket>
  ) {
    let mask = mask
    var (ticks, least) = (ticks, sum.leastDelay.nanoseconds)
    var (first, last) = (Int64.max, Int64.min)
    var size = 0
    var place = (shift &+ run.index) & mask
    if sum.packets == 0 { sum.firstSize = ByteCount(Int(ring[unchecked: place].size)) }
    var position = 0
    while position < run.count {
      ticks &+= run.delta(position, bytes)
      first = min(first, ticks)
      last = max(last, ticks)
      least = min(least, ticks &* Self.nanosecondsPerTick &- ring[unchecked: place].sentAt.nanoseconds)
      size &+= Int(ring[unchecked: place].size)
      ring[unchecked: place].fate = .received
      place = (place &+ 1) & mask
      position &+= 1
    }
    self.ticks = ticks
    newest = max(newest, last)
    answered &+= run.count
    note(run.count, ByteCount(size), first, last, least)
    sum.sentAt = ring[unchecked: (place &- 1) & mask].sentAt
  }

  /// Some packets of the run are unknown, or something was said of them before.
  @inline(never)
  private mutating func addKnown(
    _ run: TransportFeedback.Run, _ bytes: Span<UInt8>, _ ring: inout MutableSpan<SentPacket>
  ) {
    var position = 0
    while position < run.count {
      ticks &+= run.delta(position, bytes)
      newest = max(newest, ticks)
      let index = run.index &+ position
      position &+= 1
      let place = (shift &+ index) & mask
      guard UInt(bitPattern: index &- oldest) < known, ring[unchecked: place].fate != .received else { continue }
      let packet = ring[unchecked: place]
      if packet.fate == .lost { late &+= 1 } else if index >= fresh { answered &+= 1 }
      ring[unchecked: place].fate = .received
      let size = ByteCount(Int(packet.size))
      if sum.packets == 0 { sum.firstSize = size }
      let delay = ticks &* Self.nanosecondsPerTick &- packet.sentAt.nanoseconds
      note(1, size, ticks, ticks, min(sum.leastDelay.nanoseconds, delay))
      sum.sentAt = packet.sentAt
    }
  }

  @inline(__always)
  private mutating func note(_ count: Int, _ size: ByteCount, _ first: Int64, _ last: Int64, _ least: Int64) {
    sum.packets &+= count
    sum.size += size
    sum.leastDelay = TimeDelta(nanoseconds: least)
    sum.firstArrived = min(sum.firstArrived, TimeDelta(nanoseconds: first &* Self.nanosecondsPerTick))
    sum.lastArrived = max(sum.lastArrived, TimeDelta(nanoseconds: last &* Self.nanosecondsPerTick))
  }

  /// As `add`, and lists each packet. Sums that only a relaxed estimator wants are left out.
  @inline(never)
  mutating func list(
    _ run: TransportFeedback.Run, _ bytes: Span<UInt8>, _ ring: inout MutableSpan<SentPacket>,
    _ list: inout MutableSpan<ReceivedPacket>
  ) {
    let (oldest, known, fresh, shift, mask) = (oldest, known, fresh, shift, mask)
    var (ticks, newest) = (ticks, newest)
    var (count, size) = (sum.packets, 0)
    var position = 0
    while position < run.count {
      ticks &+= run.delta(position, bytes)
      newest = max(newest, ticks)
      let index = run.index &+ position
      position &+= 1
      let place = (shift &+ index) & mask
      guard UInt(bitPattern: index &- oldest) < known, ring[unchecked: place].fate != .received, count < list.count
      else {
        continue
      }
      let packet = ring[unchecked: place]
      if packet.fate == .lost { late &+= 1 } else if index >= fresh { answered &+= 1 }
      ring[unchecked: place].fate = .received
      size &+= Int(packet.size)
      list[unchecked: count] = ReceivedPacket(
        sentAt: packet.sentAt, arrivedAt: TimeDelta(nanoseconds: ticks &* Self.nanosecondsPerTick),
        size: ByteCount(Int(packet.size)), kind: packet.kind, cluster: packet.cluster)
      count &+= 1
    }
    (self.ticks, self.newest) = (ticks, newest)
    if count > sum.packets { sum.sentAt = list[unchecked: count &- 1].sentAt }
    sum.packets = count
    sum.size += ByteCount(size)
  }
}

/// Matches feedback against the send history. A packet is reported as received once and as lost once at most.
struct FeedbackMatcher {
  /// Feedback that reports arrivals this long before what is known already was under way for minutes. Its numbers mean
  /// other packets by now.
  static let longestStep = TimeDelta.seconds(5)
  /// No receiver's clock runs ahead of ours by more than this since its first report, unless it jumped. Raise it and a peer may move
  /// its time on further than time has passed; lower it and reports are taken for a jump that come behind a queue of minutes.
  static let longestLead = TimeDelta.seconds(300)
  /// So many in a row that look old, or too new, mean that the receiver's clock jumped.
  static let jumpAfter = 3
  private static let nanosecondsPerTick: Int64 = 250_000

  /// What the last feedback said arrived, in order of number; empty when only the sum was asked for.
  var received: ArraySlice<ReceivedPacket> { slots[..<listed] }
  /// Grows to what one feedback reports, which of most lines is little: it is kept for each receiver.
  private var slots: [ReceivedPacket] = []
  /// How many `received` are.
  private(set) var listed = 0
  /// The same, taken together.
  private(set) var sum = ArrivalSummary()
  /// Packets that the last feedback said are missing, and their bytes.
  private(set) var lost = 0
  private(set) var lostSize = ByteCount.zero
  /// Packets called lost earlier that arrived after all.
  private(set) var late = 0
  /// Time from the newest packet's departure to its feedback; nil when the last feedback brought nothing new.
  private(set) var roundTrip: TimeDelta?
  /// Departure of the newest packet that is known to have arrived.
  private(set) var newestSent: Instant?
  /// Feedback that was passed over.
  private(set) var ignored = 0

  /// Newest arrival in ticks of 250 µs, unwrapped.
  private var newestTicks: Int64?
  /// The newest arrival of the first feedback since the receiver's clock jumped last, and when that came.
  private var start = (ticks: Int64(0), at: Instant.zero)
  private var suspects = 0
  /// Off in a control run: numbers are taken as they are on the wire, and age is not looked at.
  private let guarded: Bool

  /// A matcher that has seen nothing.
  init(guarded: Bool) {
    self.guarded = guarded
  }

  /// One of `received`, by its place there. Reading a slice allocates in a build that is not optimised.
  @inline(__always)
  func packet(_ place: Int) -> ReceivedPacket { slots[place] }

  /// Reads one feedback packet into the properties; into `received` only with `details`. False when it was passed over as too old.
  mutating func match(
    _ feedback: TransportFeedback, _ bytes: Span<UInt8>, _ history: inout SendHistory, details: Bool = true,
    at now: Instant
  ) -> Bool {
    clear()
    guard acceptsAge(feedback, at: now) else { return false }
    let base = guarded ? Self.unwrap(feedback.baseSequence, near: history.next - 1) : Int64(feedback.baseSequence)
    let decided = max(base, history.decided, history.oldest)
    let end = min(base + Int64(feedback.statusCount), history.next)
    let answered = walk(feedback, bytes, from: base, decided: decided, &history, details, at: now)
    if decided < end {
      // Where all of them arrived there is nothing to look for.
      if end - decided > answered { countLost(decided..<end, &history) }
    }
    history.decided = max(history.decided, end)
    if sum.packets > 0 {
      newestSent = max(newestSent ?? sum.sentAt, sum.sentAt)
      roundTrip = max(now - sum.sentAt, .zero)
    }
    return true
  }

  private mutating func clear() {
    listed = 0
    lost = 0
    lostSize = .zero
    late = 0
    roundTrip = nil
  }

  /// Notes all arrivals, each once at most. Returns how many of them nothing was said of before, from the number `decided` on.
  private mutating func walk(
    _ feedback: TransportFeedback, _ bytes: Span<UInt8>, from base: Int64, decided: Int64, _ history: inout SendHistory,
    _ details: Bool, at now: Instant
  ) -> Int {
    // The reference time wraps; within one feedback it does not.
    let reference = Int64(feedback.referenceTime) * TransportFeedback.ticksPerReference
    var walk = FeedbackWalk(history, base: base, decided: decided)
    walk.ticks = Self.unwrap(reference, near: newestTicks ?? 0)
    if details { reserve(min(feedback.receivedCount, history.ring.count)) }
    var ring = history.ring.mutableSpan
    var runs = TransportFeedback.Runs(feedback)
    if details {
      var list = slots.mutableSpan
      while let run = runs.next(bytes) { walk.list(run, bytes, &ring, &list) }
      listed = walk.sum.packets
    } else {
      while let run = runs.next(bytes) { walk.add(run, bytes, &ring) }
    }
    if walk.newest != .min { note(walk.newest, at: now) }
    late = walk.late
    sum = walk.sum
    return walk.answered
  }

  /// Makes room for what a feedback may name: no more than the history holds.
  private mutating func reserve(_ wanted: Int) {
    if wanted > slots.count { slots.append(contentsOf: repeatElement(ReceivedPacket(), count: wanted - slots.count)) }
  }

  /// What a feedback covers and does not name is lost. Each number is looked at once, so that a report on 65,535 packets
  /// costs no more than those that were sent.
  private mutating func countLost(_ numbers: Range<Int64>, _ history: inout SendHistory) {
    var number = numbers.lowerBound
    while number < numbers.upperBound {
      if history[number].fate == .underWay {
        history[number].fate = .lost
        lost += 1
        lostSize += ByteCount(Int(history[number].size))
      }
      number += 1
    }
  }

  private mutating func note(_ ticks: Int64, at now: Instant) {
    if newestTicks == nil { start = (ticks, now) }
    newestTicks = max(newestTicks ?? ticks, ticks)
  }

  /// Whether a feedback's time can be. Whatever peers say, unwrapped time so moves no faster than time passes: without that it would
  /// come to the end of 64 bits.
  private mutating func acceptsAge(_ feedback: TransportFeedback, at now: Instant) -> Bool {
    guard guarded, let newestTicks else { return true }
    let ticks = Self.unwrap(Int64(feedback.referenceTime) * TransportFeedback.ticksPerReference, near: newestTicks)
    let lead = Self.time(from: start.ticks, to: ticks) - (now - start.at)
    guard Self.time(from: ticks, to: newestTicks) > Self.longestStep || lead > Self.longestLead else {
      suspects = 0
      return true
    }
    suspects += 1
    ignored += 1
    guard suspects >= Self.jumpAfter else { return false }
    suspects = 0
    self.newestTicks = nil
    return true
  }

  /// Wraps rather than traps: ticks come from the wire.
  private static func time(from first: Int64, to last: Int64) -> TimeDelta {
    TimeDelta(nanoseconds: (last &- first) &* nanosecondsPerTick)
  }

  private static func unwrap(_ number: UInt16, near newest: Int64) -> Int64 {
    newest + Int64(number.distance(from: UInt16(truncatingIfNeeded: newest)))
  }

  /// The reference time has 24 bits of 64 ms, so ticks wrap at 32 bits.
  private static func unwrap(_ ticks: Int64, near newest: Int64) -> Int64 {
    newest &+ Int64(Int32(truncatingIfNeeded: ticks &- newest))
  }
}
