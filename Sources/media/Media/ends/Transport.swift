// One peer connection of a seat as the worker sees it: ICE finds the path, DTLS the keys, SRTP seals and opens.
// Sans-IO: what is to be sent collects in a `ControlQueue`.

import Basics
import Congestion
import Crypto
import DTLS
import Forwarding
import ICE
import RTP
import SRTP
import STUN

/// A transport. Owned by one worker.
struct Transport: ~Copyable {
  /// Lost packets and keyframes that a peer may ask for in a second, and as many at once. Raise it and a peer that asks for
  /// everything again and again takes more of the worker's time from others. Lower it and a peer is helped less that receives
  /// forty tracks over a network that loses half of all packets.
  static let maxFeedbackItemsPerSecond = 20_000
  /// Keyframes that publishers are asked for at once since a client wants to see something else, and in each second from then on: two
  /// pages of 49 views. Raise them and one receiver takes more of the rate that publishers have for all; lower them and a client that changes
  /// many views waits longer.
  static let keyframeBurst = 100, keyframesPerSecond = 4

  /// Bytes at the front that are looked at when a packet is queued, and when one is sent.
  static let queued = 64, sent = 384

  // What each packet needs comes first.
  var chain = SendChain()
  private(set) var path: Path?
  var line = LineSummary()
  var security: Security

  let key: TransportKey
  var room: RoomID
  var routes = Routes()
  /// Agreed on for the whole bundle: the same identifier means the same on every line.
  var extensions = HeaderExtensionIDs()
  /// What this peer may still ask for.
  var feedbackAllowance = TokenBucket(
    perSecond: Double(Self.maxFeedbackItemsPerSecond), burst: Self.maxFeedbackItemsPerSecond, now: .zero)
  /// What it may bring in.
  var bounds: PublisherBounds
  var reporting: Reporting
  /// Since when media has gone to the peer with no break as long as the media timeout, and when it last did.
  private var sendingPeriod: (since: Instant, last: Instant)?
  private var connecting: ConnectTimer
  private var peer: PeerPaths
  /// The deadline of this transport that counts; others in the queue are stale.
  var scheduled = Instant.distantFuture
  /// What is known of the peer's line; nil until it is sent video, or redundant sound.
  var downlink: Downlink?
  /// Whether nothing at all comes from the peer: then it is sent no video, see `LineOutage`.
  var isDark = false
  /// What sound the line loses, and how much redundancy it needs; nil while it is sent none, or does not say.
  var redundancy: RedundancyControl?
  /// The worst loss, in 1/256, that the peer has reported of a stream since that was looked at.
  var worstReport: UInt8 = 0
  /// Keyframes for which publishers may still be asked since this peer's client wants to see something else: views, layers, pauses.
  var keyframeAllowance = TokenBucket(
    perSecond: Double(Self.keyframesPerSecond), burst: Self.keyframeBurst, now: .zero)

  /// Where the peer has shown itself, besides the path that media goes.
  struct PeerPaths: ~Copyable {
    /// DTLS flights toward an address from which nothing has come since: whoever forges it has that much sent there for a datagram. Raise
    /// it and he has more; lower it and a handshake waits for the peer sooner where datagrams are lost.
    static let maximumUnansweredFlights = 4
    /// Bytes of the shortest datagram that can be part of a flight: a record with a ClientHello (RFC 6347 §4.2.2, RFC 9147 §5.3). Lower it,
    /// and less has to be forged for four flights more.
    static let shortestFlight = 60
    /// Paths that a peer may have validated at once; as many as the ICE agent remembers.
    static let maximumPaths = 16

    /// Those that it has validated.
    var validated: [Path] = []
    /// Where its last DTLS datagram came from.
    var handshake: Path?
    /// DTLS flights since something came from where they go.
    var unansweredFlights = 0
    /// Where media went when consent ran out. What comes from there is looked at until the peer is back, but nothing is sent.
    var lost: Path?
    /// Local user name fragments that lead here: the current one, and the next during an ICE restart.
    var fragments: [String]
    var ice: ICELiteAgent
    let mediaTimeout: TimeDelta
  }

  init(key: TransportKey, room: RoomID, credentials: ICECredentials, settings: WorkerState.Settings, reporter: UInt32) {
    self.key = key
    self.room = room
    reporting = Reporting(ssrc: reporter)
    connecting = ConnectTimer(timeout: settings.connectTimeout)
    peer = PeerPaths(
      fragments: [credentials.ufrag],
      ice: ICELiteAgent(
        local: credentials, consentTimeout: settings.mediaTimeout, checksPerSecond: settings.checksPerSecond),
      mediaTimeout: settings.mediaTimeout)
    security = Security(backend: settings.srtpBackend)
    bounds = PublisherBounds(videoBitsPerSecond: settings.videoBitsPerSecond)
  }

