// Subscriptions that should be sent something and are not, since nothing comes of their track: looked for once a second, with the reports.
//
//   connected, not muted, not paused ─▶ since ── connect timeout ─▶ told ── the first packet, or picture ─▶ told that it goes on

import Basics
import Forwarding
import RTP

/// What is missing of a track.
public enum MissingMedia: Sendable, Hashable {
  /// No packet has come.
  case nothing
  /// Packets of video have come, and none that a picture can begin with.
  case noKeyframe
}

/// What a subscription waits for.
struct MediaWait {
  /// What its track is for it at a look.
  struct Facts {
    /// Whether something should come: its receiver can be sent to, nobody has muted or paused it, and it is not held back.
    var isExpected: Bool
    /// Whether the track is muted.
    var isMuted: Bool
    /// Whether it came.
    var isHere: Bool
    /// What is missing otherwise.
    var missing: MissingMedia
  }

  /// What its client has to hear.
  enum News {
    case misses(MissingMedia)
    /// What was said to be missing is so no more.
    case missesNothing
  }

  /// Whether what was waited for has come: then nobody looks any more.
  private(set) var isOver = false
  /// What its client was told is missing.
  private(set) var told: MissingMedia?
  private var since: Instant?

  /// Takes a look. The news, where there is some.
  mutating func look(_ facts: Facts, patience: TimeDelta, at now: Instant) -> News? {
    if facts.isHere { return end() }
    guard facts.isExpected else {
      since = nil
      // Of a muted track nothing is missed. A pause says nothing of what is missing.
      return facts.isMuted ? clear() : nil
    }
    let begun = since ?? now
    since = begun
    guard now - begun >= patience, told != facts.missing else { return nil }
    told = facts.missing
    return .misses(facts.missing)
  }

  /// It has come. News where it was said to be missing.
  mutating func end() -> News? {
    isOver = true
    return clear()
  }

  /// Its track has to begin anew. What was said to be missing still is.
  mutating func restart() { (isOver, since) = (false, nil) }

  private mutating func clear() -> News? { told.take() == nil ? nil : .missesNothing }
}

extension MediaWait.Facts {
  /// What a track is now for one of its subscriptions.
  static func of(
    _ id: ConsumerID, sentTo canSend: Bool, _ forwarder: borrowing Forwarder, _ tracks: borrowing Tracks
  ) -> Self? {
    guard let producer = forwarder.consumers[id].producer else { return nil }
    let isMuted = tracks.producers[producer].isMuted
    let unmuted = tracks.producers[producer].unmutedAt
    var hasCome = false
    for encoding in tracks.producers[producer].encodings where tracks.encodings[encoding].encoding.hasBegun {
      // Sound may be silent for long. Pictures begin anew behind a mute.
      hasCome =
        hasCome || tracks.producers[producer].kind == .audio || unmuted == .zero
        || tracks.encodings[encoding].encoding.hasArrived(since: unmuted)
    }
    let isHere =
      tracks.producers[producer].kind == .audio
      ? hasCome : forwarder.consumers[id].toldLayer >= 0 && !forwarder.consumers[id].consumer.needsStart
    return Self(
      isExpected: canSend && !isMuted && !forwarder.consumers[id].isStopped && !tracks.shares.isCounting,
      isMuted: isMuted, isHere: isHere, missing: hasCome ? .noKeyframe : .nothing)
  }
}

extension ConsumerSlot {
  /// Looks whether its track brings what it should. `track` is that track's key.
  mutating func lookForMedia(
    _ facts: MediaWait.Facts, of track: ProducerKey, patience: TimeDelta, _ turn: inout Turn
  ) {
    switch wait.look(facts, patience: patience, at: turn.now) {
    case .misses(let missing):
      // The next packet is to be told of, also where it is of the layer of before.
      if toldLayer >= 0 { toldLayer = Self.begunBefore }
      turn.tell(.consumerMisses(key, track, missing))
    case .missesNothing: turn.tell(.consumerMisses(key, track, nil))
    case nil: break
    }
  }
}
