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

  /// A place that a track may have: nobody's, or from now on no more that of another one.
  private enum Opening {
    case free
    case taken(ProducerID)
  }

  /// What is to be forwarded now.
  enum Admission {
    case nothing
    case thePacket
    /// An earlier one. Each receiver begins with it, and goes on with all that followed, the packet too.
    case earlier(StoredPacket)
  }

  /// Whether a packet of sound is forwarded now. A track that does not say how loud it is always is.
  @inline(never)
  static func admits(
    _ delivery: Delivery, _ tracks: inout Tracks, _ forwarder: inout Forwarder, _ turn: inout Turn
  ) -> Admission {
    let producer = delivery.producer
    guard tracks.producers[producer].kind == .audio else { return .thePacket }
    if let level = delivery.packet.audioLevel { tracks.producers[producer].voice.note(level.level, at: turn.now) }
    let voice = tracks.producers[producer].voice
    guard voice.isTold else { return .thePacket }
    if voice.isLetIn {
      if !voice.isSilent(at: turn.now) { return .thePacket }
      forwarder.interrupt(all: forget(producer, &tracks))
    } else if voice.speaks(at: turn.now), let opening = placeFor(producer, tracks, at: turn.now) {
      if case .taken(let quieter) = opening { forwarder.interrupt(all: forget(quieter, &tracks)) }
      tracks.rooms[tracks.producers[producer].room].loudest.give(producer, of: tracks.producers[producer].publisher)
      tracks.producers[producer].voice.letIn(at: turn.now)
      return beginning(before: delivery.packet, encoding: delivery.encoding, tracks).map { .earlier($0) } ?? .thePacket
    }
    turn.drop(.notLoudest)
    return .nothing
  }

  /// A track's place is free. Returns whose streams are interrupted.
  static func forget(_ producer: ProducerID, _ tracks: inout Tracks) -> [ConsumerID] {
    guard tracks.producers[producer].voice.isLetIn else { return [] }
    tracks.rooms[tracks.producers[producer].room].loudest.take(producer, of: tracks.producers[producer].publisher)
    let encoding = tracks.producers[producer].encodings[0]
    tracks.producers[producer].voice.shutOut(behind: tracks.encodings[encoding].encoding.newest)
    return tracks.producers[producer].consumers
  }

  /// A place for a track, and who has it now; nil where there is none.
  private static func placeFor(
    _ producer: ProducerID, _ tracks: borrowing Tracks, at now: Instant
  ) -> Opening? {
    let room = tracks.producers[producer].room
    if tracks.rooms[room].loudest.heard.count < tracks.rooms[room].loudest.places { return .free }
    guard let (quietest, reason) = placeToGive(producer, in: room, tracks, at: now) else { return nil }
    let voice = tracks.producers[producer].voice
    guard reason == .several || tracks.producers[quietest].voice.givesWay(to: voice, at: now) else { return nil }
    return .taken(quietest)
  }

  /// The place in a full room that may be given to a track, if any, and why. A track of somebody who has a place takes none but their own, or
  /// one where nobody speaks; all others may take those that somebody has beside another one.
  private static func placeToGive(
    _ producer: ProducerID, in room: RoomID, _ tracks: borrowing Tracks, at now: Instant
  ) -> (producer: ProducerID, reason: Reason)? {
    let publisher = tracks.producers[producer].publisher
    var found: (producer: ProducerID, reason: Reason)?
    let hasPlace = tracks.rooms[room].loudest.has(publisher)
    for place in tracks.rooms[room].loudest.heard {
      let reason: Reason
      if tracks.producers[place.producer].voice.isSilent(at: now) {
        reason = .silence
      } else if hasPlace {
        guard place.publisher == publisher else { continue }
        reason = .loudness
      } else {
        reason = place.held > 1 ? .several : .loudness
      }
      if let other = found, other.reason.rawValue < reason.rawValue { continue }
      if let other = found, other.reason == reason,
        !tracks.producers[place.producer].voice.isQuieter(
          than: tracks.producers[other.producer].voice, at: now)
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

  /// The first packet of what was said just before; nil where nothing was.
  private static func beginning(
    before packet: StoredPacket, encoding: EncodingID, _ tracks: borrowing Tracks
  ) -> StoredPacket? {
    let producer = tracks.encodings[encoding].producer
    let unsent = max(tracks.producers[producer].voice.last, tracks.encodings[encoding].mutedUntil)
    var first: StoredPacket?
    var number = packet.sequence - 1
    while number > unsent, let earlier = tracks.encodings[encoding].encoding.cache.find(number),
      packet.arrival - earlier.arrival <= Self.lead
    {
      first = earlier
      number -= 1
    }
    return first
  }
}
