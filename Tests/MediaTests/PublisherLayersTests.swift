// Layers that nobody needs are paused at their publisher, and come back in time.

import Basics
import Congestion
import Forwarding
import Testing

@testable import Media

struct PublisherLayersTests {
  private static let rates: [BitRate] = [.kilobits(150), .kilobits(500), .kilobits(1_500)]

  /// Every quarter of a second for so long. When it changed, in seconds, and what was active then.
  private func run(
    _ layers: inout PublisherLayers, from start: Double, seconds: Double, needed: UInt8,
    rates: [BitRate] = Self.rates
  ) -> [(at: Double, active: [Int])] {
    var told: [(at: Double, active: [Int])] = []
    for step in 0..<Int(seconds * 4) {
      let at = start + Double(step) / 4
      // Paused layers do not arrive.
      let arriving = rates.indices.map { layers.isPaused($0) ? .zero : rates[$0] }
      if layers.update(needed: needed, rates: arriving, at: .zero + .milliseconds(Int(at * 1_000))) {
        told.append((at, layers.active))
      }
    }
    return told
  }

  @Test func whatNobodyNeedsIsPausedAfterTenSeconds() {
    var layers = PublisherLayers(count: 3, at: .zero)
    #expect(run(&layers, from: 0, seconds: 60, needed: 0b111).isEmpty)
    let told = run(&layers, from: 60, seconds: 60, needed: 0b001)
    #expect(told.map(\.active) == [[0]])
    #expect((69.5...70.5).contains(told[0].at))
    #expect(layers.rate(ofAbsent: 2) == .kilobits(1_500) && layers.rate(ofAbsent: 0) == nil)
    let back = run(&layers, from: 120, seconds: 1, needed: 0b110)
    #expect(back.map(\.active) == [[0, 1, 2]] && back[0].at == 120, "at once")
  }

  /// The lowest layer goes on though nobody is there; a layer between is paused by itself.
  @Test func theLowestIsNeverPaused() {
    var layers = PublisherLayers(count: 3, at: .zero)
    #expect(run(&layers, from: 0, seconds: 60, needed: 0b100).map(\.active) == [[0, 2]])
    #expect(run(&layers, from: 60, seconds: 60, needed: 0).map(\.active) == [[0]])
  }

  /// A publisher that begins with layers off: nobody knows what they take, and nothing is to be saved.
  @Test func whatNeverArrivedIsNotPaused() {
    var layers = PublisherLayers(count: 3, at: .zero)
    let told = run(&layers, from: 0, seconds: 600, needed: 0b001, rates: [.kilobits(150), .zero, .zero])
    #expect(told.isEmpty)
    #expect(layers.rate(ofAbsent: 1) == nil)
    // When it comes after all, it is looked at as any other.
    #expect(run(&layers, from: 600, seconds: 9, needed: 0b001).isEmpty)
    #expect(run(&layers, from: 609, seconds: 5, needed: 0b001).map(\.active) == [[0]])
  }

  /// The publisher's own line does not carry what was asked for again: it counts for five seconds, and is not paused and asked for in turn.
  @Test func whatIsAskedForInVainDoesNotCycle() {
    var layers = PublisherLayers(count: 2, at: .zero)
    #expect(run(&layers, from: 0, seconds: 15, needed: 0b01, rates: [.kilobits(150), .kilobits(500)]).count == 1)
    let low: [BitRate] = [.kilobits(150), .zero]
    #expect(run(&layers, from: 15, seconds: 4, needed: 0b10, rates: low).map(\.active) == [[0, 1]])
    #expect(layers.rate(ofAbsent: 1) == .kilobits(500))
    #expect(run(&layers, from: 19, seconds: 600, needed: 0b01, rates: low).isEmpty)
    #expect(layers.rate(ofAbsent: 1) == nil && !layers.isWaiting)
  }

  /// Needed for a moment every half a minute: the pauses become rare.
  @Test func whatIsNeededAgainSoonIsPausedLater() {
    var layers = PublisherLayers(count: 2, at: .zero)
    var pauses = 0
    for round in 0..<40 {
      let start = Double(round) * 30
      pauses += run(&layers, from: start, seconds: 28, needed: 0b01).filter { $0.active == [0] }.count
      _ = run(&layers, from: start + 28, seconds: 2, needed: 0b10)
    }
    #expect((1...4).contains(pauses), "\(pauses) of 40")
  }
}