  /// Paths that the peer has validated.
  var paths: [Path] { peer.validated }

  /// Where media went when consent ran out.
  var lostPath: Path? { peer.lost }

  /// Local user name fragments that lead here.
  var fragments: [String] { peer.fragments }

  /// Where DTLS goes: before a nomination, back to where the peer's came from.
  var controlPath: Path? { path ?? peer.handshake ?? peer.validated.last }

  /// Whether media can be sealed and sent now.
  var canSend: Bool { path != nil && security.isReady }

  /// Mutating, though nothing changes: to borrow all of it, the compiler (6.3) copies it.
  var nextDeadline: Instant {
    mutating get {
      min(
        min(security.hasFailed ? .distantFuture : peer.ice.nextDeadline, security.nextDeadline),
        min(
          security.isReady ? reporting.feedback.nextDeadline : connecting.deadline,
          min(reporting.next, canSend ? downlink?.nextDeadline ?? .distantFuture : .distantFuture)))
    }
  }

  // MARK: coming up

  /// The peer is there: the time in which the transport should come up begins, or begins again with a new description.
  mutating func expectConnection(anew: Bool, at now: Instant) {
    connecting.expect(anew: anew, isUp: security.isReady, at: now)
  }

  /// How far the transport is when it should be up and is not; said once.
  mutating func pollConnection(at now: Instant) -> TransportProgress? {
    guard !security.isReady, connecting.expires(at: now), !security.hasFailed else { return nil }
    if peer.validated.isEmpty { return .unheard }
    if path == nil { return .checked }
    return security.isDescribed ? .nominated : .undescribed
  }

  // MARK: description

  mutating func setRemote(_ remote: RemoteTransport) {
    peer.ice.setRemote(ufrag: remote.credentials.ufrag, nominatesAll: remote.nominatesAll)
    security.setRemote(remote)
  }

  /// Takes new local credentials; returns the fragments that no longer lead here.
  mutating func restartICE(_ credentials: ICECredentials) -> [String] {
    peer.ice.restart(local: credentials)
    let valid = peer.ice.localUfrags
    let forgotten = peer.fragments.filter { !valid.contains($0) }
    peer.fragments = valid
    return forgotten
  }

  /// Notes an SSRC that SDP has told.
  mutating func bind(_ ssrc: UInt32, _ encoding: EncodingID, isRetransmission: Bool, counts: IntakeClass) {
    _ = routes.addIncoming(
      IncomingRoute(ssrc: ssrc, encoding: encoding, isRetransmission: isRetransmission, counts: counts))
  }

  /// Whose the stream is by now that belonged to nobody; nil where it still does not.
  var strayEncoding: EncodingID? { mutating get { routes.stray.ssrc.flatMap { routes.findIncoming($0)?.encoding } } }

  /// Tracks have come or gone: what the peer may send of each kind follows their number.
  mutating func countTracks() {
    let videos = routes.lines.count { $0.kind == .video }
    bounds.count(sounds: routes.lines.count - videos, videos: videos)
  }

  // MARK: ICE

  struct STUNOutcome {
    /// Why it is no good check; nil for one that is.
    var drop: DropReason?
    var recovered = false
    /// One that is not authentic was answered.
    var toldWhy = false
  }

  /// A datagram of ICE.
  struct Check {
    let message: MessageView
    let bytes: UnsafeBufferPointer<UInt8>
    let source: Path
    /// Whether the path that it came on is the transport's.
    let isKnown: Bool
    /// Whether one that is not authentic is answered.
    let answersAll: Bool
  }

  mutating func handleSTUN(
    _ check: Check, at now: Instant, reply: inout [UInt8], control: inout ControlQueue
  ) -> STUNOutcome {
    let (message, source) = (check.message, check.source)
    var buffer = reply.mutableSpan
    let action = peer.ice.handle(
      message, check.bytes.span, from: source.remote, isKnown: check.isKnown, at: now, answersAll: check.answersAll,
      reply: &buffer)
    switch action {
    case .ignored(let reason): return STUNOutcome(drop: reason == .overRate ? .tooManyChecks : .badSTUN)
    case .refused(let length, let reason):
      control.append(reply[..<length], to: source)
      return STUNOutcome(drop: .badSTUN, toldWhy: !reason.isAuthentic)
    case .reply(let length, let event):
      control.append(reply[..<length], to: source)
      var outcome = STUNOutcome()
      switch event {
      case .connected, .moved: path = source
      case .recovered:
        path = source
        outcome.recovered = true
      case .consentExpired: break
      case nil:
        // The agent knows addresses only: the same peer may nominate another of our sockets.
        if message.useCandidate && path?.remote == source.remote { path = source }
      }
      return outcome
    }
  }

