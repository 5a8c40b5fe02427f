// The peer of an ICE-lite server, for participants made of code: a controlling agent (RFC 8445 §6, §7.2) cut down to one
// socket and a list of remote candidates, with regular nomination (§8.1.1) and consent checks (RFC 7675). It answers checks,
// for servers that make some although they say that they are lite.
//
//   check each candidate, 50 ms apart ──▶ first that answers: nominate ──▶ connected: consent check every 2.5 s

import Basics
import Crypto
import STUN

/// Finds a remote candidate that answers, nominates it and keeps consent. Sans-IO.
///
/// After every `handle`, and at `nextDeadline`, call `poll` until it returns `idle`.
public struct ICEClientAgent: ~Copyable {
  /// What a request buffer must hold at least.
  public static let requestCapacity = MessageWriter.maximumLength
  /// Checks of the peer that may wait for their answer.
  static let answerCapacity = 8
  /// Time between the first checks of two candidates (RFC 8445 §14.2, Ta).
  static let pace = TimeDelta.milliseconds(50)
  /// Average time between consent checks; each varies by a fifth (RFC 7675 §5.1).
  static let consentInterval = TimeDelta.milliseconds(2_500)

  /// What `poll` wants done.
  public enum Output: Sendable, Equatable {
    /// Nothing before `nextDeadline`.
    case idle
    /// Send the first `length` bytes of the request buffer to this address.
    case send(length: Int, to: SocketAddress)
    /// The server took the nomination: media may go to this address.
    case connected(SocketAddress)
    /// No check was answered for the consent timeout: the connection is over until `restart`.
    case consentExpired
    /// No candidate answered.
    case failed
  }

  /// Where media goes; nil while not connected.
  public private(set) var selected: SocketAddress?
  /// Consent checks that were answered.
  public private(set) var consents: UInt64 = 0
  private var own: ICEGeneration
  private var answers: [(id: TransactionID, to: SocketAddress)] = []
  private var username: [UInt8]
  private var hmac: HMACSHA1
  private var checks: [ClientCheck]
  private let tieBreaker: UInt64
  private let consentTimeout: TimeDelta
  private var random: SplitMix64
  private var nextStart = Instant.zero
  private var consent = ConsentChecks()
  private var news: Output?
  private var isOver = false

  /// An agent that starts checking at its first `poll`. `seed` feeds transaction numbers and jitter.
  public init(
    local: ICECredentials, remote: ICECredentials, candidates: [SocketAddress], tieBreaker: UInt64, seed: UInt64,
    consentTimeout: TimeDelta = .seconds(30)
  ) {
    self.tieBreaker = tieBreaker
    self.consentTimeout = consentTimeout
    random = SplitMix64(seed: seed)
    own = ICEGeneration(local)
    username = Array("\(remote.ufrag):\(local.ufrag)".utf8)
    hmac = HMACSHA1(key: Array(remote.password.utf8).span)
    checks = candidates.map { ClientCheck(address: $0) }
  }

  /// Starts anew with new credentials (RFC 8445 §9). Media goes where it went until the new nomination.
  public mutating func restart(local: ICECredentials, remote: ICECredentials, candidates: [SocketAddress]) {
    own = ICEGeneration(local)
    // They were checked with credentials that are gone.
    answers = []
    username = Array("\(remote.ufrag):\(local.ufrag)".utf8)
    hmac = HMACSHA1(key: Array(remote.password.utf8).span)
    checks = candidates.map { ClientCheck(address: $0) }
    consent = ConsentChecks()
    news = nil
    isOver = false
  }

  /// The socket was replaced by another one: checks the selected address from there at once.
  public mutating func localAddressChanged(at now: Instant) {
    if consent.isRunning { consent.next = now }
  }

  /// When `poll` has something to do.
  public var nextDeadline: Instant {
    if news != nil || !answers.isEmpty { return .zero }
    if isOver { return .distantFuture }
    if consent.isRunning { return min(consent.next, consent.lastAnswer + consentTimeout) }
    let open = checks.filter { $0.state != .failed }
    return open.map { $0.state == .waiting ? nextStart : $0.next }.min() ?? .zero
  }

  /// The next thing to do, one at a time.
  public mutating func poll(at now: Instant, request: inout MutableSpan<UInt8>) -> Output {
    if let event = news.take() { return event }
    if !answers.isEmpty {
      let (id, source) = answers.removeFirst()
      if let length = writeAnswer(id, to: source, into: &request) { return .send(length: length, to: source) }
    }
    guard !isOver else { return .idle }
    if consent.isRunning { return pollConsent(at: now, request: &request) }
    for index in checks.indices where checks[index].isExhausted(at: now) { checks[index].fail() }
    guard checks.contains(where: { $0.state != .failed }) else {
      isOver = true
      return .failed
    }
    for index in checks.indices where checks[index].state == .running && checks[index].next <= now {
      return send(index, at: now, request: &request)
    }
    guard now >= nextStart, let index = checks.firstIndex(where: { $0.state == .waiting }) else { return .idle }
    nextStart = now + Self.pace
    checks[index].begin(random.transactionID())
    return send(index, at: now, request: &request)
  }

