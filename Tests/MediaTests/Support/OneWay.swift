// One direction of a pipe in virtual time: what leaves at one worker reaches the other two milliseconds later, or is lost.

import Basics
import Forwarding
import RTP

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

struct OneWay {
  static let delay = TimeDelta.milliseconds(2)
  /// What left, lost or not.
  private(set) var packets: [PipedPacket] = []
  private(set) var messages: [(at: Instant, message: PipeMessage)] = []
  /// Nobody takes what waits.
  var isStopped = false
  /// Which packets are lost.
  var loses: (PipedPacket) -> Bool = { _ in false }
  /// On their way, in the order in which they left, as a ring keeps them.
  private var flying: [(at: Instant, facts: PipedPacket, bytes: [UInt8])] = []
  private var said: [(at: Instant, message: PipeMessage)] = []

  /// Takes what waits at `call`.
  mutating func take(from call: Call, _ pipe: PipeKey) {
    if isStopped { return }
    var crossing = Crossing()
    call.worker.drainPipe(pipe, into: &crossing)
    let due = call.now + Self.delay
    for (facts, bytes) in crossing.packets {
      packets.append(facts)
      if !loses(facts) { flying.append((due, facts, bytes)) }
    }
    for message in crossing.messages {
      messages.append((call.now, message))
      said.append((due, message))
    }
  }

  /// Gives `call` what has arrived, messages first.
  mutating func give(to call: Call, _ pipe: PipeKey) {
    let now = call.now
    let (heard, arrived) = (said.prefix { $0.at <= now }, flying.prefix { $0.at <= now })
    said.removeFirst(heard.count)
    flying.removeFirst(arrived.count)
    for (_, message) in heard { call.worker.receive(message, through: pipe, at: now) }
    for (_, facts, bytes) in arrived { call.worker.receive(facts, bytes.span, through: pipe, at: now) }
  }

  mutating func forget() { (packets, messages) = ([], []) }

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

extension Call {
  /// Has a track of another worker brought here, where somebody must be.
  func mirror(
    _ track: ProducerKey, _ kind: MediaKind, of publisher: VirtualPeer, layers: [EncodingParameters],
    through pipe: PipeKey
  ) {
    mirrored[track] = kind
    apply(
      .addMirror(
        track, pipe: pipe, room: RoomKey(1),
        parameters: ReceiveParameters(
          mid: "", kind: kind, payloads: [], extensions: HeaderExtensionIDs(), encodings: layers, nack: true),
        publisher: Publisher(publisher.key.value, canonicalName: publisher.name)))
  }

  /// The layers of a track as a mirror is told of them: no SSRC of theirs means anything there.
  func mirroredLayers(_ track: ProducerKey) -> [EncodingParameters] {
    layers(track).map { EncodingParameters(rid: $0.rid) }
  }
}
