// From an opened packet to a stored one: what it is, and what of it is new.
//
//   take ─▶ restore what stands in it of earlier ones ─▶ store ─▶ a delivery

import Basics
import Forwarding
import RTP

/// An opened packet of a known stream. Valid while its datagram is looked at.
struct Arrival {
  let view: PacketView
  let extensions: ParsedExtensions
  let bytes: UnsafeMutableBufferPointer<UInt8>
}

/// A packet that is new and whole, and not stored yet. Valid while its datagram is looked at.
struct TakenPacket {
  /// The packet, as it is to be delivered once it is stored.
  var delivery: Delivery
  let body: UnsafeBufferPointer<UInt8>
  /// How it is stored.
  let way: Way
  /// Its number as its publisher gave it.
  let number: Int64
  /// What it holds besides its own sound; empty where it is not redundant.
  let redundancy: UnsafeBufferPointer<UInt8>

  /// Numbers of packets that were put in before it, and are to be delivered first.
  var putIn = 0..<Int64(0)

  enum Way { case plain, described, h264 }
}

extension Tracks {
  /// What becomes of a packet that is looked at.
  enum Take {
    case new(TakenPacket)
    /// It is known, or of no use; why, where that is not counted yet.
    case dropped(DropReason?)
    /// Its line does not have its payload type.
    case unknownPayload
  }

  /// Looks at a packet that belongs to a known encoding, and counts it.
  @inline(__always)
  mutating func take(_ arrival: Arrival, _ route: IncomingRoute, _ turn: inout Turn) -> Take {
    let (encoding, producer, view) = (route.encoding, encodings[route.encoding].producer, arrival.view)
    let bytes = arrival.bytes
    guard let (codec, format) = producers[producer].payloads.codec(view.payloadType) else { return .unknownPayload }
    guard let (sequence, payload) = Self.inside(arrival, format, producers[producer].payloads, &turn) else {
      return .dropped(nil)
    }
    guard payload.count <= PacketCache.longestPayload else { return .dropped(.tooLarge) }
    let clockRate = encodings[encoding].encoding.clockRate
    // Of redundant sound no more than receivers are sent of it.
    encodings[encoding].encoding.rate.add(bytes.count - (view.payloadLength - payload.count), at: turn.now)
    let isRetransmission = format == .retransmission
    let acceptance = encodings[encoding].encoding.accept(
      sequence: sequence, isRetransmission: isRetransmission, at: turn.now)
    guard case .new(let unwrapped, let needsKeyframe) = acceptance else {
      refuse(acceptance, isRetransmission: isRetransmission, view, encoding: encoding, &turn)
      return .dropped(nil)
    }
    if !isRetransmission {
      encodings[encoding].encoding.statistics.received(
        unwrapped, timestamp: view.timestamp, clockRate: clockRate, at: turn.now)
    }
    if needsKeyframe && producers[producer].kind == .video && !producers[producer].isMuted {
      encodings[encoding].encoding.keyframes.request()
    }
    schedule(encoding: encoding, &turn)
    let body = UnsafeBufferPointer(rebasing: bytes[payload])
    // Padding alone is passed on as an empty packet: its number must not look like a loss to the receivers.
    let said = payload.isEmpty ? PayloadInfo() : PayloadInfo.parse(body.span, codec: codec, marker: view.marker)
    guard var info = said ?? DescribedPackets.unread(codec, arrival.extensions) else { return .dropped(.malformed) }
    // What stands beside the payload can be read where that is encrypted, and decides.
    let descriptor = codec == .av1 ? arrival.extensions.dependencyDescriptor : nil
    if let descriptor { info.startsKeyframe = DependencyDescriptor.beginsSequence(bytes.span, descriptor) }
    guard let number = encodings[encoding].encoding.kept(unwrapped) else { return .dropped(.tooLate) }
    var packet = StoredPacket(
      sequence: number, timestamp: view.timestamp, arrival: turn.now, length: UInt16(payload.count), codec: codec,
      marker: view.marker, info: info, audioLevel: arrival.extensions.audioLevel,
      orientation: arrival.extensions.videoOrientation)
    guard encodings[encoding].encoding.place(&packet) else {
      dropMisplaced(of: encoding, &turn)
      return .dropped(nil)
    }
    // Other codecs say as much in their payload as a descriptor, and number their pictures otherwise.
    let way: TakenPacket.Way =
      if descriptor != nil && !payload.isEmpty {
        .described
      } else if codec.isH264 && (!packet.info.units.isEmpty || packet.info.startsKeyframe) {
        .h264
      } else {
        .plain
      }
    return .new(
      TakenPacket(
        delivery: Delivery(packet: packet, size: bytes.count, encoding: encoding, producer: producer), body: body,
        way: way, number: unwrapped,
        redundancy: format == .redundant ? UnsafeBufferPointer(rebasing: bytes[view.payload]) : Self.nothing))
  }

