// What the control plane's commands change of tracks. Keys become handles before (WorkerState+Commands).

import Basics
import Forwarding
import RTP

extension Tracks {
  /// Adds a track with its encodings. Returns the media line by which its packets are found.
  mutating func addProducer(
    _ key: ProducerKey, _ parameters: ReceiveParameters, publisher: Publisher, from source: Source, room: RoomID
  ) -> LineRoute {
    let id = producers.insert(
      ProducerSlot(
        key: key, kind: parameters.kind, source: source, room: room,
        payloads: PayloadTable(parameters.payloads), publisher: publisher.key,
        canonicalName: Array(publisher.canonicalName.utf8)))
    count(id, 1)
    var line = LineRoute(mid: Array(parameters.mid.utf8), producer: id, kind: parameters.kind, encodings: [])
    for (index, encoding) in parameters.encodings.enumerated() {
      let encodingID = encodings.insert(
        EncodingSlot(
          encoding: Encoding(
            parameters: encoding, index: index, kind: parameters.kind,
            clockRate: parameters.kind == .video ? 90_000 : 48_000, nack: parameters.nack),
          producer: id, source: source))
      encodings[encodingID].encoding.know(parameters.parameterSets)
      producers[id].encodings.append(encodingID)
      producers[id].declared.append(encodingID)
      line.encodings.append((Array((encoding.rid ?? "").utf8), encodingID))
    }
    return line
  }

  /// Takes what a later description says of a track; `routes` are those of its transport.
  mutating func updateProducer(
    _ id: ProducerID, _ parameters: ReceiveParameters, _ routes: inout Routes, _ turn: inout Turn
  ) {
    producers[id].payloads = PayloadTable(parameters.payloads)
    for (encoding, new) in zip(producers[id].declared, parameters.encodings) {
      announce(new, of: encoding, &routes, &turn)
    }
    for encoding in producers[id].encodings { encodings[encoding].encoding.know(parameters.parameterSets) }
  }

  /// SSRCs that a later description tells: packets that bear them may carry no MID any more.
  private mutating func announce(
    _ new: EncodingParameters, of encoding: EncodingID, _ routes: inout Routes, _ turn: inout Turn
  ) {
    for (ssrc, isRetransmission) in [(new.ssrc, false), (new.rtxSSRC, true)] {
      guard let ssrc, routes.findIncoming(ssrc) == nil else { continue }
      _ = adopt(
        IncomingRoute(
          ssrc: ssrc, encoding: encoding, isRetransmission: isRetransmission,
          counts: IntakeClass(producers[encodings[encoding].producer].kind)), into: &routes, &turn)
    }
  }

  /// Removes a track that has no consumers any more.
  mutating func removeProducer(_ id: ProducerID) {
    _ = LoudestVoices.forget(id, &self)
    for encoding in producers[id].encodings { _ = encodings.remove(encoding) }
    leave(id)
    _ = producers.remove(id)
  }

  /// A track goes on in another room. Returns whose streams are interrupted: it has no place among the loudest there yet.
  mutating func moveProducer(_ id: ProducerID, to room: RoomID) -> [ConsumerID] {
    let interrupted = LoudestVoices.forget(id, &self)
    leave(id)
    producers[id].room = room
    count(id, 1)
    return interrupted
  }

  private mutating func leave(_ id: ProducerID) {
    rooms[producers[id].room].speakers.remove(producers[id].key.value)
    count(id, -1)
  }

  private mutating func count(_ id: ProducerID, _ change: Int) {
    rooms[producers[id].room].producers += change
    if producers[id].kind == .audio { rooms[producers[id].room].sounds += change }
  }

  /// A consumer follows another track from now on, or none.
  mutating func move(_ consumer: ConsumerID, from old: ProducerID?, to new: ProducerID?) {
    if let old { producers[old].consumers.removeAll { $0 == consumer } }
    if let new { producers[new].consumers.append(consumer) }
  }

  /// Stops a track, or lets it go on. Returns whose streams it interrupts when it stops; nil where it was so already.
  mutating func setMuted(_ id: ProducerID, _ muted: Bool, at now: Instant) -> [ConsumerID]? {
    guard producers[id].isMuted != muted else { return nil }
    producers[id].isMuted = muted
    if muted {
      rooms[producers[id].room].speakers.remove(producers[id].key.value)
      defer { producers[id].voice = LoudVoice() }
      return LoudestVoices.forget(id, &self)
    }
    producers[id].unmutedAt = now
    for encoding in producers[id].encodings { encodings[encoding].mutedUntil = encodings[encoding].encoding.newest }
    return []
  }
}
