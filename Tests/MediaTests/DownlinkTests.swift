// A worker and its subscribers' lines in virtual time: bottlenecks with a queue of 300 ms, clients that report what arrives. Each
// bar has a control run in which the client does not report, so that nothing is known of its line.

import Basics
import Forwarding
import Media
import RTP
import Testing

struct DownlinkTests {
  /// A line between two layers is sent the lower one, and pictures go on; those on good lines notice nothing.
  @Test func aThinLineIsSentTheLayerThatFits() throws {
    let room = try LineRoom(bert: 700_000)
    let keyframes = room.keyframes(layer: 2)
    room.call.run(.seconds(20))
    let bert = try room.stream(room.bert)
    #expect(room.layers(bert, last: .seconds(10)).isSubset(of: [0, 1]))
    #expect(room.longestGap(bert, last: .seconds(10)) < .milliseconds(400))
    #expect(room.frames(bert, last: .seconds(10)) > 250, "of 300 frames")
    #expect(room.lost(of: try room.sound(room.bert), last: .seconds(18)) == 0, "sound does not wait behind pictures")

    let cleo = try room.stream(room.cleo)
    #expect(room.layers(cleo, last: .seconds(19)) == [2])
    #expect(room.longestGap(cleo, last: .seconds(19)) < .milliseconds(100))
    #expect(room.keyframes(layer: 2) - keyframes <= 2, "those of a thin line are not sent to all")
  }

  /// The control: without reports the same line is sent the highest layer, and breaks.
  @Test func withoutReportsAThinLineBreaks() throws {
    let room = try LineRoom(bert: 700_000, reports: false)
    room.call.run(.seconds(20))
    let bert = try room.stream(room.bert)
    #expect(room.layers(bert, last: .seconds(10)) == [2])
    #expect(room.frames(bert, last: .seconds(10)) < 150)
  }

