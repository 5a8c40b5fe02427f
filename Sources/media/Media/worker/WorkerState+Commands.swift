// The control plane's commands: making, changing and ending transports, producers and consumers.

import Basics
import Forwarding
import ICE
import RTP

extension WorkerState {
  /// Carries out one command. What names something gone is counted, and nothing else happens.
  public mutating func apply(_ command: WorkerCommand, at now: Instant) {
    begin(at: now)
    var done = true
    switch command {
    case .openTransport(let key, let room, let credentials, let loudest):
      done = openTransport(key, room: room, credentials: credentials, loudest: loudest, at: now)
    case .moveTransport(let key, let room, let loudest):
      guard let id = directory.transports[key] else { return counted.staleCommands += 1 }
      let (old, new) = (ends.transports[id].room, directory.enter(room, loudest: loudest, &tracks.rooms))
      ends.transports[id].room = new
      for line in ends.transports[id].routes.lines {
        forwarder.interrupt(all: tracks.moveProducer(line.producer, to: new))
      }
      directory.leave(old, &tracks.rooms)
    case .setRemote(let key, let remote): done = setRemote(key, remote, at: now)
    case .restartICE(let key, let credentials): done = restartICE(key, credentials: credentials)
    case .askSilence(let question, let keys):
      let last = keys.compactMap { directory.transports[$0].flatMap { ends.transports[$0].lastHeard } }.max()
      turn.tell(.silence(question, last.map { max(now - $0, .zero) }))
    case .closeTransport(let key): done = closeTransport(key, at: now)
    case .addProducer(let key, let transport, let parameters, let publisher, let pausesLayers):
      done = addProducer(key, transport: transport, parameters: parameters, publisher: publisher)
      if done && pausesLayers, let id = directory.producers[key] {
        tracks.producers[id].pauseLayers(of: parameters, at: now)
      }
    case .updateProducer(let key, let parameters): done = updateProducer(key, parameters)
    case .removeProducer(let key): done = removeProducer(key)
    case .setMuted(let key, let muted): done = setMuted(key, muted, at: now)
    case .addConsumer(let key, let producer, let transport, let parameters, let paused, let layer, let priority):
      let new = NewConsumer(key: key, producer: producer, parameters: parameters, paused: paused, layer: layer)
      done = addConsumer(new, transport: transport, at: now)
      if done { done = forwarder.setPriority(of: directory.consumers[key], priority) }
    case .setLayer(let key, let layer):
      guard let id = directory.consumers[key] else { return counted.staleCommands += 1 }
      let needsKeyframe = forwarder.setLayer(id, layer, tracks)
      forwarder.askForLayers(of: forwarder.consumers[id].producer, &tracks, &turn)
      if needsKeyframe { askIfReachable(for: id) }
    case .setPriority(let key, let priority):
      done = forwarder.setPriority(of: directory.consumers[key], priority)
    case .updateConsumer(let key, let parameters): done = updateConsumer(key, parameters)
    case .removeConsumer(let key): done = removeConsumer(key)
    case .setPaused(let key, let paused):
      guard let id = directory.consumers[key] else { return counted.staleCommands += 1 }
      if forwarder.setPaused(id, paused) {
        forwarder.askForLayers(of: forwarder.consumers[id].producer, &tracks, &turn)
        forwarder.grant(any: forwarder.ask(for: id, tracks, &turn), &tracks, &ends, &turn)
      }
    case .swap(let a, let b): done = swap(a, b)
    case .show(let key, let producer, let layer, let priority):
      done = show(producer, on: key, layer: layer)
      if done { done = forwarder.setPriority(of: directory.consumers[key], priority) }
    case .openTap(let key, let producer):
      // Of what crosses a pipe nothing is as a publisher sent it.
      guard directory.taps[key] == nil, let id = directory.producers[producer], !tracks.producers[id].isMirror else {
        return counted.staleCommands += 1
      }
      directory.taps[key] = ends.openTap(key, on: tracks.producers[id].encodings, &tracks.encodings)
    case .closeTap(let key):
      guard let id = directory.taps.removeValue(forKey: key) else { return counted.staleCommands += 1 }
      ends.closeTap(id, &tracks.encodings)
    case .openPipe(let key):
      guard directory.pipes[key] == nil else { return counted.staleCommands += 1 }
      directory.pipes[key] = ends.pipes.insert(Pipe(key: key))
    case .closePipe(let key):
      guard let id = directory.pipes.removeValue(forKey: key) else { return counted.staleCommands += 1 }
      for (track, producer) in directory.producers {
        if case .pipe(id, _) = tracks.producers[producer].source { _ = removeProducer(track) }
      }
      tracks.encodings.forEach { _, slot in slot.pipes.removeAll { $0.pipe == id } }
      _ = ends.pipes.remove(id)
    case .addMirror(let key, let pipe, let room, let parameters, let publisher):
      done = addMirror(key, through: pipe, parameters, publisher: publisher, room: room)
    }
    if !done { counted.staleCommands += 1 }
    followWishes()
  }

