// What crosses a pipe between two workers: values, of which both have their own. `Pipe` has the drawing.

import Basics
import Congestion
import Forwarding
import RTP

/// A packet that crosses a pipe, besides its bytes: its dependency descriptor, and its payload.
public struct PipedPacket: Sendable {
  /// Whose it is. A mirror has the key of what it mirrors.
  public let track: ProducerKey
  /// Which layer it is of, by its place in SDP.
  public let place: Int
  /// Which stream of this layer over this pipe: another one begins with numbers and a clock of its own.
  public let stream: UInt32
  /// Whether it was asked for.
  public let isRepeat: Bool
  /// What is known of it, as its source has stored it; of its number the lower sixteen bits count.
  public let packet: StoredPacket
  /// Bytes of its dependency descriptor, which go before the payload.
  public let descriptorLength: Int

  init(_ piped: PipedLayer, isRepeat: Bool, packet: StoredPacket, descriptorLength: Int) {
    (track, place, stream) = (piped.track, piped.place, piped.stream)
    (self.isRepeat, self.packet, self.descriptorLength) = (isRepeat, packet, descriptorLength)
  }
}

/// What crosses a pipe besides packets.
public enum PipeMessage: Sendable, Hashable {
  /// To the source: these layers of a track are wanted, by the bits of their places in SDP; all others are not. The answer is `arriving`,
  /// where something is known of them.
  case layers(ProducerKey, wanted: UInt8)
  /// To the source: a keyframe of the layer at this place is wanted.
  case keyframe(ProducerKey, place: Int)
  /// To the source: packets of the layer at this place are missing that have these numbers.
  case missing(ProducerKey, place: Int, [UInt16])
  /// To the mirror: what the publisher says of its clock.
  case report(PipedReport)
  /// To the mirror: which layers of a simulcast track can be had.
  case arriving(PipedArrivals)
}

/// Which layers of a simulcast track arrive at the source, and what each takes. A mirror sees none but those that cross.
public struct PipedArrivals: Sendable, Hashable {
  /// Which track.
  public let track: ProducerKey
  /// Those that arrive, by the bits of their places in SDP.
  public let arriving: UInt8
  /// What each takes, by its place. One that has a rate and does not arrive was paused at its publisher, and can be had.
  public let rates: [BitRate]

  /// What is known of a track; nil of one with a single layer, and where nothing has been measured.
  init?(of id: ProducerID, _ tracks: borrowing Tracks, at now: Instant) {
    guard tracks.producers[id].declared.count > 1 else { return nil }
    var (bits, rates) = (UInt8(0), [BitRate]())
    for (place, encoding) in tracks.producers[id].declared.prefix(UInt8.bitWidth).enumerated() {
      guard let layer = tracks.producers[id].encodings.firstIndex(of: encoding) else { return nil }
      var meter = tracks.encodings[encoding].encoding.rate
      rates.append(
        tracks.producers[id].asked?.rate(ofAbsent: layer)
          ?? BitRate(bitsPerSecond: Double(meter.steadyBytesPerSecond(at: now)) * 8))
      if tracks.producers[id].arriving & 1 << UInt8(layer) != 0 { bits |= 1 << UInt8(place) }
    }
    guard rates.contains(where: { $0 > .zero }) else { return nil }
    (track, arriving, self.rates) = (tracks.producers[id].key, bits, rates)
  }

  /// Whether a mirror that knows this need not hear the other: rates move all the time.
  func isLike(_ other: PipedArrivals) -> Bool {
    arriving == other.arriving && rates.count == other.rates.count
      && zip(rates, other.rates).allSatisfy { $0 <= $1 * 1.25 && $1 <= $0 * 1.25 }
  }
}

/// A publisher's sender report (RFC 3550 §6.4.1) about a layer.
public struct PipedReport: Sendable, Hashable {
  /// Which track, which of its layers by its place in SDP, and which stream of that.
  public let track: ProducerKey, place: Int, stream: UInt32
  /// NTP time, 32.32 fixed point, and the RTP time stamp then, as those of packets that cross.
  public let ntp: UInt64, rtp: UInt32
  /// When it came in, on the clock that all workers have.
  public let arrival: Instant

  /// Whether both are about one layer.
  func isAbout(_ other: PipedReport) -> Bool { track == other.track && place == other.place }
}
