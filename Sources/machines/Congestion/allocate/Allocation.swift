// Which layer of each video a receiver is sent, so that all of it fits into the target.
//
//   target − audio ─▶ the lowest layer of each view, by priority ─▶ what is enough of each ─▶ one step at a time: by priority, what is
//   sent already, cheapest
//
// Down at once. Up only with a margin, and not soon after a step up that failed. Where not all lowest layers fit, those of one priority take turns.

import Basics

/// One video that a receiver is to be sent.
public struct AllocationView: Sendable {
  /// Higher goes first.
  public var priority: Int
  /// Measured rate of each simulcast layer, lowest first; zero for a layer that does not arrive. A layer that its publisher paused
  /// because nobody was sent it counts with the rate that it had: with zero it would never come back.
  public var rates: [BitRate]
  /// The highest layer that is worth sending (the wish); an index into `rates`.
  public var most: Int
  /// The layer that is sent now; nil while nothing is (paused, or not begun).
  public var current: Int?
  /// Every view is brought up to this layer before one of them goes higher.
  public var enough: Int

  /// A view.
  public init(priority: Int = 0, rates: [BitRate], most: Int, current: Int? = nil, enough: Int = 0) {
    self.priority = priority
    self.rates = rates
    self.most = most
    self.current = current
    self.enough = enough
  }

  /// The highest layer that is looked at.
  private var top: Int { min(rates.count, LayerAllocator.mostLayers) - 1 }
  /// The lowest layer that arrives, wished or not; nil when none does.
  fileprivate var lowest: Int? { arriving(from: 0, through: top) }
  /// The next layer above `layer` that arrives and is worth sending; `isEnough`: and is not above `enough`.
  fileprivate func next(above layer: Int, isEnough: Bool = false) -> Int? {
    arriving(from: layer + 1, through: min(isEnough ? min(most, enough) : most, top))
  }
  /// What is sent where nothing is measured: there is no reason to pause, nor to switch.
  fileprivate var unmeasured: Int? {
    guard top >= 0 else { return nil }
    return min(max(current ?? most, 0), top)
  }

  private func arriving(from first: Int, through last: Int) -> Int? {
    var layer = first
    while layer <= last {
      if rates[layer] > .zero { return layer }
      layer += 1
    }
    return nil
  }

  /// The layer that is sent where everything fits.
  fileprivate var wished: Int? {
    guard var layer = lowest else { return nil }
    while let higher = next(above: layer) { layer = higher }
    return layer
  }

  /// What is sent now, as far as it is measured.
  public var currentRate: BitRate {
    guard let current, rates.indices.contains(current) else { return .zero }
    return rates[current]
  }
}

/// Chooses layers for one receiver, and remembers which steps up failed. Call it when the target falls, when views change, and about
/// four times a second.
public struct LayerAllocator: Sendable {
  /// A step up needs the target to be so many times what would be sent.
  static let margin = 1.1
  /// The same while a back-off lasts: the line must have become clearly better.
  static let backOffMargin = 1.5
  /// What is sent already may exceed the target by this factor: measured rates vary by as much, and the pacer sends 1.1 × the target.
  static let tolerance = 1.05
  /// Where not all views of one priority are sent, others wait after this time. All allocators change at the same moments, so
  /// that a publisher is asked for one keyframe in this time, for however many receivers.
  static let turn = TimeDelta.seconds(4)
  /// The first view is sent although only this share of its lowest layer fits. Lower: more pictures, and more that are broken.
  static let leastShare = 0.8
  /// A step up that is followed by a fall within this time has failed; after it, it has succeeded.
  static let trial = TimeDelta.seconds(10)
  /// After any fall for want of bandwidth nothing goes up for this long.
  static let calm = TimeDelta.seconds(2)
  /// The back-off after the first failed step; doubles with each further one, halves with each that succeeds.
  static let firstBackOff = TimeDelta.seconds(10)
  static let longestBackOff = TimeDelta.seconds(160)
  /// Views and layers beyond these are not sent: work grows with their squares.
  static let mostViews = 256
  static let mostLayers = 16

  private let mechanisms: Mechanisms
  private var heldUntil = Instant.zero
  private var backOff = firstBackOff
  private var steppedUpAt: Instant?
  /// The last answer paused a view.
  private var pauses = false
  /// Whose turn it is.
  private var turns = Turns()
  /// By view the layer above what was sent that the last answer gave. A layer is sent from its next keyframe on.
  private var climbs: [Int?] = []
  /// The last answer would have been a higher one without the back-off.
  private var withholds = false

  /// An allocator that remembers no failed step.
  public init() { self.init(.all) }

  /// As `init()`, with some mechanisms off in a control run.
  public init(_ mechanisms: Mechanisms) { self.mechanisms = mechanisms }

