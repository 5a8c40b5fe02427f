// What the control plane's commands change: tracks and subscriptions. Keys become handles before (WorkerState+Commands).

import Basics
import Forwarding
import RTP

extension Forwarder {
  // MARK: tracks

  /// Adds a track with its encodings. Returns the media line by which its packets are found.
  mutating func addProducer(
    _ key: ProducerKey, _ parameters: ReceiveParameters, publisher: Publisher, transport: TransportID, room: RoomID
  ) -> LineRoute {
    let id = producers.insert(
      ProducerSlot(
        key: key, kind: parameters.kind, transport: transport, room: room,
        payloads: PayloadTable(parameters.payloads), publisher: publisher.key,
        canonicalName: Array(publisher.canonicalName.utf8)))
    rooms[room].producers += 1
    if parameters.kind == .audio { rooms[room].sounds += 1 }
    var line = LineRoute(mid: Array(parameters.mid.utf8), producer: id, kind: parameters.kind, encodings: [])
    for (index, encoding) in parameters.encodings.enumerated() {
      let encodingID = encodings.insert(
        EncodingSlot(
          encoding: Encoding(
            parameters: encoding, index: index, kind: parameters.kind,
            clockRate: parameters.kind == .video ? 90_000 : 48_000, nack: parameters.nack),
          producer: id, transport: transport))
      encodings[encodingID].encoding.know(parameters.parameterSets)
      producers[id].encodings.append(encodingID)
      producers[id].declared.append(encodingID)
      line.encodings.append((Array((encoding.rid ?? "").utf8), encodingID))
    }
    return line
  }

  /// Takes what a later description says of a track; `routes` are those of its transport.
  mutating func updateProducer(
    _ id: ProducerID, _ parameters: ReceiveParameters, _ routes: inout Routes, at now: Instant
  ) {
    producers[id].payloads = PayloadTable(parameters.payloads)
    for (encoding, new) in zip(producers[id].declared, parameters.encodings) {
      announce(new, of: encoding, &routes, at: now)
    }
    for encoding in producers[id].encodings { encodings[encoding].encoding.know(parameters.parameterSets) }
  }

  /// SSRCs that a later description tells: packets that bear them may carry no MID any more.
  private mutating func announce(
    _ new: EncodingParameters, of encoding: EncodingID, _ routes: inout Routes, at now: Instant
  ) {
    for (ssrc, isRetransmission) in [(new.ssrc, false), (new.rtxSSRC, true)] {
      guard let ssrc, routes.findIncoming(ssrc) == nil else { continue }
      _ = adopt(
        IncomingRoute(
          ssrc: ssrc, encoding: encoding, isRetransmission: isRetransmission,
          counts: IntakeClass(producers[encodings[encoding].producer].kind)), into: &routes, at: now)
    }
  }

  /// Removes a track that has no consumers any more.
  mutating func removeProducer(_ id: ProducerID) {
    LoudestVoices.forget(id, &self)
    for encoding in producers[id].encodings { _ = encodings.remove(encoding) }
    let room = producers[id].room
    rooms[room].speakers.remove(producers[id].key.value)
    rooms[room].producers -= 1
    if producers[id].kind == .audio { rooms[room].sounds -= 1 }
    _ = producers.remove(id)
  }

  /// Stops a track, or lets it go on with a keyframe.
  mutating func setMuted(_ id: ProducerID, _ muted: Bool, at now: Instant) {
    guard producers[id].isMuted != muted else { return }
    producers[id].isMuted = muted
    if muted {
      rooms[producers[id].room].speakers.remove(producers[id].key.value)
      LoudestVoices.forget(id, &self)
      return
    }
    producers[id].unmutedAt = now
    for encoding in producers[id].encodings { encodings[encoding].mutedUntil = encodings[encoding].encoding.newest }
    for consumer in producers[id].consumers {
      consumers[consumer].consumer.interrupt()
      if producers[id].kind == .video { consumers[consumer].wait.restart() }
      requestKeyframe(for: consumer)
    }
  }

  // MARK: subscriptions

  /// Adds a subscription to a track, or to nothing yet; `layer` as with `WorkerCommand.setLayer`.
  mutating func addConsumer(
    _ key: ConsumerKey, of producer: ProducerID?, to destination: Destination, _ new: Consumer, paused: Bool,
    layer: Int?, _ ends: inout Ends, at now: Instant
  ) -> ConsumerID {
    var consumer = new
    consumer.setPaused(paused)
    consumer.setRedundancy(ends.redundancy(of: consumer.parameters, to: destination))
    let id = consumers.insert(
      ConsumerSlot(
        destination: destination, wishedLayer: Self.wish(layer), wishesPause: paused, consumer: consumer, key: key))
    ends.attach(id, consumer.parameters, to: destination)
    if let producer { begin(id, producer, &ends, at: now) }
    return id
  }

