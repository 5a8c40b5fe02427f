// A live worker in virtual time: somebody who publishes, somebody who listens, somebody hostile in the same room who publishes
// and listens too, and a newcomer whose handshake is not done. Whatever the hostile one does, what the honest one says arrives.
import Basics
import Crypto
import Forwarding
import Media
import RTP

/// One for all scenes: making a key takes longer than a handshake.
private let workerCertificate = try? Certificate(wallMilliseconds: 1_800_000_000_000)

final class WorkerScene {
  /// Whose address it is by its number; higher ones are nobody's.
  enum Who: Int, CaseIterable { case hostile, honest, listener, newcomer }

  private let certificate: Certificate
  private var worker: WorkerState
  private var sink = PathSink()
  private var now = Instant.zero + .seconds(1)
  private var peers: [WorkerPeer] = []
  private(set) var tracks = WorkerTracks(round: 0)
  private var round: UInt32 = 0
  /// Whether the hostile one has lost the connection for good: then there is nothing more to try.
  private(set) var isOver = false
  /// Whence somebody has shown a password that is good for a transport.
  private var validated: Set<Path> = []
  private var strangers = 0
  private var said = (audio: 0, video: 0)
  private var nextCheck = Instant.zero

  var hostile: WorkerPeer { peers[Who.hostile.rawValue] }
  var newcomer: WorkerPeer { peers[Who.newcomer.rawValue] }
  private var honest: WorkerPeer { peers[Who.honest.rawValue] }
  private var listener: WorkerPeer { peers[Who.listener.rawValue] }

  init() {
    guard let certificate = workerCertificate else { preconditionFailure("OpenSSL makes certificates") }
    self.certificate = certificate
    worker = WorkerState(certificate: certificate, seed: 7)
    peers = Who.allCases.map { WorkerPeer(number: $0.rawValue, certificate: certificate) }
    for peer in peers {
      worker.apply(.openTransport(peer.key, room: RoomKey(1), credentials: peer.server), at: now)
      let remote = RemoteTransport(
        credentials: peer.local, fingerprints: [certificate.sha256Fingerprint], role: .server)
      worker.apply(.setRemote(peer.key, remote), at: now)
    }
    for peer in [hostile, honest, listener] { connect(peer) }
    begin()
  }

  private func connect(_ peer: WorkerPeer) {
    validated.insert(peer.path)
    inject(peer.check(), from: peer.path)
    for _ in 0..<20 where !peer.isConnected {
      for datagram in peer.takeOutbox(at: now) { inject(datagram, from: peer.path) }
      pass(.milliseconds(1))
    }
    for datagram in peer.takeOutbox(at: now) { inject(datagram, from: peer.path) }
    precondition(peer.isConnected, "a handshake takes three flights")
  }

  // MARK: tracks

  private func begin() {
    tracks = WorkerTracks(round: round)
    for (key, who, parameters) in tracks.producers {
      worker.apply(
        .addProducer(
          key, transport: peers[who.rawValue].key, parameters: parameters,
          publisher: Publisher(UInt64(who.rawValue), canonicalName: "\(who)")), at: now)
    }
    for (key, producer, who, parameters) in tracks.consumers {
      worker.apply(
        .addConsumer(
          key, producer: producer, transport: peers[who.rawValue].key, parameters: parameters, paused: false), at: now)
    }
    said = (0, 0)
    check()
  }

  /// All tracks end, and others begin: what an input finds is as it was for the one before.
  func renew() {
    settle()
    for (key, _, _, _) in tracks.consumers { worker.apply(.removeConsumer(key), at: now) }
    for (key, _, _) in tracks.producers { worker.apply(.removeProducer(key), at: now) }
    turn()
    round += 1
    begin()
    // From where it was, whatever the input did with its address.
    if !isOver { inject(hostile.check(), from: hostile.path) }
    turn()
  }

  /// What the control plane says meanwhile, about what is the hostile one's.
  func command(_ choice: UInt8, _ value: UInt8) {
    let track = tracks.hostileProducers[Int(value >> 2) % tracks.hostileProducers.count]
    let consumer = tracks.hostileConsumers[Int(value >> 2) % tracks.hostileConsumers.count]
    switch choice & 3 {
    case 0: worker.apply(.setMuted(track, value & 1 != 0), at: now)
    case 1: worker.apply(.setPaused(consumer, value & 1 != 0), at: now)
    case 2: worker.apply(.setLayer(consumer, value & 3 == 3 ? nil : Int(value & 3)), at: now)
    default: worker.apply(.setPriority(consumer, Int(value)), at: now)
    }
    turn()
  }

  // MARK: datagrams

  func inject(_ datagram: [UInt8], from path: Path) {
    if !validated.contains(path) { strangers += 1 }
    var copy = datagram
    copy.withUnsafeMutableBytes { worker.receive($0, from: path, at: now) }
  }