  /// The layer for each view, in their order; nil = paused for bandwidth.
  ///
  /// `target` is what may be sent in all, `audio` what of it sound needs. A view of which nothing is measured keeps its layer, or
  /// begins with its wish, and counts as nothing. Only a view without `rates` is nil for another reason than bandwidth.
  public mutating func allocate(_ views: [AllocationView], target: BitRate, audio: BitRate, at now: Instant) -> [Int?] {
    if let steppedUpAt, now - steppedUpAt >= Self.trial { succeed() }
    var plan = Plan(views, budget: (target - audio).bitsPerSecond, held: now < heldUntil, pauses: pauses)
    if mechanisms.contains(.turns) { turns.pass(pauses, at: now) }
    plan.grantLowest(from: turns.first.map(Int.init))
    if views.contains(where: { $0.enough > 0 }) { plan.climb(toEnough: true) }
    plan.climb(toEnough: false)
    note(plan, at: now)
    return plan.layers
  }

  /// When `allocate` would answer differently only because time has passed (a back-off ends); distantFuture otherwise.
  public var nextDeadline: Instant { withholds ? heldUntil : .distantFuture }

  /// What would be sent if everything fitted; for `BandwidthEstimator.setWish`.
  public static func wish(_ views: [AllocationView], audio: BitRate) -> BitRate {
    var sum = audio
    for view in views.prefix(mostViews) {
      if let layer = view.wished { sum = sum + view.rates[layer] }
    }
    return sum
  }

  private mutating func succeed() {
    steppedUpAt = nil
    backOff = max(backOff / 2, Self.firstBackOff)
  }

  /// Remembers what the answer means for the next ones.
  private mutating func note(_ plan: Plan, at now: Instant) {
    if plan.fell || plan.withdraws(climbs) { fall(at: now) } else if plan.rose { steppedUpAt = now }
    climbs = plan.climbs
    pauses = plan.pausesAny
    turns.leftOut = plan.leftOut.flatMap(UInt8.init(exactly:))
    withholds = plan.withholds
  }

  private mutating func fall(at now: Instant) {
    guard mechanisms.contains(.stepBackOff) else { return }
    heldUntil = max(heldUntil, now + Self.calm)
    guard steppedUpAt != nil else { return }
    steppedUpAt = nil
    heldUntil = now + backOff
    backOff = min(backOff * 2, Self.longestBackOff)
  }
}

/// Who goes first among views of one priority that are not all sent; by their places, below `LayerAllocator.mostViews`. It lies in the state
/// of each receiver that every packet goes by: as whole `Int`s, it cost each ten instructions.
private struct Turns {
  private var number: Int64 = 0
  /// The first of them in this turn.
  private(set) var first: UInt8?
  /// The first that was sent nothing, by the last answer. It goes first in the next turn, so that nobody waits twice in a row while others
  /// do not wait at all.
  var leftOut: UInt8?

  /// Nobody goes first where nothing is paused.
  mutating func pass(_ pauses: Bool, at now: Instant) {
    let present = now.nanoseconds / LayerAllocator.turn.nanoseconds
    if !pauses { first = nil } else if present != number { first = leftOut ?? first }
    number = present
  }
}

/// One answer while it is worked out. Rates are in bits per second.
private struct Plan {
  private struct Step {
    var view: Int
    var layer: Int
    var extra: Double
    /// The layer is sent already.
    var kept: Bool

    /// What is sent goes on before anything goes up; then what costs least.
    func goesBefore(_ other: Step) -> Bool { kept == other.kept ? extra < other.extra : kept }
  }

  private let views: [AllocationView]
  private let budget: Double
  /// A back-off lasts.
  private let held: Bool
  /// What is sent now.
  private let sent: Double
  /// A view without a layer may be a paused one, rather than a new one.
  private let pauses: Bool
  private let order: [Int]
  private var total = 0.0
  /// A view that was paused is sent without a margin: another one is paused for it.
  private var replaces = false
  private(set) var layers: [Int?]
  private(set) var withholds = false
  /// The first view for whose lowest layer there was no space.
  private(set) var leftOut: Int?

  init(_ views: [AllocationView], budget: Double, held: Bool, pauses: Bool) {
    self.views = views
    self.budget = budget
    self.held = held
    sent = views.reduce(0) { $0 + $1.currentRate.bitsPerSecond }
    self.pauses = pauses
    layers = Array(repeating: nil, count: views.count)
    order = views.indices.prefix(LayerAllocator.mostViews).sorted {
      (views[$1].priority, $0) < (views[$0].priority, $1)
    }
  }

  /// The lowest layer of each view, as far as that fits. Of those with its priority `first` is looked at first, and those before it last.
  mutating func grantLowest(from first: Int?) {
    var isFirst = true
    for index in turned(to: first) {
      guard let lowest = views[index].lowest else {
        layers[index] = views[index].unmeasured
        continue
      }
      let rate = views[index].rates[lowest].bitsPerSecond
      let needed = isFirst ? rate * LayerAllocator.leastShare : rate
      if fits(total + needed, views[index], lowest) {
        layers[index] = lowest
        total += rate
      } else if leftOut == nil {
        leftOut = index
      }
      isFirst = false
    }
  }

