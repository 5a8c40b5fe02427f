// What is published on a worker: rooms, tracks, their encodings with what is stored of them, and what a room may send.
//
//   route ─▶ take ─▶ restore ─▶ store        values for the forwarder, which delivers       (Tracks+Route, Tracks+Receive)
//   commands ─▶ add, change, remove                                                       (Tracks+Commands)
//   time ─▶ which layers arrive, which their publishers are asked for                       (Tracks+Layers)

import Basics
import Forwarding
import RTP

/// Everything of tracks, and nothing of who is sent them. It knows neither ends nor egress. Sans-IO.
struct Tracks: ~Copyable {
  var rooms = SlotMap<RoomSlot>(minimumCapacity: 16)
  var producers = SlotMap<ProducerSlot>(minimumCapacity: 64)
  var encodings = Encodings(minimumCapacity: 64)
  var shares = RoomShares()
  var ceiling = PictureCeiling()

  // MARK: deadlines

  // A row notes which deadline of its own counts, so that an earlier one can be added without searching the queue
  // and a stale one is told apart when it comes out.

  mutating func schedule(encoding id: EncodingID, _ turn: inout Turn) {
    let next = encodings[id].encoding.nextDeadline
    guard next < encodings[id].scheduled else { return }
    encodings[id].scheduled = next
    turn.look(at: .encoding(id), from: next)
  }

  /// Whether the deadline of an encoding that came out of the queue is the one that counts. Then it has none any more.
  mutating func isDue(_ id: EncodingID, at now: Instant) -> Bool {
    guard encodings.contains(id), encodings[id].scheduled <= now else { return false }
    encodings[id].scheduled = .distantFuture
    return true
  }

  /// Has the encoding's publisher asked for a keyframe, as often as the throttle allows.
  mutating func wantKeyframe(_ encoding: EncodingID, _ turn: inout Turn) {
    encodings[encoding].encoding.keyframes.request()
    schedule(encoding: encoding, &turn)
  }

  // MARK: speakers

  /// Notes how loud a packet of a track is.
  mutating func heard(_ level: UInt8, of producer: ProducerID, _ turn: inout Turn) {
    let room = producers[producer].room
    rooms[room].speakers.heard(
      producers[producer].key.value, of: producers[producer].publisher, level: level, at: turn.now)
    guard !rooms[room].speakersScheduled else { return }
    rooms[room].speakersScheduled = true
    turn.look(at: .speakers(room), from: rooms[room].speakers.nextDeadline)
  }

  mutating func pollSpeakers(_ id: RoomID, _ turn: inout Turn) {
    guard rooms.contains(id) else { return }
    rooms[id].speakersScheduled = false
    if let speakers = rooms[id].speakers.poll(at: turn.now) { turn.tell(.activeSpeakers(rooms[id].key, speakers)) }
    let next = rooms[id].speakers.nextDeadline
    guard next < .distantFuture else { return }
    rooms[id].speakersScheduled = true
    turn.look(at: .speakers(id), from: next)
  }

  // MARK: what comes

  /// Since when these tracks, of which some have come and are not muted, should have brought media; nil where none is expected.
  mutating func flowingSince(_ lines: [LineRoute]) -> Instant? {
    var since: Instant?
    for id in lines.lazy.map(\.producer) where !producers[id].isMuted {
      for encoding in producers[id].encodings where encodings[encoding].encoding.isFlowing {
        since = min(since ?? .distantFuture, producers[id].unmutedAt)
        break
      }
    }
    return since
  }

  /// Whether anything of a track that is not muted comes now.
  mutating func isArriving(_ id: ProducerID, at now: Instant) -> Bool {
    guard producers.contains(id), !producers[id].isMuted else { return false }
    for encoding in producers[id].encodings where encodings[encoding].encoding.rate.bytesPerSecond(at: now) > 0 {
      return true
    }
    return false
  }

  /// Notes what a track takes now, unless that was done a moment ago.
  mutating func measure(_ id: ProducerID, at now: Instant) {
    producers[id].ladder.measure(producers[id].encodings, &encodings, asked: producers[id].asked, at: now)
  }
}
