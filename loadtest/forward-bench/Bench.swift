// A worker with a room on it, in virtual time: who sends what, and when it arrives.

import Basics
import Crypto
import DTLS
import Forwarding
import Media
import RTP
import SRTP

/// What is to be measured.
struct Load {
  let name: String
  let seats: Int
  let publishers: Int
  /// Packets of 1,200 bytes in a frame, 25 frames a second; 0 for audio alone.
  let framePackets: Int
  /// Whether sizes vary as encoders vary them.
  var isVaried = false

  static let all = [
    Load(name: "video16", seats: 16, publishers: 16, framePackets: 5),
    Load(name: "audio32", seats: 32, publishers: 32, framePackets: 0),
    Load(name: "broadcast", seats: 501, publishers: 1, framePackets: 5),
  ]
}

/// One datagram on its way in.
struct Arrival {
  let at: Instant
  let path: Path
  let bytes: UnsafeMutableRawBufferPointer
}

final class Bench {
  static let extensions: HeaderExtensionIDs = {
    var ids = HeaderExtensionIDs()
    (ids.mid, ids.absSendTime, ids.transportSequence, ids.audioLevel) = (4, 2, 3, 1)
    return ids
  }()
  /// How often seats report what has arrived, as browsers do.
  static let feedbackInterval = TimeDelta.milliseconds(50)
  let load: Load
  var worker: WorkerState
  /// Whether `play` goes by the function whose instructions are counted.
  var isMeasured = true
  /// What seats have reported and the worker has not received.
  private var reports: [(path: Path, bytes: [UInt8])] = []
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private var seats: [Seat] = []
  private let certificate: Certificate
  private var dice = Dice(phases: phases())
  /// Whether each turn finds the CPU's own caches empty.
  var isCold = false
  /// Nanoseconds of CPU time that emptying them took.
  var evicting: Int64 = 0
  private var memory = [UInt64](repeating: 0, count: (4 << 20) / 8)

  init(_ load: Load, settings: WorkerState.Settings) throws {
    self.load = load
    certificate = try Certificate(wallMilliseconds: 1_760_000_000_000)
    worker = WorkerState(certificate: certificate, settings: settings, seed: 1)
    for index in 0..<load.seats { seats.append(try join(index)) }
    connect()
    for seat in seats.prefix(load.publishers) { publish(seat) }
    worker.poll(at: now)
    var sink = CountingSink(at: now)
    worker.flush(at: now, into: &sink)
  }

  private func join(_ index: Int) throws -> Seat {
    let seat = try Seat(index, certificate: certificate)
    worker.apply(.openTransport(seat.transport, room: RoomKey(1), credentials: seat.remote), at: now)
    let remote = RemoteTransport(
      credentials: seat.local, fingerprints: [certificate.sha256Fingerprint], role: .server)
    worker.apply(.setRemote(seat.transport, remote), at: now)
    return seat
  }

  private func connect() {
    while !seats.allSatisfy(\.isConnected) {
      for seat in seats where !seat.isConnected {
        for var datagram in seat.poll(at: now, fingerprint: certificate.sha256Fingerprint) {
          datagram.withUnsafeMutableBytes { worker.receive($0, from: seat.path, at: now) }
        }
      }
      worker.poll(at: now)
      var sink = MailSink()
      worker.flush(at: now, into: &sink)
      for (path, bytes) in sink.mail { seats[Int(path.remote.low & 0xff_ffff) - 1].handle(bytes, at: now) }
      now += .milliseconds(5)
    }
    _ = worker.takeEvents()
  }

  private func publish(_ seat: Seat) {
    for kind in load.framePackets > 0 ? [MediaKind.audio, .video] : [.audio] {
      let number = UInt64(seat.index * 2 + seat.tracks.count)
      let (key, mid) = (ProducerKey(number + 1), "\(seat.tracks.count)")
      guard let tag = ExtensionTag(mid) else { continue }
      let track = BenchTrack(kind: kind, ssrc: 0x1000_0000 + UInt32(number), mid: tag)
      seat.tracks.append(track)
      let payload = PayloadMapping(payloadType: kind == .video ? 96 : 111, codec: kind == .video ? .vp8 : .opus)
      worker.apply(
        .addProducer(
          key, transport: seat.transport,
          parameters: ReceiveParameters(
            mid: mid, kind: kind, payloads: [payload], extensions: Self.extensions,
            encodings: [EncodingParameters(ssrc: track.ssrc)], nack: kind == .video),
          publisher: Publisher(UInt64(seat.index), canonicalName: "bench")), at: now)
      for other in seats where other.index != seat.index { subscribe(other, to: key, number, kind, payload) }
    }
  }

  private func subscribe(
    _ seat: Seat, to key: ProducerKey, _ number: UInt64, _ kind: MediaKind, _ payload: PayloadMapping
  ) {
    let consumer = number * UInt64(load.seats) + UInt64(seat.index) + 1
    var repairable = payload
    if kind == .video { repairable.rtxPayloadType = 97 }
    worker.apply(
      .addConsumer(
        ConsumerKey(consumer), producer: key, transport: seat.transport,
        parameters: SendParameters(
          mid: "\(number % 100)", kind: kind, ssrc: 0x2000_0000 + UInt32(consumer),
          rtxSSRC: kind == .video ? 0x3000_0000 + UInt32(consumer) : nil, payloads: [repairable],
          extensions: Self.extensions, nack: kind == .video), paused: false), at: now)
  }

