// The control plane's commands: making, changing and ending transports, producers and consumers.

import Basics
import Forwarding
import ICE
import RTP

extension WorkerState {
  /// Carries out one command. What names something gone is counted, and nothing else happens.
  public mutating func apply(_ command: WorkerCommand, at now: Instant) {
    begin(at: now)
    let done: Bool
    switch command {
    case .openTransport(let key, let room, let credentials, let loudest):
      done = openTransport(key, room: room, credentials: credentials, loudest: loudest, at: now)
    case .setRemote(let key, let remote): done = setRemote(key, remote, at: now)
    case .restartICE(let key, let credentials): done = restartICE(key, credentials: credentials)
    case .askSilence(let question, let keys):
      let last = keys.compactMap { directory.transports[$0].flatMap { ends.transports[$0].lastHeard } }.max()
      turn.tell(.silence(question, last.map { max(now - $0, .zero) }))
      done = true
    case .closeTransport(let key): done = closeTransport(key, at: now)
    case .addProducer(let key, let transport, let parameters, let publisher, let pausesLayers):
      done = addProducer(key, transport: transport, parameters: parameters, publisher: publisher)
      if done && pausesLayers, let id = directory.producers[key] {
        forwarder.producers[id].pauseLayers(of: parameters, at: now)
      }
    case .updateProducer(let key, let parameters): done = updateProducer(key, parameters, at: now)
    case .removeProducer(let key): done = removeProducer(key)
    case .setMuted(let key, let muted): done = setMuted(key, muted, at: now)
    case .addConsumer(let key, let producer, let transport, let parameters, let paused, let layer, let priority):
      done = addConsumer(
        key, producer: producer, transport: transport, parameters: parameters, paused: paused, layer: layer, at: now)
      if done { _ = setPriority(key, priority) }
    case .setLayer(let key, let layer): done = setLayer(key, layer, at: now)
    case .setPriority(let key, let priority): done = setPriority(key, priority)
    case .updateConsumer(let key, let parameters): done = updateConsumer(key, parameters, at: now)
    case .removeConsumer(let key): done = removeConsumer(key)
    case .setPaused(let key, let paused): done = setPaused(key, paused, at: now)
    case .swap(let a, let b): done = swap(a, b, at: now)
    case .show(let key, let producer, let layer, let priority):
      done = forwarder.show(producer, on: key, layer: layer, directory, &ends, &turn)
      if done { _ = setPriority(key, priority) }
    }
    if !done { counted.staleCommands += 1 }
  }

  // MARK: transports

  private mutating func openTransport(
    _ key: TransportKey, room: RoomKey, credentials: ICECredentials, loudest: Int?, at now: Instant
  ) -> Bool {
    guard directory.transports[key] == nil else { return false }
    let roomID = roomID(room)
    forwarder.rooms[roomID].loudest.most = loudest
    forwarder.rooms[roomID].transports += 1
    let id = ends.transports.insert(
      Transport(
        key: key, room: roomID, credentials: credentials, settings: settings,
        reporter: UInt32(truncatingIfNeeded: random.next())))
    directory.transports[key] = id
    directory.add(fragment: credentials.ufrag, id)
    quality.begin(at: now)
    schedule(id, at: now)
    return true
  }

  private mutating func roomID(_ key: RoomKey) -> RoomID {
    if let id = directory.rooms[key] { return id }
    let id = forwarder.rooms.insert(RoomSlot(key: key))
    directory.rooms[key] = id
    return id
  }

  private mutating func setRemote(_ key: TransportKey, _ remote: RemoteTransport, at now: Instant) -> Bool {
    guard let id = directory.transports[key] else { return false }
    ends.transports[id].setRemote(remote)
    ends.transports[id].expectConnection(anew: true, at: now)
    settle(id, at: now)
    return true
  }

  private mutating func restartICE(_ key: TransportKey, credentials: ICECredentials) -> Bool {
    guard let id = directory.transports[key] else { return false }
    for forgotten in ends.transports[id].restartICE(credentials) { directory.remove(fragment: forgotten, of: id) }
    directory.add(fragment: credentials.ufrag, id)
    return true
  }

  private mutating func closeTransport(_ key: TransportKey, at now: Instant) -> Bool {
    guard let id = directory.transports.removeValue(forKey: key) else { return false }
    sendBye(ends.transports[id].routes.outgoing.map(\.ssrc) + [ends.transports[id].reporting.ssrc], to: .transport(id))
    ends.transports[id].security.close()
    collectDatagrams(of: id)
    for line in ends.transports[id].routes.lines { _ = removeProducer(forwarder.producers[line.producer].key) }
    for route in ends.transports[id].routes.outgoing where forwarder.consumers.contains(route.consumer) {
      _ = removeConsumer(forwarder.consumers[route.consumer].key, saysBye: false)
    }
    for fragment in ends.transports[id].fragments { directory.remove(fragment: fragment, of: id) }
    releasePaths(of: id)
    egress.discard(&ends.transports[id])
    let room = ends.transports[id].room
    _ = ends.transports.remove(id)
    forwarder.rooms[room].transports -= 1
    if forwarder.rooms[room].transports == 0 {
      directory.rooms[forwarder.rooms[room].key] = nil
      _ = forwarder.rooms.remove(room)
    }
    return true
  }

