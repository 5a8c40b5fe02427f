import Basics
import Testing

@testable import Congestion

/// 150, 500 and 1,200 kbit/s.
private let simulcast = [150.0, 500, 1_200]

private func view(
  _ rates: [Double] = simulcast, most: Int = 2, current: Int? = nil, priority: Int = 0, enough: Int = 0
) -> AllocationView {
  AllocationView(
    priority: priority, rates: rates.map { .kilobits($0) }, most: most, current: current, enough: enough)
}

/// An allocator and a receiver that is sent at once what was allocated.
private struct Receiver {
  var allocator = LayerAllocator()
  var views: [AllocationView]
  var now = milliseconds(1_000)
  /// Times in seconds at which a view went up.
  var ups: [Int] = []

  /// What all together take, in kbit/s.
  var sent: Double { views.reduce(0) { sum, view in sum + (view.current.map { view.rates[$0].kilobits } ?? 0) } }

  mutating func allocate(_ target: Double, after time: TimeDelta = .milliseconds(250)) -> [Int?] {
    now += time
    let layers = allocator.allocate(views, target: .kilobits(target), audio: .zero, at: now)
    for (index, layer) in layers.enumerated() {
      if let old = views[index].current, let layer, layer > old { ups.append(Int((now - .zero).seconds)) }
      views[index].current = layer
    }
    return layers
  }
}

/// One row: what is offered, what the target is, and what is sent.
struct AllocationCase: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var views: [AllocationView]
  var target: Double
  var audio = 0.0
  var layers: [Int?]

  init(_ text: String, _ views: [AllocationView], _ target: Double, audio: Double = 0, _ layers: [Int?]) {
    testDescription = text
    self.views = views
    self.target = target
    self.audio = audio
    self.layers = layers
  }
}

@Suite struct AllocationTests {
  static let cases: [AllocationCase] = [
    AllocationCase("nobody is seen", [], 1_000, []),
    AllocationCase("begins with the wish", [view()], 1_200, [2]),
    AllocationCase("nothing above the wish", [view(most: 1)], 9_000, [1]),
    AllocationCase("the highest that fits", [view()], 1_199, [1]),
    AllocationCase("sound comes first", [view()], 1_200, audio: 40, [1]),
    AllocationCase("all of it is sound", [view()], 40, audio: 40, [nil]),
    AllocationCase("most of the only view's lowest layer", [view()], 121, [0]),
    AllocationCase("too little for the only view", [view()], 119, [nil]),
    AllocationCase("the second does not fit", [view(), view()], 290, [0, nil]),
    AllocationCase("the pinned one is first", [view(), view(priority: 5)], 290, [nil, 0]),
    AllocationCase(
      "a large one is no reason to pause the small ones", [view(), view([2_000], most: 0), view()], 500, [0, nil, 0]),
    AllocationCase("everybody's lowest before anybody's second", [view(priority: 9), view(), view()], 799, [0, 0, 0]),
    AllocationCase("then the pinned one's steps", [view(), view(priority: 9), view()], 1_510, [0, 2, 0]),
    AllocationCase(
      "enough of everybody before more of the pinned one",
      [view([60, 150, 500], enough: 1), view([60, 150, 500], priority: 9, enough: 1)], 640, [1, 1]),
    AllocationCase(
      "nothing is enough above the wish",
      [view([60, 150, 500], most: 0, enough: 1), view([60, 150, 500], priority: 9, enough: 1)], 560, [0, 2]),
    AllocationCase("what the pinned one cannot use", [view(), view(priority: 9), view()], 1_300, [1, 1, 0]),
    AllocationCase("among equals the cheapest step", [view([100, 900]), view([100, 400])], 1_000, [0, 1]),
    AllocationCase("a step that is free", [view([300, 300, 900]), view([100, 900])], 500, [1, 0]),
    AllocationCase("a layer that does not arrive is left out", [view([150, 0, 1_200])], 1_200, [2]),
    AllocationCase("also at the bottom", [view([0, 500, 1_200])], 700, [1]),
    AllocationCase("only one above the wish arrives", [view([0, 0, 1_200], most: 0)], 1_300, [2]),
    AllocationCase("the wished one does not arrive", [view([150, 500, 0])], 5_000, [1]),
    AllocationCase("nothing is measured: the wish", [view([0, 0, 0], most: 1)], 100, [1]),
    AllocationCase("nothing is measured: no switch", [view([0, 0, 0], current: 0)], 100, [0]),
    AllocationCase("no layers at all", [view([], most: 0), view()], 200, [nil, 0]),
    AllocationCase("down at once", [view(current: 2)], 1_000, [1]),
    AllocationCase("down by two", [view(current: 2)], 200, [0]),
    AllocationCase("noise is no fall", [view(current: 2)], 1_150, [2]),
    AllocationCase("up only with a margin", [view(current: 1)], 1_300, [1]),
    AllocationCase("up with a margin", [view(current: 1)], 1_320, [2]),
    AllocationCase("the layer that was sent has stopped", [view([150, 500, 0], current: 2)], 5_000, [1]),
    AllocationCase("the wish has become less", [view(most: 0, current: 2)], 5_000, [0]),
    AllocationCase(
      "what is sent stays before an equal goes up",
      [view([100, 390], most: 1, current: 0), view([100, 400], most: 1, current: 1)], 720, [0, 1]),
    AllocationCase(
      "six tiles on 1.5 Mbit/s, one pinned", (0..<6).map { view([80, 300, 900], priority: $0 == 3 ? 2 : 0) }, 1_500,
      [0, 0, 0, 2, 0, 0]),
  ]