  /// A line that becomes thin, and good again.
  @Test func theLayerFollowsTheLine() throws {
    let room = try LineRoom(bert: 3_000_000)
    room.call.run(.seconds(10))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(5)) == [2])
    room.bert.downlink.rate = 600_000
    room.call.run(.seconds(4))
    #expect(room.longestGap(try room.stream(room.bert), last: .seconds(4)) < .milliseconds(1_500))
    room.call.run(.seconds(6))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(6)).isSubset(of: [0, 1]))
    #expect(room.longestGap(try room.stream(room.bert), last: .seconds(6)) < .milliseconds(400))
    room.bert.downlink.rate = 3_000_000
    room.call.run(.seconds(12))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(2)) == [2])
  }

  /// A picture with one layer that the line cannot carry is held back, which is said, and comes back with the line.
  @Test func aPictureThatDoesNotFitIsPausedAndSaidSo() throws {
    let room = try LineRoom(bert: 400_000, layers: [5])
    room.call.run(.seconds(15))
    let key = try room.stream(room.bert).consumer
    func told() -> [Bool] {
      room.call.events.compactMap { if case .consumerPaused(key, let paused) = $0.event { paused } else { nil } }
    }
    #expect(told().last == true)
    #expect(room.lost(of: try room.sound(room.bert), last: .seconds(10)) == 0)
    room.bert.downlink.rate = 5_000_000
    room.call.run(.seconds(15))
    #expect(told().last == false)
    #expect(room.frames(try room.stream(room.bert), last: .seconds(2)) > 50)
  }

  /// The keyframe that begins a layer is many times as large as what follows. It is no reason to take the layer away again.
  @Test func theKeyframeOfALayerDoesNotTakeItAway() throws {
    let room = try LineRoom(bert: 600_000, likeABrowser: true)
    room.bert.downlink.loss = 0.02
    room.call.run(.seconds(60))
    let bert = try room.stream(room.bert)
    #expect(room.changes(bert, last: .seconds(50)) <= 4)
    #expect(room.layers(bert, last: .seconds(30)) == [1])
    #expect(room.frames(bert, last: .seconds(50)) > 1_450, "of 1,500 frames")
  }

  /// While the queue of the fall drains, less is sent than the line carries: no reason to go below the layer that fits.
  @Test func theFallStopsAtTheLayerThatFits() throws {
    let room = try LineRoom(bert: 3_000_000, likeABrowser: true)
    room.call.run(.seconds(10))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(2)) == [2])
    room.bert.downlink.rate = 600_000
    room.call.run(.seconds(6))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(6)) == [2, 1])
  }

  /// What waits of a layer that is given up does not hold up the one below. Here that is a keyframe, as large as browsers make them. Were it
  /// sent, this would take 1,180 ms.
  @Test func whatWaitsOfALayerThatIsGivenUpIsDropped() throws {
    let room = try LineRoom(bert: 1_900_000, likeABrowser: true)
    room.call.run(.seconds(12))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(2)) == [2])
    room.cleo.requestKeyframe(try room.stream(room.cleo).consumer)
    room.call.run(.milliseconds(80))
    room.bert.downlink.rate = 500_000
    room.call.run(.seconds(4))
    let bert = try room.stream(room.bert)
    #expect(room.layers(bert, last: .seconds(1)).isSubset(of: [0, 1]))
    let gap = room.longestGap(bert, last: .seconds(4))
    #expect(gap < .milliseconds(1_050), "\(gap)")
  }

  /// Random loss on a line that is wide enough: lost packets come again once, and keyframes are not asked for again and again.
  @Test func aLossyLineIsRepaired() throws {
    let room = try LineRoom(bert: 5_000_000)
    room.bert.downlink.loss = 0.05
    let keyframes = room.keyframes(layer: 2)
    room.call.run(.seconds(20))
    let bert = try room.stream(room.bert)
    #expect(room.layers(bert, last: .seconds(10)) == [2])
    #expect(room.frames(bert, last: .seconds(10)) > 290)
    #expect(room.keyframes(layer: 2) - keyframes <= 1)
    #expect(bert.repeats < bert.repaired, "most repeats bring something")
  }

  /// A client asks again only after a while. On a line that loses much, by chance, one of a repeat's copies arrives the first time; the
  /// control says nothing of its line, and waits for packets whose repeat was lost.
  @Test(arguments: [0.03, 0.1]) func aRepeatThatIsLostIsNotWaitedFor(_ loss: Double) throws {
    func late(reports: Bool) throws -> (late: Int, repairs: Int) {
      let room = try LineRoom(bert: 20_000_000, reports: reports, likeABrowser: true)
      room.bert.downlink.loss = loss
      room.call.run(.seconds(60))
      let bert = try room.stream(room.bert)
      let repaired = bert.packets.values.filter { $0.isRepaired && $0.arrival > room.call.now - .seconds(50) }
      let delays = repaired.compactMap { packet in packet.stamp.map { packet.arrival.nanoseconds - $0.capture } }
      return (delays.count { $0 > 100_000_000 }, delays.count)
    }
    let (told, untold) = (try late(reports: true), try late(reports: false))
    #expect(told.repairs > 100 && untold.repairs > 100)
    #expect(told.late * 3 <= untold.late, "\(told.late) of \(told.repairs), and \(untold.late) of \(untold.repairs)")
    #expect(untold.late >= untold.repairs / 50)
  }

  /// Who asks for keyframes without end has its publisher send a few, and no more.
  @Test func oneReceiversWishesForKeyframesAreLimited() throws {
    let room = try LineRoom(bert: 5_000_000)
    let keyframes = room.keyframes(layer: 2)
    for _ in 0..<100 {
      room.bert.requestKeyframe(try room.stream(room.bert).consumer)
      room.call.run(.milliseconds(100))
    }
    #expect((1...10).contains(room.keyframes(layer: 2) - keyframes), "of a hundred in ten seconds")
  }
}