  private static var nothing: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: nil, count: 0) }

  /// The number and the payload that a packet has as its publisher meant it: behind what marks it as repeated, or as redundant. Nil
  /// where it holds none.
  @inline(__always)
  private static func inside(
    _ arrival: Arrival, _ format: PayloadTable.Format, _ payloads: PayloadTable, _ turn: inout Turn
  ) -> (sequence: UInt16, payload: Range<Int>)? {
    let (view, payload) = (arrival.view, arrival.view.payload)
    switch format {
    case .plain: return (view.sequenceNumber, payload)
    case .retransmission:
      guard let original = Retransmission.originalSequenceNumber(arrival.bytes.span, view) else {
        turn.drop(.uselessRetransmission)
        return nil
      }
      return (original, (payload.lowerBound + Retransmission.overhead)..<payload.upperBound)
    case .redundant:
      guard let own = payloads.ownSound(payload, in: arrival.bytes.span) else {
        turn.drop(.malformed)
        return nil
      }
      return (view.sequenceNumber, own)
    }
  }

  /// Counts a packet that is known already. One that was restored before it came is no loss of its publisher's line.
  @inline(never)
  private mutating func refuse(
    _ acceptance: Encoding.Acceptance, isRetransmission: Bool, _ view: PacketView, encoding: EncodingID,
    _ turn: inout Turn
  ) {
    guard case .restored(let number) = acceptance else {
      return turn.drop(isRetransmission ? .uselessRetransmission : .duplicate)
    }
    turn.drop(.restoredBefore)
    let clockRate = encodings[encoding].encoding.clockRate
    encodings[encoding].encoding.statistics.received(
      number, timestamp: view.timestamp, clockRate: clockRate, at: turn.now)
  }

  /// Drops a packet whose number or time fits to no other's. They may begin anew at a keyframe.
  @inline(never)
  private mutating func dropMisplaced(of encoding: EncodingID, _ turn: inout Turn) {
    turn.drop(.malformed)
    let producer = encodings[encoding].producer
    guard producers[producer].kind == .video && !producers[producer].isMuted else { return }
    wantKeyframe(encoding, &turn)
  }

  // MARK: storing

  /// Stores a packet that was taken; false where it is of no use after all.
  @inline(__always)
  mutating func store(_ taken: inout TakenPacket, _ arrival: Arrival, _ turn: inout Turn) -> Bool {
    switch taken.way {
    case .plain:
      encodings[taken.delivery.encoding].encoding.cache.insert(
        taken.delivery.packet, payload: UnsafeRawBufferPointer(taken.body))
      return true
    case .described: return storeDescribed(&taken, arrival, &turn)
    case .h264:
      encodings[taken.delivery.encoding].storeBeginning(&taken)
      return true
    }
  }

  /// With its dependency descriptor. One whose frame number fits to nothing is dropped.
  @inline(never)
  private mutating func storeDescribed(_ taken: inout TakenPacket, _ arrival: Arrival, _ turn: inout Turn) -> Bool {
    guard let range = arrival.extensions.dependencyDescriptor else { return false }
    let encoding = taken.delivery.encoding
    let isStored = encodings[encoding].storeDescribed(&taken, UnsafeBufferPointer(rebasing: arrival.bytes[range]))
    if !isStored { dropMisplaced(of: encoding, &turn) }
    return isStored
  }

  /// A packet that was put in before another one, to be delivered first.
  func putIn(_ number: Int64, before delivery: Delivery) -> Delivery? {
    guard let set = encodings[delivery.encoding].encoding.cache.find(number) else { return nil }
    return Delivery(packet: set, size: 0, encoding: delivery.encoding, producer: delivery.producer, isPutIn: true)
  }

  // MARK: hearing

  /// Notes what a stored packet brings. False where it goes no further: what a muted track sends stops here, and what it says of its
  /// loudness too.
  @inline(__always)
  mutating func hear(_ delivery: Delivery, _ turn: inout Turn) -> Bool {
    let (encoding, producer) = (delivery.encoding, delivery.producer)
    if producers[producer].kind == .video {
      encodings[encoding].encoding.layerRates.add(delivery.size, delivery.packet, at: turn.now)
      if delivery.packet.info.startsKeyframe {
        encodings[encoding].encoding.keyframeArrived(delivery.packet)
        if producers[producer].encodings.count > 1 { encodings[encoding].encoding.learnSize(from: delivery.packet) }
      }
    }
    if producers[producer].isMuted || delivery.packet.sequence <= encodings[encoding].mutedUntil {
      turn.drop(.muted)
      return false
    }
    if let level = delivery.packet.audioLevel { heard(level.level, of: producer, &turn) }
    return true
  }
}

/// Packets of AV1 with a dependency descriptor.
enum DescribedPackets {
  /// What is known of a payload that cannot be read, as one that is encrypted from end to end: that its descriptor will say it. Nil where
  /// there is none.
  @inline(never)
  static func unread(_ codec: CodecProfile, _ extensions: ParsedExtensions) -> PayloadInfo? {
    codec == .av1 && extensions.dependencyDescriptor != nil ? PayloadInfo() : nil
  }
}
