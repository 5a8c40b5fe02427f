// Where a stream of H264 can begin: at a picture that needs no other, with the parameter sets before it.
//
//   SPS PPS │ IDR …      the sets came with it          ─▶ the stream begins with them
//           │ IDR …      they came before, or by SDP    ─▶ they are put before it, under numbers of their own
//           │ IDR …      nobody knows them              ─▶ no beginning
//   SPS PPS │ P …        it refers to others            ─▶ no beginning

import Basics
import RTP

extension Encoding {
  /// What has to be done with a packet of H264 before it is stored.
  public enum Beginning: Sendable, Equatable {
    /// Nothing: where it is a beginning, it is so by itself.
    case none
    /// The stream can begin with the packet of this number, which is stored already.
    case at(Int64)
    /// So many packets of parameter sets come before it.
    case sets(Int)
  }

  /// Pictures before which sets are put are so far apart at least: a publisher of many small ones would have more sent than it sends.
  /// Lower it and that is more; raise it and more pictures are no beginnings.
  static let insertionInterval = TimeDelta.milliseconds(100)

  /// The sets that a session description has brought. Those of the stream go before, also where a later description says the same again.
  public mutating func know(_ units: [[UInt8]]) {
    for unit in units where describedSets.take(unit: unit.span) { parameterSets.take(unit: unit.span) }
  }

  /// Keeps the parameter sets of a packet, and decides whether the stream can begin with it: its `startsKeyframe` says so afterwards.
  @inline(never)
  public mutating func beginning(_ packet: inout StoredPacket, _ payload: Span<UInt8>) -> Beginning {
    var units = packet.info.units
    if units.contains(.laterIDR), opensPicture(packet) { units.insert(.idr) }
    packet.info.startsKeyframe = false
    if units.isEmpty { return .none }
    if picture?.timestamp != packet.timestamp {
      // What comes late of a picture before is no beginning any more.
      guard !units.isDisjoint(with: H264Units.sets.union([.idr, .recovery])) else { return .none }
      if let picture, Int32(bitPattern: packet.timestamp &- picture.timestamp) < 0, packet.sequence < newest {
        return .none
      }
      picture = SetPicture(timestamp: packet.timestamp, first: .max)
    }
    guard var current = picture else { return .none }
    defer { picture = current }
    if !units.isDisjoint(with: [.sequenceSet, .pictureSet, .recovery]) {
      parameterSets.take(payload: payload)
      current.sets.formUnion(units.intersection([.sequenceSet, .pictureSet, .recovery]))
      if !units.isDisjoint(with: .sets) { current.first = min(current.first, packet.sequence) }
    }
    // An intra picture that is no IDR may be referred across; with sets before it, encoders mean it as a place to begin.
    let isWhole = current.sets.isSuperset(of: .sets)
    if units.contains(.idr) || isWhole && units.contains(.intra)
      || isWhole && current.sets.contains(.recovery) && units.contains(.inter)
    {
      current.hasKey = true
    }
    guard current.hasKey, !current.isDone else { return .none }
    if isWhole {
      current.isDone = true
      packet.info.startsKeyframe = current.first == packet.sequence
      return packet.info.startsKeyframe ? .none : .at(current.first)
    }
    guard units.contains(.idr), parameterSets.isComplete, packet.sequence == newest,
      packet.arrival - lastInsertion >= Self.insertionInterval
    else { return .none }
    current.isDone = true
    lastInsertion = packet.arrival
    return .sets(parameterSets.packets(aggregated: packet.codec.aggregates))
  }

  /// Whether nothing of its picture was sent before it but units that go before slices. What a slice says of itself may be encrypted.
  private func opensPicture(_ packet: StoredPacket) -> Bool {
    guard let place = cache.place(of: packet.sequence - 1) else { return false }
    let before = cache[place]
    if before.timestamp != packet.timestamp { return true }
    return before.info.startsFrame && before.info.units.isDisjoint(with: .slices)
  }

  /// Puts the parameter sets before `packet`, which gets another number. Each of them is stored; the stream can begin with the first.
  /// Returns their numbers.
  public mutating func putSets(before packet: inout StoredPacket, count: Int) -> ClosedRange<Int64> {
    let first = packet.sequence
    let aggregated = packet.codec.aggregates
    for index in 0..<count {
      let payload = parameterSets.payload(index, aggregated: aggregated)
      var info = PayloadInfo()
      (info.startsFrame, info.startsKeyframe, info.units) = (true, index == 0, .sets)
      let stored = StoredPacket(
        sequence: first + Int64(index), timestamp: packet.timestamp, arrival: packet.arrival,
        length: UInt16(payload.count), codec: packet.codec, marker: false, info: info, audioLevel: nil,
        orientation: packet.orientation)
      // It is copied before it is gone.
      unsafe payload.withUnsafeBytes { unsafe cache.insert(stored, payload: $0) }
    }
    inserted.insert(count, before: packet.sequence - inserted.count)
    packet.sequence += Int64(count)
    return first...(packet.sequence - 1)
  }

  /// The stream can begin with a packet that is stored already: nobody waits for a keyframe any more. It says how large pictures are.
  public mutating func begin(at sequence: Int64) {
    guard let packet = cache.markBeginning(sequence) else { return }
    keyframeArrived(packet)
    learnSize(from: packet)
  }
}
