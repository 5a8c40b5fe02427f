// The server's side of ICE: a lite, always controlled agent (RFC 8445 §2.5, §7.3). It sends no checks, so a path lives by what the
// peer sends on it: checks, and media that was authenticated. docs/security.md tells how that differs from RFC 7675 §5.1.

import Basics
import Crypto
import STUN

/// Answers one peer's connectivity checks and knows where to send media. Time and bytes come in as arguments.
///
/// A new address becomes the selected one by an authentic check with USE-CANDIDATE. Of a peer that nominates once for all (`ice2`) or
/// anew as it likes (`renomination`) the latest counts. Any other may nominate all that it checks (aggressive nomination, RFC 5245
/// §8.1.1.2): of these the one of the highest PRIORITY, until it nominates another again, and the selected one no more. Before the first
/// one media may go where the DTLS handshake came about (`begin`).
public struct ICELiteAgent: ~Copyable {
  /// What a reply buffer must hold at least.
  public static let replyCapacity = 128
  /// Remote addresses that are remembered at most; the one silent for longest gives way.
  static let addressCapacity = 16
  /// Silence on the selected address after which a check or media from another one moves there without nomination. Some
  /// controlling agents keep up consent on a pair other than the one they nominated last; RFC 7675 §5.1 checks come 4 – 6 s apart.
  static let staleness = TimeDelta.seconds(4)
  /// Authentic checks of a peer that are looked at in a second, on paths that have passed one and as many on new ones; a browser that
  /// looks for a path sends as many at most. Lower it, and a peer with many addresses takes longer to come up.
  public static let checksPerSecond = 20
  /// As many at once as in so many seconds.
  static let burstSeconds = 5

  /// Where media goes; nil before the first nomination, unless `begin` chose, and after consent expired.
  public private(set) var selected: SocketAddress?
  /// Silence on a path that carries media after which consent expires.
  public var consentTimeout: TimeDelta
  /// Whether the peer may nominate what it does not mean to use.
  private var nominatesAll = false
  /// Where a path of a lower priority was nominated, and the selected one has not been since. An agent that nominates all goes on with both.
  private var wished: SocketAddress?
  /// PRIORITY of the check that nominated the selected address.
  private var selectedPriority: UInt32 = 0
  private var current: ICEGeneration
  private var pending: ICEGeneration?
  private var validated: [ValidatedAddress] = []
  /// When the selected address was last heard by something authentic.
  private var lastHeard = Instant.zero
  /// Silence before this counts for nothing: the path carried no media then.
  private var judgedFrom = Instant.zero
  private var hasExpired = false
  /// Whether the peer goes on checking where media goes.
  private var freshness = ConsentFreshness()
  /// Where media went when consent expired; nil once it is another's, and while there is a selected address.
  private var former: SocketAddress?

  struct ValidatedAddress {
    var address: SocketAddress
    var lastHeard: Instant
  }

  /// The bound of each generation of credentials; nil for none.
  private let checksPerSecond: Int?

  /// An agent that waits for checks, with the credentials that its description told the peer. `checksPerSecond`: how many of its
  /// authentic checks are looked at; nil for all.
  public init(
    local: ICECredentials, consentTimeout: TimeDelta = .seconds(10), checksPerSecond: Int? = Self.checksPerSecond
  ) {
    self.checksPerSecond = checksPerSecond
    current = ICEGeneration(local, checksPerSecond: checksPerSecond)
    self.consentTimeout = consentTimeout
    validated.reserveCapacity(Self.addressCapacity)
  }

  /// Tells the peer's fragment, of the newest generation. May come after its first checks: until then any sender's fragment is
  /// taken. An agent that sends no checks has no use for the password.
  ///
  /// `nominatesAll`: its description says neither `ice2` nor `renomination`.
  public mutating func setRemote(ufrag: String, nominatesAll: Bool = false) {
    self.nominatesAll = nominatesAll
    if pending != nil {
      pending?.remoteUfrag = Array(ufrag.utf8)
    } else {
      current.remoteUfrag = Array(ufrag.utf8)
    }
  }

  /// Begins an ICE restart (RFC 8445 §9). The old credentials hold until the first authentic check with the new ones, and
  /// media goes on where it goes until a new nomination.
  public mutating func restart(local: ICECredentials) {
    pending = ICEGeneration(local, checksPerSecond: checksPerSecond)
  }

