// Rooms that hear the loudest alone: of many who have their microphones open, few speak.
//
//   a packet's level ─▶ its voice ─▶ let in? ─▶ forwarded
//                                    begins to speak, and there is a place, or who is quieter gives way
//                                    ─▶ what was said since a moment before, from the cache; then forwarded

import Basics
import Forwarding
import RTP

/// Those of a room that are heard.
struct LoudestVoices {
  /// What was said in this time before somebody was let in is sent after all, so that a word has its beginning.
  static let lead = TimeDelta.milliseconds(160)

  /// How many others everybody hears; nil: all.
  var most: Int?
  private var heard: [ProducerID] = []

  /// One more than everybody hears: who speaks does not hear themselves.
  private var places: Int { (most ?? 0) + 1 }

  /// Whether a packet of sound is forwarded now. A track that does not say how loud it is always is.
  @inline(never)
  static func admits(
    _ packet: StoredPacket, encoding: EncodingID, of producer: ProducerID, _ forwarder: inout Forwarder,
    _ transports: inout Transports, _ egress: inout Egress, telling events: inout [WorkerEvent], at now: Instant
  ) -> Bool {
    guard forwarder.producers[producer].kind == .audio else { return true }
    if let level = packet.audioLevel { forwarder.producers[producer].voice.note(level.level, at: now) }
    let voice = forwarder.producers[producer].voice
    guard voice.isTold else { return true }
    if voice.isLetIn {
      if !voice.isSilent(at: now) { return true }
      shutOut(producer, &forwarder)
    } else if voice.speaks(at: now), makePlace(for: voice, in: forwarder.producers[producer].room, &forwarder, at: now)
    {
      letIn(producer, &forwarder, at: now)
      guard let first = beginning(before: packet, encoding: encoding, &forwarder) else { return true }
      // Each receiver begins with it, and goes on with all that followed, this packet too.
      forwarder.forward(first, encoding: encoding, &transports, &egress, telling: &events, at: now)
      return false
    }
    forwarder.drops.count(.notLoudest)
    return false
  }

  /// The track is muted or ends: its place is free.
  static func forget(_ producer: ProducerID, _ forwarder: inout Forwarder) {
    shutOut(producer, &forwarder)
    forwarder.producers[producer].voice = LoudVoice()
  }

  private static func makePlace(
    for voice: LoudVoice, in room: RoomID, _ forwarder: inout Forwarder, at now: Instant
  ) -> Bool {
    if forwarder.rooms[room].loudest.heard.count < forwarder.rooms[room].loudest.places { return true }
    guard var quietest = forwarder.rooms[room].loudest.heard.first else { return false }
    for other in forwarder.rooms[room].loudest.heard
    where forwarder.producers[other].voice.isQuieter(than: forwarder.producers[quietest].voice, at: now) {
      quietest = other
    }
    guard forwarder.producers[quietest].voice.givesWay(to: voice, at: now) else { return false }
    shutOut(quietest, &forwarder)
    return true
  }

  private static func letIn(_ producer: ProducerID, _ forwarder: inout Forwarder, at now: Instant) {
    forwarder.rooms[forwarder.producers[producer].room].loudest.heard.append(producer)
    forwarder.producers[producer].voice.letIn(at: now)
  }

  /// Its streams go on without a gap in their numbers when it is heard again.
  private static func shutOut(_ producer: ProducerID, _ forwarder: inout Forwarder) {
    guard forwarder.producers[producer].voice.isLetIn else { return }
    forwarder.rooms[forwarder.producers[producer].room].loudest.heard.removeAll { $0 == producer }
    let encoding = forwarder.producers[producer].encodings[0]
    forwarder.producers[producer].voice.shutOut(behind: forwarder.encodings[encoding].encoding.newest)
    for consumer in forwarder.producers[producer].consumers { forwarder.consumers[consumer].consumer.interrupt() }
  }

  /// The first packet of what was said just before; nil where nothing was.
  private static func beginning(
    before packet: StoredPacket, encoding: EncodingID, _ forwarder: inout Forwarder
  ) -> StoredPacket? {
    let producer = forwarder.encodings[encoding].producer
    let unsent = max(forwarder.producers[producer].voice.last, forwarder.encodings[encoding].mutedUntil)
    var first: StoredPacket?
    var number = packet.sequence - 1
    while number > unsent, let earlier = forwarder.encodings[encoding].encoding.cache.find(number),
      packet.arrival - earlier.arrival <= Self.lead
    {
      first = earlier
      number -= 1
    }
    return first
  }
}
