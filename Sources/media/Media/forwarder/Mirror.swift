// A mirror: a track that comes over a pipe. Its encodings are those of any track, so they have a cache, a throttle for keyframes and a
// list of what is missing; the other worker is asked instead of a publisher (Ends+Pipes).

import Basics
import Forwarding
import RTP

extension ProducerSlot {
  /// Whether it comes over a pipe.
  var isMirror: Bool { if case .pipe = source { true } else { false } }

  /// Takes in which layers of a mirror arrive at its source.
  mutating func take(_ facts: PipedArrivals) {
    for (layer, encoding) in encodings.enumerated() {
      let place = declaredPlace(of: encoding)
      guard facts.rates.indices.contains(place) else { continue }
      asked?.take(layer, arrives: facts.arriving & 1 << UInt8(place) != 0, rate: facts.rates[place])
    }
  }
}

extension EncodingSlot {
  /// What crosses has another number from now on. True where something had come before: then it begins anew.
  mutating func begin(_ stream: UInt32) -> Bool {
    // A keyframe is asked for by its layer, whatever the stream: what was asked for is on its way.
    let asked = encoding.keyframes
    defer { encoding.keyframes = asked }
    guard encoding.follow(ssrc: stream) else { return false }
    mutedUntil = .min
    return true
  }

  /// Takes in what the publisher says of its clock.
  mutating func take(_ report: PipedReport) {
    encoding.handle(senderReport: report.ntp, rtp: report.rtp, at: report.arrival)
  }

  /// Looks at a packet that has crossed a pipe, and stores it; nil where it is known or of no use, which is counted. `bytes` are its
  /// descriptor and its payload.
  mutating func store(
    _ piped: PipedPacket, _ bytes: UnsafeBufferPointer<UInt8>, as id: EncodingID, kind: MediaKind, _ turn: inout Turn
  ) -> TakenPacket? {
    let size = bytes.count + PacketView.fixedHeaderLength
    encoding.rate.add(size, at: turn.now)
    let acceptance = encoding.accept(
      sequence: UInt16(truncatingIfNeeded: piped.packet.sequence), isRetransmission: piped.isRepeat, at: turn.now)
    guard case .new(let number, let needsKeyframe) = acceptance else {
      turn.drop(piped.isRepeat ? .uselessRetransmission : .duplicate)
      return nil
    }
    if needsKeyframe && kind == .video { turn.want(keyframeOf: id) }
    if !piped.isRepeat {
      encoding.statistics.received(
        number, timestamp: piped.packet.timestamp, clockRate: encoding.clockRate, at: turn.now)
    }
    guard let kept = encoding.kept(number) else {
      turn.drop(.tooLate)
      return nil
    }
    var packet = piped.packet
    (packet.sequence, packet.arrival) = (kept, turn.now)
    let descriptor = UnsafeBufferPointer(rebasing: bytes[..<piped.descriptorLength])
    let codec = packet.codec
    var taken = TakenPacket(
      delivery: Delivery(packet: packet, size: size, encoding: id, producer: producer),
      body: UnsafeBufferPointer(rebasing: bytes[piped.descriptorLength...]),
      way: codec.isH264 && (!packet.info.units.isEmpty || packet.info.startsKeyframe) ? .h264 : .plain,
      number: number, redundancy: UnsafeBufferPointer(start: nil, count: 0))
    var isPlaced = encoding.place(&taken.delivery.packet)
    if isPlaced {
      if !descriptor.isEmpty {
        isPlaced = storeDescribed(&taken, descriptor)
      } else if taken.way == .h264 {
        storeBeginning(&taken)
      } else {
        encoding.cache.insert(taken.delivery.packet, payload: UnsafeRawBufferPointer(taken.body))
      }
    }
    guard isPlaced else {
      turn.drop(.malformed)
      if kind == .video { turn.want(keyframeOf: id) }
      return nil
    }
    return taken
  }

  /// Stores a packet with its dependency descriptor; false where its frame number fits to nothing.
  mutating func storeDescribed(_ taken: inout TakenPacket, _ descriptor: UnsafeBufferPointer<UInt8>) -> Bool {
    guard encoding.describe(&taken.delivery.packet, descriptor.span) else { return false }
    encoding.cache.insert(
      taken.delivery.packet, payload: UnsafeRawBufferPointer(taken.body), descriptor: UnsafeRawBufferPointer(descriptor)
    )
    return true
  }

  /// Of H264, where something begins: what a stream can begin with is known only when the picture is here, and parameter sets may have to
  /// go before it, where they are wanted.
  @inline(never)
  mutating func storeBeginning(_ taken: inout TakenPacket) {
    switch encoding.beginning(&taken.delivery.packet, taken.body.span) {
    case .none: break
    case .at(let first):
      taken.delivery.beginning = first
      encoding.begin(at: first)
    case .sets(let count):
      let sets = encoding.putSets(before: &taken.delivery.packet, count: count)
      taken.putIn = sets.lowerBound..<sets.upperBound + 1
    }
    encoding.cache.insert(taken.delivery.packet, payload: UnsafeRawBufferPointer(taken.body))
  }
}
