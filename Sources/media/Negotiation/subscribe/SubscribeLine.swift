// One media line of a subscriber, and what may happen to it. Drawn for offers of the server:
//
//            assign            client takes it
//   open, idle ─────▶ sending ────────────────▶ sending, with parameters
//         ▲            │   │  client says port 0, or inactive
//         │ answered   │   └──────────────────▶ rejected, declined ──assign as a last resort──▶ sending
//         │            ▼ subscription removed
//         └───────── ending          idle ──of clients that want fresh lines, where there are many──▶ spent ──answered──▶ rejected

import RTP
import SDP

struct SubscribeLine: Sendable {
  enum State: Sendable {
    /// Offered as sending although there is nothing to send yet. Some stacks answer an inactive line so for good, and others
    /// bring no transport up that has none but inactive lines.
    case open(Source)
    /// Inactive; may carry a track.
    case idle
    /// Carries a track, or is offered to.
    case sending(Assignment)
    /// The track is over. Only once the client has answered the line as inactive may it carry another: a client
    /// announces a track when a line begins to receive, not when a receiving line changes what it receives.
    case ending(wasOffered: Bool)
    /// The client answered a track with `inactive`, as it does for a transceiver that its page has stopped. It would
    /// refuse the next one too, so the line carries another only when nothing else is left.
    case declined
    /// Is offered with port 0, for its place to be used again under another tag.
    case spent
    /// The client said port 0; the line keeps it until a new track with a new mid takes it over (RFC 8829 §5.2.2).
    case rejected
  }

  /// What a line is sent under.
  struct Source: Sendable {
    var ssrc: UInt32
    /// Of repeats (RFC 4588); video alone has one.
    var rtxSSRC: UInt32?
  }

  /// A subscription on a line.
  struct Assignment: Sendable {
    var subscription: Subscription
    var source: Source
    /// What the client agreed to; nil until it has answered.
    var parameters: SendParameters?
  }

  let kind: MediaKind
  var mid: String
  var state = State.idle

  var assignment: Assignment? { if case .sending(let assignment) = state { assignment } else { nil } }
  var isIdle: Bool { if case .idle = state { true } else { false } }
  /// Of a line that waits for its first track.
  var openSource: Source? { if case .open(let source) = state { source } else { nil } }
  var isDeclined: Bool { if case .declined = state { true } else { false } }
  var isRejected: Bool { if case .rejected = state { true } else { false } }
  /// Whether an offer must go out to say that the line's track is over.
  var needsOffer: Bool { if case .ending(false) = state { true } else { false } }

  /// The line as the next offer has it, without transport.
  func offer(_ options: SubscribeOptions) -> MediaDescription {
    var line = MediaDescription(kind.mediaType, mid: mid, direction: .inactive)
    let opus = assignment?.subscription.opus ?? OpusFormat()
    line.rtp = codecs.map { Self.attributes($0, kind, options, opus) } ?? Self.ofAnyTrack(kind, options)
    switch state {
    case .open(let source):
      line.direction = .sendOnly
      // "-": in no MediaStream yet (RFC 8830 §2).
      line.streams.msids = [MediaStreamID(stream: "-", track: Self.token("open-" + mid))]
      line.declare(ssrc: source.ssrc, rtx: source.rtxSSRC, cname: "-")
    case .sending(let assignment):
      line.direction = .sendOnly
      describeSource(of: assignment, rtxSSRC: assignment.source.rtxSSRC, in: &line)
    case .rejected, .spent: return .rejection(of: line)
    case .idle, .ending, .declined: break
    }
    return line
  }

  /// Says which stream and track a description's line carries, and under which SSRCs.
  func describeSource(of assignment: Assignment, rtxSSRC: UInt32?, in line: inout MediaDescription) {
    let stream = Self.token(assignment.subscription.streamID)
    line.streams.msids = [MediaStreamID(stream: stream, track: Self.token(assignment.subscription.trackID))]
    line.declare(ssrc: assignment.source.ssrc, rtx: rtxSSRC, cname: stream)
  }

  /// The producer's codecs; nil where nothing is sent or nothing is known.
  private var codecs: [CodecProfile]? {
    var wanted: [CodecProfile] = []
    for codec in assignment?.subscription.codecs ?? [] where codec.kind == kind && !wanted.contains(codec) {
      wanted.append(codec)
    }
    return wanted.isEmpty ? nil : wanted
  }

  private static func attributes(
    _ codecs: [CodecProfile], _ kind: MediaKind, _ options: SubscribeOptions, _ opus: OpusFormat
  ) -> RTPAttributes {
    var rtp = RTPAttributes()
    rtp.codecs = codecs.flatMap { $0.offered(transportCC: options.transportCC, opus: opus) }
    rtp.extensions = KnownExtension.offered(for: kind, codecs, transportCC: options.transportCC)
    rtp.reducedSizeRTCP = true
    return rtp
  }

  /// What a line offers that may carry any track of its kind. The first offer of every seat says it, so it is put together once.
  private static func ofAnyTrack(_ kind: MediaKind, _ options: SubscribeOptions) -> RTPAttributes {
    switch (kind, options.transportCC) {
    case (.audio, true): audio.withFeedback
    case (.audio, false): audio.without
    case (.video, true): video.withFeedback
    case (.video, false): video.without
    }
  }

  private static let audio = ofAnyTrack(.audio)
  private static let video = ofAnyTrack(.video)

  private static func ofAnyTrack(_ kind: MediaKind) -> (withFeedback: RTPAttributes, without: RTPAttributes) {
    let all = CodecProfile.allCases.filter { $0.kind == kind }
    var options = SubscribeOptions()
    options.transportCC = false
    return (
      attributes(all, kind, SubscribeOptions(), OpusFormat()).written(),
      attributes(all, kind, options, OpusFormat()).written()
    )
  }

  /// 1 … 64 token characters, as `a=msid` wants them (RFC 8830 §2).
  private static func token(_ text: String) -> String {
    let bytes = text.utf8.prefix(64).map { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f: byte
      default: UInt8(ascii: "_")
      }
    }
    return bytes.isEmpty ? "-" : String(decoding: bytes, as: UTF8.self)
  }
}