/// The same in a call.
struct PausedLayersTests {
  /// Anna's picture in three layers for Bert. The call's network carries what she is told, as a client does it.
  private final class Room {
    let call: Call
    let (anna, bert): (VirtualPeer, VirtualPeer)
    let picture: ProducerKey
    let view: ConsumerKey
    var seen = 0

    init(bert rate: Int64 = 20_000_000, pausesLayers: Bool = true, layer: Int? = 0) throws {
      call = try Call()
      (anna, bert) = (try call.join("anna"), try call.join("bert"))
      bert.reportsArrivals = true
      bert.downlink.rate = rate
      picture = call.publish(anna, .video, layers: [1, 2, 5], pausesLayers: pausesLayers)
      view = call.subscribe(bert, to: picture, layer: layer)
    }

    var told: [[Int]] {
      call.events.compactMap { if case .producerLayers(picture, let active, _) = $0.event { active } else { nil } }
    }

    /// Runs, and does what was told after 50 ms.
    func run(_ seconds: Int) {
      for _ in 0..<(seconds * 20) {
        call.run(.milliseconds(50))
        guard told.count > seen, let active = told.last else { continue }
        seen = told.count
        call.track(picture) { track in
          for index in track.layers.indices {
            let begins = active.contains(index) && !track.layers[index].isActive
            track.layers[index].isActive = active.contains(index)
            if begins { track.layers[index].wantsKeyframe = true }
          }
        }
      }
    }

    func layers(last: TimeDelta) -> Set<UInt8> {
      let since = call.now - last
      return Set(call.stream(view)?.packets.values.filter { $0.arrival >= since }.compactMap { $0.stamp?.layer } ?? [])
    }
  }

  @Test func whoIsShownSmallCostsTheLowestLayerAndAWishBringsTheOthersBack() throws {
    let room = try Room()
    room.run(9)
    #expect(room.told.isEmpty)
    room.run(8)
    #expect(room.told == [[0]])
    #expect(room.layers(last: .seconds(3)) == [0])
    room.call.apply(.setLayer(room.view, 2))
    room.run(2)
    #expect(room.told == [[0], [0, 2]])
    #expect(room.layers(last: .milliseconds(500)) == [2], "two seconds are enough")
    room.call.apply(.setLayer(room.view, nil))
    room.run(3)
    #expect(room.layers(last: .seconds(1)) == [2])
  }

  /// A line between two layers: the highest is paused, probed for, and back when the line carries it.
  @Test func aLineThatBecomesGoodGetsThePausedLayer() throws {
    let room = try Room(bert: 700_000, layer: nil)
    room.run(30)
    #expect(room.told.last?.contains(2) == false)
    #expect(!room.layers(last: .seconds(3)).contains(2))
    room.bert.downlink.rate = 5_000_000
    room.run(12)
    #expect(room.told.last?.contains(2) == true)
    #expect(room.layers(last: .seconds(1)) == [2])
    let told = room.told.count
    room.run(20)
    #expect(room.told.count <= told + 1, "and stays, whatever becomes of the one between")
  }

  /// Whoever joins later begins with what arrives, and gets the best a moment later.
  @Test func aNewcomerIsNotKeptWaiting() throws {
    let room = try Room()
    room.run(17)
    #expect(room.told == [[0]])
    let cleo = try room.call.join("cleo")
    cleo.reportsArrivals = true
    let view = room.call.subscribe(cleo, to: room.picture)
    room.run(1)
    #expect(room.call.stream(view)?.packets.isEmpty == false)
    room.run(2)
    #expect(room.call.stream(view)?.layers.last == 2)
  }

  /// The control: a client that does not know of it is told nothing, and layers that stop by themselves are no paused ones.
  @Test func whoCannotPauseIsNotAsked() throws {
    let room = try Room(pausesLayers: false)
    room.run(30)
    #expect(room.told.isEmpty)
    #expect(room.call.layers(room.picture).allSatisfy { $0.isActive })
  }

  /// Encodings without names are not to be told apart by a client.
  @Test func aPictureInOneLayerIsNeverPaused() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let picture = call.publish(anna, .video, layers: [2], pausesLayers: true)
    call.run(.seconds(30))
    let isTold = call.events.contains { if case .producerLayers(picture, _, _) = $0.event { true } else { false } }
    #expect(!isTold)
  }
}