  /// The fragments that checks may be addressed to now: the current one, and the next during a restart. A restart in a restart
  /// gives up the next one, not the current one.
  public var localUfrags: [String] {
    let next = pending?.text()
    return [current.text(), next].compactMap { $0 }
  }

  /// When `poll` has something to do.
  public var nextDeadline: Instant {
    selected == nil ? .distantFuture : max(lastHeard, judgedFrom) + consentTimeout
  }

  /// Whether the peer has shown that it refreshes consent, as RFC 7675 §5.1 wants it.
  public var refreshesConsent: Bool { freshness.isKept }

  /// `consentExpired`, once, when nothing was heard for the consent timeout on a path that has carried media for as long;
  /// otherwise nil. `carryingSince`: since when it has, in either direction; nil while it carries none, as a peer that has
  /// nothing to send and nothing to report on may be silent. One that has refreshed consent may not: it is judged by its checks, where
  /// `expectsChecks`.
  public mutating func poll(at now: Instant, carryingSince: Instant?, expectsChecks: Bool = true) -> ICEEvent? {
    guard now >= nextDeadline else { return nil }
    if !(refreshesConsent && expectsChecks) { judgedFrom = carryingSince ?? now }
    guard now >= nextDeadline else { return nil }
    let last = selected
    expire()
    former = last
    return .consentExpired
  }

  /// Consent has ended, and the selected address is somebody else's: none known so far is the peer's until it checks again.
  public mutating func expire() {
    selected = nil
    former = nil
    hasExpired = true
    validated.removeAll(keepingCapacity: true)
  }

  /// Whether this address has passed a check, and something authentic came from it within the consent timeout: it is the
  /// peer's.
  public func isValidated(_ address: SocketAddress, at now: Instant) -> Bool {
    if address == selected && now - lastHeard < consentTimeout { return true }
    return validated.contains { $0.address == address && now - $0.lastHeard < consentTimeout }
  }

  /// Notes media from the selected address that was authenticated and is no replay.
  @inline(__always)
  public mutating func heardSelected(at now: Instant) { lastHeard = now }

  /// Whether nothing authentic has come from the selected path for a tenth of the consent timeout.
  public func isQuiet(at now: Instant) -> Bool { (now - lastHeard) * 10 >= consentTimeout }

  /// When something authentic came last on any path, at the latest: what comes while it is not quiet may not be noted. Nil where
  /// nothing has.
  public var lastSign: Instant? {
    let last = validated.lazy.map(\.lastHeard).max().map { max($0, lastHeard) } ?? lastHeard
    return last == .zero ? nil : last + TimeDelta(nanoseconds: consentTimeout.nanoseconds / 10)
  }

  /// Whether nothing authentic has come from the selected path for so long.
  public func isSilent(for time: TimeDelta, at now: Instant) -> Bool { now - lastHeard >= time }

  /// Notes media from another address that was authenticated and is no replay. Where that address has passed a check and the
  /// selected one is silent, media goes there from now on. From the last address before consent expired it brings consent back:
  /// a peer that sends no checks has nothing else to say that it is there.
  public mutating func heard(_ source: SocketAddress, at now: Instant) -> ICEEvent? {
    if selected == nil, source == former { return select(source, at: now) }
    guard let index = validated.firstIndex(where: { $0.address == source }) else { return nil }
    validated[index].lastHeard = now
    guard let old = selected, source != old else {
      if source == selected { lastHeard = now }
      return nil
    }
    return isStale(at: now) ? move(from: old, to: source, at: now) : nil
  }

  /// Lets media go to an address before any is nominated: one that has passed a check, over which a handshake came about. RFC
  /// 8445 §12.1.1 allows it, and a nomination may come a round trip later. Says whether it does.
  public mutating func begin(on address: SocketAddress, at now: Instant) -> Bool {
    guard selected == nil, !hasExpired, isValidated(address, at: now) else { return false }
    selected = address
    lastHeard = now
    freshness.begin(at: now)
    return true
  }