  // MARK: transports

  private mutating func openTransport(
    _ key: TransportKey, room: RoomKey, credentials: ICECredentials, loudest: Int?, at now: Instant
  ) -> Bool {
    guard directory.transports[key] == nil else { return false }
    let roomID = directory.enter(room, loudest: loudest, &tracks.rooms)
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
    rtcp.sendBye(
      ends.transports[id].routes.outgoing.map(\.ssrc) + [ends.transports[id].reporting.ssrc], to: .transport(id), &ends,
      &egress)
    ends.transports[id].security.close()
    egress.collectDatagrams(of: &ends.transports[id])
    for line in ends.transports[id].routes.lines { _ = removeProducer(tracks.producers[line.producer].key) }
    for route in ends.transports[id].routes.outgoing where forwarder.consumers.contains(route.consumer) {
      _ = removeConsumer(forwarder.consumers[route.consumer].key, saysBye: false)
    }
    for fragment in ends.transports[id].fragments { directory.remove(fragment: fragment, of: id) }
    directory.releasePaths(of: id, &ends)
    egress.discard(&ends.transports[id])
    let room = ends.transports[id].room
    _ = ends.transports.remove(id)
    directory.leave(room, &tracks.rooms)
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
    let line = tracks.addProducer(
      key, parameters, publisher: publisher, from: .transport(id), room: ends.transports[id].room)
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
    ends.transports[id].extensions.merge(parameters.extensions)
    return true
  }

  private mutating func updateProducer(_ key: ProducerKey, _ parameters: ReceiveParameters) -> Bool {
    guard let id = directory.producers[key] else { return false }
    // What crosses a pipe says itself what it is.
    guard case .transport(let transport) = tracks.producers[id].source else { return true }
    ends.transports[transport].extensions.merge(parameters.extensions)
    tracks.updateProducer(id, parameters, &ends.transports[transport].routes, &turn)
    followWishes()
    return true
  }

  mutating func removeProducer(_ key: ProducerKey) -> Bool {
    guard let id = directory.producers.removeValue(forKey: key) else { return false }
    for consumer in tracks.producers[id].consumers where forwarder.consumers.contains(consumer) {
      _ = removeConsumer(forwarder.consumers[consumer].key)
    }
    let room = tracks.producers[id].room
    switch tracks.producers[id].source {
    case .transport(let transport):
      ends.transports[transport].routes.removeProducer(id)
      ends.transports[transport].countTracks()
      tracks.removeProducer(id)
      ends.pipes.forEach { $1.forget(track: key) }
    case .pipe(let pipe, let publisher):
      let others = directory.producers.values.contains {
        tracks.producers[$0].source == .pipe(pipe, publisher: publisher)
      }
      if !others { ends.pipes[pipe].forget(publisher) }
      ends.pipes[pipe].forget(track: key)
      tracks.removeProducer(id)
      directory.leave(room, &tracks.rooms)
    }
    return true
  }

  private mutating func setMuted(_ key: ProducerKey, _ muted: Bool, at now: Instant) -> Bool {
    guard let id = directory.producers[key] else { return false }
    guard let interrupted = tracks.setMuted(id, muted, at: now) else { return true }
    forwarder.interrupt(all: interrupted)
    if muted { return true }
    forwarder.askForLayers(of: id, &tracks, &turn)
    forwarder.unmute(id, tracks, &turn)
    return true
  }

  // MARK: consumers

  /// What `addConsumer` adds.
  private struct NewConsumer {
    let key: ConsumerKey
    let producer: ProducerKey?
    let parameters: SendParameters
    let paused: Bool
    let layer: Int?
  }

