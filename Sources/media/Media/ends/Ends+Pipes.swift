// What crosses pipes: copies of what is stored, and what mirrors ask for. As a tap, a pipe is no destination of a subscription: what
// crosses it is neither rewritten nor sealed, and the row of an encoding says which pipes want it.

import Basics
import Forwarding
import RTP

extension Ends {
  // MARK: at the source

  /// Copies a packet that was stored, and what was put in before it.
  @inline(never)
  mutating func copy(_ taken: TakenPacket, _ table: inout Encodings, _ turn: inout Turn) {
    let encoding = taken.delivery.encoding
    if table[encoding].pipes.isEmpty { return }
    for number in taken.putIn { copy(number, of: encoding, &table, &turn) }
    copy(taken.delivery.packet.sequence, of: encoding, &table, &turn)
  }

  /// Copies a stored packet to the pipes that want its layer, or to one of them as a repeat.
  mutating func copy(
    _ number: Int64, of id: EncodingID, repeatFor asking: PipeID? = nil, _ table: inout Encodings, _ turn: inout Turn
  ) {
    guard let place = table[id].encoding.cache.place(of: number) else { return turn.drop(.notInCache) }
    let (ssrc, mutedUntil) = (table[id].encoding.ssrc, table[id].mutedUntil)
    // What came while the track was muted is stored, and is nobody's.
    if asking != nil, number <= mutedUntil { return turn.drop(.muted) }
    for index in table[id].pipes.indices {
      let pipe = table[id].pipes[index].pipe
      guard asking ?? pipe == pipe, pipes.contains(pipe) else { continue }
      let isNew = table[id].pipes[index].needsStream(for: number, of: ssrc, mutedUntil: mutedUntil)
      if asking != nil, isNew || !table[id].pipes[index].mayMiss(number) {
        // It was asked for before the stream that crosses now.
        turn.drop(.notInCache)
        continue
      }
      if isNew {
        table[id].pipes[index].begin(pipes[pipe].makeStream(), of: ssrc)
        sayReport(of: table[id].encoding.senderReport, table[id].pipes[index])
      }
      let descriptor = table[id].encoding.cache.descriptor(at: place)
      let packet = PipedPacket(
        table[id].pipes[index], isRepeat: asking != nil, packet: table[id].encoding.cache[place],
        descriptorLength: descriptor.count)
      let payload = table[id].encoding.cache.payload(at: place)
      if pipes[pipe].keep(packet, descriptor, payload) {
        table[id].pipes[index].note(number)
        turn.notePiped()
      } else {
        turn.drop(.backlogFull)
      }
    }
  }

  /// Says what a publisher has reported to the pipes that want a layer.
  mutating func copyReport(of id: EncodingID, _ table: borrowing Encodings) {
    let ssrc = table[id].encoding.ssrc
    // Of another SSRC it is not about what crosses. It is said when that does.
    for layer in table[id].pipes where layer.ssrc == ssrc { sayReport(of: table[id].encoding.senderReport, layer) }
  }

  /// Says what is known of the clock of a layer, where something is.
  private mutating func sayReport(of report: Encoding.SenderReport?, _ layer: PipedLayer) {
    guard let report, pipes.contains(layer.pipe) else { return }
    pipes[layer.pipe].say(
      .report(
        PipedReport(
          track: layer.track, place: layer.place, stream: layer.stream, ntp: report.ntp, rtp: report.rtp,
          arrival: report.arrival)))
  }

  /// From now on these layers of a track cross a pipe, by the bits of their places in SDP, and no others.
  mutating func pipe(
    _ wanted: UInt8, of track: ProducerKey, _ declared: [EncodingID], to pipe: PipeID, _ table: inout Encodings
  ) {
    for (place, id) in declared.prefix(UInt8.bitWidth).enumerated() {
      let crosses = table[id].pipes.contains { $0.pipe == pipe }
      if wanted & 1 << UInt8(place) == 0 {
        table[id].pipes.removeAll { $0.pipe == pipe }
      } else if !crosses {
        let layer = PipedLayer(
          pipe: pipe, track: track, place: place, stream: pipes[pipe].makeStream(), ssrc: table[id].encoding.ssrc)
        table[id].pipes.append(layer)
        sayReport(of: table[id].encoding.senderReport, layer)
      }
    }
  }

  /// Which layers of a track are needed, or arrive, has changed: the other end of each pipe that the track crosses is told.
  mutating func sayLayers(of id: ProducerID, _ tracks: borrowing Tracks, at now: Instant) {
    guard pipes.count > 0, tracks.producers.contains(id) else { return }
    if tracks.producers[id].isMirror { return askLayers(of: id, tracks) }
    guard let facts = PipedArrivals(of: id, tracks, at: now) else { return }
    for encoding in tracks.producers[id].encodings {
      for layer in tracks.encodings[encoding].pipes where pipes.contains(layer.pipe) { pipes[layer.pipe].tell(facts) }
    }
  }

  // MARK: at the mirror

  /// Asks the other worker for what is missing of an encoding, and for a keyframe where one is wanted. Returns how many of each.
  mutating func ask(
    for encoding: inout Encoding, of layer: (track: ProducerKey, place: Int), through pipe: PipeID, at now: Instant
  ) -> (keyframes: UInt64, packets: UInt64) {
    guard pipes.contains(pipe) else { return (0, 0) }
    let wantsKeyframe = encoding.keyframes.poll(at: now)
    if wantsKeyframe { pipes[pipe].say(.keyframe(layer.track, place: layer.place)) }
    var numbers: [UInt16] = []
    encoding.nacks.due(at: now, into: &numbers)
    if !numbers.isEmpty { pipes[pipe].say(.missing(layer.track, place: layer.place, numbers)) }
    return (wantsKeyframe ? 1 : 0, UInt64(numbers.count))
  }

  /// Tells the other worker which layers of a mirror are needed, as far as they can be asked for.
  private mutating func askLayers(of mirror: ProducerID, _ tracks: borrowing Tracks) {
    guard case .pipe(let pipe, _) = tracks.producers[mirror].source, pipes.contains(pipe) else { return }
    var wanted: UInt8 = 0
    for layer in tracks.producers[mirror].asked?.active ?? [] {
      let place = tracks.producers[mirror].declaredPlace(of: tracks.producers[mirror].encodings[layer])
      if place < UInt8.bitWidth { wanted |= 1 << UInt8(place) }
    }
    pipes[pipe].say(.layers(tracks.producers[mirror].key, wanted: wanted))
  }
}