  /// A datagram of the script, and what follows from it at once.
  func take(_ datagram: [UInt8], from path: Path, provesPassword: Bool = false) {
    if provesPassword { validated.insert(path) }
    inject(datagram, from: path)
    turn()
    check()
  }

  private func turn() {
    worker.poll(at: now)
    worker.flush(at: now, into: &sink)
    precondition(sink.violations == 0, "what is sent is cut as UDP_SEGMENT wants it")
    let datagrams = sink.take()
    precondition(datagrams.count <= 2_000, "one input does not make a worker send without end")
    for (path, bytes) in datagrams { deliver(bytes, to: path) }
    for event in worker.takeEvents() { note(event) }
  }

  private func deliver(_ bytes: [UInt8], to path: Path) {
    if !validated.contains(path) {
      strangers -= 1
      precondition(strangers >= 0 && bytes.count <= 128, "who has shown nothing gets a short word for each of theirs")
    }
    // Where media of the hostile one goes is their matter.
    for who in [Who.honest, .listener, .hostile] where peers[who.rawValue].path == path {
      if who == .hostile && isOver { continue }
      peers[who.rawValue].handle(bytes, at: now, trusting: certificate)
    }
  }

  private func note(_ event: WorkerEvent) {
    switch event {
    case .transportFailed(let key, let failure):
      precondition(key != honest.key && key != listener.key, "nobody ends the connections of others: \(failure)")
      if key == hostile.key { isOver = true }
    case .transportLost(let key):
      precondition(key != honest.key && key != listener.key, "nobody takes the addresses of others")
    case .transportConnected(let key): precondition(key != newcomer.key, "nobody connects without keys")
    case .streamStrays(let key, _):
      precondition(key != honest.key && key != listener.key, "what the honest one sends finds its track")
    case .transportRecovered, .transportExceeds, .silence, .streamsFound, .consumerStarted, .consumerLayer,
      .consumerPaused, .consumerMisses, .producerLayers, .quality, .load, .activeSpeakers:
      break
    }
  }

  // MARK: time

  /// Lets time pass in steps, in each of which the honest one speaks and shows a picture.
  func wait(_ count: Int, _ step: TimeDelta) {
    for _ in 0..<count {
      speak()
      pass(step)
    }
    check()
  }

  /// Those who are honest check now and then.
  private func keepAlive() {
    guard nextCheck <= now else { return }
    nextCheck = now + .seconds(1)
    for peer in [honest, listener] { inject(peer.check(), from: peer.path) }
  }

  private func speak() {
    keepAlive()
    for packet in [tracks.audio(said.audio), tracks.video(said.video)] {
      guard let sealed = honest.seal(rtp: packet) else { preconditionFailure("the honest one can speak") }
      inject(sealed, from: honest.path)
    }
    said = (said.audio + 1, said.video + 1)
    turn()
  }

  /// As if a packet of the honest one had been lost: for a test that the scene would notice.
  func loseAPacket() { said.audio += 1 }

  private func pass(_ step: TimeDelta) {
    let end = now + step
    while true {
      let next = worker.nextDeadline
      guard next < end else { break }
      now = max(next, now + TimeDelta(nanoseconds: 100_000))
      if now >= end { break }
      turn()
    }
    now = end
    turn()
  }

  /// What was said has arrived, all of it.
  private func settle() {
    keepAlive()
    pass(.milliseconds(100))
    precondition(listener.received[tracks.heardAudio, default: 0] == said.audio, "what the honest one says arrives")
    precondition(listener.received[tracks.seenVideo, default: 0] == said.video, "what the honest one shows arrives")
  }

  private func check() {
    let counters = worker.counters
    precondition(counters.transports == peers.count, "transports begin and end by command")
    precondition(counters.producers == tracks.producers.count, "so do tracks")
    precondition(counters.consumers == tracks.consumers.count, "and subscriptions")
    precondition(counters.staleCommands == 0, "what the control plane names is there")
    precondition(!worker.isNearlyFull, "what waits is bounded")
  }
}

/// Takes the worker's datagrams apart again.
private struct PathSink: DatagramSink {
  private var datagrams: [(Path, [UInt8])] = []
  private(set) var violations = 0

  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    guard segment > 0, !bytes.isEmpty, bytes.count <= 65_487, (bytes.count + segment - 1) / segment <= 64 else {
      violations += 1
      return nil
    }
    for start in stride(from: 0, to: bytes.count, by: segment) {
      datagrams.append((path, Array(bytes[start..<min(start + segment, bytes.count)])))
    }
    return nil
  }

  mutating func take() -> [(Path, [UInt8])] {
    defer { datagrams.removeAll(keepingCapacity: true) }
    return datagrams
  }
}
