// Which stream of a transport belongs to whom, as far as that is known. How it comes to be known: Forwarder+Route.swift.

import Basics
import Forwarding
import RTP

/// An SSRC's place among a publisher's encodings.
struct IncomingRoute: Sendable {
  var ssrc: UInt32
  var encoding: SlotMap<EncodingSlot>.ID
  var isRetransmission: Bool
  /// What its packets count as.
  var counts: IntakeClass
  /// The MID of its line, packed, once packets have borne it; 0 before.
  var tag: UInt64 = 0

  /// A MID with its length in one number, so that each packet's is soon compared; 0 for one of eight bytes or more.
  @inline(__always)
  static func pack(_ bytes: Span<UInt8>, _ mid: Range<Int>) -> UInt64 {
    guard mid.count < 8 else { return 0 }
    var tag = UInt64(mid.count)
    for place in mid { tag = tag << 8 | UInt64(bytes[place]) }
    return tag
  }
}

/// A media line whose streams may still have to be found by their header extensions.
struct LineRoute: Sendable {
  var mid: [UInt8]
  var producer: SlotMap<ProducerSlot>.ID
  var kind: MediaKind
  /// (rid, encoding); the rid is empty for an ordinary track.
  var encodings: [(rid: [UInt8], encoding: SlotMap<EncodingSlot>.ID)]
}

/// An SSRC that the server sends, for RTCP that comes back about it.
struct OutgoingRoute: Sendable {
  var ssrc: UInt32
  var consumer: SlotMap<ConsumerSlot>.ID
}

/// The tables of one transport. They hold a handful of rows, so they are arrays that are searched from the start;
/// on the packet path the last hit is tried first.
struct Routes: Sendable {
  /// SSRCs learnt from the wire beyond those in SDP are refused above this many.
  static let maximumIncoming = 64

  private(set) var incoming: [IncomingRoute] = []
  private(set) var lines: [LineRoute] = []
  private(set) var outgoing: [OutgoingRoute] = []
  private var lastHit = 0
  /// SSRCs of tracks that have ended, with the MID of their line. Their publisher may go on sending; without a MID they are nobody
  /// else's, until a track begins on that line.
  private var retired: [(ssrc: UInt32, mid: [UInt8])] = []
  /// Packets that find no track.
  var stray = StrayStream()

  mutating func findIncoming(_ ssrc: UInt32) -> IncomingRoute? {
    if lastHit < incoming.count, incoming[lastHit].ssrc == ssrc { return incoming[lastHit] }
    for index in incoming.indices where incoming[index].ssrc == ssrc {
      lastHit = index
      return incoming[index]
    }
    return nil
  }

  /// The encoding whose media an SSRC bears; nil for repeats, and for what belongs to no track that is there.
  mutating func findMedia(_ ssrc: UInt32, _ tracks: borrowing Tracks) -> EncodingID? {
    guard let route = findIncoming(ssrc), !route.isRetransmission, tracks.encodings.contains(route.encoding) else {
      return nil
    }
    return route.encoding
  }

  /// Adds an SSRC; false when the table is full or the SSRC is taken by another stream.
  mutating func addIncoming(_ route: IncomingRoute) -> Bool {
    if let existing = incoming.first(where: { $0.ssrc == route.ssrc }) { return existing.encoding == route.encoding }
    guard incoming.count < Self.maximumIncoming else { return false }
    // A stream that changes its SSRC (a browser that restarts its sender) replaces its old one.
    incoming.removeAll { $0.encoding == route.encoding && $0.isRetransmission == route.isRetransmission }
    incoming.append(route)
    stray.found(route.ssrc)
    return true
  }

  /// Packets of an SSRC bear the MID of its line.
  mutating func note(_ tag: UInt64, of ssrc: UInt32) {
    if let index = incoming.firstIndex(where: { $0.ssrc == ssrc }) { incoming[index].tag = tag }
  }

  /// An SSRC is of another line from now on.
  mutating func forget(_ ssrc: UInt32) {
    incoming.removeAll { $0.ssrc == ssrc }
    lastHit = 0
  }

  /// What repeats a stream that is gone repeats no other.
  mutating func dropRepairs(of encoding: SlotMap<EncodingSlot>.ID, except ssrc: UInt32?) {
    incoming.removeAll { $0.encoding == encoding && $0.isRetransmission && $0.ssrc != ssrc }
    lastHit = 0
  }

  /// Whether tags of a packet name the line and the layer of an encoding, or none that is known. Packets with a tag of nobody's go by
  /// their SSRC.
  func agrees(_ encoding: SlotMap<EncodingSlot>.ID, mid: Range<Int>?, rid: Range<Int>?, _ bytes: Span<UInt8>) -> Bool {
    for line in lines {
      for row in line.encodings where row.encoding == encoding {
        return mid.map { line.mid.equals(bytes, $0) } ?? true && rid.map { row.rid.equals(bytes, $0) } ?? true
      }
    }
    return true
  }

  /// Whether an SSRC was that of a track that has ended.
  func isRetired(_ ssrc: UInt32) -> Bool { retired.contains { $0.ssrc == ssrc } }

  mutating func addLine(_ line: LineRoute) {
    retired.removeAll { $0.mid == line.mid }
    lines.append(line)
  }

  mutating func removeProducer(_ producer: SlotMap<ProducerSlot>.ID) {
    guard let index = lines.firstIndex(where: { $0.producer == producer }) else { return }
    let (encodings, mid) = (lines[index].encodings.map(\.encoding), lines[index].mid)
    retired += incoming.filter { encodings.contains($0.encoding) }.map { ($0.ssrc, mid) }
    retired.removeFirst(max(retired.count - Self.maximumIncoming, 0))
    incoming.removeAll { encodings.contains($0.encoding) }
    lines.remove(at: index)
    lastHit = 0
  }

  mutating func addConsumer(_ consumer: SlotMap<ConsumerSlot>.ID, _ parameters: SendParameters) {
    for ssrc in [parameters.ssrc, parameters.rtxSSRC] {
      if let ssrc { outgoing.append(OutgoingRoute(ssrc: ssrc, consumer: consumer)) }
    }
  }

  mutating func removeConsumer(_ consumer: SlotMap<ConsumerSlot>.ID) {
    outgoing.removeAll { $0.consumer == consumer }
  }

  func findOutgoing(_ ssrc: UInt32) -> SlotMap<ConsumerSlot>.ID? {
    for route in outgoing where route.ssrc == ssrc { return route.consumer }
    return nil
  }
}
