// What happens because time has passed: the loop asks when, and polls.

import Basics
import Forwarding
import RTP

extension WorkerState {
  // Mutating, though nothing changes: where the state is borrowed, the compiler (6.3) copies all of it.

  /// When `poll` or `flush` has something to do.
  public var nextDeadline: Instant {
    mutating get {
      min(
        min(deadlines.next, nextDue), min(egress.queue.nextDue, min(egress.nextProbe, quality.next)))
    }
  }

  /// Whether so much waits to be sent that no more should be read before the next flush.
  public var isFull: Bool { egress.queue.isUnderPressure }

  /// Whether so much waits that a flush must come before what has been read already.
  public var isNearlyFull: Bool { egress.queue.isNearlyFull }

  /// The next beat, a multiple of the interval, until which the worker may rest after a turn that ends at `now`; nil where
  /// none is kept or where it went by during the turn.
  public mutating func beat(at now: Instant) -> (next: Instant, interval: TimeDelta)? { egress.beat(at: now) }

  /// How long after a turn of the loop the sockets may be left alone. Where a beat is kept, that is until the next one, and not at
  /// all where it went by during the turn. Otherwise it is as long as packets wait to be coalesced, since what arrives would wait
  /// with them. Hand over what came meanwhile with the time of its arrival.
  public mutating func rest(at now: Instant) -> TimeDelta { egress.rest(at: now) }

  /// Hands over what taps have been given. Where a sink has no room, the rest of that tap waits for the next call.
  public mutating func drainTaps<Sink: TapSink & ~Copyable>(into sink: inout Sink) {
    ends.taps.forEach { _, tap in tap.drain(into: &sink) }
  }

  /// From when on `noteTurn` has to be told what was used: twenty times a second at most.
  public var useDue: Instant { tracks.shares.end }

  /// Notes that a turn of the loop has read what had come: how long the oldest of it had waited in the kernel, whether it left some
  /// there, how many nanoseconds all turns before took together, and, from `useDue` on, what was used so far. While packets stand
  /// there, rooms get shares of what can be sent, and each receiver fewer pictures.
  public mutating func noteTurn(waited: TimeDelta, leaves: Bool, busy: UInt64, used: WorkerUse?, at now: Instant) {
    guard tracks.noteTurn(waited: waited, leaves: leaves, busy: busy, used: used, at: now) else { return }
    // Layers are chosen anew for everybody who is sent pictures.
    var pictured: [TransportID] = []
    ends.transports.forEach { id, transport in
      guard transport.downlink != nil else { return }
      transport.downlink?.noteChange(at: now)
      pictured.append(id)
    }
    for id in pictured { schedule(id, at: now) }
  }

  /// Does what is due, in the order of its deadlines.
  public mutating func poll(at now: Instant) {
    begin(at: now)
    if quality.next <= now {
      let found = quality.collect(&ends, &tracks, &forwarder, at: now)
      if !found.isEmpty { turn.tell(.quality(found)) }
    }
    while min(deadlines.next, nextDue) <= now {
      if deadlines.next <= nextDue {
        if let id = deadlines.pop(at: now) { pollTransport(id, at: now) }
      } else if let due = popDue(at: now) {
        poll(due, at: now)
      }
      followWishes()
    }
  }

  private mutating func poll(_ due: Due, at now: Instant) {
    switch due {
    case .encoding(let id):
      guard tracks.isDue(id, at: now) else { return }
      askSource(of: id, at: now)
      tracks.schedule(encoding: id, &turn)
    case .layers(let id), .arrivals(let id):
      guard tracks.producers.contains(id) else { return }
      if case .layers = due { tracks.producers[id].layersScheduled = false }
      for consumer in forwarder.pollLayers(id, &tracks, &turn)
      where ends.canBeSentTo(forwarder.consumers[consumer].destination) {
        forwarder.requestKeyframe(for: consumer, tracks, &turn)
      }
    case .speakers(let id): tracks.pollSpeakers(id, &turn)
    case .copy(let id, let sequence):
      guard forwarder.consumers.contains(id) else { return }
      forwarder.retransmit(Forwarder.Repeat(sequence: sequence, consumer: id), &tracks, &ends, &egress, &turn)
    case .wish(let id): forwarder.grant(any: forwarder.wishAgain(id, tracks, &turn), &tracks, &ends, &turn)
    case .replay(let id): forwarder.replay(id, &tracks, &ends, &egress, &turn)
    }
  }

  /// Notes when a transport is to be looked at. The row notes which of its deadlines counts: a stale one is told apart when it
  /// comes out of the queue.
  mutating func schedule(_ id: TransportID, at now: Instant) {
    let next = ends.transports[id].nextDeadline
    guard next < ends.transports[id].scheduled else { return }
    ends.transports[id].scheduled = next
    deadlines.push(next, id)
  }

  private mutating func pollTransport(_ id: TransportID, at now: Instant) {
    guard ends.transports.contains(id), ends.transports[id].scheduled <= now else { return }
    ends.transports[id].scheduled = .distantFuture
    if ends.transports[id].isConsentDue(at: now),
      ends.transports[id].pollConsent(
        at: now, receivingSince: tracks.flowingSince(ends.transports[id].routes.lines))
    {
      directory.loseConsent(of: id, &ends, &turn)
    }
    if let progress = ends.transports[id].pollConnection(at: now) {
      turn.tell(.transportFailed(ends.transports[id].key, .tooSlow(progress)))
    }
    ends.transports[id].security.poll(at: now)
    if ends.transports[id].canSend { ends.transports[id].downlink?.estimator.poll(at: now) }
    followLine(of: id, at: now)
    if ends.transports[id].reporting.feedback.nextDeadline <= now {
      rtcp.sendFeedback(to: &ends.transports[id], &egress, at: now)
    }
    if ends.transports[id].reporting.next <= now { sendReports(id, at: now) }
    settle(id, at: now)
  }
}
