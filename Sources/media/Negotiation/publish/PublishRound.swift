// One round of publish negotiation: looks at an offer step by step and decides each line's fate.
//
//   checkIdentity ─▶ checkShape ─▶ check(announced:) ─▶ decideLines ─▶ agreeOnTransport ─▶ finish
//   the same peer    lines keep    announced tracks     reject, hold    ICE, DTLS of the    answer and
//   connection       their places  do send              or receive      bundle              next state

import Basics
import RTP
import SDP

struct PublishRound {
  /// What becomes of a line.
  enum Fate {
    case rejected
    /// Taken without media.
    case held(ReceivedLine)
    /// A track.
    case published(ReceivedLine)
  }

  let options: PublishOptions
  let local: LocalTransport
  let before: PublishNegotiation.State
  /// Layers that the publisher was asked to pause, by their lines.
  let paused: [String: Set<String>]
  let offer: SessionDescription
  private(set) var declined: [DeclinedLine] = []
  private var announced: [String: MediaKind] = [:]
  private var published: Set<String> = []
  private var fates: [Fate] = []
  private var credentials: ICECredentials
  private var credentialsAreUsed: Bool
  private var agreed: AgreedTransport?
  private var bundle = BundleClaims()

  init(
    options: PublishOptions, local: LocalTransport, before: PublishNegotiation.State, paused: [String: Set<String>],
    offer: SessionDescription
  ) {
    self.options = options
    self.local = local
    self.before = before
    self.paused = paused
    self.offer = offer
    published = Set(before.lines.compactMap(\.track?.mid))
    credentials = before.credentials
    credentialsAreUsed = before.credentialsAreUsed
    agreed = before.agreed
  }

  /// A new peer connection has lines of its own: who offers is looked at before how the lines compare with the last ones.
  func checkIdentity() throws(NegotiationError) {
    let open = offer.media.filter { !$0.isRejected }
    guard !open.isEmpty, let remote = try? RemoteTransport(offer, lines: open, in: "offer") else { return }
    try remote.check(against: before.agreed)
  }

  // MARK: Shape

  func checkShape() throws(NegotiationError) {
    let lines = before.lines.map { OfferShape.Line(mid: $0.mid, type: $0.type, isRejected: $0.isRejected) }
    try OfferShape.check(offer, before: lines, most: options.maxMediaLines, live: \.sends)
  }

  /// Announced tracks stand on lines that send.
  mutating func check(announced tracks: [AnnouncedTrack]) throws(NegotiationError) {
    for track in tracks {
      guard let index = offer.indexOfMedia(mid: track.mid) else {
        throw NegotiationError("Track \(track.mid) is announced but the offer has no such media line.", mid: track.mid)
      }
      let line = offer.media[index]
      guard MediaKind(line.type) == track.kind else {
        throw NegotiationError(
          "Track \(track.mid) is announced as \(track.kind) but its media line is \(line.type.token).", mid: track.mid)
      }
      guard !line.isRejected, offer.direction(of: line).sends else {
        throw NegotiationError("Track \(track.mid) is announced but its media line does not send.", mid: track.mid)
      }
      guard announced.updateValue(track.kind, forKey: track.mid) == nil else {
        throw NegotiationError("Track \(track.mid) is announced twice.", mid: track.mid)
      }
    }
  }

  // MARK: Lines

  mutating func decideLines() throws(NegotiationError) {
    var hasTransport = false
    fates = Array(repeating: .rejected, count: offer.media.count)
    for index in order {
      fates[index] = try decide(offer.media[index], isFirst: !hasTransport)
      if !fates[index].isRejected { hasTransport = true }
    }
    let places = Dictionary(offer.media.enumerated().map { ($1.mid ?? "", $0) }) { first, _ in first }
    declined = declined.enumerated()
      .sorted { (places[$0.element.mid] ?? 0, $0.offset) < (places[$1.element.mid] ?? 0, $1.offset) }.map(\.element)
    let tracks = fates.count { $0.track != nil }
    guard tracks <= options.maxTracks else {
      throw NegotiationError(
        "The offer publishes \(tracks) tracks; the server takes \(options.maxTracks) of one participant.",
        limit: options.maxTracks, count: tracks)
    }
    try checkCodecs()
  }

  /// Positions of lines in the order in which they say what the bundle's numbers mean: what goes on before what begins, and that before
  /// what rests.
  private var order: [Int] {
    guard offer.bundle != nil else { return Array(offer.media.indices) }
    let ranks = offer.media.map { line in
      let mid = line.mid ?? ""
      guard !line.isRejected, offer.direction(of: line).sends else { return 2 }
      return published.contains(mid) ? 0 : announced[mid] != nil ? 1 : 2
    }
    return (0...2).flatMap { rank in ranks.indices.filter { ranks[$0] == rank } }
  }

  private mutating func decide(_ line: MediaDescription, isFirst: Bool) throws(NegotiationError) -> Fate {
    let mid = line.mid ?? ""
    if line.isRejected { return .rejected }
    if let reason = OfferShape.refusal(of: line, in: offer, isFirst: isFirst) { return decline(line, reason) }
    guard let kind = MediaKind(line.type) else { return .rejected }
    bundle.begin()
    guard
      let received = ReceivedLine(
        line, kind: kind, options: options(of: mid), session: offer, paused: paused[mid] ?? [], &bundle)
    else {
      let clashes = bundle.leftOut.map { " \($0.reason)" }.joined()
      return decline(line, "No codec of the line is one the server takes.\(clashes)", code: .noCommonCodec)
    }
    try OfferShape.checkMux(line)
    guard offer.direction(of: line).sends else { return isSpent(line) ? .rejected : .held(received) }
    if line.streams.tracks > 1 {
      throw NegotiationError(
        "Media line \(mid) has a=ssrc of \(line.streams.tracks) tracks (Plan B); offer a line for each (Unified Plan).",
        mid: mid)
    }
    guard published.contains(mid) || announced[mid] != nil else {
      declined.append(
        DeclinedLine(
          mid: mid, kind: kind, code: .negotiationFailed, reason: "The line sends but no track was announced for it."))
      return .held(received)
    }
    for clash in bundle.leftOut {
      declined.append(
        DeclinedLine(
          mid: mid, kind: kind, code: .negotiationFailed, reason: clash.reason, attribute: clash.attribute))
    }
    return .published(received)
  }

