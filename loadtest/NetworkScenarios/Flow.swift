// A sender with the estimator and its pacer, and the receiver behind the line.

import Basics
import Congestion
import RTP

/// A packet on the line.
struct FlowPacket: Sendable {
  var number: UInt16 = 0
  var size: Int
  var kind: PacketKind
  /// When it reached the server.
  var arrivedAt = Instant.zero
  var video: VideoPacket?
}

/// The state of both ends of a flow.
struct Flow {
  static let frameInterval = TimeDelta(nanoseconds: 33_333_333)
  static let audioInterval = TimeDelta.milliseconds(20)
  static let audioSize = 80
  static let largestPacket = 1_200

  let options: FlowOptions
  var estimator: BandwidthEstimator
  var builder = TransportFeedbackBuilder()
  var trace = FlowTrace()
  private var random: SplitMix64
  private var queue: [FlowPacket] = []
  private var head = 0
  /// Leave before `queue`.
  private var repeats: [FlowPacket] = []
  private var sender: SimulcastSender?
  private var receiver: VideoReceiver?
  private var waiting = ByteCount.zero
  private var nextFrame: Instant
  private var nextAudio: Instant
  private var layer = (current: 0, lastStepUp: Double?.none)
  private(set) var feedbacks = 0
  private var reportAt: Instant
  /// Of the publisher's packets, since the last receiver report.
  private var published = (all: 0, lost: 0)

  init(_ options: FlowOptions, seed: UInt64) {
    self.options = options
    estimator = BandwidthEstimator(options.estimator)
    random = SplitMix64(seed: seed)
    nextFrame = Instant.zero + .seconds(options.start)
    nextAudio = nextFrame
    reportAt = nextFrame + .seconds(1)
    if case .simulcast(let simulcast) = options.source {
      let sender = SimulcastSender(simulcast, options.estimator.mechanisms)
      estimator.setWish(sender.wish(audio: audioRate), at: .zero)
      self.sender = sender
      receiver = VideoReceiver(roundTrip: .seconds(options.roundTrip / 1e3))
    }
  }

  private var audioRate: BitRate {
    options.hasAudio ? BitRate(ByteCount(Self.audioSize), in: Self.audioInterval) : .zero
  }

  /// A turn of the sender's loop: the source produces, the pacer lets go. Hands each packet that leaves to `send`.
  mutating func turn(at now: Instant, _ send: (FlowPacket) -> Void) {
    estimator.poll(at: now)
    let time = (now - .zero).seconds
    if let pause = options.pause, pause.contains(time) {
      nextFrame = now
      nextAudio = now
    }
    produceAudio(at: now, send)
    produceVideo(at: now, time)
    release(at: now, send)
  }

  private mutating func produceAudio(at now: Instant, _ send: (FlowPacket) -> Void) {
    guard now >= nextAudio, options.hasAudio, !isPaused(now) else { return }
    nextAudio += Self.audioInterval
    let packet = FlowPacket(size: Self.audioSize, kind: .audio, arrivedAt: now)
    // Without video of its own a source does not wait for anything.
    if sender == nil || options.estimator.mechanisms.contains(.soundFirst) {
      leave(packet, at: now, send)
    } else {
      enqueue(packet)
    }
  }

  private mutating func enqueue(_ packet: FlowPacket) {
    queue.append(packet)
    waiting += ByteCount(packet.size)
  }

  private func isPaused(_ now: Instant) -> Bool { options.pause?.contains((now - .zero).seconds) ?? false }

  private mutating func produceVideo(at now: Instant, _ time: Double) {
    guard now >= nextFrame, !isPaused(now) else { return }
    nextFrame += Self.frameInterval
    let noise = 0.9 + 0.2 * Double(random.next() >> 11) / Double(1 << 53)
    if sender != nil { return produceLayer(noise, at: now, time) }
    let rate = wished(at: now, time) - audioRate.bitsPerSecond
    var left = Int(max(0, rate) * Self.frameInterval.seconds / 8 * noise)
    guard left > 0 else { return }
    let packets = (left + Self.largestPacket - 1) / Self.largestPacket
    for index in 0..<packets {
      let size = left / (packets - index)
      left -= size
      published.all += 1
      if random.chance(options.upstreamLoss) {
        published.lost += 1
        continue
      }
      enqueue(FlowPacket(size: max(size, 60), kind: .video, arrivedAt: now))
    }
  }

  private mutating func produceLayer(_ noise: Double, at now: Instant, _ time: Double) {
    let before = sender?.current
    let firstWaiting = queue[head...].first { $0.video != nil }?.video
    guard let (packets, switched) = sender?.produce(at: now, noise: noise, waiting: firstWaiting) else { return }
    if switched {
      queue = queue[head...].filter { $0.video == nil }
      head = 0
      waiting = queue.reduce(.zero) { $0 + ByteCount($1.size) }
      repeats = []
    }
    for packet in packets { enqueue(FlowPacket(size: packet.size, kind: .video, arrivedAt: now, video: packet)) }
    if let before, let layer = sender?.current { noteStep(from: before, to: layer, time) }
  }

  /// What the receiver asks for reached the server.
  mutating func take(_ requests: VideoRequests, at now: Instant) {
    if requests.keyframe { sender?.requestKeyframe(at: now) }
    let packets = sender?.repeats(
      of: requests.missing, loss: estimator.inherentLoss, roundTrip: estimator.roundTrip, at: now)
    for packet in packets ?? [] {
      repeats.append(FlowPacket(size: packet.size + 2, kind: .retransmission, arrivedAt: now, video: packet))
    }
  }

