// The control plane's commands: making, changing and ending transports, producers and consumers.

import Basics
import Forwarding
import ICE
import RTP

extension WorkerState {
  /// Carries out one command. What names something gone is counted, and nothing else happens.
  public mutating func apply(_ command: WorkerCommand, at now: Instant) {
    let done: Bool
    switch command {
    case .openTransport(let key, let room, let credentials):
      done = openTransport(key, room: room, credentials: credentials, at: now)
    case .setRemote(let key, let remote): done = setRemote(key, remote, at: now)
    case .restartICE(let key, let credentials): done = restartICE(key, credentials: credentials)
    case .closeTransport(let key): done = closeTransport(key, at: now)
    case .addProducer(let key, let transport, let parameters, let name):
      done = addProducer(key, transport: transport, parameters: parameters, canonicalName: name)
    case .updateProducer(let key, let parameters): done = updateProducer(key, parameters, at: now)
    case .removeProducer(let key): done = removeProducer(key)
    case .setMuted(let key, let muted): done = setMuted(key, muted, at: now)
    case .addConsumer(let key, let producer, let transport, let parameters, let paused, let layer):
      done = addConsumer(
        key, producer: producer, transport: transport, parameters: parameters, paused: paused, layer: layer, at: now)
    case .setLayer(let key, let layer): done = setLayer(key, layer, at: now)
    case .updateConsumer(let key, let parameters): done = updateConsumer(key, parameters, at: now)
    case .removeConsumer(let key): done = removeConsumer(key)
    case .setPaused(let key, let paused): done = setPaused(key, paused, at: now)
    case .swap(let a, let b): done = swap(a, b, at: now)
    }
    if !done { counters.staleCommands += 1 }
  }

  // MARK: transports

  private mutating func openTransport(
    _ key: TransportKey, room: RoomKey, credentials: ICECredentials, at now: Instant
  ) -> Bool {
    guard directory.transports[key] == nil else { return false }
    let roomID = roomID(room)
    rooms[roomID].transports += 1
    let id = transports.insert(
      Transport(
        key: key, room: roomID, credentials: credentials, settings: settings,
        reporter: UInt32(truncatingIfNeeded: random.next())))
    directory.transports[key] = id
    directory.add(fragment: credentials.ufrag, id)
    counters.transports += 1
    schedule(id, at: now)
    return true
  }

  private mutating func roomID(_ key: RoomKey) -> RoomID {
    if let id = directory.rooms[key] { return id }
    let id = rooms.insert(RoomSlot(key: key))
    directory.rooms[key] = id
    return id
  }

  private mutating func setRemote(_ key: TransportKey, _ remote: RemoteTransport, at now: Instant) -> Bool {
    guard let id = directory.transports[key] else { return false }
    transports[id].setRemote(remote)
    transports[id].expectConnection(anew: true, at: now)
    settle(id, at: now)
    return true
  }

  private mutating func restartICE(_ key: TransportKey, credentials: ICECredentials) -> Bool {
    guard let id = directory.transports[key] else { return false }
    for forgotten in transports[id].restartICE(credentials) { directory.remove(fragment: forgotten, of: id) }
    directory.add(fragment: credentials.ufrag, id)
    return true
  }

  private mutating func closeTransport(_ key: TransportKey, at now: Instant) -> Bool {
    guard let id = directory.transports.removeValue(forKey: key) else { return false }
    sendBye(transports[id].routes.outgoing.map(\.ssrc) + [transports[id].reporter], to: id)
    transports[id].security.close()
    collectDatagrams(of: id)
    for line in transports[id].routes.lines { _ = removeProducer(producers[line.producer].key) }
    for route in transports[id].routes.outgoing where consumers.contains(route.consumer) {
      _ = removeConsumer(consumers[route.consumer].key, saysBye: false)
    }
    for fragment in transports[id].fragments { directory.remove(fragment: fragment, of: id) }
    releasePaths(of: id)
    discardQueue(of: id)
    let room = transports[id].room
    _ = transports.remove(id)
    counters.transports -= 1
    rooms[room].transports -= 1
    if rooms[room].transports == 0 {
      directory.rooms[rooms[room].key] = nil
      _ = rooms.remove(room)
    }
    return true
  }

