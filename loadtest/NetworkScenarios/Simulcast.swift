// A video in simulcast layers, as a server sends it to one receiver: the allocator chooses the layer, a keyframe begins it, what is
// lost is sent again.
//
//   target ─▶ LayerAllocator ─▶ wished layer ─▶ keyframe from the publisher ─▶ packets ─▶ pacer
//                                                     ▲                          │
//                               keyframe request ─────┘        cache ◀───────────┘──▶ repeats, asked for by NACK

import Basics
import Congestion

/// A packet of a video frame.
struct VideoPacket: Sendable {
  /// Without gaps, as the receiver counts.
  var sequence: Int
  /// Frames of one receiver, from 0.
  var frame: Int
  var isFirst: Bool
  var isLast: Bool
  var isKey: Bool
  var layer: Int
  var size: Int
}

/// What a scenario says of the video.
public struct SimulcastOptions: Sendable {
  /// Rate of each layer, lowest first.
  public var layers: [BitRate] = [150, 500, 1_200, 2_500].map { .kilobits($0) }
  /// From the server's request to the publisher's keyframe, in seconds.
  public var keyframeDelay = 0.1
  /// A keyframe comes this often unasked, in seconds.
  public var keyframeInterval: Double?

  /// Four layers; keyframes on request only.
  public init() {}
}

/// The server's side of one video for one receiver.
struct SimulcastSender {
  /// Packets kept for repeats: about two seconds.
  static let cached = 2_048
  /// A keyframe is so many times as large as another frame.
  static let keyframeFactor = 4
  static let largestPacket = 1_200
  static let allocationInterval = TimeDelta.milliseconds(250)
  /// From this loss on a repeat is sent twice: one that is lost costs a whole round trip.
  static let lossForTwo = 0.03

  private let options: SimulcastOptions
  private let mechanisms: Mechanisms
  private var allocator: LayerAllocator
  /// The layer that is sent; nil while paused.
  private(set) var current: Int?
  private var wanted: Int?
  private var keyframeAt: Instant?
  private var nextAllocation = Instant.zero
  private var lastTarget = BitRate.zero
  private var lastKeyframe = Instant.zero
  private var cache = Array(repeating: VideoPacket?.none, count: cached)
  private var repeatedAt = Array(repeating: Instant.zero, count: cached)
  private var sequence = 0
  private var frame = 0

  init(_ options: SimulcastOptions, _ mechanisms: Mechanisms) {
    self.options = options
    self.mechanisms = mechanisms
    allocator = LayerAllocator(mechanisms)
  }

  private var view: AllocationView {
    AllocationView(rates: options.layers, most: options.layers.count - 1, current: current)
  }

  /// What the receiver would like at most.
  func wish(audio: BitRate) -> BitRate { LayerAllocator.wish([view], audio: audio) }

  /// Chooses the layer: four times a second, and at once when the target has fallen.
  mutating func allocate(target: BitRate, audio: BitRate, at now: Instant) {
    guard now >= nextAllocation || target < lastTarget || now >= allocator.nextDeadline else { return }
    nextAllocation = now + Self.allocationInterval
    lastTarget = target
    let layer = allocator.allocate([view], target: target, audio: audio, at: now)[0]
    guard let layer else {
      (current, wanted) = (nil, nil)
      return
    }
    guard layer != current else {
      wanted = nil
      return
    }
    let asks = mechanisms.contains(.switchAtKeyframe) ? wanted == nil || current == nil : current == nil
    if asks { requestKeyframe(at: now) }
    wanted = layer
  }

  /// The receiver cannot go on, or a layer is to begin.
  mutating func requestKeyframe(at now: Instant) {
    if let keyframeAt, keyframeAt > now { return }
    keyframeAt = now + .seconds(options.keyframeDelay)
  }

  /// The next frame's packets; none while paused. `noise` is around 1, `waiting` the first packet that has not left. Where a layer
  /// begins (`switched`), what waits of the old one is not to be sent: its numbers go to the new one.
  mutating func produce(at now: Instant, noise: Double, waiting: VideoPacket?) -> (
    packets: [VideoPacket], switched: Bool
  ) {
    var isKey = options.keyframeInterval.map { now - lastKeyframe > .seconds($0) } ?? false
    if let keyframeAt, now >= keyframeAt {
      isKey = true
      self.keyframeAt = nil
    }
    let blind = !mechanisms.contains(.switchAtKeyframe)
    var switched = false
    if let layer = wanted, isKey || blind {
      if blind { isKey = current == nil }
      switched = !blind
      current = layer
      wanted = nil
    }
    guard let current else { return ([], false) }
    if isKey { lastKeyframe = now }
    if switched, let waiting { withdraw(from: waiting) }
    let size = options.layers[current].bitsPerSecond / 8 * Flow.frameInterval.seconds * noise
    return (split(Int(size) * (isKey ? Self.keyframeFactor : 1), isKey, current), switched)
  }

  private mutating func split(_ size: Int, _ isKey: Bool, _ layer: Int) -> [VideoPacket] {
    let count = max(1, (size + Self.largestPacket - 1) / Self.largestPacket)
    defer { frame += 1 }
    return (0..<count).map { index in
      defer { sequence += 1 }
      let packet = VideoPacket(
        sequence: sequence, frame: frame, isFirst: index == 0, isLast: index == count - 1, isKey: isKey, layer: layer,
        size: max(size / count, 60))
      cache[sequence % Self.cached] = packet
      return packet
    }
  }

  private mutating func withdraw(from packet: VideoPacket) {
    sequence = packet.sequence
    frame = packet.frame
    // A frame that has left in part cannot be completed. The keyframe behind it makes up for it.
    if !packet.isFirst { frame += 1 }
  }

  /// The packets to send again of those that the receiver misses. None twice within a round trip.
  mutating func repeats(of missing: [Int], loss: Double, roundTrip: TimeDelta, at now: Instant) -> [VideoPacket] {
    guard mechanisms.contains(.repeats) else { return [] }
    var packets: [VideoPacket] = []
    for sequence in missing {
      let slot = sequence % Self.cached
      guard let packet = cache[slot], packet.sequence == sequence, now - repeatedAt[slot] > roundTrip / 2 else {
        continue
      }
      repeatedAt[slot] = now
      packets.append(packet)
      if loss > Self.lossForTwo { packets.append(packet) }
    }
    return packets
  }
}
