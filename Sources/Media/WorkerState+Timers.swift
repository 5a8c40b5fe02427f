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
  /// How often the highest arriving layer of a simulcast track is looked for.
  static let layerInterval = TimeDelta.milliseconds(250)

  /// When `poll` or `flush` has something to do.
  public var nextDeadline: Instant { min(deadlines.next, queue.nextDue) }

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
    if transports[id].pollConsent(at: now) {
      releasePaths(of: id)
      events.append(.transportLost(transports[id].key))
    }
    transports[id].security.poll(at: now)
    if transports[id].feedback.nextDeadline <= now { sendFeedback(id, at: now) }
    if transports[id].nextReport <= now { sendReports(id, at: now) }
    settle(id, at: now)
  }

  // MARK: layers

  mutating func scheduleLayers(_ id: ProducerID, at now: Instant) {
    guard !producers[id].layersScheduled else { return }
    producers[id].layersScheduled = true
    deadlines.push(now + Self.layerInterval, .layers(id))
  }

  /// Until there is a choice of layers every consumer gets the one with the highest rate.
  private mutating func pollLayers(_ id: ProducerID, at now: Instant) {
    guard producers.contains(id) else { return }
    producers[id].layersScheduled = false
    var best = producers[id].bestLayer
    var bestRate = encodings[producers[id].encodings[best]].encoding.rate.bytesPerSecond(at: now)
    for (index, encoding) in producers[id].encodings.enumerated() where index != best {
      let rate = encodings[encoding].encoding.rate.bytesPerSecond(at: now)
      // A fifth more, so that two layers of like rate do not take turns.
      if rate > bestRate + bestRate / 5 { (best, bestRate) = (index, rate) }
    }
    if bestRate > 0 { scheduleLayers(id, at: now) }
    guard best != producers[id].bestLayer else { return }
    producers[id].bestLayer = best
    for consumer in producers[id].consumers { consumers[consumer].consumer.target = Int8(best) }
    requestKeyframe(producer: id, at: now)
  }

  /// Asks for a keyframe of the layer that consumers are to be sent.
  mutating func requestKeyframe(producer id: ProducerID, at now: Instant) {
    guard producers[id].kind == .video, !producers[id].isMuted else { return }
    let encoding = producers[id].encodings[producers[id].bestLayer]
    wantKeyframe(encoding)
  }

  /// Has the encoding's publisher asked for a keyframe, as often as the throttle allows.
  mutating func wantKeyframe(_ encoding: EncodingID) {
    encodings[encoding].encoding.keyframes.request()
    schedule(encoding: encoding)
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
