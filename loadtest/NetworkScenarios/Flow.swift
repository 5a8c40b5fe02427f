// A sender with the estimator and its pacer, and the receiver behind the line.

import Basics
import Congestion
import RTP

/// A packet on the line.
struct FlowPacket: Sendable {
  var number: UInt16
  var size: Int
  var kind: PacketKind
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
    leave(FlowPacket(number: 0, size: Self.audioSize, kind: .audio), at: now, send)
  }

  private func isPaused(_ now: Instant) -> Bool { options.pause?.contains((now - .zero).seconds) ?? false }

  private mutating func produceVideo(at now: Instant, _ time: Double) {
    guard now >= nextFrame, !isPaused(now) else { return }
    nextFrame += Self.frameInterval
    let audio = options.hasAudio ? Double(Self.audioSize) * 8 / Self.audioInterval.seconds : 0
    let rate = wished(at: now, time) - audio
    let noise = 0.9 + 0.2 * Double(random.next() >> 11) / Double(1 << 53)
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
      queue.append(FlowPacket(number: 0, size: max(size, 60), kind: .video))
      waiting += ByteCount(max(size, 60))
    }
  }

  private mutating func wished(at now: Instant, _ time: Double) -> Double {
    let target = estimator.target.bitsPerSecond
    switch options.source {
    case .elastic(let limit): return min(target, limit.value(at: now).bitsPerSecond)
    case .fixed(let rate):
      estimator.setWish(max(rate.value(at: now), .kilobits(1)), at: now)
      return rate.value(at: now).bitsPerSecond
    case .layers(let layers): return layered(layers, target, time)
    }
  }

  private mutating func layered(_ layers: [BitRate], _ target: Double, _ time: Double) -> Double {
    let best = layers.lastIndex { $0.bitsPerSecond <= target } ?? 0
    if best > layer.current {
      trace.stepsUp.append(time)
      layer.lastStepUp = time
    } else if best < layer.current, let up = layer.lastStepUp, time - up < 10 {
      trace.failedSteps.append(up)
      layer.lastStepUp = nil
    }
    layer.current = best
    return layers[best].bitsPerSecond
  }

  private mutating func release(at now: Instant, _ send: (FlowPacket) -> Void) {
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
        leave(FlowPacket(number: 0, size: Self.largestPacket, kind: .padding), at: now, send)
        padding -= ByteCount(Self.largestPacket)
      }
    }
  }

  private mutating func leave(_ packet: FlowPacket, at now: Instant, _ send: (FlowPacket) -> Void) {
    var packet = packet
    packet.number = estimator.sent(ByteCount(packet.size), packet.kind, at: now)
    trace.packets += 1
    if packet.kind == .padding { trace.paddingSent += packet.size } else { trace.mediaSent += packet.size }
    send(packet)
  }

  /// A packet reached the receiver.
  mutating func receive(_ packet: FlowPacket, at now: Instant) {
    builder.record(packet.number, at: receiverClock(now))
    guard packet.kind != .padding else { return }
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