  /// A track that goes on keeps the layers that it began with.
  private func options(of mid: String) -> PublishOptions {
    var options = options
    if let line = before.lines.first(where: { $0.mid == mid && $0.track != nil }) { options.maxEncodings = line.layers }
    return options
  }

  /// Whether a line that does not send is given up, so that the client uses its place for the next track (RFC 8829 §5.2.2): where there
  /// are many, and it does not carry the bundle.
  private func isSpent(_ line: MediaDescription) -> Bool {
    offer.media.count > PublishNegotiation.linesKept && offer.bundle?.mids.first != line.mid
  }

  private mutating func decline(
    _ line: MediaDescription, _ reason: String, code: NegotiationError.Code = .negotiationFailed
  ) -> Fate {
    let wants = line.type == .application || offer.direction(of: line).sends
    if wants {
      declined.append(DeclinedLine(mid: line.mid ?? "", kind: MediaKind(line.type), code: code, reason: reason))
    }
    return .rejected
  }

  /// Refuses the offer when it brings new tracks and the server has no codec for any of them.
  private func checkCodecs() throws(NegotiationError) {
    let new = announced.keys.filter { !published.contains($0) }
    let hopeless = declined.filter { $0.code == .noCommonCodec && new.contains($0.mid) }
    guard let first = hopeless.first, hopeless.count == new.count else { return }
    throw NegotiationError(.noCommonCodec, "Track \(first.mid): \(first.reason)", mid: first.mid)
  }

  // MARK: Transport

  /// Positions of lines that are taken, the one that carries the bundle first (RFC 8843 §7.3).
  private var taken: [Int] {
    let open = fates.indices.filter { if case .rejected = fates[$0] { false } else { true } }
    return OfferShape.bundleOrder(open, of: offer)
  }

  mutating func agreeOnTransport(_ freshCredentials: () -> ICECredentials) throws(NegotiationError) {
    let lines = taken.map { offer.media[$0] }
    guard !lines.isEmpty else {
      // The client drops its transport with the last line, and comes back with a new DTLS association.
      agreed = nil
      credentialsAreUsed = credentialsAreUsed || before.agreed != nil
      return
    }
    let remote = try RemoteTransport(offer, lines: lines, in: "offer")
    try remote.check(against: before.agreed)
    let role = try OfferShape.role(for: remote.setup, agreed: before.agreed?.role)
    let isRestart = before.agreed.map { $0.remote != remote.credentials } ?? false
    if isRestart || credentialsAreUsed { credentials = freshCredentials() }
    credentialsAreUsed = false
    agreed = AgreedTransport(
      local: credentials, remote: remote.credentials, fingerprints: remote.fingerprints, role: role,
      isICERestart: isRestart, nominatesAll: remote.nominatesAll)
  }

  // MARK: Answer

  func finish(sessionID: UInt64) -> (PublishNegotiation.State, SessionDescription) {
    let last = before.answer?.origin.sessionVersion ?? 0
    var answer = SessionDescription(origin: Origin(sessionID: sessionID, sessionVersion: last))
    answer.isICELite = true
    answer.extmapAllowMixed = offer.extmapAllowMixed
    let order = taken
    if offer.bundle != nil, !order.isEmpty {
      answer.groups = [Group(semantics: "BUNDLE", mids: order.compactMap { offer.media[$0].mid })]
    }
    for index in offer.media.indices {
      answer.media.append(answerLine(index, carriesBundle: index == order.first))
    }
    if answer != before.answer { answer.origin.sessionVersion = last + 1 }
    let lines = zip(offer.media, fates).map { line, fate in
      PublishNegotiation.Line(
        mid: line.mid ?? "", type: line.type, isRejected: fate.isRejected, track: fate.track,
        layers: options(of: line.mid ?? "").maxEncodings)
    }
    return (
      PublishNegotiation.State(
        lines: lines, answer: answer, credentials: credentials, credentialsAreUsed: credentialsAreUsed, agreed: agreed),
      answer
    )
  }

  private func answerLine(_ index: Int, carriesBundle: Bool) -> MediaDescription {
    let received: ReceivedLine
    let direction: Direction
    let setup = (agreed?.role ?? .server).answered
    switch fates[index] {
    case .rejected: return local.rejection(of: offer.media[index], credentials, setup: setup)
    case .held(let line): (received, direction) = (line, .inactive)
    case .published(let line): (received, direction) = (line, .receiveOnly)
    }
    var line = received.answer
    line.direction = direction
    line.transport = local.attributes(credentials, setup: setup, carriesBundle: carriesBundle)
    return line
  }
}

extension PublishRound.Fate {
  var isRejected: Bool { if case .rejected = self { true } else { false } }
  var track: ReceiveParameters? { if case .published(let line) = self { line.parameters } else { nil } }
}

extension StreamAttributes {
  /// How many tracks the line's SSRCs say that they are of; 0 where they do not say.
  fileprivate var tracks: Int {
    Set(sources.compactMap { $0.attributes.first { $0.name == "msid" }?.value }).count
  }
}
