// Probes of lines: what media leaves of them is filled with repeats of packets that were sent lately, on the RTX stream (RFC 4588).

import Basics
import Congestion
import Forwarding
import RTP
import SRTP

extension Egress {
  /// As long as padding may be; its last byte tells the length.
  private static let padding = [UInt8](repeating: 0, count: 254) + [255]
  /// Packets of padding to one transport in one flush at most: more would be a burst, and no probe wants as many.
  private static let mostPadding = 32
  /// How soon a transport that is probed is looked at again.
  private static let probeInterval = TimeDelta.milliseconds(1)

  /// Notes that a transport's line is to be probed.
  mutating func probe(_ id: TransportID, at now: Instant) {
    nextProbe = min(nextProbe, now)
    if !probing.contains(id) { probing.append(id) }
  }

  /// Sends what the probes under way want now.
  mutating func flushPadding<Sink: DatagramSink & ~Copyable>(
    _ tracks: inout Tracks, _ forwarder: inout Forwarder, _ ends: inout Ends, into sink: inout Sink
  ) {
    var kept = 0
    nextProbe = .distantFuture
    for index in probing.indices {
      guard let transport = ends.transports.pointer(to: probing[index]), let path = transport.pointee.path else {
        continue
      }
      let departure = Departure(
        transport: transport, path: path, sendTime: AbsoluteSendTime.value(at: turned), budget: .unlimited)
      if transport.pointee.nextPadding(at: turned) != nil { pad(departure, &tracks, &forwarder, into: &sink) }
      segments.finish(sink: &sink, report: &counters.report)
      guard let next = transport.pointee.nextPadding(at: turned) else { continue }
      nextProbe = min(nextProbe, max(next, turned + Self.probeInterval))
      probing[kept] = probing[index]
      kept += 1
    }
    probing.removeLast(probing.count - kept)
  }

  private mutating func pad<Sink: DatagramSink & ~Copyable>(
    _ departure: Departure, _ tracks: inout Tracks, _ forwarder: inout Forwarder, into sink: inout Sink
  ) {
    // Media that waits fills the probe, and what has not left yet must not come as a repeat first.
    guard departure.transport.pointee.chain.video.first < 0 else { return }
    for count in 0..<Self.mostPadding {
      guard departure.transport.pointee.padding(at: turned) > 0,
        let length = padOnce(count, departure, &tracks, &forwarder)
      else { return }
      counters.padding &+= UInt64(length)
      segments.append(length, to: departure.path, sink: &sink, report: &counters.report)
    }
  }

  /// Seals one packet of padding: a repeat where something was sent lately, else nothing but padding.
  private mutating func padOnce(
    _ count: Int, _ departure: Departure, _ tracks: inout Tracks, _ forwarder: inout Forwarder
  ) -> Int? {
    let streams = departure.transport.pointee.routes.outgoing
    if let entry = forwarder.repeatForPadding(streams, count, tracks) {
      return seal(
        entry, Cut(kind: .padding, longest: 0), departure, &tracks.encodings, &forwarder.consumers)
    }
    for stream in streams {
      guard let slot = forwarder.consumers.pointer(to: stream.consumer),
        let next = slot.pointee.consumer.nextPadding()
      else { continue }
      let fields = HeaderTemplate.Fields(
        marker: false, payloadType: next.payloadType, sequenceNumber: next.sequence, timestamp: next.timestamp,
        ssrc: next.ssrc, absSendTime: departure.sendTime,
        transportSequence: departure.transport.pointee.line.newestNumber &+ 1, audioLevel: nil, videoOrientation: nil)
      return sealPadding(fields, slot.pointee.consumer.header, departure)
    }
    return nil
  }

  private mutating func sealPadding(
    _ fields: HeaderTemplate.Fields, _ template: HeaderTemplate, _ departure: Departure
  ) -> Int? {
    let free = segments.free
    var out = free.mutableSpan
    guard let header = template.write(fields, into: &out) else { return nil }
    // The flag of padding (RFC 3550 §5.1).
    out[0] |= 0x20
    do throws(SRTPError) {
      guard
        let sealed = try departure.transport.pointee.security.protectRTP(
          &out, header: header, payload: Self.padding.span, ssrc: fields.ssrc, sequence: fields.sequenceNumber)
      else { return nil }
      departure.transport.pointee.noteSent(sealed, .padding, isNumbered: template.hasTransportSequence, at: turned)
      return sealed
    } catch {
      counters.drops.count(DropReason(sealing: error))
      return nil
    }
  }
}