  /// Notes a validated path; returns the one that has to make room for it.
  mutating func remember(_ new: Path) -> Path? {
    if peer.validated.contains(new) { return nil }
    peer.validated.append(new)
    guard peer.validated.count > PeerPaths.maximumPaths, let oldest = peer.validated.firstIndex(where: { $0 != path })
    else {
      return nil
    }
    return peer.validated.remove(at: oldest)
  }

  /// Whether the peer has shown itself on this path lately: then nobody else can claim it. Else a peer could
  /// cut off another by a forged source address and a valid check of its own.
  func holds(_ path: Path, at now: Instant) -> Bool {
    peer.validated.contains(path) && peer.ice.isValidated(path.remote, at: now)
  }

  /// The path is another transport's, or nobody's.
  mutating func forget(_ old: Path) {
    peer.validated.removeAll { $0 == old }
    if path == old { path = nil }
    if peer.handshake == old { peer.handshake = nil }
    if peer.lost == old { peer.lost = nil }
  }

  /// Notes where a datagram of the handshake came from, a path that has passed a check. Where consent ran out it shows nothing:
  /// nothing is sent there until something authentic has come.
  mutating func heardHandshake(_ bytes: Int, from source: Path) {
    if source != peer.lost { peer.handshake = source }
    // What is too short to be part of a flight shows nobody who waits for one.
    if bytes >= PeerPaths.shortestFlight { mayAnswer(on: source) }
  }

  /// Something has come from there: if that is where DTLS goes, it may.
  mutating func mayAnswer(on source: Path) { if source == controlPath { peer.unansweredFlights = 0 } }

  /// Where a flight goes; nil where there is no such path, or so many have gone there and nothing has come back.
  mutating func takeFlight() -> Path? {
    guard let path = controlPath, peer.unansweredFlights < PeerPaths.maximumUnansweredFlights else { return nil }
    peer.unansweredFlights += 1
    return path
  }

  /// Whether so little has come that the next authentic datagram matters for the peer's liveness.
  func isQuiet(at now: Instant) -> Bool { peer.ice.isQuiet(at: now) }

  /// When something authentic came last, at the latest; nil where nothing has.
  var lastHeard: Instant? { peer.ice.lastSign }

  /// Whether nothing authentic has come on the path of media for so long.
  func isSilent(for time: TimeDelta, at now: Instant) -> Bool { peer.ice.isSilent(for: time, at: now) }

  /// The handshake is done. Where no path is nominated yet, media goes where the handshake did.
  mutating func beginSending(at now: Instant) {
    guard path == nil, let handshake = peer.handshake, peer.ice.begin(on: handshake.remote, at: now) else { return }
    path = handshake
  }

  /// Notes RTP or RTCP that was authenticated and is no replay: the path that it came on lives. True when that brings consent
  /// back.
  @inline(__always)
  mutating func heard(from source: Path, at now: Instant) -> Bool {
    if source == path {
      peer.ice.heardSelected(at: now)
      return false
    }
    return heardElsewhere(source, at: now)
  }

  private mutating func heardElsewhere(_ source: Path, at now: Instant) -> Bool {
    guard let event = peer.ice.heard(source.remote, at: now) else { return false }
    path = source
    if case .recovered = event { return true }
    return false
  }

  /// Notes that media leaves for the peer.
  mutating func noteSending(at now: Instant) {
    sendingPeriod = (sendingSince(at: now) ?? now, now)
  }

  /// Since when media goes to the peer; nil when none does.
  func sendingSince(at now: Instant) -> Instant? {
    guard let period = sendingPeriod, now - period.last < peer.mediaTimeout else { return nil }
    return period.since
  }

  /// Whether it is time for `pollConsent`. Of a connection that is over nothing is awaited.
  func isConsentDue(at now: Instant) -> Bool { !security.hasFailed && now >= peer.ice.nextDeadline }

