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
  /// Paths that a peer may have validated at once; as many as the ICE agent remembers.
  static let maximumPaths = 16
  /// Lost packets and keyframes that a peer may ask for in a second, and as many at once. Raise it and one who asks for
  /// everything again and again takes more of the worker's time from others; lower it and who receives forty tracks over a
  /// network that loses half of all packets is helped less.
  static let wishesPerSecond = 20_000

  /// Bytes at the front that are looked at when a packet is queued, and when one is sent.
  static let queued = 64, sent = 384

  // What each packet needs comes first.
  var chain = SendChain()
  private(set) var path: Path?
  /// Since when media has gone to the peer with no break as long as the media timeout, and when it last did.
  private var sending: (since: Instant, last: Instant)?
  private var lastSequence: UInt16 = 0
  var security: Security

  let key: TransportKey
  let room: RoomID
  /// The SSRC under which the server reports to this peer.
  let reporter: UInt32
  var routes = Routes()
  var extensions = HeaderExtensionIDs()
  var feedback = TransportFeedbackBuilder()
  /// What this peer may still ask for.
  var wishes = TokenBucket(perSecond: Double(Self.wishesPerSecond), burst: Self.wishesPerSecond, now: .zero)
  /// When it is told that this transport has not come up.
  private(set) var connectBy = Instant.distantFuture
  private var isToldSlow = false
  private let connectTimeout: TimeDelta
  private let mediaTimeout: TimeDelta
  /// When the next sender or receiver reports are due.
  var nextReport = Instant.distantFuture
  /// Reports since the last that was about all streams.
  var reports: UInt8 = 0
  /// The deadline of this transport that counts; others in the queue are stale.
  var scheduled = Instant.distantFuture
  private(set) var paths: [Path] = []
  /// Where the peer's last DTLS datagram came from.
  private var handshakePath: Path?
  /// Where media went when consent ran out. What comes from there is looked at until the peer is back, but nothing is sent.
  private(set) var lostPath: Path?
  /// Local user name fragments that lead here: the current one, and the next during an ICE restart.
  private(set) var fragments: [String]
  private var ice: ICELiteAgent

  init(key: TransportKey, room: RoomID, credentials: ICECredentials, settings: WorkerState.Settings, reporter: UInt32) {
    self.key = key
    self.room = room
    self.reporter = reporter
    connectTimeout = settings.connectTimeout
    mediaTimeout = settings.mediaTimeout
    fragments = [credentials.ufrag]
    ice = ICELiteAgent(local: credentials, consentTimeout: settings.mediaTimeout)
    security = Security(backend: settings.srtpBackend)
  }

  /// Where DTLS goes: before a nomination, back to where the peer's came from.
  var controlPath: Path? { path ?? handshakePath ?? paths.last }

  /// Whether media can be sealed and sent now.
  var canSend: Bool { path != nil && security.isReady }

  /// Mutating, though nothing changes: to borrow all of it, the compiler (6.3) copies it.
  var nextDeadline: Instant {
    mutating get {
      min(
        min(ice.nextDeadline, security.nextDeadline),
        min(security.isReady ? feedback.nextDeadline : connectBy, nextReport))
    }
  }

  // MARK: coming up

  /// The peer is there: the time in which the transport should come up begins, or begins again with a new description.
  mutating func expectConnection(anew: Bool, at now: Instant) {
    if anew { isToldSlow = false }
    guard connectBy == .distantFuture, !security.isReady, !isToldSlow else { return }
    connectBy = now + connectTimeout
  }

  /// How far the transport is when it should be up and is not; said once.
  mutating func pollConnection(at now: Instant) -> TransportProgress? {
    guard !security.isReady, connectBy <= now else { return nil }
    (connectBy, isToldSlow) = (.distantFuture, true)
    guard !security.hasFailed else { return nil }
    if paths.isEmpty { return .unheard }
    if path == nil { return .checked }
    return security.isDescribed ? .nominated : .undescribed
  }

  // MARK: description

  mutating func setRemote(_ remote: RemoteTransport) {
    ice.setRemote(ufrag: remote.credentials.ufrag)
    security.setRemote(remote)
  }

  /// Takes new local credentials; returns the fragments that no longer lead here.
  mutating func restartICE(_ credentials: ICECredentials) -> [String] {
    ice.restart(local: credentials)
    let valid = ice.localUfrags
    let forgotten = fragments.filter { !valid.contains($0) }
    fragments = valid
    return forgotten
  }

  /// Notes an SSRC that SDP has told.
  mutating func bind(_ ssrc: UInt32, _ encoding: EncodingID, isRetransmission: Bool) {
    _ = routes.addIncoming(IncomingRoute(ssrc: ssrc, encoding: encoding, isRetransmission: isRetransmission))
  }

  /// Header extensions are agreed on for the whole bundle: the same identifier means the same on every line.
  mutating func learn(_ ids: HeaderExtensionIDs) { extensions.merge(ids) }

  // MARK: ICE

  struct STUNOutcome {
    var validated = false
    var refused = false
    var recovered = false
  }

  mutating func handleSTUN(
    _ message: MessageView, _ bytes: Span<UInt8>, from source: Path, at now: Instant, control: inout ControlQueue
  ) -> STUNOutcome {
    var reply = [UInt8](repeating: 0, count: ICELiteAgent.replyCapacity)
    var buffer = reply.mutableSpan
    let action = ice.handle(message, bytes, from: source.remote, at: now, reply: &buffer)
    switch action {
    case .ignored: return STUNOutcome(refused: true)
    case .refused(let length, _):
      control.append(reply[..<length], to: source)
      return STUNOutcome(refused: true)
    case .reply(let length, let event):
      control.append(reply[..<length], to: source)
      var outcome = STUNOutcome(validated: true)
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
    if paths.contains(new) { return nil }
    paths.append(new)
    guard paths.count > Self.maximumPaths, let oldest = paths.firstIndex(where: { $0 != path }) else { return nil }
    return paths.remove(at: oldest)
  }

  /// Whether the peer has shown itself on this path lately: then nobody else can claim it. Who could, by a forged source
  /// address and his own valid check, would cut off the peer behind it.
  func holds(_ path: Path, at now: Instant) -> Bool { paths.contains(path) && ice.isValidated(path.remote, at: now) }

  /// The path is somebody else's, or nobody's.
  mutating func forget(_ old: Path) {
    paths.removeAll { $0 == old }
    if path == old { path = nil }
    if handshakePath == old { handshakePath = nil }
    if lostPath == old { lostPath = nil }
  }

  /// Notes where a datagram of the handshake came from, a path that has passed a check.
  mutating func heardHandshake(from source: Path) { handshakePath = source }

  /// The handshake is done. Where no path is nominated yet, media goes where the handshake did.
  mutating func beginSending(at now: Instant) {
    guard path == nil, let handshakePath, ice.begin(on: handshakePath.remote, at: now) else { return }
    path = handshakePath
  }

  /// Notes RTP or RTCP that was authenticated and is no replay: the path that it came on lives. True when that brings consent
  /// back.
  @inline(__always)
  mutating func heard(from source: Path, at now: Instant) -> Bool {
    if source == path {
      ice.heardSelected(at: now)
      return false
    }
    return heardElsewhere(source, at: now)
  }

  private mutating func heardElsewhere(_ source: Path, at now: Instant) -> Bool {
    guard let event = ice.heard(source.remote, at: now) else { return false }
    path = source
    if case .recovered = event { return true }
    return false
  }

  /// Notes that media leaves for the peer.
  mutating func noteSending(at now: Instant) {
    sending = (sendingSince(at: now) ?? now, now)
  }

  /// Since when media goes to the peer; nil when none does.
  func sendingSince(at now: Instant) -> Instant? {
    guard let sending, now - sending.last < mediaTimeout else { return nil }
    return sending.since
  }

  /// Whether it is time for `pollConsent`.
  func isConsentDue(at now: Instant) -> Bool { now >= ice.nextDeadline }

  /// True once when consent has run out on a path that carries media since `since`: nothing is sent until the peer checks again.
  mutating func pollConsent(at now: Instant, carryingSince since: Instant?) -> Bool {
    guard ice.poll(at: now, carryingSince: since) == .consentExpired else { return false }
    (path, lostPath) = (nil, path)
    return true
  }

  /// No path is the peer's by a check any more.
  mutating func disown() {
    paths.removeAll(keepingCapacity: true)
    handshakePath = nil
  }

  /// The path that was lost, once the peer is back on one.
  mutating func takeLostPath() -> Path? { lostPath.take() }

  /// The path that media went is somebody else's.
  mutating func expireConsent() { ice.expire() }

  /// Streams to the peer that have ended for good.
  mutating func forget(_ ssrcs: [UInt32]) {
    // Should one be the reporter's by chance, its RTCP goes on and so must its numbers.
    for ssrc in ssrcs where ssrc != reporter { security.forget(ssrc: ssrc) }
  }

  // MARK: transport-wide numbers

  /// Notes the arrival of a numbered packet; true when a report has become due earlier than was scheduled.
  mutating func record(_ number: UInt16, at now: Instant) -> Bool {
    feedback.record(number, at: now)
    return feedback.nextDeadline < scheduled
  }

  mutating func nextTransportSequence() -> UInt16 {
    lastSequence &+= 1
    return lastSequence
  }
}

extension HeaderExtensionIDs {
  /// Takes over the identifiers of another line of the same bundle.
  mutating func merge(_ other: HeaderExtensionIDs) {
    if other.mid != 0 { mid = other.mid }
    if other.rid != 0 { rid = other.rid }
    if other.repairedRid != 0 { repairedRid = other.repairedRid }
    if other.absSendTime != 0 { absSendTime = other.absSendTime }
    if other.transportSequence != 0 { transportSequence = other.transportSequence }
    if other.audioLevel != 0 { audioLevel = other.audioLevel }
    if other.videoOrientation != 0 { videoOrientation = other.videoOrientation }
  }
}