  /// Closes every transport, as at the server's end.
  public mutating func closeAll(at now: Instant) {
    for key in Array(directory.transports.keys) { _ = closeTransport(key, at: now) }
  }

  // MARK: producers

  private mutating func addProducer(
    _ key: ProducerKey, transport: TransportKey, parameters: ReceiveParameters, canonicalName: String
  ) -> Bool {
    guard let transportID = directory.transports[transport], directory.producers[key] == nil else { return false }
    let id = producers.insert(
      ProducerSlot(
        key: key, kind: parameters.kind, transport: transportID, room: transports[transportID].room,
        payloads: PayloadTable(parameters.payloads), canonicalName: Array(canonicalName.utf8)))
    directory.producers[key] = id
    rooms[transports[transportID].room].producers += 1
    if parameters.kind == .audio { rooms[transports[transportID].room].sounds += 1 }
    counters.producers += 1
    var line = LineRoute(mid: Array(parameters.mid.utf8), producer: id, encodings: [])
    for (index, encoding) in parameters.encodings.enumerated() {
      let encodingID = encodings.insert(
        EncodingSlot(
          encoding: Encoding(
            parameters: encoding, index: index, kind: parameters.kind,
            clockRate: parameters.kind == .video ? 90_000 : 48_000, nack: parameters.nack),
          producer: id, transport: transportID))
      producers[id].encodings.append(encodingID)
      line.encodings.append((Array((encoding.rid ?? "").utf8), encodingID))
      if let ssrc = encoding.ssrc { transports[transportID].bind(ssrc, encodingID, isRetransmission: false) }
      if let ssrc = encoding.rtxSSRC { transports[transportID].bind(ssrc, encodingID, isRetransmission: true) }
    }
    transports[transportID].routes.addLine(line)
    transports[transportID].learn(parameters.extensions)
    return true
  }

  private mutating func updateProducer(_ key: ProducerKey, _ parameters: ReceiveParameters, at now: Instant) -> Bool {
    guard let id = directory.producers[key] else { return false }
    producers[id].payloads = PayloadTable(parameters.payloads)
    transports[producers[id].transport].learn(parameters.extensions)
    for (encoding, new) in zip(producers[id].encodings, parameters.encodings) {
      announce(new, of: encoding, on: producers[id].transport, at: now)
    }
    return true
  }

  /// SSRCs that a later description tells: packets that bear them may carry no MID any more.
  private mutating func announce(
    _ new: EncodingParameters, of encoding: EncodingID, on transport: TransportID, at now: Instant
  ) {
    for (ssrc, isRetransmission) in [(new.ssrc, false), (new.rtxSSRC, true)] {
      guard let ssrc, transports[transport].routes.findIncoming(ssrc) == nil else { continue }
      _ = adopt(
        IncomingRoute(ssrc: ssrc, encoding: encoding, isRetransmission: isRetransmission), on: transport, at: now)
    }
  }

  mutating func removeProducer(_ key: ProducerKey) -> Bool {
    guard let id = directory.producers.removeValue(forKey: key) else { return false }
    for consumer in producers[id].consumers where consumers.contains(consumer) {
      _ = removeConsumer(consumers[consumer].key)
    }
    let transport = producers[id].transport
    transports[transport].routes.removeProducer(id)
    for encoding in producers[id].encodings { _ = encodings.remove(encoding) }
    rooms[producers[id].room].speakers.remove(key.value)
    rooms[producers[id].room].producers -= 1
    if producers[id].kind == .audio { rooms[producers[id].room].sounds -= 1 }
    _ = producers.remove(id)
    counters.producers -= 1
    return true
  }

  private mutating func setMuted(_ key: ProducerKey, _ muted: Bool, at now: Instant) -> Bool {
    guard let id = directory.producers[key] else { return false }
    guard producers[id].isMuted != muted else { return true }
    producers[id].isMuted = muted
    if muted {
      rooms[producers[id].room].speakers.remove(key.value)
    } else {
      producers[id].unmutedAt = now
      for encoding in producers[id].encodings { encodings[encoding].mutedUntil = encodings[encoding].encoding.newest }
      for consumer in producers[id].consumers {
        consumers[consumer].consumer.interrupt()
        requestKeyframe(for: consumer)
      }
    }
    return true
  }

