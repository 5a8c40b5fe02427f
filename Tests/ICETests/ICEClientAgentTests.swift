import Basics
import STUN
import Testing

@testable import ICE

/// A client and the server's agent on a path with 10 ms each way, in virtual time.
struct Path: ~Copyable {
  static let front = SocketAddress(v4: 0x0a00_0001, port: 40_000)
  static let silent = SocketAddress(v4: 0x0a00_0002, port: 40_000)
  var now = Instant.zero
  var agent = ICELiteAgent.atServer()
  var peer: ICEClientAgent
  /// The client's socket as the server sees it.
  var source = home
  /// Drops what it says yes to; counts all checks from 0.
  var drops: (Int) -> Bool = { _ in false }
  var sent = 0
  var clientEvents: [ICEClientAgent.Output] = []
  var serverEvents: [ICEEvent] = []

  init(candidates: [SocketAddress], password: String = server.password) {
    peer = ICEClientAgent(
      local: client, remote: ICECredentials(ufrag: server.ufrag, password: password), candidates: candidates,
      tieBreaker: 9, seed: 5)
    agent.setRemote(ufrag: client.ufrag)
  }

  mutating func run(until end: Instant) {
    while now < end {
      drain()
      if let event = agent.poll(at: now, carryingSince: .zero) { serverEvents.append(event) }
      now = min(end, max(min(peer.nextDeadline, agent.nextDeadline), now + TimeDelta.milliseconds(1)))
    }
  }

  private mutating func drain() {
    while true {
      var buffer = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
      var request = buffer.mutableSpan
      let output = peer.poll(at: now, request: &request)
      switch output {
      case .idle: return
      case .send(let length, let to): deliver(Array(buffer[..<length]), to: to)
      case .connected, .consentExpired, .failed: clientEvents.append(output)
      }
    }
  }

  private mutating func deliver(_ request: [UInt8], to address: SocketAddress) {
    sent += 1
    guard address == Path.front, !drops(sent - 1) else { return }
    now += TimeDelta.milliseconds(10)
    let answer = agent.take(request, from: source, at: now)
    if let event = answer.event { serverEvents.append(event) }
    now += TimeDelta.milliseconds(10)
    _ = peer.handle(answer.bytes.span, from: address, at: now)
  }
}

@Suite struct ICEClientAgentTests {
  @Test func connectsAndKeepsConsent() {
    var path = Path(candidates: [Path.front])
    path.run(until: seconds(60))
    #expect(path.clientEvents == [.connected(Path.front)])
    #expect(path.serverEvents == [.connected(home)])
    #expect(path.peer.selected == Path.front && path.agent.selected == home)
    // Two to connect, then one each 2 to 3 seconds.
    #expect((22...32).contains(path.sent))
  }

  @Test func aSilentCandidateDoesNotHoldTheOthersUp() {
    var path = Path(candidates: [Path.silent, Path.front])
    path.run(until: seconds(0.2))
    #expect(path.clientEvents == [.connected(Path.front)])
  }

  @Test func lostChecksAreSentAgain() {
    var path = Path(candidates: [Path.front])
    path.drops = { $0 < 2 || $0 == 3 }
    path.run(until: seconds(4))
    #expect(path.clientEvents == [.connected(Path.front)])
    #expect(path.serverEvents == [.connected(home)])
  }

  @Test func givesUpAfterSevenTransmissions() {
    var path = Path(candidates: [Path.silent])
    path.run(until: seconds(39))
    #expect(path.clientEvents.isEmpty)
    path.run(until: seconds(40))
    #expect(path.clientEvents == [.failed] && path.sent == 7)
    #expect(path.peer.nextDeadline == .distantFuture)
    var empty = Path(candidates: [])
    empty.run(until: seconds(1))
    #expect(empty.clientEvents == [.failed])
  }

  @Test func aWrongPasswordNeverConnects() {
    var path = Path(candidates: [Path.front], password: "wrongwrongwrongwrongwrong")
    path.run(until: seconds(60))
    #expect(path.clientEvents == [.failed] && path.serverEvents.isEmpty)
  }

  @Test func bothSidesNoticeADeadPath() {
    var path = Path(candidates: [Path.front])
    path.run(until: seconds(10))
    path.drops = { _ in true }
    path.run(until: seconds(22.5))
    #expect(path.serverEvents == [.connected(home), .consentExpired])
    path.run(until: seconds(42))
    #expect(path.clientEvents == [.connected(Path.front), .consentExpired])
    #expect(path.peer.selected == nil && path.agent.selected == nil)
  }

  @Test func aNewAddressIsTakenOverAtOnce() {
    var path = Path(candidates: [Path.front])
    path.run(until: seconds(5))
    path.source = six
    path.peer.localAddressChanged(at: path.now)
    path.run(until: seconds(5.1))
    #expect(path.serverEvents == [.connected(home), .moved(from: home, to: six)])
    path.run(until: seconds(60))
    #expect(path.clientEvents == [.connected(Path.front)])
    #expect(path.serverEvents.count == 2)
  }

  @Test func aRestartKeepsTheConnection() {
    var path = Path(candidates: [Path.front])
    path.run(until: seconds(5))
    let next = ICECredentials(ufrag: "serv2", password: "2222222222222222222222")
    path.agent.restart(local: next)
    path.run(until: seconds(8))
    #expect(path.agent.selected == home)
    path.source = away
    path.peer.restart(
      local: ICECredentials(ufrag: "clnt2", password: "x"), remote: next, candidates: [Path.front])
    path.agent.setRemote(ufrag: "clnt2")
    path.run(until: seconds(40))
    #expect(path.clientEvents == [.connected(Path.front), .connected(Path.front)])
    #expect(path.serverEvents == [.connected(home), .moved(from: home, to: away)])
  }