  /// Lets time pass; never backwards.
  func advance(to instant: Instant) { now = max(now, instant) }

  // MARK: traffic

  /// Everything that the publishers send in `duration`, in the order of arrival; the caller frees it.
  func traffic(_ duration: TimeDelta) -> [Arrival] {
    let start = now + .milliseconds(20)
    var planned: [(at: Instant, seat: Int, track: Int, frame: Int)] = []
    for seat in seats.prefix(load.publishers) {
      for track in seat.tracks.indices {
        let interval = seat.tracks[track].kind == .video ? TimeDelta.milliseconds(40) : .milliseconds(20)
        // Everybody's clock has a phase of its own.
        var at = start + TimeDelta(nanoseconds: Int64.random(in: 0..<interval.nanoseconds, using: &dice))
        var frame = 0
        while at < start + duration {
          planned.append((at, seat.index, track, frame))
          at += interval
          frame += 1
        }
      }
    }
    planned.sort { $0.at < $1.at }
    return planned.flatMap { packets(of: seats[$0.seat], $0.track, frame: $0.frame, at: $0.at) }
  }

  private func packets(of seat: Seat, _ track: Int, frame: Int, at: Instant) -> [Arrival] {
    let isVideo = seat.tracks[track].kind == .video
    let count = isVideo ? load.framePackets : 1
    // An encoder splits a frame into parts of nearly equal size; Opus varies from frame to frame.
    let spread =
      load.isVaried ? (isVideo ? Int.random(in: 0..<300, using: &dice) : Int.random(in: 0..<40, using: &dice)) : 0
    return (0..<count).map { number in
      let size = isVideo ? 1_150 - spread - (load.isVaried ? number % 2 : 0) : 80 + spread
      let bytes = seat.packet(
        track, payload: size, marker: number == count - 1, keyframe: frame == 0 && number == 0, at: at)
      return Arrival(at: at, path: seat.path, bytes: Self.copy(bytes))
    }
  }

  /// Forwards all of it. Between slices the seats report what has reached them, as browsers do.
  func play(_ arrivals: [Arrival], into sink: inout CountingSink) {
    var next = 0
    while next < arrivals.count {
      let end = arrivals[next].at + Self.feedbackInterval
      let slice = arrivals[next...].prefix { $0.at < end }
      if isMeasured { forward(slice, into: &sink) } else { deliver(&sink, slice) }
      next = slice.endIndex
      for sent in sink.sent where sent.seat < seats.count {
        for _ in 0..<sent.count { seats[sent.seat].note(sent.at + .milliseconds(3)) }
      }
      sink.sent.removeAll(keepingCapacity: true)
      reports = seats.compactMap { seat in seat.feedback(at: now + .milliseconds(3)).map { (seat.path, $0) } }
    }
  }

  private static func copy(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 16)
    copy.copyBytes(from: bytes)
    return copy
  }

  /// The loop of a worker over arrivals that are known beforehand. This is what is measured.
  @inline(never)
  func forward(_ arrivals: ArraySlice<Arrival>, into sink: inout CountingSink) { deliver(&sink, arrivals) }

  @inline(never)
  private func deliver(_ sink: inout CountingSink, _ arrivals: ArraySlice<Arrival>) {
    for var report in reports {
      report.bytes.withUnsafeMutableBytes { worker.receive($0, from: report.path, at: now) }
    }
    run(arrivals, &sink)
  }

  @inline(never)
  private func run(_ arrivals: ArraySlice<Arrival>, _ sink: inout CountingSink) {
    var next = arrivals.startIndex
    while next < arrivals.endIndex {
      let rest = worker.rest(at: now)
      now = rest > .zero ? now + rest : max(now, min(arrivals[next].at, worker.nextDeadline))
      if isCold { evict() }
      while next < arrivals.endIndex, arrivals[next].at <= now {
        worker.receive(arrivals[next].bytes, from: arrivals[next].path, at: arrivals[next].at)
        next += 1
      }
      worker.poll(at: now)
      sink.now = now
      worker.flush(at: now, into: &sink)
      sink.wakeUps += 1
    }
    _ = worker.takeEvents()
  }
}

extension Bench {
  /// Writes to more memory than the first and second cache of a CPU hold.
  @inline(never)
  private func evict() {
    let before = threadNanoseconds()
    for place in stride(from: 0, to: memory.count, by: 8) { memory[place] &+= 1 }
    evicting += threadNanoseconds() - before
  }

  /// Lets `duration` pass in which nobody sends anything: what timers cost. Returns how often the worker woke.
  func idle(_ duration: TimeDelta, into sink: inout CountingSink) -> Int {
    let end = now + duration
    var wakeUps = 0
    while worker.nextDeadline < end {
      advance(to: worker.nextDeadline)
      worker.poll(at: now)
      worker.flush(at: now, into: &sink)
      wakeUps += 1
    }
    advance(to: end)
    return wakeUps
  }
}

/// The same traffic every time.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  /// The traffic number `phases`.
  init(phases: UInt64) { state = 88_172_645_463_325_252 &+ phases &* 0x9e37_79b9_7f4a_7c15 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
