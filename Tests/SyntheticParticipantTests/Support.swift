// A stream made by hand: facts as a receiver would have them of a sender's packets.

import Basics
import RoostProtocol

@testable import SyntheticParticipant

/// The packets of one track in order.
struct FakeStream {
  static let identity = PayloadStamp.identity(user: "anna", label: "camera")

  let kind: TrackKind
  var packetsPerFrame: UInt16 = 3

  /// The packets of frame `number`, numbered from 1.
  func frame(_ number: UInt32, keyframe: Bool? = nil, layer: UInt8 = 0) -> [PacketFact] {
    let isKeyframe = kind == .video && (keyframe ?? (number == 1))
    let count = kind == .video ? packetsPerFrame : 1
    return (0..<count).map { packet in
      PacketFact(
        timestamp: number &* 3_000, marker: kind == .video && packet == count - 1,
        startsFrame: packet == 0, startsKeyframe: kind == .video ? isKeyframe && packet == 0 : true,
        stamp: PayloadStamp(
          identity: Self.identity, sentAt: .zero, frame: number, packet: packet, packets: count, payloadLength: 100,
          layer: layer, isKeyframe: isKeyframe))
    }
  }

  func frames(_ numbers: ClosedRange<UInt32>) -> [PacketFact] { numbers.flatMap { frame($0) } }
}

extension FrameChecker {
  /// Checks a row of packets; `nil` stands for packets that were given up.
  static func check(
    _ kind: TrackKind, _ packets: [PacketFact?], identity: UInt64 = FakeStream.identity, mayJump: Bool = false
  ) -> ReceiveStatistics {
    var counts = ReceiveStatistics(
      subscriptionId: "s", trackId: "t", participantId: "p", user: nil, kind: kind, ssrc: 1)
    var checker = FrameChecker(kind: kind)
    checker.identity = identity
    checker.mayJump = mayJump
    for packet in packets {
      if let packet { _ = checker.take(packet, at: .zero, &counts) } else { checker.skip(&counts) }
    }
    return counts
  }
}
