// Many tiles on a line that does not carry them whole.

import Basics
import Congestion
import RTP
import Testing

@testable import Media

struct TileTests {
  /// Ten voices, and pictures whose base layers of time do not all fit: they take turns. The control always leaves the same ones out.
  @Test(arguments: [true, false]) func whatDoesNotFitTakesTurns(_ takesTurns: Bool) throws {
    let room = try TileRoom(bert: 1_500_000, packetSize: 1_100)
    if !takesTurns { room.choose(by: .all.subtracting(.turns)) }
    room.run(.seconds(50))
    let (last, slowest) = (TimeDelta.seconds(40), room.speeds(last: .seconds(40)).min() ?? 0)
    if takesTurns { #expect(slowest >= 2, "\(room.speeds(last: last))") } else { #expect(slowest < 2) }
    #expect(room.used(last: last) >= 0.85 || !takesTurns, "\(room.used(last: last))")
    #expect(room.lostSound(last: last) == 0)
    #expect(room.pauses <= 40, "in twelve turns, with rates that go up and down")
  }
}

/// Ten people speak, and send pictures in layers of space and time; Bert's line is limited.
private struct TileRoom {
  let call: Call
  let bert: VirtualPeer
  private let rate: Int64
  private let pictures: [ConsumerKey]
  private let sounds: [ConsumerKey]
  private let tracks: [ProducerKey]
  private let packetSize: Int

  /// `packetSize`: bytes of a packet of the lowest layer, give or take two fifths. Two of five are of the base layer of time.
  init(bert rate: Int64, packetSize: Int) throws {
    call = try Call()
    self.rate = rate
    let others = try (0..<10).map { [call] in try call.join("p\($0)") }
    bert = try call.join("bert")
    bert.reportsArrivals = true
    bert.downlink.rate = rate
    bert.downlink.bucket = 3_100
    var (pictures, sounds): ([ConsumerKey], [ConsumerKey]) = ([], [])
    var tracks: [ProducerKey] = []
    for person in others {
      let picture = call.publish(person, .video, layers: [1, 3])
      call.track(picture) { track in
        track.hasTemporalLayers = true
        for layer in 0..<2 {
          track.layers[layer].packetSize = packetSize
          track.layers[layer].baseExtra = layer + 1
          track.layers[layer].keyframeExtra = 6 * (layer + 1)
        }
      }
      tracks.append(picture)
      pictures.append(call.subscribe(bert, to: picture, layer: 0))
      sounds.append(call.subscribe(bert, to: call.publish(person, .audio)))
      call.run(.milliseconds(37))
    }
    (self.pictures, self.sounds, self.tracks, self.packetSize) = (pictures, sounds, tracks, packetSize)
    call.run(.seconds(2))
  }

  /// Bert's layers are chosen with these mechanisms alone.
  func choose(by mechanisms: Mechanisms) {
    guard let id = call.worker.directory.transports[bert.key] else { return }
    call.worker.ends.transports[id].downlink?.allocator = LayerAllocator(mechanisms)
  }

  /// Time passes in which people move, each now more and now less.
  func run(_ time: TimeDelta) {
    let end = call.now + time
    while call.now < end {
      for track in tracks {
        let size = packetSize * Int.random(in: 60...140, using: &call.dice) / 100
        call.track(track) { for layer in 0..<2 { $0.layers[layer].packetSize = size } }
      }
      call.run(.milliseconds(500))
    }
  }

  private func streams(_ keys: [ConsumerKey]) -> [ReceivedStream] { bert.streams.filter { keys.contains($0.consumer) } }

  /// The share of the line that what arrives takes, with headers.
  func used(last: TimeDelta) -> Double {
    let since = call.now - last
    let packets = bert.streams.flatMap { $0.packets.values.filter { $0.arrival >= since } }
    let bytes = packets.reduce(0) { $0 + $1.length + 66 }
    return Double(bytes * 8) / last.seconds / Double(rate)
  }

  /// Pictures a second of each tile.
  func speeds(last: TimeDelta) -> [Double] {
    streams(pictures).map { Double($0.completed(since: call.now - last).count) / last.seconds }
  }

  /// Packets of sound that never came.
  func lostSound(last: TimeDelta) -> Int {
    let since = call.now - last
    return streams(sounds).map { stream in
      guard let first = stream.packets.filter({ $0.value.arrival >= since }).keys.min(), let newest = stream.newest
      else { return 1_000_000 }
      return (first...newest).count { stream.packets[$0] == nil }
    }.reduce(0, +)
  }

  /// How often a tile was paused.
  var pauses: Int { call.count { if case .consumerPaused(_, true) = $0 { true } else { false } } }
}
