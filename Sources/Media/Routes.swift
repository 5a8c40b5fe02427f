// Which stream of a transport belongs to whom: by SSRC once known, before that by RID or MID (RFC 8843 §9.2).

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

  mutating func findIncoming(_ ssrc: UInt32) -> IncomingRoute? {
    if lastHit < incoming.count, incoming[lastHit].ssrc == ssrc { return incoming[lastHit] }
    for index in incoming.indices where incoming[index].ssrc == ssrc {
      lastHit = index
      return incoming[index]
    }
    return nil
  }

  /// Adds an SSRC; false when the table is full or the SSRC is taken by another stream.
  mutating func addIncoming(_ route: IncomingRoute) -> Bool {
    if let existing = incoming.first(where: { $0.ssrc == route.ssrc }) { return existing.encoding == route.encoding }
    guard incoming.count < Self.maximumIncoming else { return false }
    // A stream that changes its SSRC (a browser that restarts its sender) replaces its old one.
    incoming.removeAll { $0.encoding == route.encoding && $0.isRetransmission == route.isRetransmission }
    incoming.append(route)
    return true
  }

  mutating func addLine(_ line: LineRoute) { lines.append(line) }

  mutating func removeProducer(_ producer: SlotMap<ProducerSlot>.ID) {
    guard let index = lines.firstIndex(where: { $0.producer == producer }) else { return }
    let encodings = lines[index].encodings.map(\.encoding)
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