  /// True once when consent has run out: on a path that carries media, in either direction, or whose peer has refreshed it. Nothing is sent until the
  /// peer checks again.
  mutating func pollConsent(at now: Instant, receivingSince received: Instant?) -> Bool {
    let sent = sendingSince(at: now)
    let since = sent.map { min($0, received ?? .distantFuture) } ?? received
    let event = peer.ice.poll(at: now, carryingSince: since, expectsChecks: security.isReady)
    guard event == .consentExpired else { return false }
    (path, peer.lost) = (nil, path)
    return true
  }

  /// No path is the peer's by a check any more.
  mutating func disown() {
    peer.validated.removeAll(keepingCapacity: true)
    peer.handshake = nil
  }

  /// The path that was lost, once the peer is back on one.
  mutating func foundLostPath() -> Path? { peer.lost.take() }

  /// The path that media went is another transport's.
  mutating func expireConsent() { peer.ice.expire() }

  /// Streams to the peer that have ended for good.
  mutating func forget(_ ssrcs: [UInt32]) {
    // Should one be the reporter's by chance, its RTCP goes on and so must its numbers.
    for ssrc in ssrcs where ssrc != reporting.ssrc { security.forget(ssrc: ssrc) }
  }

  // MARK: transport-wide numbers

  /// Notes the arrival of a numbered packet; true when a report has become due earlier than was scheduled.
  mutating func record(_ number: UInt16, at now: Instant) -> Bool {
    reporting.feedback.record(number, at: now)
    return reporting.feedback.nextDeadline < scheduled
  }
}

/// The time in which a transport should come up.
struct ConnectTimer {
  /// When it is told that the transport has not come up.
  private(set) var deadline = Instant.distantFuture
  private var hasTold = false
  private let timeout: TimeDelta

  init(timeout: TimeDelta) { self.timeout = timeout }

  /// The time begins, unless it runs already or the transport `isUp`; `anew` also where it has been told once.
  mutating func expect(anew: Bool, isUp: Bool, at now: Instant) {
    if anew { hasTold = false }
    guard deadline == .distantFuture, !isUp, !hasTold else { return }
    deadline = now + timeout
  }

  /// True once when the time is over.
  mutating func expires(at now: Instant) -> Bool {
    guard deadline <= now else { return false }
    (deadline, hasTold) = (.distantFuture, true)
    return true
  }
}

/// What the server tells one peer: reports about streams, and transport-wide feedback.
struct Reporting {
  /// Time between reports to one peer about what it publishes, and about streams that are new to it.
  static let interval = TimeDelta.seconds(1)
  /// Which of these reports is about streams that it knows as well. Five seconds are what RFC 3550 §6.2 wants between reports;
  /// clocks do not drift apart by anything that shows in them, and an audience is told of little else.
  static let full: UInt8 = 5
  /// Reports leave at whole multiples of this, well below the interval; a transport's first is earlier by up to as much.
  static let beat = TimeDelta.milliseconds(50)

  /// The SSRC under which the server reports to this peer.
  let ssrc: UInt32
  /// When the next reports are due.
  private(set) var next = Instant.distantFuture
  /// Reports since the last that was about all streams.
  private var count: UInt8 = 0
  var feedback = TransportFeedbackBuilder()
  /// What this peer's own reports say of its clock.
  var clock = PublisherClock()

  init(ssrc: UInt32) { self.ssrc = ssrc }

  /// The next reports are due an interval from now. Those of many transports leave together, so that a worker
  /// need not wake for each.
  mutating func schedule(after now: Instant) {
    let next = now + Self.interval
    self.next = Instant(nanoseconds: next.nanoseconds - next.nanoseconds % Self.beat.nanoseconds)
  }

  /// Reports are sent now. True when they are about all streams.
  mutating func begin(at now: Instant) -> Bool {
    schedule(after: now)
    count = (count + 1) % Self.full
    return count == 0
  }
}

extension HeaderExtensionIDs {
  private static var fields: [WritableKeyPath<Self, UInt8> & Sendable] {
    [
      \.mid, \.rid, \.repairedRid, \.absSendTime, \.transportSequence, \.audioLevel, \.videoOrientation,
      \.dependencyDescriptor,
    ]
  }

  /// Takes over the identifiers of another line of the same bundle. One that meant something else in a line that is gone no longer does.
  mutating func merge(_ other: HeaderExtensionIDs) {
    for field in Self.fields where other[keyPath: field] != 0 {
      for old in Self.fields where self[keyPath: old] == other[keyPath: field] { self[keyPath: old] = 0 }
    }
    for field in Self.fields where other[keyPath: field] != 0 { self[keyPath: field] = other[keyPath: field] }
  }
}
