// The publish half of a seat: the client offers, the server answers (RFC 3264, RFC 8829 §5.3). A value without I/O:
// `prepare` looks, `commit` changes. What becomes of each line is decided in `PublishRound.swift`.

import Basics
import RTP
import SDP

/// What the server takes from publishers.
public struct PublishOptions: Sendable, Hashable {
  /// Codecs the server takes, best first. Chromium sends the first of the answer, so the first is what everybody must
  /// decode.
  public var codecs: [CodecProfile] = [
    .opus, .vp8, .vp9Profile0, .av1, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline,
    .h264BaselineMode0, .h264Main, .h264MainMode0, .h264High, .h264HighMode0, .vp9Profile2,
  ]
  /// Asks publishers that do not say whether they do to pause Opus in silence (`usedtx=1`).
  public var opusDTX = true
  /// What one line of sound is asked to stay below on average, bits per second, within `OpusFormat.bitRates`.
  public var maxAudioBitsPerSecond = 128_000
  /// What one video line is asked to stay below, bits per second (RFC 3890 TIAS); nil asks for nothing.
  public var maxBitsPerSecond: Int?
  /// Takes simulcast; otherwise a simulcast sender is asked for one stream.
  public var simulcast = true
  /// Layers taken of a simulcast sender.
  public var maxEncodings = 4
  /// Tracks published at once.
  public var maxTracks = 8
  /// Media lines that send.
  public var maxMediaLines = 64

  /// The defaults.
  public init() {}
}

/// What is taken of one offer, less than of others. nil: as of others.
public struct OfferBounds: Sendable, Hashable {
  /// Codecs.
  public var codecs: [CodecProfile]?
  /// Layers of a simulcast sender that begins. One that goes on keeps those that it began with.
  public var encodings: Int?
  /// What each video line is asked to stay below, bits per second.
  public var bitsPerSecond: Int?

  /// Less than the options say.
  public init(codecs: [CodecProfile]?, encodings: Int?, bitsPerSecond: Int?) {
    (self.codecs, self.encodings, self.bitsPerSecond) = (codecs, encodings, bitsPerSecond)
  }
}

extension PublishOptions {
  /// The same within `bounds`.
  func within(_ bounds: OfferBounds) -> PublishOptions {
    var options = self
    if let codecs = bounds.codecs { options.codecs.removeAll { !codecs.contains($0) } }
    options.maxEncodings = min(options.maxEncodings, bounds.encodings ?? options.maxEncodings)
    options.maxBitsPerSecond = [options.maxBitsPerSecond, bounds.bitsPerSecond].compactMap(\.self).min()
    return options
  }
}

/// A track that the client announces beside its offer.
public struct AnnouncedTrack: Sendable, Hashable {
  /// Identification tag of its media line.
  public var mid: String
  /// Audio or video.
  public var kind: MediaKind

  /// A track on a media line.
  public init(mid: String, kind: MediaKind) {
    self.mid = mid
    self.kind = kind
  }
}

/// Offer and answer of one publisher's peer connection.
public struct PublishNegotiation: Sendable {
  /// What an offer leads to; nothing has happened until it is committed.
  public struct Prepared: Sendable {
    /// The answer, as SDP.
    public let answer: String
    /// Tracks that begin, in the order of their lines.
    public let added: [ReceiveParameters]
    /// Tracks that go on with other parameters.
    public let changed: [ReceiveParameters]
    /// Lines whose track has ended: inactive, stopped, gone, or used by something else now.
    public let removed: [String]
    /// Lines that want to send and may not, and what was left out of the text, with the reason.
    public let declined: [DeclinedLine]
    /// The transport; nil while no line is taken. After nil comes a new transport with a new DTLS association.
    public let transport: AgreedTransport?
    /// Whether `transport` takes the place of one that ended with its last line: the client makes a new DTLS association
    /// under the same certificate, so open a new transport with `transport.local` and close the old one.
    public let replacesTransport: Bool

    let next: State
    let basis: UInt64
  }

  /// What the last committed round has left.
  struct State: Sendable {
    var lines: [Line] = []
    var answer: SessionDescription?
    var credentials: ICECredentials
    /// Whether a transport that is gone has used the credentials.
    var credentialsAreUsed = false
    var agreed: AgreedTransport?
  }

  /// A media line by its position.
  struct Line: Sendable {
    var mid: String
    var type: MediaType
    var isRejected: Bool
    var track: ReceiveParameters?
    /// Layers that its track may have: a later offer gives it no more and no less.
    var layers: Int
  }