  @Test(arguments: cases) func layersAreChosen(_ row: AllocationCase) {
    var allocator = LayerAllocator()
    let layers = allocator.allocate(
      row.views, target: .kilobits(row.target), audio: .kilobits(row.audio), at: milliseconds(1_000))
    #expect(layers == row.layers)
    #expect(allocator.nextDeadline == .distantFuture)
  }

  @Test func theWishIsTheHighestLayerThatArrives() {
    let views = [view(), view(most: 1), view([150, 500, 0]), view([0, 0, 0]), view([0, 500, 0], most: 0), view([])]
    #expect(LayerAllocator.wish(views, audio: .kilobits(40)) == .kilobits(1_200 + 500 + 500 + 500 + 40))
    #expect(LayerAllocator.wish([], audio: .zero) == .zero)
  }

  @Test func hostileNumbersNeitherTrapNorTakeLong() {
    var allocator = LayerAllocator()
    let odd = AllocationView(
      priority: .min, rates: Array(repeating: .unlimited, count: 5_000), most: .max, current: .max)
    let views =
      [odd, view(most: -7, current: -3), view(most: .min, current: .min)] + Array(repeating: view(), count: 5_000)
    for target in [0, 1e3, 1e9] {
      let layers = allocator.allocate(views, target: .kilobits(target), audio: .megabits(1), at: .distantFuture)
      #expect(layers.count == views.count)
      #expect(layers.suffix(4_000).allSatisfy { $0 == nil })
    }
    #expect(LayerAllocator.wish(views, audio: .zero) <= .unlimited)
  }

  @Test func onlyTheFirstViewMayExceedTheTarget() {
    var random = SplitMix64(seed: 24)
    for _ in 0..<500 {
      let views = (0..<Int(1 + random.next() % 8)).map { _ in
        view(
          (0..<3).map { Double(1 + random.next() % UInt64(300 * ($0 + 1))) }, most: Int(random.next() % 3),
          priority: Int(random.next() % 2))
      }
      let first = views.first { $0.priority == 1 } ?? views[0]
      for target in stride(from: 0.0, to: 5_000, by: 250) {
        var allocator = LayerAllocator()
        let layers = allocator.allocate(views, target: .kilobits(target), audio: .zero, at: milliseconds(0))
        let sent = zip(views, layers).map { view, layer in layer.map { view.rates[$0].kilobits } ?? 0 }.reduce(0, +)
        let most = target >= first.rates[0].kilobits * LayerAllocator.leastShare ? first.rates[0].kilobits : 0
        #expect(sent <= max(target, most) + 0.001)
      }
    }
  }
}