  private func turned(to first: Int?) -> [Int] {
    guard let first, let place = order.firstIndex(of: first) else { return order }
    let priority = views[first].priority
    let start = order[..<place].firstIndex { views[$0].priority == priority } ?? place
    let end = order[place...].firstIndex { views[$0].priority != priority } ?? order.endIndex
    var result = Array(order[..<start])
    result += order[place..<end]
    result += order[start..<place]
    return result + order[end...]
  }

  /// Steps up, priority by priority, until nothing more fits, or all have enough.
  mutating func climb(toEnough: Bool) {
    var first = 0
    while first < order.count {
      let priority = views[order[first]].priority
      var open = order[first...].prefix { views[$0].priority == priority }.filter {
        layers[$0] != nil && views[$0].lowest != nil
      }
      first += 1
      while first < order.count, views[order[first]].priority == priority { first += 1 }
      while let step = best(&open, toEnough: toEnough) {
        layers[step.view] = step.layer
        total += step.extra
      }
    }
  }

  /// The best step of these views. Views for which none fits are taken out: less and less is left.
  private mutating func best(_ open: inout [Int], toEnough: Bool) -> Step? {
    var best: Step?
    var position = 0
    while position < open.count {
      guard let step = step(open[position], toEnough: toEnough) else {
        open.remove(at: position)
        continue
      }
      if best.map(step.goesBefore) ?? true { best = step }
      position += 1
    }
    return best
  }

  private mutating func step(_ index: Int, toEnough: Bool) -> Step? {
    let view = views[index]
    guard let from = layers[index] else { return nil }
    let base = view.rates[from].bitsPerSecond
    var layer = from
    while let next = view.next(above: layer, isEnough: toEnough) {
      let extra = view.rates[next].bitsPerSecond - base
      if fits(total + extra, view, next) {
        return Step(view: index, layer: next, extra: extra, kept: next <= view.current ?? -1)
      }
      layer = next
    }
    return nil
  }

  /// Whether `sum` may be sent with `layer` of `view` in it.
  private mutating func fits(_ sum: Double, _ view: AllocationView, _ layer: Int) -> Bool {
    if let current = view.current, layer <= current { return sum <= most }
    if view.current == nil, let may = mayBegin(sum, isLowest: layer == view.lowest) { return may }
    if held, sum * LayerAllocator.margin <= budget, sum * LayerAllocator.backOffMargin > budget { withholds = true }
    return sum * (held ? LayerAllocator.backOffMargin : LayerAllocator.margin) <= budget
  }

  /// The same of a view that is sent nothing; nil where it needs a margin. A new one begins, and a paused one may come in another's place.
  private mutating func mayBegin(_ sum: Double, isLowest: Bool) -> Bool? {
    if !pauses { return held && !isLowest ? nil : sum <= budget }
    guard isLowest, sum <= min(sent, budget) else { return nil }
    replaces = true
    return true
  }

  /// What may go on being sent. Beside a view that comes in the place of another no more than before, unless there is room to go up.
  private var most: Double {
    replaces ? max(min(sent, budget), budget / LayerAllocator.margin) : budget * LayerAllocator.tolerance
  }

  /// More was sent than fits, and a view has to go down for it.
  var fell: Bool {
    sent > budget && order.contains { isBelow(layers[$0], $0) }
  }

  private func isBelow(_ layer: Int?, _ index: Int) -> Bool {
    guard let current = views[index].current, views[index].currentRate > .zero else { return false }
    return layer.map { $0 < min(current, views[index].most) } ?? true
  }

  /// By view the layer above what is sent; nil where it stays, or goes down.
  var climbs: [Int?] {
    views.indices.map { index in
      guard let layer = layers[index], let current = views[index].current, layer > current else { return nil }
      return layer
    }
  }

  /// A view that was to go up, and has not done so yet, no longer may: the line looked wider than it is. Where the layer is no longer
  /// wished for, or has gone, that says nothing.
  func withdraws(_ climbs: [Int?]) -> Bool {
    guard climbs.count == views.count else { return false }
    return order.contains { index in
      guard let aim = climbs[index], let current = views[index].current, let layer = layers[index] else { return false }
      let view = views[index]
      return current < aim && layer <= current && aim <= view.most && view.rates.indices.contains(aim)
        && view.rates[aim] > .zero
    }
  }

  /// A view goes up, or comes back, and not in the place of another.
  var rose: Bool {
    total > sent
      && order.contains { index in
        guard let layer = layers[index] else { return false }
        return views[index].current.map { layer > $0 } ?? pauses
      }
  }

  /// A view that has layers is sent none.
  var pausesAny: Bool { layers.indices.contains { layers[$0] == nil && !views[$0].rates.isEmpty } }
}
