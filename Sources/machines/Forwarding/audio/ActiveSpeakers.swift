// Who is talking, from the audio levels that senders stamp on their packets (RFC 6464): no audio is decoded here.

import Basics

/// Ranks those who publish sound in one room. Levels are smoothed, so that a cough does not make a speaker; the
/// list is told only when it changes. A participant with several audio tracks counts once, by the loudest: one cannot fill the list alone.
public struct ActiveSpeakers: Sendable {
  /// How often the list is made anew; lower is livelier and chattier.
  public static let interval = TimeDelta.milliseconds(250)
  /// Speakers told at most.
  static let maximumSpeakers = 3
  /// A smoothed loudness (127 − level) above this makes a speaker …
  static let startLoudness: Int32 = 75 << 8
  /// … and below this he has stopped.
  static let stopLoudness: Int32 = 60 << 8

  struct Voice: Sendable {
    let producer: UInt64
    let publisher: UInt64
    var loudness: Int32 = 0
    var speaking = false
    var lastPacket: Instant
  }

  /// One speaker and how loud he is.
  public struct Speaker: Sendable, Equatable {
    /// The key of their loudest producer.
    public var producer: UInt64
    /// RFC 6464 level: 0 loudest … 127 silence.
    public var level: UInt8
    /// A speaker.
    public init(producer: UInt64, level: UInt8) {
      self.producer = producer
      self.level = level
    }
  }

  private var voices: [Voice] = []
  private var told: [Voice] = []
  /// A track of those who were told is gone: another of the same publisher may stand for it, at another place of theirs.
  private var isOutdated = false
  private var next: Instant = .distantFuture

  /// Nobody there.
  public init() {}

  /// When `poll` wants to be called; `distantFuture` while nobody sends audio.
  public var nextDeadline: Instant { next }

  /// Takes in the level of one packet of a track of `publisher`.
  public mutating func heard(_ producer: UInt64, of publisher: UInt64, level: UInt8, at now: Instant) {
    if next == .distantFuture { next = now + Self.interval }
    let loudness = Int32(127 - (level & 0x7f)) << 8
    // Plain counting: per packet, and `firstIndex` allocates in a build that is not optimised.
    var index = 0
    while index < voices.count && voices[index].producer != producer { index += 1 }
    guard index < voices.count else {
      voices.append(Voice(producer: producer, publisher: publisher, loudness: loudness / 4, lastPacket: now))
      return
    }
    // One eighth a packet: about 160 ms of speech at 20 ms a packet.
    voices[index].loudness += (loudness - voices[index].loudness) / 8
    voices[index].lastPacket = now
  }

  /// The producer is gone or muted.
  public mutating func remove(_ producer: UInt64) {
    voices.removeAll { $0.producer == producer }
    if told.contains(where: { $0.producer == producer }) { isOutdated = true }
  }

  /// The speakers, loudest first, if they are others than last time; nil otherwise.
  public mutating func poll(at now: Instant) -> [Speaker]? {
    guard now >= next else { return nil }
    next = now + Self.interval
    for index in voices.indices {
      // Discontinuous transmission: silence sends next to nothing.
      if now - voices[index].lastPacket > .milliseconds(200) { voices[index].loudness /= 2 }
      let threshold = voices[index].speaking ? Self.stopLoudness : Self.startLoudness
      voices[index].speaking = voices[index].loudness >= threshold
    }
    if voices.allSatisfy({ now - $0.lastPacket > .seconds(2) && !$0.speaking }) { next = .distantFuture }
    var speaking: [Voice] = []
    for voice in voices.filter(\.speaking).sorted(by: { $0.loudness > $1.loudness })
    where speaking.count < Self.maximumSpeakers && !speaking.contains(where: { $0.publisher == voice.publisher }) {
      speaking.append(voice)
    }
    guard isOutdated || !speaking.elementsEqual(told, by: { $0.publisher == $1.publisher }) else { return nil }
    (told, isOutdated) = (speaking, false)
    return speaking.map { Speaker(producer: $0.producer, level: UInt8(clamping: 127 - ($0.loudness >> 8))) }
  }
}
