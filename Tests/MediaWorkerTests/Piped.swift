// What crosses a pipe, made by hand.

import Forwarding
import RTP

@testable import Basics
@testable import Media
@testable import MediaWorker

/// A packet of so many bytes.
func piped(
  _ number: Int, track: ProducerKey = ProducerKey(1), size: Int = 100, codec: CodecProfile = .opus
) -> PipedPacket {
  let layer = PipedLayer(pipe: PipeID(index: 0, generation: 1), track: track, place: 0, stream: 1, ssrc: 7)
  return PipedPacket(
    layer, isRepeat: false,
    packet: StoredPacket(
      sequence: Int64(number), timestamp: UInt32(truncatingIfNeeded: number &* 960), arrival: .zero,
      length: UInt16(truncatingIfNeeded: size), codec: codec, marker: false, info: PayloadInfo(), audioLevel: nil,
      orientation: nil),
    descriptorLength: 0)
}

/// Bytes that are of packet `number` alone.
func content(_ number: Int, size: Int) -> [UInt8] {
  (0..<size).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0 &* 7) }
}

extension PipeWriter {
  /// Writes packet `number`; false where there is no room.
  mutating func write(_ number: Int, track: ProducerKey = ProducerKey(1), size: Int = 100) -> Bool {
    write(piped(number, track: track, size: size), content(number, size: size).span)
  }
}

/// A mirror of sound, or of video in so many layers.
func mirror(_ track: ProducerKey, through pipe: PipeKey, layers: Int = 1) -> WorkerCommand {
  .addMirror(
    track, pipe: pipe, room: RoomKey(1),
    parameters: parameters(layers == 1 ? .audio : .video, layers), publisher: Publisher(1, canonicalName: "anna"))
}

func parameters(_ kind: MediaKind, _ layers: Int) -> ReceiveParameters {
  ReceiveParameters(
    mid: "", kind: kind, payloads: [], extensions: HeaderExtensionIDs(),
    encodings: (0..<layers).map { EncodingParameters(rid: layers == 1 ? nil : "r\($0)") }, nack: true)
}

/// Somebody who is in the room, of whom nothing has come yet.
func somebody(_ transport: UInt64 = 1) -> WorkerCommand {
  var random = SystemRandomNumberGenerator()
  return .openTransport(TransportKey(transport), room: RoomKey(1), credentials: ICECredentials.random(using: &random))
}
