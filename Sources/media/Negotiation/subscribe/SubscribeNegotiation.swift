// The subscribe half of a seat: the server offers what the seat shall receive (RFC 8829 §5.2), the client answers. Where the
// client offers, `SubscribeNegotiation+ClientOffers.swift` answers. A value without I/O. Changes gather until an offer may go out: one is outstanding at a time. The life of a line is
// drawn in `SubscribeLine.swift`, answers are read in `SubscribeAnswer.swift`.

import Basics
import RTP
import SDP

/// What the server offers to subscribers.
public struct SubscribeOptions: Sendable, Hashable {
  /// Offers transport-wide congestion control (feedback and header extension).
  public var transportCC = true
  /// Media lines, ended ones included, at least 2. A subscriber of 15 + 15 tracks needs 30 and a few for turnover; the
  /// parser's `SDPLimits.mediaSections` bounds it as well.
  public var maxMediaLines = 100
  /// The first offer has one line of each kind. The others come in the next, right after its answer, while the transport is
  /// still coming up. aiortc gives the second line of a kind in a first offer a transport of its own, and never connects it.
  public var beginsWithOneOfEachKind = true
  /// A line that has carried a track, or was answered without one, carries the next of its kind. False for clients that show a track
  /// only when a new line brings it (aiortc, Pion, GStreamer): then the place of such a line is used again under another tag, after both
  /// ends have said port 0, and the line itself only where there is nothing else.
  public var usesLinesAgain = true

  /// The defaults.
  public init() {}
}

/// Who makes the offers about what a client is sent.
public enum Offerer: Sendable, Hashable {
  /// The server, whenever there is something new (the room protocol).
  case server
  /// The client, when it begins and whenever it wants to (WHEP).
  case client
}

/// A track that a seat shall receive.
public struct Subscription: Sendable, Hashable {
  /// Names the subscription in the seat; never used again.
  public var id: UInt64
  /// Audio or video.
  public var kind: MediaKind
  /// Names the track in `a=msid`: letters, digits, `-`, `_`, `.`; others are replaced, beyond 64 bytes cut.
  public var trackID: String
  /// Names the MediaStream in `a=msid` and is the CNAME, under the same rule: tracks with the same one play in step.
  public var streamID: String
  /// Codecs the producer may send, best first; empty for any of the kind.
  public var codecs: [CodecProfile]
  /// How the producer sends Opus; says nothing of video.
  public var opus: OpusFormat

  /// A track to receive.
  public init(
    id: UInt64, kind: MediaKind, trackID: String, streamID: String, codecs: [CodecProfile],
    opus: OpusFormat = OpusFormat()
  ) {
    self.id = id
    self.kind = kind
    self.trackID = trackID
    self.streamID = streamID
    self.codecs = codecs
    self.opus = opus
  }
}

/// Offer and answer of one subscriber's peer connection.
public struct SubscribeNegotiation: Sendable {
  /// An offer to hand to the client.
  public struct Offer: Sendable, Hashable {
    /// A line that carries a subscription.
    public struct Track: Sendable, Hashable {
      /// The line's identification tag.
      public var mid: String
      /// What it carries.
      public var subscriptionID: UInt64
    }
    /// Counts from 1; the answer names it.
    public var id: UInt64
    /// The offer.
    public var sdp: String
    /// Every line that is offered as sending, not only new ones.
    public var tracks: [Track]
    /// The server's ICE credentials in it. A client may check with them before its answer is here.
    public var credentials: ICECredentials
  }

  /// A subscription whose line the client took.
  public struct Started: Sendable, Hashable {
    /// The subscription.
    public var subscriptionID: UInt64
    /// How to send it.
    public var parameters: SendParameters
  }

  /// A subscription whose line the client did not take; it is over.
  public struct Rejected: Sendable, Hashable {
    /// The subscription.
    public var subscriptionID: UInt64
    /// `noCommonCodec`, or `negotiationFailed` where the client refused the line.
    public var code: NegotiationError.Code
    /// A sentence for people.
    public var reason: String
  }