  /// Takes a datagram that is STUN by its first byte. Returns nil when it was an answer to a check, or a check that `poll` will
  /// answer.
  public mutating func handle(_ message: Span<UInt8>, from source: SocketAddress, at now: Instant) -> ICEDropReason? {
    guard let view = try? MessageView.parse(message) else { return .malformed }
    if view.type == MessageType(binding: .request) { return takeCheck(view, message, from: source) }
    guard view.type.method == MessageType.binding, view.type.messageClass == .success else { return .unexpected }
    guard view.fingerprintHolds(message) else { return .badFingerprint }
    guard view.integrityHolds(message, hmac: { hmac.tag($0, $1) }) else { return .wrongIntegrity }
    if consent.isRunning {
      guard source == selected, consent.take(view.transactionID) else { return .unexpected }
      consent.lastAnswer = now
      consents += 1
      return nil
    }
    let match = checks.firstIndex {
      $0.state == .running && $0.address == source && $0.transactionID == view.transactionID
    }
    guard let index = match else { return .unexpected }
    answered(index, at: now)
    return nil
  }

  /// A check of the peer (RFC 8445 §7.3); what it learns of the path from the answer is its own affair.
  private mutating func takeCheck(
    _ view: MessageView, _ message: Span<UInt8>, from source: SocketAddress
  ) -> ICEDropReason? {
    guard view.fingerprintHolds(message) else { return .badFingerprint }
    guard let username = view.username, own.isAddressed(by: username, message) else { return .wrongUsername }
    guard own.authenticates(view, message) else { return .wrongIntegrity }
    guard view.iceControlling == nil else { return .roleConflict }
    guard answers.count < Self.answerCapacity else { return .noRoom }
    answers.append((view.transactionID, source))
    return nil
  }

  private mutating func answered(_ index: Int, at now: Instant) {
    if checks[index].isNomination {
      selected = checks[index].address
      consent.start(at: now, next: now + random.jittered(Self.consentInterval))
      news = .connected(checks[index].address)
    } else {
      let address = checks[index].address
      checks = [ClientCheck(address: address, isNomination: true)]
      nextStart = now
    }
  }

  private mutating func send(_ index: Int, at now: Instant, request: inout MutableSpan<UInt8>) -> Output {
    checks[index].sent(at: now)
    let check = checks[index]
    guard let length = write(check.transactionID, nominates: check.isNomination, into: &request) else {
      checks[index].fail()
      return .idle
    }
    return .send(length: length, to: check.address)
  }

  private mutating func pollConsent(at now: Instant, request: inout MutableSpan<UInt8>) -> Output {
    guard let address = selected, now < consent.lastAnswer + consentTimeout else {
      selected = nil
      isOver = true
      return .consentExpired
    }
    guard now >= consent.next else { return .idle }
    let transactionID = random.transactionID()
    consent.sent(transactionID, next: now + random.jittered(Self.consentInterval))
    // The selected pair goes on being nominated, so that a change of our address is taken over at once.
    guard let length = write(transactionID, nominates: true, into: &request) else { return .idle }
    return .send(length: length, to: address)
  }

  /// Writes a check (RFC 8445 §7.2.2); nil when it does not fit.
  private mutating func write(
    _ transactionID: TransactionID, nominates: Bool, into buffer: inout MutableSpan<UInt8>
  ) -> Int? {
    do throws(STUNError) {
      var writer = try MessageWriter(MessageType(binding: .request), transactionID, into: &buffer)
      try writer.appendUsername(username.span, to: &buffer)
      try writer.appendPriority(Self.peerReflexivePriority, to: &buffer)
      try writer.appendControlling(tieBreaker: tieBreaker, to: &buffer)
      if nominates { try writer.appendUseCandidate(to: &buffer) }
      try writer.appendIntegrity(to: &buffer) { hmac.tag($0, $1) }
      try writer.appendFingerprint(to: &buffer)
      return writer.length
    } catch {
      return nil
    }
  }

  /// Writes the answer to a check (RFC 8445 §7.3.1.2); nil when it does not fit.
  private mutating func writeAnswer(
    _ id: TransactionID, to source: SocketAddress, into buffer: inout MutableSpan<UInt8>
  ) -> Int? {
    do throws(STUNError) {
      var writer = try MessageWriter(MessageType(binding: .success), id, into: &buffer)
      try writer.appendMappedAddress(source, to: &buffer)
      try own.sign(&writer, &buffer)
      return writer.length
    } catch {
      return nil
    }
  }

  /// Type preference 110, local preference 65,535, component 1 (RFC 8445 §5.1.2.1).
  private static let peerReflexivePriority: UInt32 = 110 << 24 | 65_535 << 8 | 255
}