@Suite struct AllocationOverTimeTests {
  @Test func afterAFallNothingGoesUpForTwoSeconds() {
    var receiver = Receiver(views: [view(current: 2)])
    #expect(receiver.allocate(1_000) == [1])
    #expect(receiver.allocate(1_400) == [1])
    #expect(receiver.allocator.nextDeadline == milliseconds(3_250))
    #expect(receiver.allocate(1_400, after: .seconds(1)) == [1])
    #expect(receiver.allocate(1_400, after: .milliseconds(750)) == [2])
    #expect(receiver.allocator.nextDeadline == .distantFuture)
  }

  @Test func aMuchBetterLineNeedNotWait() {
    var receiver = Receiver(views: [view(current: 2)])
    #expect(receiver.allocate(1_000) == [1])
    #expect(receiver.allocate(1_800) == [2])
  }

  @Test func theBackOffDoublesWithEachFailedStep() {
    var receiver = Receiver(views: [view(current: 1)])
    var waits: [Int] = []
    for _ in 0..<7 {
      #expect(receiver.allocate(1_400) == [2])
      #expect(receiver.allocate(900, after: .seconds(3)) == [1])
      let fell = receiver.now
      while receiver.views[0].current == 1, receiver.now - fell < .seconds(1_000) { _ = receiver.allocate(1_400) }
      waits.append(Int((receiver.now - fell).seconds))
      receiver.views[0].current = 1
    }
    #expect(waits == [10, 20, 40, 80, 160, 160, 160])
  }

  /// A layer is sent from its keyframe on. A target that falls until then has shown as much as one that falls after it.
  @Test(arguments: [(Mechanisms.all, 1), (Mechanisms.all.subtracting(.stepBackOff), 2)])
  func aStepThatIsTakenBackBeforeItsKeyframeHasFailed(_ mechanisms: Mechanisms, _ again: Int) {
    var allocator = LayerAllocator(mechanisms)
    let views = [view(current: 1)]
    let answers = [(1.0, 1_400.0), (1.5, 700), (4, 1_400), (11, 1_400), (12, 1_400)].map { second, target in
      let now = Instant.zero + .seconds(second)
      return allocator.allocate(views, target: .kilobits(target), audio: .zero, at: now)[0]
    }
    #expect(answers == [2, 1, again, again, 2])
  }

  @Test func aStepThatIsNoLongerWishedForHasNotFailed() {
    var allocator = LayerAllocator()
    let answers = [(1.0, 2), (1.5, 1), (4, 2)].map { second, most in
      let now = Instant.zero + .seconds(second)
      return allocator.allocate([view(most: most, current: 1)], target: .kilobits(1_400), audio: .zero, at: now)[0]
    }
    #expect(answers == [2, 1, 2])
  }

  @Test func aStepThatSucceedsHalvesIt() {
    var receiver = Receiver(views: [view(current: 1)])
    for _ in 0..<3 {
      _ = receiver.allocate(1_400, after: .seconds(200))
      _ = receiver.allocate(900)
    }
    // The next one would wait for 80 s. A step up that holds for ten seconds makes it 40.
    #expect(receiver.allocate(1_400, after: .seconds(200)) == [2])
    #expect(receiver.allocate(1_400, after: .seconds(11)) == [2])
    receiver.views[0].current = 1
    #expect(receiver.allocate(1_400) == [2])
    #expect(receiver.allocate(900) == [1])
    #expect(receiver.allocate(1_400, after: .seconds(39)) == [1])
    #expect(receiver.allocate(1_400, after: .milliseconds(1_500)) == [2])
  }

  @Test func aFallThatBandwidthDidNotAskForIsNoFailure() {
    var receiver = Receiver(views: [view(current: 1)])
    #expect(receiver.allocate(1_400) == [2])
    // The tile became small, and large again.
    receiver.views[0].most = 0
    #expect(receiver.allocate(1_400) == [0])
    receiver.views[0].most = 2
    #expect(receiver.allocate(1_400) == [2])
    // Another one was pinned, and needs what this one had.
    receiver.views.append(view(current: 0, priority: 3))
    #expect(receiver.allocate(1_490) == [0, 2])
    #expect(receiver.allocator.nextDeadline == .distantFuture)
  }

  @Test func aPausedViewComesBackWithAMarginAndANewOneBeginsAtOnce() {
    var receiver = Receiver(
      allocator: LayerAllocator(.all.subtracting(.turns)), views: [view(current: 0), view(current: 0)])
    #expect(receiver.allocate(200) == [0, nil])
    #expect(receiver.allocate(310, after: .seconds(3)) == [0, nil])
    #expect(receiver.allocate(330, after: .seconds(3)) == [0, 0])
    receiver.views.append(view())
    #expect(receiver.allocate(455) == [0, 0, 0])
  }