  /// What an answer has changed.
  public struct Applied: Sendable, Hashable {
    /// Subscriptions that may be sent from now on.
    public var started: [Started] = []
    /// Running subscriptions whose parameters the client changed.
    public var changed: [Started] = []
    /// Subscriptions the client did not take.
    public var rejected: [Rejected] = []
    /// The transport; nil when the client has rejected every line. After nil comes a new transport with a new DTLS
    /// association.
    public var transport: AgreedTransport?
  }

  /// The offer that waits for its answer, for sending again after a reconnect.
  public private(set) var outstanding: Offer?

  /// Who offers; the other one answers.
  public let offerer: Offerer
  let options: SubscribeOptions
  let local: LocalTransport
  var lines: [SubscribeLine] = []
  var waiting: [Subscription] = []
  var description: SessionDescription
  var credentials: ICECredentials
  private var mustOffer = true
  var agreed: AgreedTransport?
  private var nextMid: UInt64 = 0
  private var ssrcs: SSRCSequence?

  /// A seat's subscribe side before its first offer. `sessionID` goes into the `o=` line (any number below 2^63).
  public init(
    options: SubscribeOptions = SubscribeOptions(), transport: LocalTransport, sessionID: UInt64,
    offerer: Offerer = .server
  ) {
    self.offerer = offerer
    self.options = options
    local = transport
    credentials = transport.credentials
    description = SessionDescription(origin: Origin(sessionID: sessionID, sessionVersion: 0))
  }

  // MARK: Wishes

  /// Wishes for a track. Adding an id that is already there changes nothing.
  /// - Throws: 4003 when as many subscriptions are wished for as there may be lines.
  public mutating func add(_ subscription: Subscription) throws(NegotiationError) {
    let assigned = lines.compactMap(\.assignment?.subscription)
    guard !(assigned + waiting).contains(where: { $0.id == subscription.id }) else { return }
    guard assigned.count + waiting.count < maxLines else {
      throw NegotiationError(
        "One participant can receive \(maxLines) tracks at once.", limit: maxLines,
        count: assigned.count + waiting.count + 1)
    }
    waiting.append(subscription)
  }

  /// How to send a subscription; nil while the client has accepted no line for it.
  public func parameters(of subscriptionID: UInt64) -> SendParameters? {
    lines.lazy.compactMap(\.assignment).first { $0.subscription.id == subscriptionID }?.parameters
  }

  /// Ends a subscription; unknown ids are ignored. Its line goes inactive with the next offer and may carry another track
  /// once the client has answered that.
  public mutating func remove(_ subscriptionID: UInt64) {
    waiting.removeAll { $0.id == subscriptionID }
    for index in lines.indices where lines[index].assignment?.subscription.id == subscriptionID {
      lines[index].state = .ending(wasOffered: false)
    }
  }

  /// The publisher of this subscription's track may send other codecs, or Opus otherwise, from now on; the next offer says so.
  public mutating func setCodecs(
    _ codecs: [CodecProfile], opus: OpusFormat = OpusFormat(), of subscriptionID: UInt64
  ) {
    change(subscriptionID) { subscription in
      guard subscription.codecs != codecs || subscription.opus != opus else { return false }
      (subscription.codecs, subscription.opus) = (codecs, opus)
      return true
    }
  }

  /// Two subscriptions of one kind carry each other's track from now on. Lines that the client has taken keep their
  /// `a=msid`, which names what the client shows there, and no offer follows; what was not offered yet is offered as it
  /// is now.
  /// - Throws: 4004 when a line was taken without the codec that is to come on it.
  public mutating func swap(_ a: UInt64, _ b: UInt64) throws(NegotiationError) {
    guard let first = subscription(a), let second = subscription(b), a != b else { return }
    try check(second, fits: a)
    try check(first, fits: b)
    put(second, on: a)
    put(first, on: b)
  }