  // MARK: consumers

  private mutating func addConsumer(
    _ key: ConsumerKey, producer: ProducerKey, transport: TransportKey, parameters: SendParameters, paused: Bool,
    layer: Int?, at now: Instant
  ) -> Bool {
    guard let producerID = directory.producers[producer], let transportID = directory.transports[transport],
      directory.consumers[key] == nil, producers[producerID].kind == parameters.kind
    else { return false }
    var consumer = Consumer(parameters: parameters, seed: random.next())
    let wished = Self.wish(layer)
    consumer.target = producers[producerID].layer(wished: wished)
    consumer.setPaused(paused)
    let id = consumers.insert(
      ConsumerSlot(
        transport: transportID, wishedLayer: wished, consumer: consumer, key: key, producer: producerID))
    directory.consumers[key] = id
    producers[producerID].consumers.append(id)
    transports[transportID].routes.addConsumer(id, parameters)
    counters.consumers += 1
    // While the subscriber cannot be sent to, a keyframe would only delay the one that he needs when he can.
    if !paused && transports[transportID].canSend { requestKeyframe(for: id) }
    return true
  }

  private mutating func updateConsumer(_ key: ConsumerKey, _ parameters: SendParameters, at now: Instant) -> Bool {
    guard let id = directory.consumers[key], consumers[id].consumer.update(parameters) else { return false }
    let transport = consumers[id].transport
    transports[transport].routes.removeConsumer(id)
    transports[transport].routes.addConsumer(id, parameters)
    if consumers[id].consumer.awaitsKeyframe { requestKeyframe(for: id) }
    return true
  }

  /// Ends a stream to a receiver. Its SSRCs are never used again, so nothing needs to be known of them any more.
  mutating func removeConsumer(_ key: ConsumerKey, saysBye: Bool = true) -> Bool {
    guard let id = directory.consumers.removeValue(forKey: key) else { return false }
    let slot = (producer: consumers[id].producer, transport: consumers[id].transport)
    let parameters = consumers[id].consumer.parameters
    let ssrcs = [parameters.ssrc, parameters.rtxSSRC].compactMap { $0 }
    if saysBye { sendBye(ssrcs, to: slot.transport) }
    transports[slot.transport].forget(ssrcs)
    producers[slot.producer].consumers.removeAll { $0 == id }
    transports[slot.transport].routes.removeConsumer(id)
    _ = consumers.remove(id)
    counters.consumers -= 1
    return true
  }

  private mutating func setPaused(_ key: ConsumerKey, _ paused: Bool, at now: Instant) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    consumers[id].consumer.setPaused(paused)
    if !paused { requestKeyframe(for: id) }
    return true
  }

  private mutating func setLayer(_ key: ConsumerKey, _ layer: Int?, at now: Instant) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    consumers[id].wishedLayer = Self.wish(layer)
    aim(id)
    return true
  }

  private static func wish(_ layer: Int?) -> Int8 { layer.map { Int8(clamping: max($0, 0)) } ?? -1 }

  private mutating func swap(_ a: ConsumerKey, _ b: ConsumerKey, at now: Instant) -> Bool {
    guard let first = directory.consumers[a], let second = directory.consumers[b], first != second,
      consumers[first].consumer.parameters.kind == consumers[second].consumer.parameters.kind
    else { return false }
    let (left, right) = (consumers[first].producer, consumers[second].producer)
    guard left != right else { return true }
    move(first, from: left, to: right, at: now)
    move(second, from: right, to: left, at: now)
    return true
  }

  private mutating func move(_ consumer: ConsumerID, from old: ProducerID, to new: ProducerID, at now: Instant) {
    producers[old].consumers.removeAll { $0 == consumer }
    producers[new].consumers.append(consumer)
    consumers[consumer].producer = new
    consumers[consumer].consumer.changeSource(
      target: producers[new].layer(wished: consumers[consumer].wishedLayer))
    requestKeyframe(for: consumer)
  }
}
