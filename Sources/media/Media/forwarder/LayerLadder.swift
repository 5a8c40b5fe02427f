// What a receiver can be sent of a video track, from the least to the most: its encodings, each of them whole or thinned.
//
//   encoding 0, all layers of time ──┐  half of a track's pictures costs little more than half of its bytes, and a step between two
//   encoding 0, half the pictures  ──┤  of them costs no keyframe where only pictures are left out
//   encoding 0, a quarter of them  ──┘

import Basics
import Congestion
import Forwarding

/// One step: an encoding, and up to which of its spatial and temporal layers.
struct LayerStep: Sendable, Hashable, Comparable {
  var layer: Int8
  var limit = LayerLimit.all

  /// All that there is.
  static let top = LayerStep(layer: .max)

  static func < (left: LayerStep, right: LayerStep) -> Bool {
    (left.layer, left.limit.spatial, left.limit.temporal) < (right.layer, right.limit.spatial, right.limit.temporal)
  }
}

/// The steps of one track as they were measured last.
struct LayerLadder: Sendable {
  /// Steps are measured anew after this time: rates are of windows of half a second.
  private static let interval = TimeDelta.milliseconds(100)

  /// What an allocator looks at. Of tracks with more steps, parts of encodings are none.
  private static let most = 16

  /// From the least to the most. Each encoding has one at least, which is all of it.
  private(set) var steps: [LayerStep] = []
  /// What each of them takes, without keyframes; zero where the encoding does not arrive.
  private(set) var rates: [BitRate] = []
  /// The same, as it was at the most within the last seconds: what is looked at for a step up.
  private(set) var usual: [BitRate] = []
  /// Of each step.
  private var peaks: [LayerStep: RecentPeak] = [:]
  private var measuredAt: Instant?

  /// The step up to which each of a receiver's videos is brought before one of them goes higher: the lowest encoding, or spatial
  /// layer, with all its pictures. Where there is nothing above it, the lowest step.
  var enough: Int {
    guard let first = steps.first, let last = steps.last else { return 0 }
    let least = steps.lastIndex { $0.layer == first.layer && $0.limit.spatial == first.limit.spatial } ?? 0
    return steps[least] == last ? 0 : least
  }

  /// Measures again, if that was long ago.
  /// Of a layer that the publisher has paused it is remembered what it took.
  mutating func measure(
    _ ids: [EncodingID], _ encodings: inout SlotMap<EncodingSlot>, asked: PublisherLayers?, at now: Instant
  ) {
    if let measuredAt, now - measuredAt < Self.interval { return }
    measuredAt = now
    steps.removeAll(keepingCapacity: true)
    rates.removeAll(keepingCapacity: true)
    for (index, id) in ids.enumerated() {
      if let rate = asked?.rate(ofAbsent: index) {
        steps.append(LayerStep(layer: Int8(clamping: index)))
        rates.append(rate)
      } else {
        measure(&encodings[id].encoding, index, at: now)
      }
    }
    if steps.count > Self.most {
      rates = zip(steps, rates).filter { $0.0.limit == .all }.map { $0.1 }
      steps.removeAll { $0.limit != .all }
    }
    noteUsual(ids.count, at: now)
  }

  private mutating func noteUsual(_ count: Int, at now: Instant) {
    // Of one encoding nothing is above what is sent.
    if count <= 1 { return }
    usual.removeAll(keepingCapacity: true)
    for (step, rate) in zip(steps, rates) {
      usual.append(rate > .zero ? peaks[step, default: RecentPeak()].note(rate, at: now) : .zero)
    }
    // Windows of two steps may begin at different times.
    for place in steps.indices.dropLast().reversed() where steps[place].layer == steps[place + 1].layer {
      usual[place] = min(usual[place], usual[place + 1])
    }
  }

  private mutating func measure(_ encoding: inout Encoding, _ index: Int, at now: Instant) {
    let (first, limits) = (steps.count, Self.limits(of: encoding.layerRates, isLowest: index == 0))
    for limit in limits {
      // Parts and the whole are taken from the same windows, so that no part takes more than the whole.
      let bytes =
        limits.count == 1
        ? encoding.rate.steadyBytesPerSecond(at: now)
        : encoding.layerRates.steadyBytesPerSecond(upTo: limit, at: now)
      append(LayerStep(layer: Int8(clamping: index), limit: limit), bytes, above: first)
    }
  }

  /// A step that takes no less than the one above it in its encoding is none.
  private mutating func append(_ step: LayerStep, _ bytes: Int64, above first: Int) {
    let rate = BitRate(bitsPerSecond: Double(bytes) * 8)
    while steps.count > first, rates[steps.count - 1] >= rate {
      steps.removeLast()
      rates.removeLast()
    }
    steps.append(step)
    rates.append(rate)
  }

  /// Which parts of an encoding are worth sending: of its lowest spatial layer each rate of pictures, of those above all pictures
  /// or half of them.
  private static func limits(of layers: LayerRates, isLowest: Bool) -> [LayerLimit] {
    let (spatial, temporal) = (layers.spatialLayers, layers.temporalLayers)
    var limits: [LayerLimit] = []
    for layer in 0..<spatial {
      for time in (layer == 0 && isLowest ? 0 : max(temporal - 2, 0))..<temporal {
        limits.append(
          LayerLimit(
            spatial: layer + 1 == spatial ? 7 : UInt8(layer), temporal: time + 1 == temporal ? 7 : UInt8(time)))
      }
    }
    return limits
  }

  /// The rates where a receiver can be sent these steps: those that leave something out only where `isThinned` says so. Of encodings
  /// above the one that it is sent now they are the usual ones.
  func rates(isThinned: Bool, sent: LayerStep?) -> [BitRate] {
    guard let sent, let last = steps.last, last.layer > sent.layer, usual.count == rates.count else {
      return isThinned ? rates : zip(steps, rates).map { $0.limit == .all ? $1 : .zero }
    }
    return steps.indices.map { place in
      if !isThinned && steps[place].limit != .all { return .zero }
      return steps[place].layer > sent.layer ? usual[place] : rates[place]
    }
  }

  /// The step that is all of an encoding.
  func whole(_ layer: Int8) -> Int { steps.lastIndex { $0.layer <= layer } ?? max(steps.count - 1, 0) }

  /// The highest step of which all is sent; the lowest of its encoding where less than that is sent. Nil where the encoding is not
  /// one of this track.
  func index(of sent: LayerStep) -> Int? {
    let within = steps.lastIndex {
      $0.layer == sent.layer && $0.limit.spatial <= sent.limit.spatial && $0.limit.temporal <= sent.limit.temporal
    }
    return within ?? steps.firstIndex { $0.layer == sent.layer }
  }

  /// What the lowest step takes that arrives; nil where none does.
  var lowestRate: BitRate? { rates.first { $0 > .zero } }
}