  private func check(_ track: Subscription, fits id: UInt64) throws(NegotiationError) {
    guard let line = lines.first(where: { $0.assignment?.subscription.id == id }),
      let taken = line.assignment?.parameters?.payloads, let codec = track.codecs.first
    else { return }
    guard taken.contains(where: { $0.codec == codec }) else {
      throw NegotiationError(
        .noCommonCodec, "Media line \(line.mid) was answered without \(codec.label), which the other track sends.",
        mid: line.mid)
    }
  }

  private mutating func put(_ track: Subscription, on id: UInt64) {
    let isTaken = lines.contains { $0.assignment?.subscription.id == id && $0.assignment?.parameters != nil }
    change(id) { subscription in
      (subscription.codecs, subscription.opus) = (track.codecs, track.opus)
      if !isTaken { (subscription.trackID, subscription.streamID) = (track.trackID, track.streamID) }
      return false
    }
  }

  private func subscription(_ id: UInt64) -> Subscription? {
    lines.lazy.compactMap(\.assignment?.subscription).first { $0.id == id } ?? waiting.first { $0.id == id }
  }

  /// Changes a subscription where it is; `body` says whether a line that carries it has to be offered again.
  private mutating func change(_ id: UInt64, _ body: (inout Subscription) -> Bool) {
    for index in waiting.indices where waiting[index].id == id { _ = body(&waiting[index]) }
    for index in lines.indices {
      guard case .sending(var assignment) = lines[index].state, assignment.subscription.id == id else { continue }
      if body(&assignment.subscription) { mustOffer = true }
      lines[index].state = .sending(assignment)
    }
  }

  /// Asks for an ICE restart with these new credentials in the next offer. A client that offers restarts by its offers alone.
  public mutating func restartICE(_ credentials: ICECredentials) {
    guard offerer == .server else { return }
    self.credentials = credentials
    mustOffer = true
  }

  // MARK: Offer

  /// The next offer; nil when nothing has changed since the last, one is outstanding, or the client offers. The first always exists and has
  /// an audio and a video line that send even with nothing to send.
  public mutating func makeOffer(using random: inout some RandomNumberGenerator) -> Offer? {
    guard offerer == .server, outstanding == nil else { return nil }
    if lines.isEmpty {
      for kind in Self.firstLines {
        lines.append(SubscribeLine(kind: kind, mid: makeMid(), state: .open(makeSource(kind, &random))))
      }
    }
    let assigned = assignLines(&random)
    guard mustOffer || assigned || lines.contains(where: \.needsOffer) else { return nil }
    mustOffer = false
    for index in lines.indices where lines[index].needsOffer { lines[index].state = .ending(wasOffered: true) }
    giveUpSpentLines()
    describe()
    let offer = Offer(
      id: description.origin.sessionVersion, sdp: description.serialized(),
      tracks: lines.compactMap { line in
        line.assignment.map { Offer.Track(mid: line.mid, subscriptionID: $0.subscription.id) }
      },
      credentials: credentials)
    outstanding = offer
    return offer
  }

  /// With more lines than this, those that have ended are given up. Raise it and there may be no place left when many tracks come at
  /// once; lower it and GStreamer is stuck sooner: its webrtcbin (1.22) fails where another tag stands in a place that it has used.
  static let linesKept = 75

  /// Offers lines with port 0 that would never be used again. The first two stay: one of them carries the bundle.
  private mutating func giveUpSpentLines() {
    guard !options.usesLinesAgain, lines.count > Self.linesKept else { return }
    for index in lines.indices.dropFirst(Self.firstLines.count) where lines[index].isIdle {
      lines[index].state = .spent
    }
  }

  /// Gives up on the outstanding offer, whose answer never came or never will; the next one says it all again.
  public mutating func withdraw() {
    guard outstanding != nil else { return }
    outstanding = nil
    mustOffer = true
  }