  /// The target swings around a layer, once with the back-off and once without it.
  @Test(arguments: [(Mechanisms.all, 1...9), (Mechanisms.all.subtracting(.stepBackOff), 100...1_000)])
  func betweenTwoLayersItDoesNotFlap(_ mechanisms: Mechanisms, _ wanted: ClosedRange<Int>) {
    var receiver = Receiver(allocator: LayerAllocator(mechanisms), views: [view(current: 1)])
    for step in 0..<2_400 { _ = receiver.allocate(step % 8 < 4 ? 900 : 1_350) }
    #expect(wanted.contains(receiver.ups.count), "\(receiver.ups)")
    if mechanisms == .all {
      let early = receiver.ups.filter { $0 < 300 }.count
      #expect(early <= 5 && receiver.ups.count - early <= early)
    }
  }
}

/// Many small views on a line that does not carry all of them whole.
@Suite struct ManyViewsTests {
  /// Seven of ten fit: the pinned one, and six of nine. Each of the nine is sent for two thirds of each minute, and waits for no longer than
  /// a turn. The control always leaves the same ones out.
  @Test(arguments: [(Mechanisms.all, 150...170, 16), (Mechanisms.all.subtracting(.turns), 0...0, 240)])
  func thoseThatDoNotFitTakeTurns(_ mechanisms: Mechanisms, _ least: ClosedRange<Int>, _ longest: Int) {
    var receiver = Receiver(
      allocator: LayerAllocator(mechanisms),
      views: (0..<10).map { view([100], most: 0, current: 0, priority: $0 == 4 ? 1 : 0) })
    var (counts, waits) = (Array(repeating: 0, count: 10), Array(repeating: 0, count: 10))
    var (changes, worst, last) = (0, 0, receiver.allocate(750))
    for _ in 0..<240 {
      let layers = receiver.allocate(750)
      #expect(layers.count { $0 != nil } == 7)
      changes += zip(layers, last).count { $0 != nil && $1 == nil }
      for index in layers.indices {
        counts[index] += layers[index] == nil ? 0 : 1
        waits[index] = layers[index] == nil ? waits[index] + 1 : 0
      }
      worst = max(worst, waits.max() ?? 0)
      last = layers
    }
    #expect(least.contains(counts.min() ?? 0), "\(counts)")
    #expect(counts[4] == 240)
    #expect(worst == longest, "quarters of a second")
    #expect(changes <= 45, "three each four seconds")
  }

  /// A large one that is left out while smaller ones behind it fit goes first in the next turn.
  @Test func aLargeOneIsNotLeftOutForEver() {
    var receiver = Receiver(views: [100, 250, 100, 100].map { view([$0], most: 0, current: 0) })
    var counts = [0, 0, 0, 0]
    for _ in 0..<240 {
      for (index, layer) in receiver.allocate(360).enumerated() where layer != nil { counts[index] += 1 }
    }
    #expect(counts.allSatisfy { $0 > 60 }, "\(counts)")
  }

  /// Whose turn it is costs nothing that a step up costs: a fall behind it is no failed step.
  @Test func aTurnIsNoStepUp() {
    var receiver = Receiver(views: (0..<4).map { _ in view([100], most: 0, current: 0) })
    for target in [320.0, 320, 320, 320, 220] { _ = receiver.allocate(target, after: .seconds(3)) }
    #expect(receiver.sent == 200)
    _ = receiver.allocate(340, after: .seconds(3))
    #expect(receiver.sent == 300, "nothing backs off")
  }

  /// Only with a margin do more of them come back than were sent.
  @Test func aTurnLetsNoMoreIn() {
    var receiver = Receiver(views: (0..<3).map { _ in view([100], most: 0, current: 0) })
    _ = receiver.allocate(210)
    for step in 0..<80 {
      _ = receiver.allocate(step % 2 == 0 ? 310 : 290)
      #expect(receiver.sent == 200)
    }
    _ = receiver.allocate(335)
    #expect(receiver.sent == 300)
  }
}
