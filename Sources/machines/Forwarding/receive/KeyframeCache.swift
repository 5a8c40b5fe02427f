// What a newcomer is sent at once instead of asking the publisher for a keyframe: the newest one, and all that came behind it.
//
//   cache: … [keyframe] f f f f f (newest)  │ live
//            └────────── replay ──────────┘ │     the pictures are told to be 1 ms apart, the live ones go on in their own time
//
// Every picture refers to those before it, so none may be missing. A replay that is shown in the publisher's time would stay behind
// the live stream, and behind the sound, by its whole length.

import Basics
import RTP

/// The first packet of the newest keyframe of an encoding.
struct NewestKeyframe: Sendable {
  /// Its unwrapped number.
  var sequence: Int64
  /// Its RTP time stamp.
  var timestamp: UInt32

  /// Takes in a packet that begins a keyframe, or a part of one. H264 begins with parameter sets, and then the picture.
  mutating func take(_ packet: StoredPacket) {
    if packet.timestamp == timestamp {
      sequence = min(sequence, packet.sequence)
    } else if packet.sequence > sequence {
      (sequence, timestamp) = (packet.sequence, packet.timestamp)
    }
  }
}

/// How much a newcomer may be sent from the cache. A stream of few pictures, as of a screen that stands still, has no age limit.
public enum ReplayLimits {
  /// Pictures behind the keyframe: raise it and requests to publishers become fewer, but who joins waits while they are decoded.
  public static let mostPictures = 30
  /// Bytes of payload behind the keyframe's: raise it and a thin line is busy with the past for longer. The keyframe itself may be of
  /// any size, for another one would be as large.
  public static let mostBytes = 48 * 1_024
  /// Packets with those of the keyframe.
  public static let mostPackets = 400
}

extension Encoding {
  /// A packet that begins a keyframe was stored: nobody waits for one any more. What was lost before it is still asked for: a frame
  /// that is whole in time is shown, and receivers that follow the stream would go on asking for it.
  public mutating func keyframeArrived(_ packet: StoredPacket) {
    keyframes.keyframeArrived()
    keyframeAt = packet.arrival
    if keyframe == nil { keyframe = NewestKeyframe(sequence: packet.sequence, timestamp: packet.timestamp) }
    keyframe?.take(packet)
  }

  /// The numbers of the packets that a newcomer is to be sent: from the newest keyframe's first to the newest of all. Nil where there
  /// is none behind `number`, where one is missing, or where it would be more than `ReplayLimits` allow.
  public func replay(after number: Int64) -> ClosedRange<Int64>? {
    let newest = newestNumber
    guard let first = keyframe, first.sequence > number, first.sequence <= newest,
      newest - first.sequence < Int64(ReplayLimits.mostPackets)
    else { return nil }
    var (bytes, pictures) = (0, 0)
    for sequence in first.sequence...newest {
      guard let place = cache.place(of: sequence) else { return nil }
      if cache[place].timestamp == first.timestamp { continue }
      bytes += Int(cache[place].length)
      pictures += cache[place].marker ? 1 : 0
      guard bytes <= ReplayLimits.mostBytes, pictures <= ReplayLimits.mostPictures else { return nil }
    }
    return first.sequence...newest
  }
}