  /// Lines of every first offer, with or without tracks.
  private static let firstLines = [MediaKind.audio, .video]

  var maxLines: Int { min(max(options.maxMediaLines, 2), SDPLimits.mediaSections) }

  private mutating func appendLine(_ kind: MediaKind) {
    lines.append(SubscribeLine(kind: kind, mid: makeMid()))
  }

  private mutating func makeMid() -> String {
    defer { nextMid += 1 }
    return String(nextMid)
  }

  /// Gives waiting subscriptions a line each, as far as there are any; whether one got one.
  private mutating func assignLines(_ random: inout some RandomNumberGenerator) -> Bool {
    var left: [Subscription] = []
    let before = waiting.count
    for subscription in waiting {
      guard let index = lineToUse(for: subscription.kind) else {
        left.append(subscription)
        continue
      }
      let source = lines[index].openSource ?? makeSource(subscription.kind, &random)
      lines[index].state = .sending(.init(subscription: subscription, source: source))
    }
    waiting = left
    return left.count < before
  }

  /// A line that is offered already, else a free one, else a new one, else one that the client once refused. After port 0 that needs a new mid.
  private mutating func lineToUse(for kind: MediaKind) -> Int? {
    let free =
      lines.firstIndex { $0.kind == kind && $0.openSource != nil } ?? lines.firstIndex { $0.kind == kind && $0.isIdle }
    if let free, options.usesLinesAgain || agreed == nil { return free }
    if lines.count > Self.linesKept, let place = lines.firstIndex(where: { $0.isRejected }) {
      // Another line, of any kind, in its place (RFC 8829 §5.2.2).
      lines[place] = SubscribeLine(kind: kind, mid: makeMid())
      return place
    }
    if lines.count < (options.beginsWithOneOfEachKind && agreed == nil ? Self.firstLines.count : maxLines) {
      appendLine(kind)
      return lines.count - 1
    }
    if let free { return free }
    if let declined = lines.firstIndex(where: { $0.kind == kind && $0.isDeclined }) { return declined }
    guard let rejected = lines.firstIndex(where: { $0.kind == kind && $0.isRejected }) else { return nil }
    lines[rejected].mid = makeMid()
    return rejected
  }

  mutating func makeSource(_ kind: MediaKind, _ random: inout some RandomNumberGenerator) -> SubscribeLine.Source {
    .init(ssrc: makeSSRC(&random), rtxSSRC: kind == .video ? makeSSRC(&random) : nil)
  }

  private mutating func makeSSRC(_ random: inout some RandomNumberGenerator) -> UInt32 {
    var sequence = ssrcs ?? SSRCSequence(start: UInt32.random(in: 0 ... .max, using: &random))
    defer { ssrcs = sequence }
    return sequence.next()
  }

  private mutating func describe() {
    description.origin.sessionVersion += 1
    description.isICELite = true
    description.extmapAllowMixed = true
    description.groups = []
    description.media = []
    for line in lines {
      var media = line.offer(options)
      media.transport =
        media.isRejected
        ? local.identity(credentials, setup: .actpass)
        : local.attributes(credentials, setup: .actpass, carriesBundle: description.groups.isEmpty)
      description.add(media)
    }
  }

  // MARK: Answer

  /// Takes the answer to the outstanding offer.
  /// - Throws: 4005 with a sentence for people; the offer is still outstanding then and may be answered again.
  public mutating func handle(answer text: String, offerID: UInt64) throws(NegotiationError) -> Applied {
    guard let outstanding else { throw NegotiationError("No offer is waiting for an answer.") }
    guard outstanding.id == offerID else {
      throw NegotiationError("The answer is to offer \(offerID), but offer \(outstanding.id) is the one outstanding.")
    }
    let answer = try SubscribeAnswer(text, to: description)
    let transport = try agree(on: answer.transport, offered: outstanding.credentials)
    var applied = Applied(transport: transport)
    for (index, verdict) in answer.verdicts.enumerated() { apply(verdict, toLine: index, &applied) }
    agreed = transport
    self.outstanding = nil
    return applied
  }

