// Which of a simulcast track's layers its publisher is asked to send. What nobody is sent costs the publisher's line and processor for
// nothing; what is needed again is asked for before it can be sent.
//
//   not needed for ten seconds ─▶ paused ── needed ─▶ asked for ── arrives ─▶ sent
//                                                        └── does not arrive within five seconds ─▶ as any layer that does not arrive

import Basics
import Congestion

/// The layers of one track, as its publisher was asked for them. Of a publisher the lowest is always asked for; of a mirror what is needed
/// alone, from the start.
struct PublisherLayers: Sendable {
  /// A layer is paused when nobody has needed it for so long, and for twice as long each time that it was needed again soon.
  static let idle = TimeDelta.seconds(10)
  static let longestIdle = TimeDelta.seconds(160)
  /// A layer that is needed again within this time was paused too early.
  static let soon = TimeDelta.seconds(60)
  /// A layer that was asked for again counts as if it arrived for so long. The line of the publisher may not carry it.
  static let patience = TimeDelta.seconds(5)
  /// A mirror asks again for a layer of which nothing has come for so long: its source may not have had the track yet.
  static let again = TimeDelta.seconds(1)

  private struct Layer: Sendable {
    var isPaused = false
    /// When it was last needed, or was not there to be paused.
    var neededAt: Instant
    var changedAt = Instant.zero
    /// Whether it has not arrived since it was asked for.
    var isAwaited = false
    /// What it took when it arrived.
    var rate = BitRate.zero
    var idle = PublisherLayers.idle
    /// Of a mirror: whether it arrives at the source, which has said so; and when it was asked for last.
    var arrives: Bool?
    var askedAt = Instant.zero
  }

  private var layers: [Layer]
  private let isMirrored: Bool

  /// All layers are sent.
  init(count: Int, at now: Instant) {
    layers = Array(repeating: Layer(neededAt: now), count: count)
    isMirrored = false
  }

  /// Those of a mirror: none is brought yet.
  init(mirrored count: Int, at now: Instant) {
    let never = Instant(nanoseconds: .min / 64)
    layers = Array(repeating: Layer(isPaused: true, neededAt: now, changedAt: never), count: count)
    (isMirrored, isWaiting) = (true, true)
  }

  /// They have changed places; `order` has those of before.
  mutating func reorder(_ order: [Int]) {
    let old = layers
    if order.count == old.count { layers = order.map { old[$0] } }
  }

  /// Whether one of them is paused, or awaited.
  private(set) var isWaiting = false

  /// Whether the publisher was asked not to send a layer.
  func isPaused(_ layer: Int) -> Bool { layers.indices.contains(layer) && layers[layer].isPaused }

  /// Layers that are asked for, the lowest is 0.
  var active: [Int] { layers.indices.filter { !layers[$0].isPaused } }

  /// What a layer takes that is paused, or was asked for and has not come yet; nil for any other.
  func rate(ofAbsent layer: Int) -> BitRate? {
    guard layers.indices.contains(layer), layers[layer].isPaused || layers[layer].isAwaited else { return nil }
    return layers[layer].rate
  }

  /// Whether a layer that does not arrive now comes when it is asked for. What a mirror is not brought, and its source gets, arrives.
  func mayCome(_ layer: Int) -> Bool {
    guard layers.indices.contains(layer) else { return false }
    if isMirrored { return layers[layer].arrives == false && layers[layer].rate > .zero }
    return layers[layer].isPaused || layers[layer].isAwaited
  }

  /// Of a mirror: the bytes a second of a layer that arrives at the source, 0 where it does not; nil where the source has not said it.
  func rateAtSource(of layer: Int) -> Int64? {
    guard layers.indices.contains(layer), let arrives = layers[layer].arrives else { return nil }
    return arrives ? max(Int64(layers[layer].rate.bitsPerSecond / 8), 1) : 0
  }

  /// Of a mirror: whether a layer arrives at the source, and what it takes.
  mutating func take(_ layer: Int, arrives: Bool, rate: BitRate) {
    guard isMirrored, layers.indices.contains(layer) else { return }
    (layers[layer].arrives, layers[layer].rate) = (arrives, rate)
  }

  /// Notes what arrives and what is needed, by the layers' bits. True where the publisher has to be told which are `active`.
  mutating func update(needed: UInt8, rates: [BitRate], at now: Instant) -> Bool {
    var isChanged = false
    isWaiting = false
    for index in layers.indices {
      let isNeeded = !isMirrored && index == 0 || needed & 1 << UInt8(index) != 0
      let rate = index < rates.count ? rates[index] : .zero
      if step(&layers[index], isNeeded: isNeeded, rate: rate, at: now) { isChanged = true }
      if layers[index].isPaused || layers[index].isAwaited { isWaiting = true }
    }
    return isChanged
  }

  private func step(_ layer: inout Layer, isNeeded: Bool, rate: BitRate, at now: Instant) -> Bool {
    if layer.isPaused { return isNeeded && ask(for: &layer, at: now) }
    if rate > .zero {
      // What its source says is of what was sent, and not of what has crossed so far.
      if layer.arrives == nil { layer.rate = rate }
      layer.isAwaited = false
    } else if now - layer.changedAt >= Self.patience {
      layer.isAwaited = false
    }
    // Of what does not arrive, nothing can be saved, and nobody would know what it takes. A mirror knows it from its source.
    if isNeeded || rate == .zero && !isMirrored { layer.neededAt = now }
    if isMirrored, isNeeded, rate == .zero, now - layer.askedAt >= Self.again {
      layer.askedAt = now
      return true
    }
    guard now - layer.neededAt >= layer.idle else { return false }
    (layer.isPaused, layer.changedAt) = (true, now)
    return true
  }

  private func ask(for layer: inout Layer, at now: Instant) -> Bool {
    let isSoon = now - layer.changedAt < Self.soon
    layer.idle = isSoon ? min(layer.idle * 2, Self.longestIdle) : Self.idle
    (layer.isPaused, layer.isAwaited) = (false, true)
    (layer.neededAt, layer.changedAt, layer.askedAt) = (now, now, now)
    return true
  }
}