  /// Takes what the subscriber agreed to in a later answer; false when its stream cannot go on so.
  mutating func updateConsumer(
    _ id: ConsumerID, _ parameters: SendParameters, _ ends: inout Ends, at now: Instant
  ) -> Bool {
    guard consumers[id].consumer.update(parameters) else { return false }
    ends.detach(id, from: consumers[id].destination)
    ends.attach(id, parameters, to: consumers[id].destination)
    consumers[id].consumer.setRedundancy(ends.redundancy(of: parameters, to: consumers[id].destination))
    if consumers[id].consumer.awaitsKeyframe { KeyframeCharge.ask(for: id, &self, &ends, at: now) }
    return true
  }

  mutating func removeConsumer(_ id: ConsumerID, _ ends: inout Ends) {
    let (destination, producer) = (consumers[id].destination, consumers[id].producer)
    ends.forget(consumers[id].ssrcs, at: destination)
    ends.detach(id, from: destination)
    if let producer { producers[producer].consumers.removeAll { $0 == id } }
    _ = consumers.remove(id)
  }

  mutating func setPaused(_ id: ConsumerID, _ paused: Bool, _ ends: inout Ends, at now: Instant) {
    consumers[id].wishesPause = paused
    consumers[id].consumer.setPaused(consumers[id].isStopped)
    if !consumers[id].isStopped { KeyframeCharge.ask(for: id, &self, &ends, at: now) }
  }

  mutating func setLayer(_ id: ConsumerID, _ layer: Int?, _ ends: inout Ends, at now: Instant) {
    consumers[id].wishedLayer = Self.wish(layer)
    aim(id, &ends, wishedAt: now)
  }

  private static func wish(_ layer: Int?) -> Int8 { layer.map { Int8(clamping: max($0, 0)) } ?? -1 }

  // MARK: what a subscription is sent

  /// Exchanges the tracks behind two consumers; false when these are not of one kind.
  mutating func swap(
    _ first: ConsumerID, _ second: ConsumerID, _ ends: inout Ends, at now: Instant
  ) -> Bool {
    guard consumers[first].consumer.parameters.kind == consumers[second].consumer.parameters.kind else { return false }
    let (left, right) = (consumers[first].producer, consumers[second].producer)
    move(first, to: right, &ends, at: now)
    move(second, to: left, &ends, at: now)
    return true
  }

  /// Sends a consumer another track from now on, or nothing; false when one of them is gone, or they are not of one kind. Nothing costs
  /// nothing: what was held for want of bandwidth is held no longer.
  mutating func show(
    _ producer: ProducerKey?, on consumer: ConsumerKey, layer: Int?, _ directory: Directory,
    _ ends: inout Ends,
    _ turn: inout Turn
  ) -> Bool {
    guard let id = directory.consumers[consumer] else { return false }
    guard let producer else {
      move(id, to: nil, &ends, at: turn.now)
      if consumers[id].isHeld { release(id, &turn) }
      return true
    }
    guard let new = directory.producers[producer], producers[new].kind == consumers[id].consumer.parameters.kind else {
      return false
    }
    consumers[id].wishedLayer = Self.wish(layer)
    move(id, to: new, &ends, at: turn.now)
    return true
  }

  private mutating func move(
    _ id: ConsumerID, to new: ProducerID?, _ ends: inout Ends, at now: Instant
  ) {
    let old = consumers[id].producer
    guard old != new else { return }
    if let old { producers[old].consumers.removeAll { $0 == id } }
    consumers[id].producer = nil
    consumers[id].consumer.changeSource(target: 0)
    // Who is told of layers is told of the new track's, and when it begins.
    consumers[id].toldLayer = -1
    consumers[id].wait = MediaWait()
    if let new { begin(id, new, &ends, at: now) }
  }

  /// On a line that has shown a limit what is new begins with the lowest layer, until layers are chosen again.
  private mutating func begin(
    _ id: ConsumerID, _ producer: ProducerID, _ ends: inout Ends, at now: Instant
  ) {
    consumers[id].producer = producer
    producers[producer].consumers.append(id)
    let isLimited = ends.isLimited(consumers[id].destination)
    consumers[id].ceiling = isLimited ? producers[producer].lowestStep : .top
    let wished = producers[producer].layer(wished: consumers[id].wishedLayer)
    consumers[id].consumer.target = min(wished, consumers[id].ceiling.layer)
    consumers[id].consumer.limit = consumers[id].ceiling.limit
    // Before the subscriber can be sent to, it is `EarlyKeyframe` that asks. While it is sent nothing, a keyframe would only delay the one that it
    // needs when it can.
    if consumers[id].consumer.awaitsKeyframe && ends.canBeSentTo(consumers[id].destination) {
      KeyframeCharge.ask(for: id, &self, &ends, at: now)
    }
  }
}
