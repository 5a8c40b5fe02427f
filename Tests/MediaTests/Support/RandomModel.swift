// Chooses what happens next, and remembers what each subscription may show.

import Basics
import Forwarding
import Media
import RTP

struct RandomModel {
  let call: Call
  private var dice: SplitMix64
  private var live: [VirtualPeer] = []
  private var tracks: [(key: ProducerKey, peer: Int, kind: MediaKind, muted: Bool)] = []
  private var consumers: [(key: ConsumerKey, peer: Int, producer: ProducerKey?, kind: MediaKind, paused: Bool)] = []
  private var allowed: [ConsumerKey: Set<UInt64>] = [:]

  init(seed: UInt64) throws {
    call = try Call(seed: seed)
    dice = SplitMix64(seed: seed &* 0x1234_5678_9abc_def1)
    // Somebody to begin with.
    for _ in 0..<3 { live.append(try call.join("p\(call.peers.count)")) }
    for _ in 0..<3 { _ = publish() }
    for _ in 0..<6 { _ = subscribe() }
    call.run(.seconds(1))
  }

  /// Does one random thing, lets a little time pass, and says what it was.
  mutating func step() throws -> String {
    let what = try act()
    call.run(.milliseconds(Int(dice.next() % 60)))
    return what
  }

  private mutating func act() throws -> String {
    switch dice.next() % 30 {
    case 0, 1, 2: return try join()
    case 3: return leave()
    case 4, 5, 6: return publish()
    case 7: return unpublish()
    case 8, 9, 10: return subscribe()
    case 11: return unsubscribe()
    case 12: return mute()
    case 13: return pause()
    case 14: return swap()
    case 15: return restartICE()
    case 16: return move()
    case 17: return changeNetwork()
    case 18: return restartSender()
    case 19: return toggleLayer()
    case 20: return stale()
    case 21, 22: return replay()
    case 23: return forge()
    case 24: return openView()
    case 25, 26: return show()
    case 27: return sayNonsense()
    case 28: return changeRoom()
    default: return askForKeyframe()
    }
  }

  func brokenRules() -> [String] {
    var broken = call.brokenRules()
    for peer in call.peers {
      if peer.replays > 0 { broken.append("\(peer.name) got a number twice") }
      if peer.unopened > 0 { broken.append("\(peer.name) got what does not open") }
      for stream in peer.streams where !stream.producers.isSubset(of: allowed[stream.consumer] ?? []) {
        broken.append("\(peer.name) got a track that it does not follow")
      }
    }
    return broken
  }

  private func pick<T>(_ list: [T], _ dice: inout SplitMix64) -> T? { list.randomElement(using: &dice) }

  // MARK: commands

  private mutating func join() throws -> String {
    guard live.count < 5 else { return "enough people" }
    live.append(try call.join("p\(call.peers.count)", room: dice.next() % 2))
    return "join"
  }

  /// Who receives what goes on: that the control plane has ended it before is its matter.
  private mutating func changeRoom() -> String {
    guard let peer = pick(live, &dice) else { return "nobody to move" }
    let loudest: Int? = dice.chance(0.3) ? 1 : nil
    call.apply(.moveTransport(peer.key, room: RoomKey(dice.next() % 3), loudest: loudest))
    return "change the room"
  }

  private mutating func leave() -> String {
    guard let index = live.indices.randomElement(using: &dice) else { return "nobody to leave" }
    let peer = live.remove(at: index)
    if dice.chance(0.3) { peer.sendCloseNotify() }
    call.apply(.closeTransport(peer.key))
    peer.isGone = dice.chance(0.5)
    let gone = Set(tracks.filter { $0.peer == peer.index }.map(\.key))
    tracks.removeAll { gone.contains($0.key) }
    consumers.removeAll { $0.peer == peer.index || $0.producer.map(gone.contains) == true }
    return "leave"
  }

