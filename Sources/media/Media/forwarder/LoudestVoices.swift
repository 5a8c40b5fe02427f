// Rooms that hear the loudest alone: of many who have their microphones open, few speak.
//
//   a packet's level ─▶ its voice ─▶ let in? ─▶ forwarded
//                                    begins to speak, and there is a place, or who is quieter gives way;
//                                    who has a place gets another one only where nobody else wants it
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
  private var heard: [Place] = []

  /// A place, and whose track has it.
  private struct Place {
    let producer: ProducerID
    let publisher: UInt64
    /// How many places its publisher has.
    var held = 1
  }

  /// Why a place may be given to somebody else, the best reason first.
  private enum Reason: Int {
    /// Nobody speaks there.
    case silence
    /// Its publisher has another one.
    case several
    /// Who wants it may be louder.
    case loudness
  }

  /// One more than everybody hears: who speaks does not hear themselves.
  private var places: Int { (most ?? 0) + 1 }

  /// Whether a packet of sound is forwarded now. A track that does not say how loud it is always is.
  @inline(never)
  static func admits(
    _ packet: StoredPacket, encoding: EncodingID, of producer: ProducerID, _ forwarder: inout Forwarder,
    _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) -> Bool {
    guard forwarder.producers[producer].kind == .audio else { return true }
    if let level = packet.audioLevel { forwarder.producers[producer].voice.note(level.level, at: turn.now) }
    let voice = forwarder.producers[producer].voice
    guard voice.isTold else { return true }
    if voice.isLetIn {
      if !voice.isSilent(at: turn.now) { return true }
      shutOut(producer, &forwarder)
    } else if voice.speaks(at: turn.now), makePlace(for: producer, &forwarder, at: turn.now) {
      letIn(producer, &forwarder, at: turn.now)
      guard let first = beginning(before: packet, encoding: encoding, &forwarder) else { return true }
      // Each receiver begins with it, and goes on with all that followed, this packet too.
      forwarder.forward(first, encoding: encoding, &ends, &egress, &turn)
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

  private static func makePlace(for producer: ProducerID, _ forwarder: inout Forwarder, at now: Instant) -> Bool {
    let room = forwarder.producers[producer].room
    if forwarder.rooms[room].loudest.heard.count < forwarder.rooms[room].loudest.places { return true }
    guard let (quietest, reason) = placeToGive(producer, in: room, forwarder, at: now) else { return false }
    let voice = forwarder.producers[producer].voice
    guard reason == .several || forwarder.producers[quietest].voice.givesWay(to: voice, at: now) else { return false }
    shutOut(quietest, &forwarder)
    return true
  }

  /// The place in a full room that may be given to a track, if any, and why. A track of somebody who has a place takes none but their own, or
  /// one where nobody speaks; all others may take those that somebody has beside another one.
  private static func placeToGive(
    _ producer: ProducerID, in room: RoomID, _ forwarder: borrowing Forwarder, at now: Instant
  ) -> (producer: ProducerID, reason: Reason)? {
    let publisher = forwarder.producers[producer].publisher
    var found: (producer: ProducerID, reason: Reason)?
    let hasPlace = forwarder.rooms[room].loudest.has(publisher)
    for place in forwarder.rooms[room].loudest.heard {
      let reason: Reason
      if forwarder.producers[place.producer].voice.isSilent(at: now) {
        reason = .silence
      } else if hasPlace {
        guard place.publisher == publisher else { continue }
        reason = .loudness
      } else {
        reason = place.held > 1 ? .several : .loudness
      }
      if let other = found, other.reason.rawValue < reason.rawValue { continue }
      if let other = found, other.reason == reason,
        !forwarder.producers[place.producer].voice.isQuieter(
          than: forwarder.producers[other.producer].voice, at: now)
      {
        continue
      }
      found = (place.producer, reason)
    }
    return found
  }

  private func has(_ publisher: UInt64) -> Bool {
    for place in heard where place.publisher == publisher { return true }
    return false
  }

  private mutating func give(_ producer: ProducerID, of publisher: UInt64) {
    heard.append(Place(producer: producer, publisher: publisher))
    count(of: publisher)
  }

  private mutating func take(_ producer: ProducerID, of publisher: UInt64) {
    heard.removeAll { $0.producer == producer }
    count(of: publisher)
  }

  private mutating func count(of publisher: UInt64) {
    let held = heard.count { $0.publisher == publisher }
    for index in heard.indices where heard[index].publisher == publisher { heard[index].held = held }
  }

  private static func letIn(_ producer: ProducerID, _ forwarder: inout Forwarder, at now: Instant) {
    let publisher = forwarder.producers[producer].publisher
    forwarder.rooms[forwarder.producers[producer].room].loudest.give(producer, of: publisher)
    forwarder.producers[producer].voice.letIn(at: now)
  }

  /// Its streams go on without a gap in their numbers when it is heard again.
  private static func shutOut(_ producer: ProducerID, _ forwarder: inout Forwarder) {
    guard forwarder.producers[producer].voice.isLetIn else { return }
    let publisher = forwarder.producers[producer].publisher
    forwarder.rooms[forwarder.producers[producer].room].loudest.take(producer, of: publisher)
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
