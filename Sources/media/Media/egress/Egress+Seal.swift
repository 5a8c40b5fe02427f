// One packet for one receiver: its header is written, its payload sealed behind it.
//
//   entry ─▶ consumer, encoding, place in the cache ─▶ header ─▶ dependency descriptor? ─▶ padding? redundant sound? ─▶ SRTP

import Basics
import Congestion
import Forwarding
import RTP
import SRTP

extension Egress {
  /// Writes and seals one packet behind those already in the segment buffer; nil when it is dropped.
  @inline(__always)
  mutating func seal(
    _ entry: SendEntry, _ cut: Cut, _ departure: Departure, _ encodings: inout Encodings,
    _ consumers: inout Consumers
  ) -> Int? {
    let transport = departure.transport
    guard let consumer = consumers.pointer(to: entry.consumer),
      let encoding = encodings.pointer(to: entry.encoding),
      let place = encoding.pointee.encoding.cache.place(of: entry.sequence)
    else {
      counters.drops.count(.notInCache)
      return nil
    }
    if entry.next >= 0 { prefetchStreams(behind: entry, transport, &consumers) }
    let sources = Sources(consumer: consumer, encoding: encoding, place: place)
    if encoding.pointee.encoding.cache[place].hasDescriptor {
      return sealDescribed(entry, cut, departure, sources)
    }
    return seal(entry, cut, departure, sources, isDescribed: false)
  }

  /// Where one packet is taken from.
  private struct Sources {
    let consumer: UnsafeMutablePointer<ConsumerSlot>
    let encoding: UnsafeMutablePointer<EncodingSlot>
    /// In the encoding's cache.
    let place: Int
  }

  /// A packet with a dependency descriptor. All others take the way that does not know of any.
  @inline(never)
  private mutating func sealDescribed(
    _ entry: SendEntry, _ cut: Cut, _ departure: Departure, _ sources: Sources
  ) -> Int? {
    seal(entry, cut, departure, sources, isDescribed: true)
  }

  @inline(__always)
  private mutating func seal(
    _ entry: SendEntry, _ cut: Cut, _ departure: Departure, _ sources: Sources, isDescribed: Bool
  ) -> Int? {
    let (transport, consumer) = (departure.transport, sources.consumer)
    let (encoding, place) = (sources.encoding, sources.place)
    let free = segments.free
    var out = free.mutableSpan
    let fields = fields(
      entry, encoding.pointee.encoding.cache[place], consumer.pointee.consumer,
      number: transport.pointee.line.newestNumber &+ 1, departure.sendTime)
    let original = entry.retransmission == nil ? nil : entry.rewrite.sequence
    guard var header = consumer.pointee.consumer.header.write(fields, into: &out) else {
      counters.drops.count(.tooLarge)
      return nil
    }
    if isDescribed { header = Self.describe(entry, sources, header: header, in: free) }
    guard header + Int(entry.length) <= SegmentBuffer.longestPacket else {
      counters.drops.count(.tooLarge)
      return nil
    }
    let overhead = transport.pointee.security.rtpOverhead
    let padding = padding(header + Int(entry.length), of: entry, overhead: overhead, longest: cut.longest)
    // The flag that says so (RFC 3550 §5.1).
    if padding > 0 { out[0] |= 0x20 }
    let earlier = entry.rewrite.changes.earlierPackets
    let body =
      earlier == 0
      ? encoding.pointee.encoding.cache.body(
        at: place, rewrite: entry.rewrite, originalSequence: original, padding: padding)
      : redundantBody(
        of: encoding.pointee.encoding.cache, at: place, count: earlier, consumer.pointee.consumer, padding: padding)
    do throws(SRTPError) {
      let sealed = try transport.pointee.security.protectRTP(
        &out, header: header, payload: body.bindMemory(to: UInt8.self).span, ssrc: fields.ssrc,
        sequence: fields.sequenceNumber)
      guard let sealed else {
        counters.drops.count(.transportDown)
        return nil
      }
      if original == nil { counters.forwarded &+= 1 } else { counters.retransmitted &+= 1 }
      transport.pointee.noteSent(
        sealed, original == nil || cut.kind == .padding ? cut.kind : .retransmission,
        isNumbered: consumer.pointee.consumer.header.hasTransportSequence, at: turned)
      return sealed
    } catch {
      counters.drops.count(DropReason(sealing: error))
      return nil
    }
  }

  /// Adds a packet's dependency descriptor to its header of `header` bytes, where that was agreed on and the packet is of a frame that
  /// is sent; returns how long the header is then.
  private static func describe(
    _ entry: SendEntry, _ sources: Sources, header: Int, in free: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    guard !entry.rewrite.changes.contains(.emptiesPayload), sources.consumer.pointee.consumer.sendsDescriptors,
      let number = sources.encoding.pointee.encoding.cache[sources.place].frameNumber
    else { return header }
    var out = free.mutableSpan
    let described = sources.consumer.pointee.consumer.header.describe(
      sources.encoding.pointee.encoding.cache.descriptor(at: sources.place),
      frameNumber: number &+ entry.rewrite.pictureIDDelta, header: header, of: &out)
    return described ?? header
  }

  /// A packet of sound with earlier ones.
  @inline(never)
  private mutating func redundantBody(
    of cache: borrowing PacketCache, at place: Int, count: Int, _ consumer: borrowing Consumer, padding: Int
  ) -> UnsafeRawBufferPointer {
    counters.redundant &+= UInt64(count)
    return redundancy.body(
      of: cache, at: place, count: count, payloadType: consumer.payloadType(of: .opus), padding: padding)
  }

  /// What this packet's header says to its receiver; `number` is the next of its transport.
  @inline(__always)
  private func fields(
    _ entry: SendEntry, _ packet: borrowing StoredPacket, _ consumer: borrowing Consumer, number: UInt16,
    _ sendTime: UInt32
  ) -> HeaderTemplate.Fields {
    var fields = HeaderTemplate.Fields(
      marker: packet.marker || entry.rewrite.changes.contains(.setsMarker), payloadType: entry.rewrite.payloadType,
      sequenceNumber: entry.rewrite.sequence,
      timestamp: entry.rewrite.timestamp, ssrc: consumer.ssrc, absSendTime: sendTime,
      transportSequence: number,
      audioLevel: packet.audioLevel, videoOrientation: packet.orientation)
    if let retransmission = entry.retransmission {
      fields.ssrc = retransmission.ssrc
      fields.payloadType = retransmission.payloadType
      fields.sequenceNumber = retransmission.sequence
    }
    return fields
  }

  /// Bytes by which a packet of `written` bytes should be longer, so that those behind it can be segments of the same size;
  /// `overhead` is what sealing adds.
  private func padding(_ written: Int, of entry: SendEntry, overhead: Int, longest: Int) -> Int {
    // Padding would stand where a payload that is left out is kept.
    guard longest > 0, !entry.rewrite.changes.contains(.emptiesPayload) else { return 0 }
    let open = segments.segment - overhead
    // Where a run is open, this packet joins it or, much shorter, ends it.
    let target = written <= open ? open : written - Int(entry.length) + longest
    let padding = target - written
    return (0...SegmentBuffer.mostPadding).contains(padding) && target <= SegmentBuffer.longestPacket ? padding : 0
  }
}
