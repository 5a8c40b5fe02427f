// Names of layers: what they mean for tracks of one to four layers, and the commands that follow from a wish.

import Media
import MediaPeer
import RoostProtocol
import Testing

@testable import Members
@testable import MediaControl

@Suite struct TrackLayersTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var announced: [Definition]
    var count: Int
    var definitions: [Definition]
    /// Layers of low, standard, high.
    var indices: [Int?]
    var testDescription: String { "\(announced.map(\.rawValue)) of \(count)" }
  }

  @Test(
    arguments: [
      Case(announced: [], count: 1, definitions: [], indices: [nil, nil, nil]),
      Case(announced: [.low, .high], count: 1, definitions: [], indices: [nil, nil, nil]),
      Case(announced: [], count: 2, definitions: [.low, .high], indices: [0, 0, 1]),
      Case(announced: [.standard, .high], count: 2, definitions: [.standard, .high], indices: [0, 0, 1]),
      Case(announced: [.low, .standard, .high], count: 2, definitions: [.low, .high], indices: [0, 0, 1]),
      Case(announced: [.high, .low, .standard], count: 3, definitions: [.low, .standard, .high], indices: [0, 1, 2]),
      Case(announced: [.low, .high], count: 3, definitions: [.low, .high], indices: [0, 0, 2]),
      Case(announced: [.high], count: 3, definitions: [.high], indices: [2, 2, 2]),
      Case(announced: [.auto], count: 4, definitions: [.low, .standard, .high], indices: [0, 1, 3]),
    ])
  func names(_ one: Case) {
    let layers = TrackLayers(announced: one.announced, count: one.count)
    #expect(layers.definitions == one.definitions && layers.index(of: .auto) == nil)
    #expect([Definition.low, .standard, .high].map(layers.index) == one.indices)
    for definition in layers.definitions {
      #expect(layers.index(of: definition).flatMap(layers.definition) == definition)
    }
  }

  struct Place: Sendable {
    var definition = Definition.auto
    var maxHeight: Int?
    var heights = [180, 360, 720]
    var layer: Int?
  }

  @Test(
    arguments: [
      Place(maxHeight: nil, layer: nil), Place(maxHeight: 1, layer: 0), Place(maxHeight: 225, layer: 0),
      Place(maxHeight: 226, layer: 1), Place(maxHeight: 450, layer: 1), Place(maxHeight: 451, layer: nil),
      Place(maxHeight: 16_384, layer: nil), Place(definition: .standard, maxHeight: 1_080, layer: 1),
      Place(definition: .high, maxHeight: 200, layer: 0), Place(definition: .low, maxHeight: 700, layer: 0),
      // Heights that do not fit the layers say nothing.
      Place(maxHeight: 90, heights: [], layer: nil), Place(maxHeight: 90, heights: [180, 720], layer: nil),
      Place(definition: .standard, maxHeight: 90, heights: [720, 360, 180], layer: 1),
    ])
  func placesAreGivenTheLayerThatIsEnough(_ place: Place) {
    let layers = TrackLayers(announced: [], count: 3, heights: place.heights)
    #expect(layers.worthSending(place.definition, maxHeight: place.maxHeight) == place.layer, "\(place)")
    let single = TrackLayers(announced: [], count: 1, heights: [720])
    #expect(single.worthSending(place.definition, maxHeight: place.maxHeight) == nil)
  }

  /// Anna sends three layers as track 11 and one as track 12; Bert receives them on 21 and 22.
  private func watched(_ definition: Definition) throws -> (Desk, PublishChange) {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.simulcast("0", ["l", "m", "h"])
    anna.video("1")
    let change = try desk.publish(1, anna.offer, ["0": .video, "1": .video], first: 11)
    var wish = SubscriptionWish()
    wish.definition = definition
    desk.subscribe(21, seat: 2, track: 11, wish)
    desk.subscribe(22, seat: 2, track: 12, wish)
    try desk.answer(2, try #require(desk.offer(2)))
    return (desk, change)
  }

  @Test func tracksHaveTheDefinitionsThatTheirLayersAllow() throws {
    let (_, change) = try watched(.auto)
    #expect(change.added.map(\.definitions) == [[.low, .standard, .high], []])
  }

  @Test func aWishIsALayerFromTheStartAndLater() throws {
    let (desk, _) = try watched(.standard)
    #expect(desk.commands().layers == [1, nil])
    var wish = SubscriptionWish()
    wish.definition = .high
    for id in [21, 22] as [UInt64] { try desk.update(id, wish) }
    #expect(desk.commands().layers == [2, nil])
    wish.definition = .auto
    wish.priority = 9
    try desk.update(21, wish)
    let commands = desk.commands()
    #expect(commands.layers == [nil] && commands.priorities.count == 1)
    try desk.update(21, wish)
    #expect(desk.commands().isEmpty)
  }

  /// What a client says of its order comes first, then shared screens, then what is shown larger.
  @Test func whatGoesFirstReachesTheWorkerFromTheStartAndLater() throws {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.video("0")
    anna.video("1")
    try desk.publish(1, anna.offer, ["0": .video, "1": .video], first: 11, screens: ["1"])
    func wish(_ priority: Int, _ maxHeight: Int?) -> SubscriptionWish {
      var wish = SubscriptionWish()
      (wish.priority, wish.maxHeight) = (priority, maxHeight)
      return wish
    }
    desk.subscribe(21, seat: 2, track: 11, wish(0, 90))
    desk.subscribe(22, seat: 2, track: 12, wish(0, 90))
    try desk.answer(2, try #require(desk.offer(2)))
    var ranks = desk.commands().priorities
    try #require(ranks.count == 2)
    #expect(ranks[0] < ranks[1], "the screen")
    func ranked(_ wish: SubscriptionWish) throws -> [Int] {
      try desk.update(21, wish)
      return desk.commands().priorities
    }
    for one in [wish(0, 200), wish(0, nil), wish(0, 16_384)] { ranks += try ranked(one) }
    try #require(ranks.count == 5)
    #expect(ranks[0] < ranks[2] && ranks[2] < ranks[3] && ranks[3] < ranks[4] && ranks[4] < ranks[1])
    #expect(try ranked(wish(1, 90)).allSatisfy { $0 > ranks[1] })
    #expect(try ranked(wish(1, 100)).isEmpty, "tiles of about one size are alike")
    #expect(try ranked(wish(255, 16_384)).count == 1)
  }

  @Test func aSwapGivesTheScreenItsRank() throws {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.video("0")
    anna.video("1")
    try desk.publish(1, anna.offer, ["0": .video, "1": .video], first: 11, screens: ["1"])
    for (id, track) in [(21, 11), (22, 12)] as [(UInt64, UInt64)] { desk.subscribe(id, seat: 2, track: track) }
    try desk.answer(2, try #require(desk.offer(2)))
    let before = desk.commands().priorities
    #expect(try desk.swap(21, 22) == nil)
    #expect(desk.commands().priorities == before.reversed() && Set(before).count == 2)
  }

  @Test func aWishBeforeTheAnswerCounts() throws {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.simulcast("0", ["l", "h"])
    try desk.publish(1, anna.offer, ["0": .video], first: 11, definitions: [.low, .high])
    desk.subscribe(21, seat: 2, track: 11)
    let offer = try #require(desk.offer(2))
    var wish = SubscriptionWish()
    wish.definition = .low
    try desk.update(21, wish)
    _ = desk.commands()
    try desk.answer(2, offer)
    #expect(desk.commands().layers == [0])
  }

  @Test func aSwapGivesTheWishTheLayersOfItsNewTrack() throws {
    let (desk, _) = try watched(.low)
    _ = desk.commands()
    #expect(try desk.swap(21, 22) == nil)
    #expect(desk.commands().layers == [nil, 0])
  }

  /// What nobody sees is paused. It keeps its layer meanwhile, and is given that of its new place when it is seen again.
  @Test func aPlaceIsALayerAndAHiddenOneAPause() throws {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.simulcast("0", ["l", "m", "h"])
    try desk.publish(1, anna.offer, ["0": .video], first: 11, heights: [180, 360, 720])
    var wish = SubscriptionWish()
    wish.maxHeight = 180
    desk.subscribe(21, seat: 2, track: 11, wish)
    try desk.answer(2, try #require(desk.offer(2)))
    let started = desk.commands()
    #expect(started.layers == [0] && started.pauses == [false])
    let steps: [(maxHeight: Int, layers: [Int?], pauses: [Bool])] = [
      (200, [], []), (360, [1], []), (0, [], [true]), (0, [], []), (720, [nil], [false]), (0, [], [true]),
      (720, [nil], [false]),
    ]
    for step in steps {
      wish.maxHeight = step.maxHeight
      try desk.update(21, wish)
      let commands = desk.commands()
      #expect(commands.layers == step.layers && commands.pauses == step.pauses, "\(step)")
    }
    wish.maxHeight = 0
    desk.subscribe(22, seat: 2, track: 11, wish)
    try desk.answer(2, try #require(desk.offer(2)))
    #expect(desk.commands().pauses == [true])
    // A pause of the subscriber's own holds, seen or not.
    (wish.paused, wish.maxHeight) = (true, 360)
    try desk.update(22, wish)
    let commands = desk.commands()
    #expect(commands.layers == [1] && commands.pauses.isEmpty)
  }
}