  /// Takes a datagram that is STUN by its first byte and writes the answer into `reply`, which holds `replyCapacity` bytes
  /// at least. `isKnown`: whether its path has passed a check. `answersAll`: whether one that is not authentic is answered too, with
  /// 400 or 401.
  public mutating func handle(
    _ message: Span<UInt8>, from source: SocketAddress, isKnown: Bool, at now: Instant, answersAll: Bool = true,
    reply: inout MutableSpan<UInt8>
  ) -> ICEAction {
    guard let view = try? MessageView.parse(message) else { return .ignored(.malformed) }
    return handle(view, message, from: source, isKnown: isKnown, at: now, answersAll: answersAll, reply: &reply)
  }

  /// As above, for a message that is parsed already.
  public mutating func handle(
    _ view: MessageView, _ message: Span<UInt8>, from source: SocketAddress, isKnown: Bool, at now: Instant,
    answersAll: Bool = true, reply: inout MutableSpan<UInt8>
  ) -> ICEAction {
    let isNew = view.username.flatMap { generation(of: $0, message) }
    // Before anything is computed. The first check after a restart is always looked at.
    if isKnown, isNew == false, current.bounds?.admits(view.transactionID, isKnown: true, at: now) == false {
      return .ignored(.overRate)
    }
    guard view.fingerprintHolds(message) else { return .ignored(.badFingerprint) }
    guard view.type == MessageType(binding: .request) else { return .ignored(.unexpected) }
    guard view.username != nil, view.integrityOffset != nil else {
      return answersAll ? refuse(view, 400, .incomplete, isAuthentic: false, &reply) : .ignored(.incomplete)
    }
    guard let isNew else {
      return answersAll ? refuse(view, 401, .wrongUsername, isAuthentic: false, &reply) : .ignored(.wrongUsername)
    }
    guard isNew ? pending?.authenticates(view, message) == true : current.authenticates(view, message) else {
      return answersAll ? refuse(view, 401, .wrongIntegrity, isAuthentic: false, &reply) : .ignored(.wrongIntegrity)
    }
    if isNew { adoptPending() }
    var isCopy = false
    if current.bounds != nil {
      guard let known = current.bounds?.take(view.transactionID, isKnown: isKnown, at: now) else {
        return .ignored(.overRate)
      }
      isCopy = known
    }
    if view.unknown.count > 0 { return refuse(view, 420, .unknownAttribute, isAuthentic: true, &reply) }
    // A lite agent has no tie-breaker to win with: its peer must take the controlling role (RFC 8445 §7.3.1.1).
    if view.iceControlled != nil { return refuse(view, 487, .roleConflict, isAuthentic: true, &reply) }
    guard let length = accept(view, source, &reply) else { return .ignored(.noRoom) }
    if source == selected && !isCopy { freshness.note(within: consentTimeout, at: now) }
    return .reply(length: length, note(source, view, isCopy: isCopy, at: now))
  }

  /// Whether the message is for the pending generation (true) or the current one (false); nil when for neither.
  private func generation(of username: Range<Int>, _ message: Span<UInt8>) -> Bool? {
    if current.isAddressed(by: username, message) { return false }
    if pending?.isAddressed(by: username, message) == true { return true }
    return nil
  }

  private mutating func adoptPending() {
    guard let generation = pending.take() else { return }
    current = generation
    freshness = ConsentFreshness()
    selectedPriority = 0
    wished = nil
    validated.removeAll(keepingCapacity: true)
  }

  /// Remembers an authentic check and says what it changes.
  private mutating func note(
    _ source: SocketAddress, _ view: MessageView, isCopy: Bool, at now: Instant
  ) -> ICEEvent? {
    remember(source, at: now)
    let priority = view.priority ?? 0
    guard let old = selected else {
      guard view.useCandidate || hasExpired else { return nil }
      selectedPriority = priority
      return select(source, at: now)
    }
    if source == old {
      lastHeard = now
      if view.useCandidate { (selectedPriority, wished) = (priority, nil) }
      return nil
    }
    let isNominated =
      view.useCandidate && (!nominatesAll || priority >= selectedPriority || wished == source && !isCopy)
    if view.useCandidate { wished = source }
    guard isNominated || isStale(at: now) else { return nil }
    (selectedPriority, wished) = (priority, nil)
    return move(from: old, to: source, at: now)
  }