  @Test func answersFromElsewhereOrForOthersAreNotTaken() throws {
    var peer = ICEClientAgent(local: client, remote: server, candidates: [Path.front], tieBreaker: 1, seed: 1)
    var agent = ICELiteAgent.atServer()
    var buffer = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
    var request = buffer.mutableSpan
    guard case .send(let length, _) = peer.poll(at: .zero, request: &request) else {
      Issue.record("no check")
      return
    }
    let check = Array(buffer[..<length])
    let answer = agent.take(check, from: home, at: .zero).bytes
    #expect(peer.handle(answer.span, from: Path.silent, at: .zero) == .unexpected)
    let other = try agent.take(Check(), from: home, at: .zero).bytes
    #expect(peer.handle(other.span, from: Path.front, at: .zero) == .unexpected)
    #expect(peer.handle(check.span, from: Path.front, at: .zero) == .wrongUsername)
    for bit in 0..<(answer.count * 8) {
      var bytes = answer
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(peer.handle(bytes.span, from: Path.front, at: .zero) != nil)
    }
    #expect(peer.handle(answer.span, from: Path.front, at: .zero) == nil)
    #expect(peer.handle(answer.span, from: Path.front, at: .zero) == .unexpected)
  }

  // MARK: Checks of a peer that is not as lite as it says

  private static let check: Check = {
    var check = Check()
    (check.username, check.password) = ("\(client.ufrag):\(server.ufrag)", client.password)
    (check.controlling, check.controlled) = (nil, 1)
    return check
  }()

  /// What the agent sends at `now`, and where to.
  private func sent(_ peer: inout ICEClientAgent, at now: Instant) -> (bytes: [UInt8], to: SocketAddress)? {
    var buffer = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
    var request = buffer.mutableSpan
    guard case .send(let length, let to) = peer.poll(at: now, request: &request) else { return nil }
    return (Array(buffer[..<length]), to)
  }

  @Test func aCheckIsAnswered() throws {
    var peer = ICEClientAgent(local: client, remote: server, candidates: [Path.front], tieBreaker: 1, seed: 1)
    let own = try #require(sent(&peer, at: .zero))
    let bytes = try Self.check.bytes
    #expect(peer.handle(bytes.span, from: away, at: .zero) == nil)
    #expect(peer.nextDeadline == .zero)
    let answer = try #require(sent(&peer, at: .zero))
    #expect(answer.to == away && own.to == Path.front)
    let view = try MessageView.parse(answer.bytes.span)
    #expect(view.type == MessageType(binding: .success) && view.transactionID == Self.check.id)
    #expect(view.mappedAddress == away)
    #expect(try Answer(action: .ignored(.unexpected), bytes: answer.bytes).isAuthentic(client.password))
    #expect(sent(&peer, at: .zero) == nil && peer.selected == nil)
  }

  @Test func onlyChecksForUsAreAnswered() throws {
    let wrong: [((inout Check) -> Void, ICEDropReason)] = [
      ({ $0.username = "serv:clnt" }, .wrongUsername), ({ $0.hasUsername = false }, .wrongUsername),
      ({ $0.password = server.password }, .wrongIntegrity), ({ $0.isSigned = false }, .wrongIntegrity),
      ({ $0.hasFingerprint = false }, .badFingerprint), ({ $0.controlling = 1 }, .roleConflict),
    ]
    var peer = ICEClientAgent(local: client, remote: server, candidates: [Path.front], tieBreaker: 1, seed: 1)
    #expect(sent(&peer, at: .zero) != nil)
    for (change, reason) in wrong {
      var check = Self.check
      change(&check)
      let bytes = try check.bytes
      #expect(peer.handle(bytes.span, from: away, at: .zero) == reason)
    }
    #expect(sent(&peer, at: .zero) == nil)
  }

  @Test func answersComeInOrderAndDoNotPileUp() throws {
    var peer = ICEClientAgent(local: client, remote: server, candidates: [Path.front], tieBreaker: 1, seed: 1)
    #expect(sent(&peer, at: .zero) != nil)
    for number in 0..<20 {
      var check = Self.check
      check.id = TransactionID(high: 7, low: UInt64(number))
      let bytes = try check.bytes
      let expected = number < ICEClientAgent.answerCapacity ? nil : ICEDropReason.noRoom
      #expect(peer.handle(bytes.span, from: away, at: .zero) == expected)
    }
    for number in 0..<ICEClientAgent.answerCapacity {
      let answer = try #require(sent(&peer, at: .zero))
      #expect(answer.to == away)
      #expect(try MessageView.parse(answer.bytes.span).transactionID == TransactionID(high: 7, low: UInt64(number)))
    }
    #expect(sent(&peer, at: .zero) == nil)
  }

  @Test func afterARestartTheNewCredentialsCount() throws {
    var peer = ICEClientAgent(local: client, remote: server, candidates: [Path.front], tieBreaker: 1, seed: 1)
    let next = ICECredentials(ufrag: "clnt2", password: "2222222222222222222222")
    var check = Self.check
    let old = try check.bytes
    #expect(peer.handle(old.span, from: away, at: .zero) == nil)
    peer.restart(local: next, remote: server, candidates: [Path.front])
    #expect(sent(&peer, at: .zero)?.to == Path.front)
    #expect(peer.handle(old.span, from: away, at: .zero) == .wrongUsername)
    (check.username, check.password) = ("clnt2:\(server.ufrag)", next.password)
    let new = try check.bytes
    #expect(peer.handle(new.span, from: away, at: .zero) == nil)
    #expect(sent(&peer, at: .zero)?.to == away)
  }
}