  private func agree(
    on remote: RemoteTransport?, offered: ICECredentials
  ) throws(NegotiationError) -> AgreedTransport? {
    guard let remote else { return nil }
    try remote.check(against: agreed)
    let role = try role(for: remote.setup)
    let isRestart = agreed.map { $0.local != offered } ?? false
    if isRestart, agreed?.remote == remote.credentials {
      throw NegotiationError("The offer restarts ICE, but the answer has the old a=ice-ufrag and a=ice-pwd.")
    }
    return AgreedTransport(
      local: offered, remote: remote.credentials, fingerprints: remote.fingerprints, role: role,
      isICERestart: isRestart, nominatesAll: remote.nominatesAll)
  }

  /// The offer said actpass, so the client chooses, and silence means active (RFC 8842 §5.3). The role then stays.
  private func role(for setup: SetupRole?) throws(NegotiationError) -> DTLSRole {
    let role: DTLSRole
    switch setup ?? .active {
    case .active: role = .server
    case .passive: role = .client
    case .actpass, .holdconn:
      throw NegotiationError("The answer must say a=setup:active or a=setup:passive.")
    }
    guard agreed?.role ?? role == role else {
      throw NegotiationError("The answer changes the DTLS role agreed on (a=setup).")
    }
    return role
  }

  private mutating func apply(_ verdict: SubscribeAnswer.Verdict, toLine index: Int, _ applied: inout Applied) {
    switch (lines[index].state, verdict) {
    case (.sending(let assignment), _):
      apply(verdict, toLine: index, carrying: assignment, &applied)
    case (.open, .rejected), (.idle, .rejected), (.declined, .rejected), (.ending, .rejected):
      lines[index].state = .rejected
    case (.open, .inactive):
      lines[index].state = .declined
    case (.ending(wasOffered: true), _):
      lines[index].state = .idle
    case (.spent, _):
      lines[index].state = .rejected
    case (.open, _), (.idle, _), (.declined, _), (.ending, _), (.rejected, _):
      break
    }
  }

  private mutating func apply(
    _ verdict: SubscribeAnswer.Verdict, toLine index: Int, carrying assignment: SubscribeLine.Assignment,
    _ applied: inout Applied
  ) {
    let id = assignment.subscription.id
    func reject(_ code: NegotiationError.Code, _ reason: String) {
      applied.rejected.append(Rejected(subscriptionID: id, code: code, reason: reason))
    }
    switch verdict {
    case .rejected:
      lines[index].state = .rejected
      reject(.negotiationFailed, "The client rejected media line \(lines[index].mid).")
    case .inactive:
      lines[index].state = .declined
      reject(.negotiationFailed, "The client does not want to receive on media line \(lines[index].mid).")
    case .receiving(let received) where received.payloads.isEmpty:
      lines[index].state = .ending(wasOffered: false)
      reject(.noCommonCodec, "The client took no codec of media line \(lines[index].mid).")
    case .receiving(let received):
      let parameters = sendParameters(lines[index], assignment, received)
      guard parameters != assignment.parameters else { return }
      let started = Started(subscriptionID: id, parameters: parameters)
      if assignment.parameters == nil { applied.started.append(started) } else { applied.changed.append(started) }
      var running = assignment
      running.parameters = parameters
      lines[index].state = .sending(running)
    }
  }

  func sendParameters(
    _ line: SubscribeLine, _ assignment: SubscribeLine.Assignment, _ received: SubscribeAnswer.Received
  ) -> SendParameters {
    let hasRTX = received.payloads.contains { $0.rtxPayloadType != nil }
    return SendParameters(
      mid: line.mid, kind: line.kind, ssrc: assignment.source.ssrc, rtxSSRC: hasRTX ? assignment.source.rtxSSRC : nil,
      payloads: received.payloads, extensions: received.extensions, nack: received.nack)
  }
}
