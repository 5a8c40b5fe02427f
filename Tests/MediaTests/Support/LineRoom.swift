// One publisher and two subscribers, one of them on a line that is limited.

import Basics
import Media
import RTP
import Testing

/// Anna sends a picture in layers, and sound; Bert's line is limited, and Cleo's is not.
struct LineRoom {
  let call: Call
  let (anna, bert, cleo): (VirtualPeer, VirtualPeer, VirtualPeer)
  private let picture: ProducerKey
  private let pictures: [ConsumerKey]
  private let sounds: [ConsumerKey]

  /// `likeABrowser`: layers of about 145, 360 and 1,450 kbit/s, with keyframes of the size that browsers make of a camera. `inTime`: half
  /// of the pictures of each can be left out.
  init(
    bert rate: Int64, layers: [Int] = [1, 2, 5], reports: Bool = true, hasSound: Bool = true,
    likeABrowser: Bool = false, inTime: Bool = false,
    hasRTX: Bool = true
  ) throws {
    call = try Call()
    anna = try call.join("anna")
    (bert, cleo) = (try call.join("bert"), try call.join("cleo"))
    bert.reportsArrivals = reports
    cleo.reportsArrivals = true
    bert.downlink.rate = rate
    picture = call.publish(anna, .video, layers: layers)
    if inTime { call.track(picture) { $0.hasTemporalLayers = true } }
    if likeABrowser {
      call.track(picture) { track in
        for (layer, shape) in [(600, 6), (750, 24), (1_200, 60)].enumerated() {
          (track.layers[layer].packetSize, track.layers[layer].keyframeExtra) = shape
        }
      }
    }
    pictures = [call.subscribe(bert, to: picture, hasRTX: hasRTX), call.subscribe(cleo, to: picture)]
    var heard: [ConsumerKey] = []
    if hasSound {
      let sound = call.publish(anna, .audio)
      heard = [call.subscribe(bert, to: sound), call.subscribe(cleo, to: sound)]
    }
    sounds = heard
    call.run(.seconds(2))
  }

  func stream(_ peer: VirtualPeer) throws -> ReceivedStream {
    try #require(peer.streams.first { pictures.contains($0.consumer) })
  }

  func sound(_ peer: VirtualPeer) throws -> ReceivedStream {
    try #require(peer.streams.first { sounds.contains($0.consumer) })
  }

  func keyframes(layer: Int) -> Int { call.layers(picture)[layer].keyframes }

  /// Nothing passes on Bert's line.
  func cutBert(for time: TimeDelta) {
    (bert.uplink.isCut, bert.downlink.isCut) = (true, true)
    call.run(time)
    (bert.uplink.isCut, bert.downlink.isCut) = (false, false)
  }

  /// How long from now on Bert waits for a picture that he can decode: a whole keyframe.
  func firstPicture(within time: TimeDelta) throws -> TimeDelta {
    let began = call.now
    call.run(time)
    let keys = try stream(bert).packets.values.filter { $0.arrival > began && $0.stamp?.isKeyframe == true }
    let frames = Dictionary(grouping: keys) { [UInt32($0.stamp?.layer ?? 0), $0.stamp?.frame ?? 0] }
    let whole = frames.values.filter { $0.count == Int($0[0].stamp?.count ?? 0) }
    return (whole.compactMap { $0.map(\.arrival).max() }.min() ?? .distantFuture) - began
  }

  /// What was told of pauses for bandwidth.
  func told(_ key: ConsumerKey) -> [Bool] {
    call.events.compactMap { if case .consumerPaused(key, let paused) = $0.event { paused } else { nil } }
  }

  private func recent(_ stream: ReceivedStream, _ last: TimeDelta) -> [ReceivedPacket] {
    stream.packets.values.filter { $0.arrival >= call.now - last }
  }

  /// How often the layer changed.
  func changes(_ stream: ReceivedStream, last: TimeDelta) -> Int {
    let since = call.now - last
    let layers = stream.packets.filter { $0.value.arrival >= since }.sorted { $0.key < $1.key }.compactMap {
      $0.value.stamp?.layer
    }
    return zip(layers, layers.dropFirst()).count { $0 != $1 }
  }

  func layers(_ stream: ReceivedStream, last: TimeDelta) -> Set<UInt8> {
    Set(recent(stream, last).compactMap { $0.stamp?.layer })
  }

  func frames(_ stream: ReceivedStream, last: TimeDelta) -> Int { stream.completed(since: call.now - last).count }

  /// The longest time without a complete frame.
  func longestGap(_ stream: ReceivedStream, last: TimeDelta) -> TimeDelta {
    stream.longestGap(since: call.now - last, until: call.now)
  }

  /// Packets of a stream that never came, but for those still under way.
  func lost(of stream: ReceivedStream, last: TimeDelta) -> Int {
    let since = call.now - last
    guard let first = stream.packets.filter({ $0.value.arrival >= since }).keys.min(), let newest = stream.newest else {
      return .max
    }
    return (first...newest).count { stream.packets[$0] == nil }
  }
}