  private mutating func publish() -> String {
    guard let peer = pick(live, &dice), tracks.count < 8 else { return "nothing to publish" }
    let kind = dice.chance(0.4) ? MediaKind.audio : .video
    let layers = dice.chance(0.4) ? [1, 2, 3] : [2]
    tracks.append((call.publish(peer, kind, layers: layers, nack: dice.chance(0.8)), peer.index, kind, false))
    return "publish"
  }

  private mutating func unpublish() -> String {
    guard let index = tracks.indices.randomElement(using: &dice) else { return "nothing to end" }
    let key = tracks.remove(at: index).key
    call.apply(.removeProducer(key))
    consumers.removeAll { $0.producer == key }
    return "unpublish"
  }

  private mutating func subscribe() -> String {
    guard let peer = pick(live, &dice), let track = pick(tracks, &dice), consumers.count < 20 else {
      return "no subscription"
    }
    let codecs: [CodecProfile]? = dice.chance(0.2) && track.kind == .video ? [.vp8] : nil
    let key = call.subscribe(peer, to: track.key, codecs: codecs, paused: dice.chance(0.2))
    consumers.append((key, peer.index, track.key, track.kind, false))
    allowed[key] = [track.key.value]
    return "subscribe"
  }

  private mutating func unsubscribe() -> String {
    guard let index = consumers.indices.randomElement(using: &dice) else { return "no unsubscription" }
    call.apply(.removeConsumer(consumers.remove(at: index).key))
    return "unsubscribe"
  }

  private mutating func mute() -> String {
    guard let index = tracks.indices.randomElement(using: &dice) else { return "nothing to mute" }
    tracks[index].muted.toggle()
    call.apply(.setMuted(tracks[index].key, tracks[index].muted))
    return "mute"
  }

  private mutating func pause() -> String {
    guard let index = consumers.indices.randomElement(using: &dice) else { return "nothing to pause" }
    consumers[index].paused.toggle()
    call.apply(.setPaused(consumers[index].key, consumers[index].paused))
    return "pause"
  }

  private mutating func swap() -> String {
    guard let a = consumers.indices.randomElement(using: &dice), let b = consumers.indices.randomElement(using: &dice)
    else { return "nothing to swap" }
    call.apply(.swap(consumers[a].key, consumers[b].key))
    guard a != b, consumers[a].kind == consumers[b].kind else { return "refused swap" }
    (consumers[a].producer, consumers[b].producer) = (consumers[b].producer, consumers[a].producer)
    for index in [a, b] { allow(consumers[index].producer, on: consumers[index].key) }
    return "swap"
  }

  private mutating func allow(_ producer: ProducerKey?, on consumer: ConsumerKey) {
    if let producer { allowed[consumer, default: []].insert(producer.value) }
  }

  private mutating func openView() -> String {
    guard let peer = pick(live, &dice), consumers.count < 20 else { return "no view" }
    consumers.append((call.subscribe(peer, to: nil), peer.index, nil, .video, false))
    return "view"
  }

  private mutating func show() -> String {
    guard let index = consumers.indices.randomElement(using: &dice) else { return "nothing to show on" }
    let track = dice.chance(0.2) ? nil : pick(tracks, &dice)
    let before = call.worker.counters.staleCommands
    call.apply(.show(consumers[index].key, track?.key))
    let isRefused = track.map { $0.kind != consumers[index].kind } ?? false
    guard call.worker.counters.staleCommands == before + (isRefused ? 1 : 0) else {
      return "a show that was counted wrong"
    }
    if isRefused { return "refused show" }
    consumers[index].producer = track?.key
    allow(track?.key, on: consumers[index].key)
    return "show"
  }

  private mutating func restartICE() -> String {
    guard let peer = pick(live, &dice) else { return "no restart" }
    let remote = ICECredentials.random(using: &dice)
    call.apply(.restartICE(peer.key, credentials: remote))
    if dice.chance(0.7) {
      peer.restartICE(local: ICECredentials.random(using: &dice), remote: remote)
      call.answer(peer)
    }
    return "ICE restart"
  }