  /// Closes every transport, as at the server's end.
  public mutating func closeAll(at now: Instant) {
    begin(at: now)
    for key in Array(directory.transports.keys) { _ = closeTransport(key, at: now) }
  }

  // MARK: producers

  private mutating func addProducer(
    _ key: ProducerKey, transport: TransportKey, parameters: ReceiveParameters, publisher: Publisher
  ) -> Bool {
    guard let id = directory.transports[transport], directory.producers[key] == nil else { return false }
    let line = forwarder.addProducer(
      key, parameters, publisher: publisher, transport: id, room: ends.transports[id].room)
    directory.producers[key] = line.producer
    let counts = IntakeClass(parameters.kind)
    for (row, encoding) in zip(line.encodings, parameters.encodings) {
      if let ssrc = encoding.ssrc {
        ends.transports[id].bind(ssrc, row.encoding, isRetransmission: false, counts: counts)
      }
      if let ssrc = encoding.rtxSSRC {
        ends.transports[id].bind(ssrc, row.encoding, isRetransmission: true, counts: counts)
      }
    }
    ends.transports[id].routes.addLine(line)
    ends.transports[id].countTracks()
    ends.transports[id].learn(parameters.extensions)
    return true
  }

  private mutating func updateProducer(_ key: ProducerKey, _ parameters: ReceiveParameters, at now: Instant) -> Bool {
    guard let id = directory.producers[key] else { return false }
    let transport = forwarder.producers[id].transport
    ends.transports[transport].learn(parameters.extensions)
    forwarder.updateProducer(id, parameters, &ends.transports[transport].routes, at: now)
    return true
  }

  mutating func removeProducer(_ key: ProducerKey) -> Bool {
    guard let id = directory.producers.removeValue(forKey: key) else { return false }
    for consumer in forwarder.producers[id].consumers where forwarder.consumers.contains(consumer) {
      _ = removeConsumer(forwarder.consumers[consumer].key)
    }
    ends.transports[forwarder.producers[id].transport].routes.removeProducer(id)
    ends.transports[forwarder.producers[id].transport].countTracks()
    forwarder.removeProducer(id)
    return true
  }

  private mutating func setMuted(_ key: ProducerKey, _ muted: Bool, at now: Instant) -> Bool {
    guard let id = directory.producers[key] else { return false }
    forwarder.setMuted(id, muted, at: now)
    return true
  }

  // MARK: consumers

  private mutating func addConsumer(
    _ key: ConsumerKey, producer: ProducerKey?, transport: TransportKey, parameters: SendParameters, paused: Bool,
    layer: Int?, at now: Instant
  ) -> Bool {
    guard let transportID = directory.transports[transport], directory.consumers[key] == nil else { return false }
    var producerID: ProducerID?
    if let producer {
      guard let id = directory.producers[producer], forwarder.producers[id].kind == parameters.kind else {
        return false
      }
      producerID = id
    }
    let id = forwarder.addConsumer(
      key, of: producerID, to: .transport(transportID),
      Consumer(parameters: parameters, seed: random.next()), paused: paused, layer: layer, &ends,
      at: now)
    directory.consumers[key] = id
    if !ends.transports[transportID].canSend { EarlyKeyframe.ask(for: id, &ends, &forwarder, at: now) }
    if parameters.kind == .video {
      ends.transports[transportID].measure(parameters, at: now)
      schedule(transportID, at: now)
    }
    return true
  }

  private mutating func updateConsumer(_ key: ConsumerKey, _ parameters: SendParameters, at now: Instant) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    return forwarder.updateConsumer(id, parameters, &ends, at: now)
  }

  /// Ends a stream to a receiver. Its SSRCs are never used again, so nothing needs to be known of them any more.
  mutating func removeConsumer(_ key: ConsumerKey, saysBye: Bool = true) -> Bool {
    guard let id = directory.consumers.removeValue(forKey: key) else { return false }
    if saysBye { sendBye(forwarder.consumers[id].ssrcs, to: forwarder.consumers[id].destination) }
    forwarder.removeConsumer(id, &ends)
    return true
  }

  private mutating func setPaused(_ key: ConsumerKey, _ paused: Bool, at now: Instant) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    forwarder.setPaused(id, paused, &ends, at: now)
    return true
  }

  private mutating func setLayer(_ key: ConsumerKey, _ layer: Int?, at now: Instant) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    forwarder.setLayer(id, layer, &ends, at: now)
    forwarder.askPublisher(forwarder.consumers[id].producer, &turn)
    return true
  }

  private mutating func setPriority(_ key: ConsumerKey, _ priority: Int) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    forwarder.consumers[id].priority = priority
    return true
  }

  private mutating func swap(_ a: ConsumerKey, _ b: ConsumerKey, at now: Instant) -> Bool {
    guard let first = directory.consumers[a], let second = directory.consumers[b], first != second else { return false }
    return forwarder.swap(first, second, &ends, at: now)
  }
}