/// A line that carries nothing in either direction for some time.
struct OutageTests {
  /// The picture is there half a second after the line is, and the publisher is asked for few keyframes for it. Once consent has run out,
  /// the client's next check has to come first.
  @Test(arguments: [(4_000, true, 500), (4_000, false, 500), (12_000, true, 1_200)])
  func aPictureFollowsTheLight(milliseconds: Int, hasSound: Bool, most: Int) throws {
    let room = try LineRoom(bert: 2_500_000, hasSound: hasSound, likeABrowser: true)
    room.call.run(.seconds(8))
    let keyframes = (0..<3).map(room.keyframes)
    room.cutBert(for: .milliseconds(milliseconds))
    #expect(try room.firstPicture(within: .seconds(2)) < .milliseconds(most))
    room.call.run(.seconds(4))
    let stream = try room.stream(room.bert)
    #expect(room.layers(stream, last: .milliseconds(500)) == [2], "the layer of before is back")
    #expect(room.longestGap(stream, last: .seconds(4)) < .milliseconds(400))
    let time = TimeDelta.milliseconds(milliseconds) + .seconds(6)
    #expect(room.lost(of: stream, last: time) < 200, "what goes into the dark is what left before it was noticed")
    #expect(zip((0..<3).map(room.keyframes), keyframes).map(-).reduce(0, +) <= 4)
    #expect(room.told(stream.consumer).isEmpty, "a line that was dark is not called too slow")
  }

  /// The control: without repeats nothing can be sent that asks for a sign of life, and old video waits.
  @Test func withoutASignOfLifeItTakesLonger() throws {
    let room = try LineRoom(bert: 2_500_000, likeABrowser: true, hasRTX: false)
    room.call.run(.seconds(8))
    room.cutBert(for: .seconds(4))
    #expect(try room.firstPicture(within: .seconds(5)) > .milliseconds(500))
  }

  /// A moment without packets takes no layer away: what was lost is sent again, and goes by no estimate.
  @Test(arguments: [300, 700]) func aShortOutageIsRepaired(milliseconds: Int) throws {
    let room = try LineRoom(bert: 2_500_000, likeABrowser: true)
    room.call.run(.seconds(8))
    let keyframes = (0..<3).map(room.keyframes)
    room.cutBert(for: .milliseconds(milliseconds))
    room.call.run(.seconds(3))
    let stream = try room.stream(room.bert)
    #expect(room.layers(stream, last: .seconds(3)) == [2])
    #expect(room.frames(stream, last: .seconds(2)) >= 58, "of 60")
    #expect(zip((0..<3).map(room.keyframes), keyframes).map(-).reduce(0, +) <= 1)
  }
}

/// What a line that is dark, or said to be, or is good, must not lead to.
struct DownlinkTrapTests {
  /// Without sound nothing is sent while a picture is held, so nothing tells that the line is back.
  @Test(arguments: [false, true]) func aPictureComesBackAfterTheDark(hasSound: Bool) throws {
    let room = try LineRoom(bert: 2_500_000, hasSound: hasSound)
    room.call.run(.seconds(5))
    room.bert.downlink.isCut = true
    room.call.run(.seconds(4))
    room.bert.downlink.isCut = false
    room.call.run(.seconds(10))
    #expect(room.frames(try room.stream(room.bert), last: .seconds(3)) > 80)
  }

  /// A smaller wish on a good line: the layer of now goes on until the keyframe of the other one is there.
  @Test func aSmallerWishIsNoFreeze() throws {
    let room = try LineRoom(bert: 20_000_000)
    room.call.run(.seconds(5))
    let key = try room.stream(room.bert).consumer
    room.call.apply(.setLayer(key, 0))
    room.call.run(.seconds(3))
    let bert = try room.stream(room.bert)
    #expect(room.layers(bert, last: .seconds(1)) == [0])
    #expect(room.longestGap(bert, last: .seconds(3)) < .milliseconds(150))
  }

  /// A client that says of its line now this and now that costs the publisher no more keyframes than one in two seconds.
  @Test func saysOfALineCostFewKeyframes() throws {
    let room = try LineRoom(bert: 20_000_000)
    room.call.run(.seconds(2))
    let before = (0..<3).map { room.keyframes(layer: $0) }.reduce(0, +)
    for step in 0..<100 {
      room.bert.sendEstimate(bitsPerSecond: step % 2 == 0 ? 30_000 : 100_000_000)
      room.call.run(.milliseconds(100))
    }
    let after = (0..<3).map { room.keyframes(layer: $0) }.reduce(0, +)
    #expect(after - before <= 12, "in ten seconds")
    #expect(room.layers(try room.stream(room.cleo), last: .seconds(9)) == [2])
  }
}