  private mutating func stale() -> String {
    let before = call.worker.counters.staleCommands
    let key = 1 + dice.next() % 50
    switch dice.next() % 6 {
    case 0: call.apply(.closeTransport(TransportKey(key)))
    case 1: call.apply(.removeProducer(ProducerKey(key)))
    case 2: call.apply(.removeConsumer(ConsumerKey(key)))
    case 3: call.apply(.setMuted(ProducerKey(key), true))
    case 4: call.apply(.swap(ConsumerKey(key), ConsumerKey(key + 1)))
    default: call.apply(.restartICE(TransportKey(key), credentials: ICECredentials.random(using: &dice)))
    }
    return call.worker.counters.staleCommands == before + 1 ? "stale command" : "stale command that was not counted"
  }

  // MARK: networks and datagrams

  private mutating func move() -> String {
    guard let peer = pick(live, &dice) else { return "nobody to move" }
    call.move(peer, to: SocketAddress(v4: 0x0a02_0000 | UInt32(dice.next() % 4_000), port: 1_000))
    return "move"
  }

  private mutating func changeNetwork() -> String {
    guard let peer = pick(live, &dice) else { return "no network" }
    peer.uplink = pick([.good, .good, .rough, .rough, .losing(0.3), Link(isCut: true)], &dice) ?? .good
    // No duplicates to peers: those must never come from the server.
    peer.downlink = pick([.good, .losing(0.1), Link(reordering: 0.1)], &dice) ?? .good
    return "another network"
  }

  private mutating func restartSender() -> String {
    guard let track = pick(tracks, &dice) else { return "no sender" }
    let ssrc = call.makeSSRC()
    call.track(track.key) { $0.restart(0, ssrc: ssrc, &dice) }
    return "sender restarted"
  }

  private mutating func toggleLayer() -> String {
    guard let track = pick(tracks, &dice) else { return "no layer" }
    let number = Int(dice.next() % 3)
    call.track(track.key) {
      if number < $0.layers.count { $0.layers[number].isActive.toggle() }
      if $0.kind == .video, number == 2 { $0.codec = $0.codec == .vp8 ? .h264ConstrainedBaseline : .vp8 }
      for index in $0.layers.indices { $0.layers[index].wantsKeyframe = true }
    }
    return "layers"
  }

  private mutating func askForKeyframe() -> String {
    guard let consumer = pick(consumers, &dice) else { return "no request" }
    call.peers[consumer.peer].requestKeyframe(consumer.key)
    return "keyframe request"
  }

  /// What came before comes again: whole, cut, flipped, or from another address.
  private mutating func replay() -> String {
    for _ in 0..<20 {
      guard var (path, bytes) = pick(call.recent, &dice) else { return "nothing to replay" }
      switch dice.next() % 4 {
      case 0: bytes.removeLast(Int(dice.next() % UInt64(bytes.count + 1)))
      case 1: if !bytes.isEmpty { bytes[Int(dice.next() % UInt64(bytes.count))] ^= 1 << UInt8(dice.next() % 8) }
      case 2: path = pick(call.recent, &dice)?.path ?? path
      default: break
      }
      // A whole check from a strange address would be taken for the peer's: the network cannot forge its way back.
      if PacketClass.classify(bytes.span) != .stun { call.inject(bytes, from: path) }
    }
    call.turn()
    return "replay"
  }

  private mutating func forge() -> String {
    for _ in 0..<20 {
      let length = Int(dice.next() % 300)
      let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      let path = pick(call.recent, &dice)?.path ?? Path(remote: SocketAddress(v4: 1, port: 1), socket: 0)
      call.inject(bytes, from: path)
    }
    call.turn()
    return "garbage"
  }

  private mutating func sayNonsense() -> String {
    guard let track = pick(tracks, &dice) else { return "no nonsense" }
    let peer = call.peers[track.peer]
    for _ in 0..<10 {
      peer.send(Nonsense.packet(call.layers(track.key).map(\.ssrc), &dice), at: call.now)
      peer.sendRTCP(Nonsense.compound(call.peers.flatMap(\.streams).map(\.ssrc), &dice))
    }
    return "authentic nonsense"
  }
}
