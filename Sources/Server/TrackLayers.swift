// The layers of a published track by the names that subscribers ask for them with.

import RoostProtocol

/// What `low`, `standard` and `high` mean for one track.
struct TrackLayers: Equatable {
  /// Names to choose from, lowest first; empty where there is one layer, which is all there is to have.
  let definitions: [Definition]
  /// The layer of each, counted from 0 for the lowest.
  private let indices: [Int]

  /// For a track of `count` layers whose publisher `announced` names for them: one each, or names that are spread over
  /// them. Without announced names that fit it is low and high, or all three.
  init(announced: [Definition], count: Int) {
    guard count > 1 else {
      (definitions, indices) = ([], [])
      return
    }
    let named = Self.all.filter(announced.contains)
    let definitions = named.isEmpty || named.count > count ? (count == 2 ? [.low, .high] : Self.all) : named
    self.definitions = definitions
    indices = definitions.indices.map {
      definitions.count == 1 ? count - 1 : $0 * (count - 1) / (definitions.count - 1)
    }
  }

  private static let all: [Definition] = [.low, .standard, .high]

  /// The layer to send for a wish; nil for the best that arrives. A name that the track does not have, as after a swap,
  /// means the next lower one.
  func index(of definition: Definition) -> Int? {
    guard let rank = Self.all.firstIndex(of: definition), !definitions.isEmpty else { return nil }
    let lower = definitions.lastIndex { (Self.all.firstIndex(of: $0) ?? 0) <= rank }
    return indices[lower ?? 0]
  }

  /// The name of a layer; of one between two names there is none.
  func definition(of index: Int) -> Definition? { indices.firstIndex(of: index).map { definitions[$0] } }
}