  private mutating func addConsumer(_ new: NewConsumer, transport: TransportKey, at now: Instant) -> Bool {
    guard let transportID = directory.transports[transport], directory.consumers[new.key] == nil else { return false }
    var producer: ProducerID?
    if let key = new.producer {
      guard let id = directory.producers[key], tracks.producers[id].kind == new.parameters.kind else { return false }
      producer = id
    }
    let destination = Destination.transport(transportID)
    let id = forwarder.addConsumer(
      new.key, to: destination, Consumer(parameters: new.parameters, seed: random.next()), paused: new.paused,
      layer: new.layer, earlier: ends.redundancy(of: new.parameters, to: destination))
    ends.attach(id, new.parameters, to: destination)
    directory.consumers[new.key] = id
    if let producer {
      tracks.move(id, from: nil, to: producer)
      let needsKeyframe = forwarder.begin(id, producer, isLimited: ends.isLimited(destination), tracks)
      forwarder.askForLayers(of: producer, &tracks, &turn)
      if needsKeyframe { askIfReachable(for: id) }
    }
    if !ends.transports[transportID].canSend, let encoding = forwarder.awaited(by: id, tracks),
      EarlyKeyframe.isWorthAsking(
        ofStreamWith: tracks.encodings[encoding].encoding.rate.steadyBytesPerSecond(at: now))
    {
      forwarder.grant(any: forwarder.ask(for: id, tracks, &turn), &tracks, &ends, &turn)
    }
    if new.parameters.kind == .video {
      ends.transports[transportID].measure(new.parameters, at: now)
      schedule(transportID, at: now)
    }
    return true
  }

  private mutating func updateConsumer(_ key: ConsumerKey, _ parameters: SendParameters) -> Bool {
    guard let id = directory.consumers[key], forwarder.updateConsumer(id, parameters) else { return false }
    let destination = forwarder.consumers[id].destination
    ends.detach(id, from: destination)
    ends.attach(id, parameters, to: destination)
    forwarder.consumers[id].consumer.setRedundancy(ends.redundancy(of: parameters, to: destination))
    if forwarder.consumers[id].consumer.awaitsKeyframe {
      forwarder.grant(any: forwarder.ask(for: id, tracks, &turn), &tracks, &ends, &turn)
    }
    return true
  }

  /// Ends a stream to a receiver. Its SSRCs are never used again, so nothing needs to be known of them any more.
  mutating func removeConsumer(_ key: ConsumerKey, saysBye: Bool = true) -> Bool {
    guard let id = directory.consumers.removeValue(forKey: key) else { return false }
    let (ssrcs, destination) = (forwarder.consumers[id].ssrcs, forwarder.consumers[id].destination)
    if saysBye { rtcp.sendBye(ssrcs, to: destination, &ends, &egress) }
    ends.forget(ssrcs, at: destination)
    ends.detach(id, from: destination)
    tracks.move(id, from: forwarder.consumers[id].producer, to: nil)
    _ = forwarder.consumers.remove(id)
    return true
  }

  /// Sends a consumer another track from now on, or nothing; false when one of them is gone, or they are not of one kind.
  private mutating func show(_ producer: ProducerKey?, on key: ConsumerKey, layer: Int?) -> Bool {
    guard let id = directory.consumers[key] else { return false }
    var new: ProducerID?
    if let producer {
      guard let found = directory.producers[producer],
        tracks.producers[found].kind == forwarder.consumers[id].consumer.parameters.kind
      else { return false }
      new = found
    }
    if new != nil { forwarder.consumers[id].wishedLayer = Forwarder.wish(layer) }
    move(id, to: new)
    // Nothing costs nothing: what was held for want of bandwidth is held no longer.
    if new == nil && forwarder.consumers[id].isHeld { forwarder.release(id, tracks, &turn) }
    return true
  }

  /// Exchanges the tracks behind two consumers; false when these are not of one kind.
  private mutating func swap(_ a: ConsumerKey, _ b: ConsumerKey) -> Bool {
    guard let first = directory.consumers[a], let second = directory.consumers[b], first != second,
      forwarder.consumers[first].consumer.parameters.kind == forwarder.consumers[second].consumer.parameters.kind
    else { return false }
    let (left, right) = (forwarder.consumers[first].producer, forwarder.consumers[second].producer)
    move(first, to: right)
    move(second, to: left)
    return true
  }

  /// Has a consumer follow another track, or none.
  private mutating func move(_ id: ConsumerID, to new: ProducerID?) {
    let old = forwarder.consumers[id].producer
    guard old != new else { return }
    tracks.move(id, from: old, to: new)
    forwarder.leave(id)
    guard let new else { return }
    let isLimited = ends.isLimited(forwarder.consumers[id].destination)
    let needsKeyframe = forwarder.begin(id, new, isLimited: isLimited, tracks)
    forwarder.askForLayers(of: new, &tracks, &turn)
    if needsKeyframe { askIfReachable(for: id) }
  }

  // MARK: keyframes

  /// Asks for the keyframe that a consumer needs, which its client has to answer for. Before it can be sent to, it is `EarlyKeyframe` that
  /// says whether: while it is sent nothing, a keyframe would only delay the one that it needs when it can.
  private mutating func askIfReachable(for id: ConsumerID) {
    guard ends.canBeSentTo(forwarder.consumers[id].destination) else { return }
    forwarder.grant(any: forwarder.ask(for: id, tracks, &turn), &tracks, &ends, &turn)
  }
}
