// The way out of a worker: what waits for each receiver, how long it may wait, and what has been sent. The flush is in
// Egress+Flush.swift.
//
//   Forwarder ─▶ queue: media, as handles ─────▶ flush: write, seal ─▶ segments ─▶ sink
//   Transport ─▶ control: STUN, DTLS, RTCP ──────────────────────────────▲

import Basics
import Forwarding
import RTP
import SRTP

/// Owns what is on its way out. Sans-IO: whoever flushes hands in the sink.
struct Egress: ~Copyable {
  var queue = SendQueue()
  var segments = SegmentBuffer()
  var control = ControlQueue()
  private(set) var redundancy = RedundancyBuffer()
  var coalescing: Coalescing
  /// When the last turn began.
  var turned = Instant.zero
  /// Transports whose lines are probed, and when the first of them wants padding.
  var probing: [TransportID] = []
  var nextProbe = Instant.distantFuture
  /// Packets of video that a flush has dropped, since they waited too long.
  var withdrawn: [SendEntry] = []
  var counters = SendCounters()

  init(_ window: CoalescingWindow) { coalescing = Coalescing(window) }

  // MARK: what waits

  /// Lets a packet join what waits for its receiver. Counts it as dropped when the queue is full.
  @inline(__always)
  mutating func append(_ entry: SendEntry, _ kind: MediaKind, to destination: Destination, _ chain: inout SendChain) {
    if !queue.append(entry, kind: kind, receiver: destination, chain: &chain) { counters.drops.count(.sendQueueFull) }
  }

  /// The same for a packet that is sent again. Where its receiver cannot be sent to, it is dropped and counted.
  mutating func enqueue(
    _ entry: SendEntry, _ kind: MediaKind, to destination: Destination, _ ends: inout Ends
  ) {
    switch ends.queue(of: destination) {
    case .gone, .closed: counters.drops.count(.transportDown)
    case .open(let chain): append(entry, kind, to: destination, &chain.pointee)
    }
  }

  /// Drops what still waits for a receiver that ends.
  mutating func discard(_ transport: inout Transport) {
    release(&transport.downlink)
    discard(transport.chain.video)
    discard(transport.chain.audio)
    transport.chain = SendChain()
  }

  /// Nothing of what waits for a receiver counts as held back any more.
  mutating func release(_ downlink: inout Downlink?) {
    guard let held = downlink?.held, held > 0 else { return }
    queue.release(held)
    downlink?.held = 0
  }

  private mutating func discard(_ line: SendChain.Line) {
    var next = line.first
    while next >= 0 {
      counters.drops.count(.transportDown)
      next = queue.free(next)
    }
  }

  /// Seals an RTCP compound in its place, and queues a copy. `compound` is as long after it as before.
  mutating func sendRTCP(_ compound: inout [UInt8], _ security: inout Security, to path: Path?) {
    guard let path, security.isReady else { return }
    let length = compound.count
    compound.append(contentsOf: repeatElement(0, count: 32))
    defer { compound.removeLast(compound.count - length) }
    var span = compound.mutableSpan
    do throws(SRTPError) {
      guard let total = try security.protectRTCP(&span, length: length) else { return }
      control.append(compound.prefix(total), to: path)
    } catch {
      counters.drops.count(DropReason(sealing: error))
    }
  }

  /// Takes what a transport's handshake has written.
  mutating func collectDatagrams(of transport: inout Transport) {
    guard var datagram = transport.security.nextDatagram() else { return }
    let path = transport.takeFlight()
    while true {
      if let path { control.append(datagram, to: path) }
      guard let next = transport.security.nextDatagram() else { return }
      datagram = next
    }
  }

  /// How long the video has waited that leaves next; zero where none waits.
  func waited(_ chain: SendChain, at now: Instant) -> TimeDelta {
    chain.video.first < 0 ? .zero : max(.zero, now - queue[chain.video.first].due)
  }

  // MARK: when

  /// The next beat, a multiple of the interval, until which the worker may rest after a turn that ends at `now`; nil where
  /// none is kept or where it went by during the turn.
  mutating func beat(at now: Instant) -> (next: Instant, interval: TimeDelta)? {
    guard let rest = coalescing.untilBeat(at: now, began: turned), rest > .zero else { return nil }
    return (now + rest, coalescing.beat)
  }

  /// As `WorkerState.rest(at:)`.
  mutating func rest(at now: Instant) -> TimeDelta {
    if let rest = coalescing.untilBeat(at: now, began: turned) { return rest }
    guard queue.nextDue != .distantFuture else { return .zero }
    // For what an audience may wait for, the sockets are not left alone.
    let wait = queue.nextDue - now
    return wait > coalescing.longest ? .zero : max(.zero, min(wait, coalescing.rest))
  }
}

/// Bytes of video that may leave for one receiver in one flush. Audio always leaves; it is taken off all the same.
struct SendBudget: Sendable {
  /// What may still leave, in bytes of sealed packets. The packet that uses the budget up may go beyond it: then this is below
  /// zero, and who gives budgets takes it off the next one.
  var bytes: Int
  /// When there is more. The receiver is looked at again then: not sooner than `Egress.soonest`, not later than `Egress.latest`.
  var renewedAt: Instant

  /// All that waits may leave.
  static var unlimited: SendBudget { SendBudget(bytes: .max, renewedAt: .zero) }

  var isUsedUp: Bool { bytes <= 0 }
  var isUnlimited: Bool { bytes == .max }
}

/// What was sent since the start, and what was not.
struct SendCounters {
  var report = SendReport()
  /// Media packets sealed for the first time.
  var forwarded: UInt64 = 0
  /// Earlier packets of sound that went along with others.
  var redundant: UInt64 = 0
  /// Bytes of padding, which only measure lines.
  var padding: UInt64 = 0
  /// Media packets sealed again, because a receiver asked.
  var retransmitted: UInt64 = 0
  var drops = DropCounters()

  /// Adds all of it to what a worker reports.
  func add(to total: inout WorkerCounters) {
    total.sends &+= report.sends
    for index in 0..<7 { total.sendsBySegments[index] &+= report.bySegments[index] }
    total.packetsOut &+= report.packets
    total.bytesOut &+= report.bytes
    total.forwarded &+= forwarded
    total.retransmitted &+= retransmitted
    total.redundant &+= redundant
    total.padding &+= padding
    total.drops.add(drops)
    total.drops[.sendQueueFull] &+= report.queueFull
    total.drops[.sendFailed] &+= report.failed
  }
}
