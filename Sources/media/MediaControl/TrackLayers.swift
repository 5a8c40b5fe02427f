// The layers of a published track by the names that subscribers ask for them with.

import RoostProtocol

/// What `low`, `standard` and `high` mean for one track, and which layer is enough for a place on a screen.
struct TrackLayers: Equatable {
  /// A layer is enough for a place that is a quarter higher: nobody sees the difference, and the next layer costs up to four times as
  /// much. Lower it and places of common sizes get the next layer.
  private static let stretch = (by: 5, over: 4)

  /// Names to choose from, lowest first; empty where there is one layer, which is all there is to have.
  let definitions: [Definition]
  /// The layer of each, counted from 0 for the lowest.
  private let indices: [Int]
  /// Lines of the picture in each layer, lowest first; empty where the publisher has not said them.
  private let heights: [Int]
  /// Whether the publisher sends the layers that it is asked for, and no others.
  let canPause: Bool

  /// For a track of `count` layers whose publisher `announced` names for them: one each, or names that are spread over
  /// them. Without announced names that fit it is low and high, or all three. `heights` count where there is one for each layer, from
  /// low to high.
  init(announced: [Definition], count: Int, heights: [Int] = [], canPause: Bool = false) {
    self.canPause = canPause
    guard count > 1 else {
      (definitions, indices, self.heights) = ([], [], [])
      return
    }
    self.heights = heights.count == count && heights == heights.sorted() ? heights : []
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

  /// The highest layer that is worth sending for a wish; nil for the best that arrives. `maxHeight` is the height of the
  /// place in which it is shown, nil where that is not known.
  func worthSending(_ definition: Definition, maxHeight: Int?) -> Int? {
    let named = index(of: definition)
    guard let maxHeight, let enough = heights.firstIndex(where: { suffices($0, for: maxHeight) }),
      enough < heights.count - 1
    else { return named }
    return min(named ?? enough, enough)
  }

  private func suffices(_ height: Int, for place: Int) -> Bool { height * Self.stretch.by >= place * Self.stretch.over }

  /// The name of a layer; of one between two names there is none.
  func definition(of index: Int) -> Definition? { indices.firstIndex(of: index).map { definitions[$0] } }
}