  /// What the receiver asks for now.
  mutating func dueRequests(at now: Instant) -> VideoRequests { receiver?.requests(at: now) ?? VideoRequests() }

  private mutating func wished(at now: Instant, _ time: Double) -> Double {
    let target = estimator.target.bitsPerSecond
    switch options.source {
    case .elastic(let limit): return min(target, limit.value(at: now).bitsPerSecond)
    case .fixed(let rate):
      estimator.setWish(max(rate.value(at: now), .kilobits(1)), at: now)
      return rate.value(at: now).bitsPerSecond
    case .layers(let layers): return layered(layers, target, time)
    case .simulcast: return 0
    }
  }

  private mutating func layered(_ layers: [BitRate], _ target: Double, _ time: Double) -> Double {
    let best = layers.lastIndex { $0.bitsPerSecond <= target } ?? 0
    noteStep(from: layer.current, to: best, time)
    layer.current = best
    return layers[best].bitsPerSecond
  }

  private mutating func noteStep(from old: Int, to new: Int, _ time: Double) {
    if new > old {
      trace.stepsUp.append(time)
      layer.lastStepUp = time
    } else if new < old, let up = layer.lastStepUp, time - up < 10 {
      trace.failedSteps.append(up)
      layer.lastStepUp = nil
    }
  }

  private mutating func release(at now: Instant, _ send: (FlowPacket) -> Void) {
    let audio = audioRate
    sender?.allocate(target: estimator.target, audio: audio, at: now)
    while let packet = repeats.first, estimator.budget(at: now, waiting: waiting + ByteCount(packet.size)) > .zero {
      repeats.removeFirst()
      leave(packet, at: now, send)
    }
    while head < queue.count, estimator.budget(at: now, waiting: waiting) > .zero {
      let packet = queue[head]
      head += 1
      waiting -= ByteCount(packet.size)
      leave(packet, at: now, send)
    }
    if head == queue.count {
      queue.removeAll(keepingCapacity: true)
      head = 0
      var padding = estimator.padding(at: now)
      while padding > .zero {
        leave(FlowPacket(size: Self.largestPacket, kind: .padding), at: now, send)
        padding -= ByteCount(Self.largestPacket)
      }
    }
  }

  private mutating func leave(_ packet: FlowPacket, at now: Instant, _ send: (FlowPacket) -> Void) {
    var packet = packet
    packet.number = estimator.sent(ByteCount(packet.size), packet.kind, at: now)
    trace.packets += 1
    if packet.kind == .audio { trace.audioDelays.append((now - packet.arrivedAt).seconds * 1e3) }
    if packet.kind == .padding { trace.paddingSent += packet.size } else { trace.mediaSent += packet.size }
    send(packet)
  }

  /// A packet reached the receiver.
  mutating func receive(_ packet: FlowPacket, at now: Instant) {
    builder.record(packet.number, at: receiverClock(now))
    guard packet.kind != .padding else { return }
    if let video = packet.video, let count = receiver?.receive(video, at: now), count > 0 {
      trace.decode(count, at: now)
    }
    let slot = Int((now - .zero).seconds / FlowTrace.slot)
    while trace.received.count <= slot { trace.received.append(0) }
    trace.received[slot] += Double(packet.size)
  }

  /// Feedback that the receiver sends now; empty when none is due.
  mutating func dueFeedback(at now: Instant) -> [UInt8] {
    var bytes: [UInt8] = []
    guard builder.poll(at: receiverClock(now), sender: 1, media: 2, into: &bytes) > 0 else { return [] }
    feedbacks += 1
    for jump in options.faults.jumps where now >= Instant.zero + .seconds(jump.at) { Self.shift(&bytes, by: jump.by) }
    return bytes
  }

  /// Moves the reference times of all feedback packets (24 bits of 64 ms), as a jump of the receiver's clock would.
  private static func shift(_ bytes: inout [UInt8], by seconds: Double) {
    var start = 0
    while start + 20 <= bytes.count {
      let old = Int(bytes[start + 16]) << 16 | Int(bytes[start + 17]) << 8 | Int(bytes[start + 18])
      let new = (old + Int((seconds / 0.064).rounded())) & 0xff_ffff
      for index in 0..<3 { bytes[start + 16 + index] = UInt8(truncatingIfNeeded: new >> (16 - 8 * index)) }
      start += 4 * (Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])) + 4
    }
  }

  private func receiverClock(_ now: Instant) -> Instant {
    Instant.zero + .seconds(1_000 + (now - .zero).seconds * (1 + options.faults.drift))
  }

  /// Feedback reached the sender.
  mutating func take(_ bytes: [UInt8], at now: Instant) {
    var reader = RTCPReader()
    while let packet = try? reader.next(bytes.span) {
      if case .transportFeedback(let feedback) = packet { estimator.feedback(feedback, bytes.span, at: now) }
    }
  }

  /// Once a second a receiver report leaves: its loss counts what never reached the server, too.
  mutating func report(at now: Instant) {
    guard now >= reportAt else { return }
    reportAt += .seconds(1)
    guard published.all > 0 else { return }
    let lost = Double(published.lost) / Double(published.all)
    estimator.report(fractionLost: UInt8(clamping: Int(lost * 256)), at: now)
    published = (0, 0)
  }

  /// Closes the slot that ends now.
  mutating func sample(at now: Instant) {
    trace.target.append(estimator.target.bitsPerSecond)
    trace.relaxed.append(estimator.isRelaxed)
  }
}
