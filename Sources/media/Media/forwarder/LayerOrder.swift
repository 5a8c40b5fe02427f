// Which simulcast layer of a track is better than which: by what they bring. In what order they stand in SDP counts only as long as
// that is not known.
//
//   sizes that keyframes tell ─┐
//   steady rates              ─┴▶ the same other order several times in a row ─▶ layers change places

import Basics

/// What is known of one layer.
struct LayerFacts: Sendable, Equatable {
  /// Of its pictures; nil where that is not known.
  var pixels: Int?
  /// Bytes a second; 0 where nothing is measured.
  var rate: Int64 = 0

  /// Below this a rate says nothing: a screen that stands still.
  private static let leastRate: Int64 = 1_000

  var isKnown: Bool { pixels != nil || hasRate }
  fileprivate var hasRate: Bool { rate >= Self.leastRate }

  /// Whether it is worse than another for certain. Of like rates neither is.
  fileprivate func isBelow(_ other: LayerFacts, bySize: Bool) -> Bool {
    if bySize, let pixels, let others = other.pixels, pixels != others { return pixels < others }
    return hasRate && other.hasRate && rate * LayerOrder.factor.over < other.rate * LayerOrder.factor.by
  }
}

/// Learns the order of one track's layers.
struct LayerOrder: Sendable {
  /// A layer must bring half as much again as another to be better by that: rates of two layers come near each other where little moves.
  static let factor: (by: Int64, over: Int64) = (2, 3)
  /// Looks, four a second, in a row that must agree: of sizes and of rates. Sizes change one after the other when an encoder adapts.
  static let looks = (size: 4, rate: 8)

  private var candidate: [Int] = []
  private var count = 0
  private var hasLearned = false

  /// The order from now on, as places of before; nil where it stays.
  mutating func learn(_ layers: [LayerFacts]) -> [Int]? {
    let known = layers.indices.filter { layers[$0].isKnown }
    let bySize = known.allSatisfy { layers[$0].pixels != nil }
    let order = Self.sort(known, in: layers, bySize: bySize)
    if order == Array(layers.indices) {
      count = 0
      if known.count == layers.count && bySize { hasLearned = true }
      return nil
    }
    count = order == candidate ? count + 1 : 1
    candidate = order
    // Where nothing was known before, nothing can flap.
    guard count >= (bySize ? (hasLearned ? Self.looks.size : 1) : Self.looks.rate) else { return nil }
    (count, hasLearned) = (0, true)
    return order
  }

  /// Those that are known change places among themselves, and only where one is better for certain.
  private static func sort(_ known: [Int], in layers: [LayerFacts], bySize: Bool) -> [Int] {
    var sorted: [Int] = []
    for index in known {
      let place = sorted.lastIndex { !layers[index].isBelow(layers[$0], bySize: bySize) }
      sorted.insert(index, at: place.map { $0 + 1 } ?? 0)
    }
    var order = Array(layers.indices)
    for (place, index) in zip(known, sorted) { order[place] = index }
    return order
  }
}

/// Has a track's layers change places.
enum Reordering {
  /// What is known of them is looked at. Returns a better order, as places of before.
  static func learn(of id: ProducerID, _ tracks: inout Tracks, at now: Instant) -> [Int]? {
    guard tracks.producers[id].encodings.count > 1, tracks.producers[id].encodings.count <= UInt8.bitWidth else {
      return nil
    }
    var facts: [LayerFacts] = []
    for (index, encoding) in tracks.producers[id].encodings.enumerated() {
      let isPaused = tracks.producers[id].asked?.rate(ofAbsent: index) != nil
      facts.append(
        LayerFacts(
          pixels: tracks.encodings[encoding].encoding.size?.pixels,
          rate: tracks.producers[id].asked?.rateAtSource(of: index)
            ?? (isPaused ? 0 : tracks.encodings[encoding].encoding.rate.steadyBytesPerSecond(at: now))))
    }
    return tracks.producers[id].order.learn(facts)
  }

  /// Another order becomes theirs. Streams go on as they are, and change layers as ever.
  static func apply(
    _ order: [Int], to id: ProducerID, _ tracks: inout Tracks, _ forwarder: inout Forwarder, _ turn: inout Turn
  ) {
    var places = InlineArray<8, Int8>(repeating: -1)
    for (new, old) in order.enumerated() { places[old] = Int8(new) }
    tracks.producers[id].reorder(order)
    for (index, encoding) in tracks.producers[id].encodings.enumerated() {
      tracks.encodings[encoding].encoding.index = index
    }
    for consumer in tracks.producers[id].consumers {
      forwarder.consumers[consumer].consumer.relabel(places)
      let ceiling = Int(forwarder.consumers[consumer].ceiling.layer)
      if order.indices.contains(ceiling) { forwarder.consumers[consumer].ceiling.layer = places[ceiling] }
      let told = Int(forwarder.consumers[consumer].toldLayer)
      guard order.indices.contains(told), Int(places[told]) != told else { continue }
      forwarder.consumers[consumer].toldLayer = places[told]
      let encoding = tracks.producers[id].encodings[Int(places[told])]
      turn.tell(
        .consumerLayer(
          forwarder.consumers[consumer].key, layer: Int(places[told]),
          encoding: tracks.producers[id].declaredPlace(of: encoding)))
    }
  }
}

extension ProducerSlot {
  /// `order`: the places of before.
  fileprivate mutating func reorder(_ order: [Int]) {
    let old = encodings
    encodings = order.map { old[$0] }
    ladder = LayerLadder()
    asked?.reorder(order)
    let (bits, best) = (arriving, bestLayer)
    arriving = 0
    for (new, old) in order.enumerated() where bits & 1 << UInt8(old) != 0 { arriving |= 1 << UInt8(new) }
    bestLayer = order.firstIndex(of: best) ?? bestLayer
  }

  /// Where an encoding stands in SDP.
  func declaredPlace(of encoding: EncodingID) -> Int {
    // By indices: to search would allocate in a build that is not optimised, and a copy of each packet asks for it.
    for place in declared.indices where declared[place] == encoding { return place }
    return 0
  }
}