  /// The first address, or the first since consent expired.
  private mutating func select(_ source: SocketAddress, at now: Instant) -> ICEEvent {
    remember(source, at: now)
    (selected, former) = (source, nil)
    lastHeard = now
    freshness.begin(at: now)
    return hasExpired ? .recovered(source) : .connected(source)
  }

  private func isStale(at now: Instant) -> Bool { now - lastHeard >= min(Self.staleness, consentTimeout) }

  private mutating func move(from old: SocketAddress, to new: SocketAddress, at now: Instant) -> ICEEvent {
    selected = new
    lastHeard = now
    return .moved(from: old, to: new)
  }

  private mutating func remember(_ source: SocketAddress, at now: Instant) {
    if let index = validated.firstIndex(where: { $0.address == source }) {
      validated[index].lastHeard = now
    } else if validated.count < Self.addressCapacity {
      validated.append(ValidatedAddress(address: source, lastHeard: now))
    } else if let oldest = oldestIndex() {
      validated[oldest] = ValidatedAddress(address: source, lastHeard: now)
    }
  }

  private func oldestIndex() -> Int? {
    validated.indices.filter { validated[$0].address != selected }
      .min { validated[$0].lastHeard < validated[$1].lastHeard }
  }

  /// Writes the success response; nil when it does not fit.
  private mutating func accept(
    _ view: MessageView, _ source: SocketAddress, _ reply: inout MutableSpan<UInt8>
  ) -> Int? {
    do throws(STUNError) {
      var writer = try MessageWriter(MessageType(binding: .success), view.transactionID, into: &reply)
      try writer.appendMappedAddress(source, to: &reply)
      try current.sign(&writer, &reply)
      return writer.length
    } catch {
      return nil
    }
  }

  private mutating func refuse(
    _ view: MessageView, _ code: Int, _ reason: ICEDropReason, isAuthentic: Bool, _ reply: inout MutableSpan<UInt8>
  ) -> ICEAction {
    do throws(STUNError) {
      var writer = try MessageWriter(MessageType(binding: .error), view.transactionID, into: &reply)
      try writer.appendErrorCode(code, to: &reply)
      if code == 420 { try writer.appendUnknownAttributes(view.unknown, to: &reply) }
      if isAuthentic {
        try current.sign(&writer, &reply)
      } else {
        try writer.appendFingerprint(to: &reply)
      }
      return .refused(length: writer.length, reason)
    } catch {
      return .ignored(.noRoom)
    }
  }
}

/// One generation of credentials: they change with an ICE restart.
struct ICEGeneration: ~Copyable {
  let ufrag: [UInt8]
  /// Nil until the peer's description is known.
  var remoteUfrag: [UInt8]?
  private var hmac: HMACSHA1
  /// Of checks with these credentials; nil for none.
  var bounds: CheckBounds?

  init(_ credentials: ICECredentials, checksPerSecond: Int? = nil) {
    ufrag = Array(credentials.ufrag.utf8)
    bounds = checksPerSecond.map { CheckBounds(perSecond: $0) }
    hmac = HMACSHA1(key: Array(credentials.password.utf8).span)
  }

  func text() -> String { String(decoding: ufrag, as: UTF8.self) }

  func isAddressed(by username: Range<Int>, _ message: Span<UInt8>) -> Bool {
    guard let colon = CheckUsername.colon(message, username),
      CheckUsername.matches(ufrag, message, username.lowerBound..<colon)
    else { return false }
    guard let remoteUfrag else { return colon + 1 < username.upperBound }
    return CheckUsername.matches(remoteUfrag, message, (colon + 1)..<username.upperBound)
  }

  mutating func authenticates(_ view: MessageView, _ message: Span<UInt8>) -> Bool {
    view.integrityHolds(message) { hmac.tag($0, $1) }
  }

  /// Ends a message with MESSAGE-INTEGRITY and FINGERPRINT.
  mutating func sign(_ writer: inout MessageWriter, _ buffer: inout MutableSpan<UInt8>) throws(STUNError) {
    try writer.appendIntegrity(to: &buffer) { hmac.tag($0, $1) }
    try writer.appendFingerprint(to: &buffer)
  }
}

extension HMACSHA1 {
  mutating func tag(_ header: Span<UInt8>, _ body: Span<UInt8>) -> IntegrityTag {
    reset()
    update(header)
    update(body)
    return finish()
  }
}
