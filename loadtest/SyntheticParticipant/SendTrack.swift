// One published track: its schedule and its encodings.

import Basics
import RTP
import RoostProtocol

struct SendTrack: Sendable {
  enum Source: Sendable {
    case audio(AudioPlan)
    case video(VideoPlan)
  }

  let mid: String
  let source: Source
  let identity: UInt64
  /// Payload types and extensions as the answer took them; nil until then, or when the line was not taken.
  var agreed: AgreedLine?
  var streams: [SendStream]
  /// Whether frames go out; they are counted all the same.
  var isSending = true
  private let midTag: ExtensionTag?
  private let interval: TimeDelta
  private(set) var nextFrame = Instant.distantFuture
  private var frame: UInt32 = 0
  private var begun = Instant.zero

  init(mid: String, source: Source, user: String, random: inout SplitMix64) {
    self.mid = mid
    self.source = source
    midTag = ExtensionTag(mid)
    switch source {
    case .audio(let plan):
      interval = .milliseconds(min(max(plan.packetMilliseconds, 20), 1000))
      identity = PayloadStamp.identity(user: user, label: plan.label)
      streams = [Self.stream(label: plan.label, kind: .audio, layer: 0, rid: nil, &random)]
    case .video(let plan):
      interval = TimeDelta.seconds(1) / Int64(max(1, plan.framesPerSecond))
      identity = PayloadStamp.identity(user: user, label: plan.label)
      streams = []
      for (index, layer) in plan.layers.enumerated() {
        streams.append(
          Self.stream(label: plan.label, kind: .video, layer: UInt8(truncatingIfNeeded: index), rid: layer.rid, &random)
        )
      }
    }
  }

  private static func stream(
    label: String, kind: TrackKind, layer: UInt8, rid: String?, _ random: inout SplitMix64
  ) -> SendStream {
    let ssrc = UInt32.random(in: 1 ... .max, using: &random)
    return SendStream(
      statistics: SendStatistics(label: label, kind: kind, rid: rid, ssrc: ssrc), layer: layer,
      rid: rid.flatMap { ExtensionTag($0) }, random: &random)
  }

  var kind: TrackKind { if case .audio = source { .audio } else { .video } }
  var clock: Int64 { kind == .audio ? 48_000 : 90_000 }

  func layer(_ stream: Int) -> VideoLayer? {
    guard case .video(let plan) = source, plan.layers.indices.contains(stream) else { return nil }
    return plan.layers[stream]
  }

  func clip(_ stream: Int) -> MediaClip? {
    switch source {
    case .audio(let plan): plan.clip
    case .video(let plan): plan.clips.indices.contains(stream) ? plan.clips[stream] : nil
    }
  }

  /// Nanoseconds from frame to frame.
  var period: UInt64 { UInt64(max(1, interval.nanoseconds)) }

  /// Starts the schedule, `phase` after now.
  mutating func begin(at now: Instant, phase: TimeDelta) {
    guard nextFrame == .distantFuture else { return }
    begun = now
    nextFrame = now + phase
  }

  /// The stream's clock at `now`.
  func timestamp(_ stream: Int, at now: Instant) -> UInt32 {
    streams[stream].timestamp(at: now - begun, clock: clock)
  }

  /// Counts a frame that is due and says which; nil when none is. After a long pause frames are skipped, not caught up.
  mutating func takeFrame(at now: Instant) -> (number: UInt32, scheduled: Instant)? {
    guard nextFrame <= now else { return nil }
    let scheduled = nextFrame
    frame &+= 1
    nextFrame += interval
    if nextFrame + .milliseconds(500) < now { nextFrame = now + interval }
    return (frame, scheduled)
  }

  /// Header extensions of a packet of `stream`.
  func extensions(_ stream: Int, _ record: PacketRecord) -> OutgoingExtensions {
    var result = OutgoingExtensions()
    result.mid = midTag
    result.rid = streams[stream].rid
    result.transportSequence = record.transportSequence
    result.absSendTime = record.absSendTime
    if case .audio(let plan) = source { result.audioLevel = AudioLevel(level: plan.level, voice: plan.level < 60) }
    return result
  }
}

/// What offer and answer agreed on for a line that is sent.
struct AgreedLine: Sendable, Equatable {
  var payloadType: UInt8
  var rtxPayloadType: UInt8?
  var extensions: HeaderExtensionIDs
  /// Layers taken; nil where the line has none.
  var rids: [String]?
}
