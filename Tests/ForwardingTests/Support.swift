import Basics
import Forwarding
@testable import RTP

func milliseconds(_ n: Int) -> Instant { .zero + .milliseconds(n) }

func stored(
  _ sequence: Int64, timestamp: UInt32 = 0, at now: Int = 0, key: Bool = false, codec: CodecProfile = .vp8,
  length: Int = 100, picture: UInt16? = nil, tl0: UInt8? = nil
) -> StoredPacket {
  var info = PayloadInfo()
  info.startsKeyframe = key
  if let picture { info.pictureID = .init(offset: 2, value: picture, isLong: true) }
  if let tl0 { info.tl0PictureIndex = .init(offset: 4, value: tl0) }
  return StoredPacket(
    sequence: sequence, timestamp: timestamp, arrival: milliseconds(now), length: UInt16(length), codec: codec,
    marker: false, info: info, audioLevel: nil, orientation: nil)
}

func videoConsumer(seed: UInt64 = 7, rtx: Bool = true) -> TestConsumer {
  TestConsumer(
    Consumer(
      parameters: SendParameters(
        mid: "1", kind: .video, ssrc: 1234, rtxSSRC: rtx ? 5678 : nil,
        payloads: [PayloadMapping(payloadType: 96, codec: .vp8, rtxPayloadType: rtx ? 97 : nil)],
        extensions: HeaderExtensionIDs(), nack: true), seed: seed))
}

func audioConsumer() -> TestConsumer {
  TestConsumer(
    Consumer(
      parameters: SendParameters(
        mid: "0", kind: .audio, ssrc: 1, rtxSSRC: nil, payloads: [PayloadMapping(payloadType: 111, codec: .opus)],
        extensions: HeaderExtensionIDs(), nack: false), seed: 1))
}

extension Decision {
  var rewrite: Rewrite? {
    if case .forward(let rewrite) = self { return rewrite }
    return nil
  }
  var reason: DropReason? {
    if case .drop(let reason) = self { return reason }
    return nil
  }
}

/// The machines behind references, so that an expectation can call what changes them.
final class TestConsumer {
  var value: Consumer
  init(_ value: Consumer) { self.value = value }
  var awaitsKeyframe: Bool { value.awaitsKeyframe }
  var target: Int8 {
    get { value.target }
    set { value.target = newValue }
  }
  func decide(_ packet: StoredPacket, layer: Int8, alignment: UInt32?) -> Decision {
    value.decide(packet, layer: layer, alignment: alignment)
  }
  func spendCredit() -> Bool { value.spendCredit() }
  func interrupt() { value.interrupt() }
  func setPaused(_ paused: Bool) { value.setPaused(paused) }
  func changeStream(target: Int8) { value.changeStream(target: target) }
  func original(of sequence: UInt16) -> (layer: Int8, sequence: Int64, segment: Int)? { value.original(of: sequence) }
  func rewriteAgain(_ packet: StoredPacket, segment: Int) -> Rewrite { value.rewriteAgain(packet, segment: segment) }
  func nextRetransmission(_ codec: CodecProfile) -> (ssrc: UInt32, payloadType: UInt8, sequence: UInt16)? {
    value.nextRetransmission(codec)
  }
}

final class Held<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
  func change<Result>(_ body: (inout Value) -> Result) -> Result { body(&value) }
}