  /// With more media lines than this those that do not send are rejected: a line that only rests keeps its transceiver in the client.
  /// Raise it and descriptions of long meetings are larger; lower it and clients that send again on such a line need another.
  static let linesKept = 32

  private var options: PublishOptions
  private let local: LocalTransport
  private let sessionID: UInt64
  private var state: State
  private var commits: UInt64 = 0
  /// Layers that the publisher was asked to pause, by their lines.
  private var paused: [String: Set<String>] = [:]

  /// A seat's publish side before its first offer. `sessionID` goes into the `o=` line (any number below 2^63).
  public init(options: PublishOptions = PublishOptions(), transport: LocalTransport, sessionID: UInt64) {
    self.options = options
    local = transport
    self.sessionID = sessionID
    state = State(credentials: transport.credentials)
  }

  /// The room's bound for sound is another from the next offer on.
  public mutating func setMaxAudio(bitsPerSecond: Int) { options.maxAudioBitsPerSecond = bitsPerSecond }

  /// Works out the answer to an offer.
  ///
  /// - Parameters:
  ///   - offer: SDP by the client.
  ///   - tracks: tracks that begin with this offer; those published before may be named again or left out. A sending
  ///     line that was never announced is answered `inactive` and listed as declined.
  ///   - bounds: where less is taken of this offer than of others.
  ///   - freshCredentials: called once if the offer restarts ICE, or brings lines again after the last had ended.
  /// - Throws: 4004 when none of the announced new tracks has a codec the server takes (some: those are declined and the
  ///   others go on); 4003 beyond `maxTracks`; 4005 for everything else. Nothing has changed then.
  public func prepare(
    offer: String, tracks: [AnnouncedTrack], bounds: OfferBounds? = nil, freshCredentials: () -> ICECredentials
  ) throws(NegotiationError) -> Prepared {
    let description: SessionDescription
    do throws(SDPError) {
      description = try SessionDescription.parse(offer)
    } catch {
      throw NegotiationError("The offer is not valid SDP: \(error).")
    }
    let options = bounds.map(options.within) ?? options
    var round = PublishRound(options: options, local: local, before: state, paused: paused, offer: description)
    try round.checkIdentity()
    try round.checkShape()
    try round.check(announced: tracks)
    try round.decideLines()
    try round.agreeOnTransport(freshCredentials)
    let (next, answer) = round.finish(sessionID: sessionID)
    return prepared(next, answer, declined: round.declined + DeclinedLine.passedOver(in: description))
  }

  /// Makes a prepared answer the state. False, and no change, when another was committed since it was prepared.
  @discardableResult
  public mutating func commit(_ prepared: Prepared) -> Bool {
    guard prepared.basis == commits else { return false }
    state = prepared.next
    commits += 1
    let ended = prepared.removed + prepared.added.map(\.mid)
    for mid in ended { paused[mid] = nil }
    return true
  }

  /// The track of a line has ended without an offer (`track.unpublish`). The line rests until a later offer announces a
  /// track for it again; lines without a track are left as they are.
  public mutating func endTrack(mid: String) {
    for index in state.lines.indices where state.lines[index].mid == mid { state.lines[index].track = nil }
    paused[mid] = nil
  }

  /// The publisher of a line's track is asked to pause these layers (rids), and to send all others. Answers keep them paused.
  public mutating func pause(_ rids: Set<String>, mid: String) { paused[mid] = rids.isEmpty ? nil : rids }

  /// Tracks published now, in the order of their lines.
  public var tracks: [ReceiveParameters] { state.lines.compactMap(\.track) }

  private func prepared(_ next: State, _ answer: SessionDescription, declined: [DeclinedLine]) -> Prepared {
    let before = Dictionary(uniqueKeysWithValues: tracks.map { ($0.mid, $0) })
    let after = next.lines.compactMap(\.track)
    let remaining = Set(after.map(\.mid))
    return Prepared(
      answer: answer.serialized(),
      added: after.filter { before[$0.mid] == nil },
      changed: after.filter { track in before[track.mid].map { $0 != track } ?? false },
      removed: tracks.map(\.mid).filter { !remaining.contains($0) },
      declined: declined, transport: next.agreed,
      replacesTransport: next.agreed != nil && state.credentialsAreUsed, next: next, basis: commits)
  }
}
