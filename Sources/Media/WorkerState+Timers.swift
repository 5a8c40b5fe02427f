// What happens because time has passed: retransmission requests, keyframe requests, layers, speakers, transports' timers.

import Basics
import Forwarding
import RTP

/// What has to be looked at when its time comes.
enum Deadline {
  case transport(TransportID)
  case encoding(EncodingID)
  case layers(ProducerID)
  case room(RoomID)
}

extension WorkerState {
  // Mutating, though nothing changes: where the state is borrowed, the compiler (6.3) copies all of it.

  /// When `poll` or `flush` has something to do.
  public var nextDeadline: Instant {
    mutating get { min(deadlines.next, queue.nextDue) }
  }

  /// Whether so much waits to be sent that no more should be read before the next flush.
  public var isFull: Bool { queue.isUnderPressure }

  /// Whether so much waits that a flush must come before what has been read already.
  public var isNearlyFull: Bool { queue.isNearlyFull }

  /// The next beat, a multiple of the interval, until which the worker may rest after a turn that ends at `now`; nil where
  /// none is kept or where it went by during the turn.
  public mutating func beat(at now: Instant) -> (next: Instant, interval: TimeDelta)? {
    guard let rest = coalescing.untilBeat(at: now, began: turned), rest > .zero else { return nil }
    return (now + rest, coalescing.beat)
  }

  /// How long after a turn of the loop the sockets may be left alone: until the next beat where one is kept, not at all
  /// where that went by during the turn, and otherwise while packets wait for company, since what arrives would wait with
  /// them. Hand over what came meanwhile with the time of its arrival.
  public mutating func rest(at now: Instant) -> TimeDelta {
    if let rest = coalescing.untilBeat(at: now, began: turned) { return rest }
    guard queue.nextDue != .distantFuture else { return .zero }
    // For what an audience may wait for, the sockets are not left alone.
    let wait = queue.nextDue - now
    return wait > coalescing.longest ? .zero : max(.zero, min(wait, coalescing.rest))
  }

  /// Does what is due.
  public mutating func poll(at now: Instant) {
    while let deadline = deadlines.pop(at: now) {
      switch deadline {
      case .transport(let id): pollTransport(id, at: now)
      case .encoding(let id): pollEncoding(id, at: now)
      case .layers(let id): pollLayers(id, at: now)
      case .room(let id): pollSpeakers(id, at: now)
      }
    }
  }

  // A row notes which deadline of its own counts, so that an earlier one can be added without searching the queue
  // and a stale one is told apart when it comes out.

  mutating func schedule(encoding id: EncodingID) {
    let next = encodings[id].encoding.nextDeadline
    guard next < encodings[id].scheduled else { return }
    encodings[id].scheduled = next
    deadlines.push(next, .encoding(id))
  }

  mutating func schedule(_ id: TransportID, at now: Instant) {
    let next = transports[id].nextDeadline
    guard next < transports[id].scheduled else { return }
    transports[id].scheduled = next
    deadlines.push(next, .transport(id))
  }

  private mutating func pollEncoding(_ id: EncodingID, at now: Instant) {
    guard encodings.contains(id), encodings[id].scheduled <= now else { return }
    encodings[id].scheduled = .distantFuture
    if encodings[id].encoding.keyframes.poll(at: now) { sendKeyframeRequest(id, at: now) }
    sendNacks(id, at: now)
    schedule(encoding: id)
  }

  private mutating func pollTransport(_ id: TransportID, at now: Instant) {
    guard transports.contains(id), transports[id].scheduled <= now else { return }
    transports[id].scheduled = .distantFuture
    if transports[id].isConsentDue(at: now),
      transports[id].pollConsent(at: now, carryingSince: carryingSince(id, at: now))
    {
      loseConsent(of: id)
    }
    if let progress = transports[id].pollConnection(at: now) {
      events.append(.transportFailed(transports[id].key, .tooSlow(progress)))
    }
    transports[id].security.poll(at: now)
    if transports[id].feedback.nextDeadline <= now { sendFeedback(id, at: now) }
    if transports[id].nextReport <= now { sendReports(id, at: now) }
    settle(id, at: now)
  }

  /// Since when a transport has carried media, in either direction; nil while it carries none. A stream that has come and is not
  /// muted is expected to go on.
  private mutating func carryingSince(_ id: TransportID, at now: Instant) -> Instant? {
    var since = transports[id].sendingSince(at: now)
    for line in transports[id].routes.lines where !producers[line.producer].isMuted {
      for encoding in producers[line.producer].encodings where encodings[encoding].encoding.isFlowing {
        since = min(since ?? .distantFuture, producers[line.producer].unmutedAt)
      }
    }
    return since
  }

  // MARK: speakers

  private mutating func pollSpeakers(_ id: RoomID, at now: Instant) {
    guard rooms.contains(id) else { return }
    rooms[id].speakersScheduled = false
    if let speakers = rooms[id].speakers.poll(at: now) { events.append(.activeSpeakers(rooms[id].key, speakers)) }
    let next = rooms[id].speakers.nextDeadline
    guard next < .distantFuture else { return }
    rooms[id].speakersScheduled = true
    deadlines.push(next, .room(id))
  }
}
