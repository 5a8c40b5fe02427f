// A room over two workers in virtual time: who publishes is at one, an audience at the other, and a pipe that may lose packets lies
// between. A turn of both is a millisecond.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

/// Takes what crosses.
private struct Crossing: PipeSink {
  var packets: [(facts: PipedPacket, bytes: [UInt8])] = []
  var messages: [PipeMessage] = []

  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool {
    packets.append((packet, bytes.withUnsafeBufferPointer { Array($0) }))
    return true
  }

  mutating func write(_ message: PipeMessage) { messages.append(message) }
}

final class TwoWorkers {
  static let delay = TimeDelta.milliseconds(2)
  let near: Call
  let far: Call
  let pipe = PipeKey(5)
  /// What left the source, lost or not.
  private(set) var packets: [PipedPacket] = []
  /// What left the mirrors.
  private(set) var messages: [(at: Instant, message: PipeMessage)] = []
  /// What the source said.
  private(set) var told: [PipeMessage] = []
  /// Nobody takes what waits at the source.
  var isStopped = false
  /// Which packets the pipe loses.
  var loses: (PipedPacket) -> Bool = { _ in false }
  /// The control: mirrors forget at once that they have asked for a keyframe.
  var forgetsRequests = false
  private var nextLook = Instant.zero
  /// On their way, in the order in which they left, as a ring keeps them.
  private var flying: [(at: Instant, facts: PipedPacket, bytes: [UInt8])] = []
  private var said: [(at: Instant, message: PipeMessage, toFar: Bool)] = []

  init() throws {
    near = try Call(seed: 1)
    far = try Call(seed: 2)
    near.apply(.openPipe(pipe))
    far.apply(.openPipe(pipe))
  }

  /// Brings a track to the other worker, where somebody must be.
  func mirror(_ track: ProducerKey, _ kind: MediaKind, publisher: VirtualPeer, layers: Int? = nil) {
    far.mirrored[track] = kind
    let encodings =
      layers.map { (0..<$0).map { EncodingParameters(rid: "r\($0)") } }
      ?? near.layers(track).map { EncodingParameters(rid: $0.rid) }
    far.apply(
      .addMirror(
        track, pipe: pipe, room: RoomKey(1),
        parameters: ReceiveParameters(
          mid: "", kind: kind, payloads: [], extensions: HeaderExtensionIDs(), encodings: encodings, nack: true),
        publisher: Publisher(UInt64(publisher.index), canonicalName: publisher.name)))
  }

  /// Anna publishes at one worker, and three watch at the other.
  func scene(
    codec: CodecProfile = .vp8, layers: [Int] = [2], wishes: [Int?] = [nil, nil, nil]
  ) throws -> (anna: VirtualPeer, video: ProducerKey, watching: [ConsumerKey]) {
    let anna = try near.join("anna")
    let people = try ["bert", "carl", "dora"].map { try far.join($0) }
    let video = near.publish(anna, .video, codec: codec, layers: layers)
    mirror(video, .video, publisher: anna)
    let watching = zip(people, wishes).map { far.subscribe($0, to: video, layer: $1) }
    return (anna, video, watching)
  }

  /// Complete frames that somebody at the other worker got.
  func frames(_ consumer: ConsumerKey) -> Int { far.stream(consumer)?.frames.count ?? 0 }

  /// How old the newest picture, or sound, is that somebody has.
  func age(of consumer: ConsumerKey, at call: Call) -> TimeDelta {
    let captures = call.stream(consumer)?.packets.values.compactMap { $0.stamp?.capture } ?? []
    return captures.max().map { near.now - Instant(nanoseconds: $0) } ?? .seconds(1_000)
  }

  func run(_ duration: TimeDelta) {
    let end = near.now + duration
    while near.now < end {
      if near.now >= nextLook { look() }
      near.run(.milliseconds(1))
      far.run(.milliseconds(1))
      cross()
    }
  }

  /// Looks whether the tables of both are whole, once a second.
  private func look() {
    nextLook = near.now + .seconds(1)
    #expect(near.brokenRules() == [])
    #expect(far.brokenRules() == [])
  }

  /// Ends everything, and looks whether anything is left.
  func end() {
    look()
    for call in [near, far] {
      call.apply(.closePipe(pipe))
      call.worker.closeAll(at: call.now)
      call.turn()
      #expect(call.leftovers() == [])
    }
  }

  private func cross() {
    let now = near.now
    var (there, back) = (Crossing(), Crossing())
    if !isStopped { near.worker.drainPipe(pipe, into: &there) }
    far.worker.drainPipe(pipe, into: &back)
    for (facts, bytes) in there.packets {
      packets.append(facts)
      if !loses(facts) { flying.append((now + Self.delay, facts, bytes)) }
    }
    told += there.messages
    for message in there.messages { said.append((now + Self.delay, message, true)) }
    for message in back.messages {
      messages.append((now, message))
      said.append((now + Self.delay, message, false))
    }
    let (messages, packets) = (said.prefix { $0.at <= now }, flying.prefix { $0.at <= now })
    said.removeFirst(messages.count)
    flying.removeFirst(packets.count)
    for (_, message, toFar) in messages {
      if toFar {
        far.worker.receive(message, through: pipe, at: now)
      } else {
        near.worker.receive(message, through: pipe, at: now)
      }
    }
    for (_, facts, bytes) in packets { far.worker.receive(facts, bytes.span, through: pipe, at: now) }
    if forgetsRequests { far.worker.tracks.encodings.forEach { $1.encoding.keyframes = KeyframeThrottle() } }
  }

  func forget() { (packets, messages, told) = ([], [], []) }

  // MARK: what crossed

  /// Packets that crossed for the first time, by their layer's place.
  var layers: [Int: Int] { packets.reduce(into: [:]) { if !$1.isRepeat { $0[$1.place, default: 0] += 1 } } }

  var repeats: Int { packets.count { $0.isRepeat } }

  /// Packets that crossed more than once without being asked for.
  var copies: Int {
    struct Name: Hashable { let track: ProducerKey, place: Int, stream: UInt32, number: Int64 }
    let first = packets.filter { !$0.isRepeat }
    let names = first.map { Name(track: $0.track, place: $0.place, stream: $0.stream, number: $0.packet.sequence) }
    return first.count - Set(names).count
  }

  /// How often packets were asked for.
  var asked: Int { messages.count { if case .missing = $0.message { true } else { false } } }

  /// When keyframes of the layer at a place were asked for.
  func keyframes(of place: Int) -> [Instant] {
    messages.filter { if case .keyframe(_, place) = $0.message { true } else { false } }.map(\.at)
  }
}
