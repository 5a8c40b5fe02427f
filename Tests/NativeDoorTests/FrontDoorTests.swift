// The front door over real sockets, with a scripted core behind it.
import Basics
import Foundation
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import Threads
import WebSockets

@testable import DoorKit
@testable import NativeDoor

@Suite struct FrontDoorTests {
  private let here = PeerNetwork(SocketAddress(v4: 0x7f00_0001, port: 1))

  /// As docs/security.md says: whoever reads the log at `info` can tell where a connection came from.
  @Test func theLogNamesPeers() async throws {
    let stage = try Stage(level: .info)
    let peer = try stage.connect()
    #expect(await eventually { stage.log.contains { $0.contains("connection opened") } })
    peer.close(code: 1000)
    #expect(await eventually { stage.log.contains { $0.contains("connection closed") } })
    let lines = stage.log.filter { $0.contains("connection opened") || $0.contains("connection closed") }
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("127.0.0.1:") }, "\(lines)")
  }

  /// Beyond it a message gets an answer without being decoded: its id is not known.
  @Test func whatIsTooMuchOfStrangersIsNotRead() async throws {
    let stage = try Stage(strangersBytes: 1_000, core: obliging)
    let peer = try stage.connect()
    let padding = String(repeating: "x", count: 800)
    peer.ask(1, "ping", #"{"nobody":"\#(padding)"}"#)
    #expect(await eventually { peer.texts.count == 1 })
    #expect(peer.errors.isEmpty, "the control")
    peer.ask(2, "ping", #"{"nobody":"\#(padding)"}"#)
    #expect(await eventually { peer.texts.count == 2 })
    #expect(peer.errors.map(\.id) == ["null"] && peer.errors.map(\.code) == [1006])
    #expect(stage.requests.count == 1)
  }

  @Test func requestsGoInAndRepliesEventsAndClosesComeOut() async throws {
    let stage = try Stage(core: { command in
      guard case .request(let connection, let id, .session(.ping)) = command else { return [] }
      return [
        .reply(connection, id, .success(.empty)),
        .event(connection, EventMessage(seq: 1, serverTime: 5, event: .sessionReplaced)),
        .reply(connection, .string("x"), .failure(ErrorObject(.roomFull))),
        .closeConnection(connection, .replaced),
      ]
    })
    let peer = try stage.connect()
    peer.ask(42, "ping")
    #expect(await eventually { peer.closure != nil })
    #expect(peer.texts.count == 3)
    #expect(peer.texts.first?.contains(#""id":42"#) == true)
    #expect(peer.texts.first?.contains(#""result":{}"#) == true)
    #expect(peer.texts[1].contains("session.replaced"))
    #expect(peer.texts[1].contains(#""seq":1"#))
    #expect(peer.errors.first?.code == 2002)
    #expect(peer.closure == WebSocketClosure(cause: .peer, code: 4000, reason: "session replaced"))
    #expect(stage.requests.count == 1)
    #expect(stage.requests.first?.1 == .number(42))
    #expect(stage.door.statistics.requests == [.ping: 1])
  }

  /// The gate hears of each question that goes out.
  @Test func whoIsAskedMayAnswer() async throws {
    var limits = DoorLimits()
    (limits.dataPerSecond, limits.dataBurst) = (0.001, 1)
    let asked = MessageRequested(requestId: "q1", from: "anna", topic: "x", data: 1, expiresAt: 5, remainingMs: 5)
    let stage = try Stage(
      limits: limits,
      core: { command in
        guard case .request(let connection, let id, let request) = command else { return [] }
        guard case .session(.ping) = request else { return [.reply(connection, id, .success(.empty))] }
        return [
          .reply(connection, id, .success(.resumed(.replayed(0)))),
          .event(connection, EventMessage(seq: 1, serverTime: 5, event: .messageRequested(asked))),
        ]
      })
    let peer = try stage.connect()
    peer.ask(1, "ping")
    #expect(await eventually { peer.texts.count == 2 })
    for id in 2...4 { peer.ask(id, "message.answer", #"{"requestId":"q1","data":1}"#) }
    #expect(await eventually { peer.texts.count == 5 })
    #expect(peer.errors.map(\.id) == ["4"] && peer.errors.map(\.code) == [1006])
  }

  @Test func anEventForSeveralReachesEachUnderItsOwnNumber() async throws {
    let stage = try Stage(core: obliging)
    let peers = try (0..<3).map { _ in try stage.connect() }
    for peer in peers { peer.ask(1, "ping") }
    #expect(await eventually { stage.requests.count == 3 && peers.allSatisfy { $0.texts.count == 1 } })
    var receivers = stage.requests.map { EventReceiver($0.0, seq: Int($0.0.number) * 10) }
    receivers.insert(EventReceiver(ConnectionID(99), seq: 1), at: 1)
    let message = Message(msgId: "m1", room: "demo", ts: 5, from: "anna", text: "to all")
    stage.door.carryOut(.broadcast(receivers, serverTime: 7, .chatMessage(message)))
    #expect(await eventually { peers.allSatisfy { $0.texts.count == 2 } })
    let frames = try peers.map { try ServerFrame.decode(Array($0.texts[1].utf8)) { _ in nil } }
    let wanted = receivers.filter { $0.connection != ConnectionID(99) }.map {
      ServerFrame.event(EventMessage(seq: $0.seq, serverTime: 7, event: .chatMessage(message)))
    }
    #expect(Set(frames) == Set(wanted))
  }

  @Test func inTheOpenDemoEverybodyIsWhoTheySay() async throws {
    let stage = try Stage()
    let peer = try stage.connect()
    peer.ask(1, "session.hello", #"{"user":"anna","deviceId":"phone"}"#)
    #expect(await eventually { stage.commands.count == 1 })
    guard case .hello(_, .number(1), let params, let identity) = stage.commands.first else {
      Issue.record("a hello goes in with whose it is")
      return
    }
    #expect(params.user == "anna")
    var anna = Identity(user: "anna", device: "phone", displayName: "anna", rights: .all, isVerified: false)
    anna.network = here
    #expect(identity == anna)
  }

  /// A further token goes in with whose it is; one that is not believed changes nothing, and is never written down.
  @Test func theCoreHearsOfFurtherTokens() async throws {
    let stage = try Stage(
      verifier: Doorkeeper(), level: .info,
      core: { command in
        guard case .token(let connection, let id, _, _) = command else { return [] }
        return [.reply(connection, id, .success(.empty))]
      })
    let peer = try stage.connect()
    peer.ask(1, "session.token", #"{"token":"stolen"}"#)
    #expect(await eventually { peer.errors.map(\.code) == [ErrorCode.authFailed.rawValue] })
    #expect(stage.commands.isEmpty)
    peer.ask(2, "session.token", #"{"token":"good"}"#)
    #expect(await eventually { peer.texts.count == 2 })
    guard case .token(_, .number(2), _, let identity) = stage.commands.first else {
      Issue.record("a token goes in with whose it is")
      return
    }
    #expect(identity == Doorkeeper.anna(of: here))
    #expect(stage.log.contains { $0.contains("token_refused") && $0.contains("127.0.0.1:") && $0.contains("expired") })
    #expect(!stage.log.contains { $0.contains("stolen") })
  }

  /// Whatever it failed for, and whoever found out: a forged one, somebody else's, one that the core knows as taken back.
  @Test func withTheThirdTokenThatFailsTheConnectionEnds() async throws {
    let stage = try Stage(
      verifier: Doorkeeper(),
      core: { command in
        guard case .hello(let connection, let id, _, _) = command else { return [] }
        return [.reply(connection, id, .failure(ErrorObject(.authFailed) { $0.reason = "token_invalid" }))]
      })
    let peer = try stage.connect()
    let tries = [("anna@example.org", "stolen"), ("boss", "good"), ("anna@example.org", "good")]
    for (number, (user, token)) in tries.enumerated() {
      #expect(peer.closure == nil)
      peer.ask(number, "session.hello", #"{"user":"\#(user)","token":"\#(token)"}"#)
      #expect(await eventually { peer.errors.map(\.code) == [Int](repeating: 1004, count: number + 1) })
    }
    #expect(await eventually { peer.closure?.code == 1008 })
    #expect(peer.closure?.reason == "3 tokens failed" && stage.door.statistics.closedForAbuse == 1)
    #expect(stage.log.contains { $0.contains("door_refused") && $0.contains("3 tokens failed") })
  }

  /// Over real sockets: the turns of an address are used up, what is more waits, and a good one is let in by its turn.
  @Test func whatWaitsHasItsTurn() async throws {
    var limits = TokenGate.limits
    (limits.burst, limits.perSecond) = (1, 4)
    let stage = try Stage(
      verifier: Doorkeeper(), tokenLimits: limits,
      core: { command in
        guard case .hello(let connection, let id, _, _) = command else { return [] }
        return [.reply(connection, id, .success(.empty))]
      })
    let peers = try (0..<14).map { _ in try stage.connect() }
    #expect(await eventually { stage.log.count { $0.contains("connection opened") } == 14 })
    for peer in peers.dropLast() { peer.ask(1, "session.hello", #"{"user":"anna@example.org","token":"stolen"}"#) }
    #expect(await eventually { peers.contains { !$0.errors.isEmpty } }, "the first is looked at")
    peers[13].ask(1, "session.hello", #"{"user":"anna@example.org","token":"good"}"#)
    #expect(await eventually { peers.dropLast().allSatisfy { $0.errors.count == 1 } })
    let codes = peers.flatMap(\.errors).map(\.code)
    #expect(codes.contains(1006) && codes.contains(1004) && codes.allSatisfy { [1004, 1006].contains($0) }, "\(codes)")
    // Whether it was looked at by then or has to come again, it is let in, and never called bad.
    var id = 1
    while stage.commands.isEmpty, id < 20 {
      #expect(await eventually { !stage.commands.isEmpty || peers[13].errors.count == id })
      if peers[13].errors.count == id {
        id += 1
        peers[13].ask(id, "session.hello", #"{"user":"anna@example.org","token":"good"}"#)
      }
    }
    #expect(!stage.commands.isEmpty && peers[13].errors.allSatisfy { $0.code == 1006 })
  }

  /// A token is nobody else's.
  @Test func aHelloInAnotherNameIsRefused() async throws {
    let stage = try Stage(verifier: Doorkeeper())
    let peer = try stage.connect()
    peer.ask(1, "session.hello", #"{"user":"boss","token":"good"}"#)
    #expect(await eventually { peer.errors.map(\.code) == [ErrorCode.authFailed.rawValue] })
    #expect(stage.commands.isEmpty)
  }

  @Test func theCoreHearsWhoTheVerifierSaysItIs() async throws {
    let stage = try Stage(
      verifier: Doorkeeper(),
      core: { command in
        guard case .hello(let connection, let id, _, _) = command else { return [] }
        return [.reply(connection, id, .success(.empty))]
      })
    let peer = try stage.connect()
    peer.ask(1, "session.hello", #"{"user":"anna@example.org","token":"stolen"}"#)
    #expect(await eventually { peer.errors.first?.code == ErrorCode.authFailed.rawValue })
    #expect(stage.commands.isEmpty, "the core hears of nobody who was turned away")
    peer.ask(2, "session.hello", #"{"user":"anna@example.org","token":"good"}"#)
    #expect(await eventually { peer.texts.count == 2 })
    guard case .hello(_, _, _, let identity) = stage.commands.first else {
      Issue.record("a hello goes in with whose it is")
      return
    }
    #expect(identity == Doorkeeper.anna(of: here))
  }

  @Test func theLastResortIsAnErrorLikeAnyOther() throws {
    let frame = try ServerFrame.decode(FrontDoor.lastResort) { _ in nil }
    #expect(frame == .failure(nil, ErrorObject(.internalError)))
  }

  @Test func effectsForAConnectionThatIsGoneHarmNobody() async throws {
    let stage = try Stage(core: { command in
      guard case .request(let connection, let id, _) = command else { return [] }
      let gone = ConnectionID(99)
      return [
        .event(gone, EventMessage(seq: 1, serverTime: 0, event: .sessionReplaced)), .closeConnection(gone, .bye),
        .reply(gone, id, .success(.empty)), .reply(connection, id, .success(.empty)),
      ]
    })
    let peer = try stage.connect()
    peer.ask(1, "ping")
    #expect(await eventually { peer.texts.count == 1 })
  }

  @Test(
    arguments: [
      ("", -32700, "null"), ("{", -32700, "null"), ("nonsense", -32700, "null"), ("[]", -32600, "null"),
      (#" [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, "null"), ("5", -32600, "null"),
      ("null", -32600, "null"),
      (#"{"jsonrpc":"2.0","method":"ping"}"#, -32600, "null"),
      (#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, -32600, "3"),
      (#"{"jsonrpc":"2.0","id":4}"#, -32600, "4"), (#"{"jsonrpc":"2.0","id":5,"method":"no.such"}"#, -32601, "5"),
      (#"{"jsonrpc":"2.0","id":"s","method":"room.join","params":{"room":7}}"#, -32602, "s"),
      (#"{"jsonrpc":"2.0","id":6,"method":"room.join"}"#, -32602, "6"),
      (#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, "null"),
      (#"{"jsonrpc":"2.0","id":7,"method":"chat.send","params":{"room":"r","text":""}}"#, -32602, "7"),
      (String(repeating: "[", count: 100_000), -32600, "null"),
      (#"{"a":"# + String(repeating: "[", count: 100_000), 1010, "null"),
    ] as [(String, Int, String)])
  func badMessagesGetTheRightError(text: String, code: Int, id: String) async throws {
    let stage = try Stage(core: obliging)
    let peer = try stage.connect()
    peer.say(text)
    peer.ask(1000, "ping")
    #expect(await eventually { peer.texts.count == 2 })
    #expect(peer.errors.count == 1)
    #expect(peer.errors.first?.code == code)
    #expect(peer.errors.first?.id == id)
    #expect(stage.requests.count == 1)
    #expect(peer.texts.last?.contains("1000") == true)
  }

  @Test func anOversizedMessageIsRefusedAndTheConnectionLives() async throws {
    let stage = try Stage(core: obliging)
    let peer = try stage.connect()
    peer.ask(1, "chat.send", #"{"room":"r","text":"\#(String(repeating: "x", count: 600_000))"}"#)
    peer.ask(2, "ping")
    #expect(await eventually { peer.texts.count == 2 })
    #expect(peer.errors.first?.code == 1010)
    #expect(peer.errors.first?.id == "null")
    #expect(peer.closure == nil)
  }

  @Test func tenBadMessagesInARowCloseWithAReason() async throws {
    let stage = try Stage(core: obliging)
    let other = try stage.connect()
    other.ask(1, "ping")
    let peer = try stage.connect()
    for _ in 0..<9 { peer.say("x") }
    peer.ask(1, "ping")
    for _ in 0..<12 { peer.say("x") }
    #expect(await eventually { peer.closure != nil })
    #expect(peer.errors.count == 19)
    #expect(peer.closure == WebSocketClosure(cause: .peer, code: 1008, reason: "10 bad messages in a row"))
    #expect(await eventually { stage.closures == [false] })
    #expect(stage.door.statistics.closedForAbuse == 1)
    #expect(stage.door.statistics.refused[.parseError] == 19)
    #expect(stage.log.contains { $0.contains("10 bad messages in a row") })
    other.ask(2, "ping")
    #expect(await eventually { other.texts.count == 2 })
  }

  @Test func floodsAreSlowedWithAWaitAndUnansweredOnesCapped() async throws {
    let stage = try Stage(limits: DoorLimits(requestsPerSecond: 0.1, burst: 20, unanswered: 5))
    let peer = try stage.connect()
    for id in 0..<30 { peer.ask(id, "ping") }
    #expect(await eventually { peer.errors.count == 25 })
    #expect(peer.errors.allSatisfy { $0.code == 1006 })
    #expect(stage.requests.count == 5)
    #expect(peer.texts.allSatisfy { $0.contains("retryAfterMs") && $0.contains("RATE_LIMITED") })
    #expect(peer.closure == nil)
  }

  @Test(arguments: [(1000, true), (1001, true), (4900, false)] as [(UInt16, Bool)])
  func theCoreHearsHowAConnectionEnded(code: UInt16, clean: Bool) async throws {
    let stage = try Stage(core: obliging)
    let peer = try stage.connect()
    peer.ask(1, "ping")
    #expect(await eventually { peer.texts.count == 1 })
    peer.close(code: code)
    #expect(await eventually { stage.closures == [clean] })
    guard case .connectionClosed(let connection, _) = stage.commands.last else {
      Issue.record("closed comes last")
      return
    }
    #expect(connection == stage.requests.first?.0)
  }

  @Test func aClientThatFallsBehindIsDroppedAndOthersGoOn() async throws {
    let event = EventMessage(
      seq: 1, serverTime: 0,
      event: .chatMessage(Message(msgId: "m", room: "r", ts: 0, from: "a", text: String(repeating: "x", count: 8000))))
    let stage = try Stage(webLimits: WebSocketLimits(maximumQueuedBytes: 64_000), core: obliging)
    let slow = try stage.connect()
    slow.ask(1, "ping")
    #expect(await eventually { stage.requests.count == 1 })
    let connection = try #require(stage.requests.first?.0)
    // Faster than it can be taken in, so that its queue runs over.
    for _ in 0..<60_000 where stage.closures.isEmpty { stage.door.carryOut(.event(connection, event)) }
    #expect(await eventually { !stage.closures.isEmpty })
    #expect(stage.closures == [false])
    #expect(stage.log.contains { $0.contains("slow_reader") || $0.contains("overloaded") })
    let other = try stage.connect()
    other.ask(1, "ping")
    #expect(await eventually { other.texts.count == 1 })
  }

  @Test func anOverloadRefusesRequestsButHearsOfEnds() async throws {
    let isOverloaded = Locked(true)
    let stage = try Stage(
      limits: DoorLimits(unanswered: 1), isOverloaded: { _ in isOverloaded.withLock { $0 } })
    let peer = try stage.connect()
    for id in 0..<3 { peer.ask(id, "room.list") }
    #expect(await eventually { peer.errors.count == 3 })
    #expect(peer.errors.allSatisfy { $0.code == 5002 })
    #expect(peer.texts.allSatisfy { $0.contains("retryAfterMs") })
    #expect(stage.requests.isEmpty)
    peer.close(code: 1000)
    #expect(await eventually { stage.closures == [true] })
    isOverloaded.withLock { $0 = false }
    let next = try stage.connect()
    next.ask(1, "room.list")
    #expect(await eventually { stage.requests.count == 1 })
  }

  /// A token to resume may be guessed: each guess leaves a line with its address, so many of one network and no more.
  @Test func aWrongTokenToResumeLeavesALine() async throws {
    let stage = try Stage(core: {
      if case .resume(let connection, let id, _, _) = $0 {
        return [.reply(connection, id, .failure(ErrorObject(.resumeExpired)))]
      }
      guard case .request(let connection, let id, _) = $0 else { return [] }
      return [.reply(connection, id, .failure(ErrorObject(.notLoggedIn)))]
    })
    let guesser = try stage.connect()
    guesser.ask(1, "room.list")
    guesser.ask(2, "session.resume", #"{"resumeToken":"r1.guess","lastSeq":0}"#)
    #expect(await eventually { guesser.texts.count == 2 })
    let lines = stage.log.filter { $0.contains("resume_refused") }
    #expect(lines.count == 1 && lines[0].contains("127.0.0.1:") && lines[0].contains("code=RESUME_EXPIRED"))
    #expect(!stage.log.contains { $0.contains("guess") }, "the token itself is in no log")
  }

  /// From which network somebody comes back, and whether a socket owes an answer: of both the core asks who may have a seat.
  @Test func theCoreHearsFromWhereAndWhetherASocketIsSilent() async throws {
    let stage = try Stage()
    try stage.connect().ask(1, "session.resume", #"{"resumeToken":"t","lastSeq":0}"#)
    let home = PeerNetwork(SocketAddress(v4: 0x7f00_0001, port: 0))
    #expect(
      await eventually {
        stage.commands.contains { if case .resume(_, _, _, from: let network) = $0 { network == home } else { false } }
      })
    let handle = stage.door.handler(stage.server.sender)
    for isOverdue in [true, false] {
      handle(.overdue(WebSocketID(rawValue: 7), isOverdue))
      guard case .connectionOverdue(ConnectionID(7), isOverdue) = stage.commands.last else {
        Issue.record("not told")
        continue
      }
    }
  }

  @Test func aConnectionWithoutSessionIsClosedInTime() async throws {
    let time = Locked(Instant.zero)
    let stage = try Stage(
      limits: DoorLimits(helloTimeout: .milliseconds(10_000)), clock: { time.withLock { $0 } },
      core: {
        guard case .resume(let connection, let id, _, _) = $0 else { return [] }
        return [.reply(connection, id, .success(.resumed(.replayed(0))))]
      })
    let idle = try stage.connect()
    let greeted = try stage.connect()
    greeted.ask(1, "session.resume", #"{"resumeToken":"t","lastSeq":0}"#)
    #expect(await eventually { greeted.texts.count == 1 && stage.server.statistics.webSocketsOpen == 2 })
    time.withLock { $0 = .zero + .milliseconds(10_000) }
    stage.door.closeIdle()
    #expect(stage.door.statistics.closedIdle == 0, "the time is not over")
    time.withLock { $0 = .zero + .milliseconds(10_001) }
    stage.door.closeIdle()
    stage.door.closeIdle()
    #expect(await eventually { idle.closure != nil })
    #expect(idle.closure == WebSocketClosure(cause: .peer, code: 1008, reason: "no session in time"))
    #expect(greeted.closure == nil)
    #expect(stage.door.statistics.closedIdle == 1)
  }

  @Test func tenThousandRepliesKeepTheirOrder() async throws {
    let stage = try Stage(
      limits: DoorLimits(requestsPerSecond: 1e9, burst: 1_000_000, unanswered: 100_000),
      webLimits: WebSocketLimits(maximumQueuedBytes: 1 << 26, maximumQueuedMessages: 100_000), core: obliging)
    let peer = try stage.connect()
    // The client's own queue is bounded too, so the requests go in parts.
    for part in 0..<10 {
      for id in 0..<1000 { peer.ask(part * 1000 + id, "ping") }
      #expect(await eventually { peer.texts.count == (part + 1) * 1000 })
    }
    let ids = stage.requests.map(\.1)
    #expect(ids == (0..<10_000).map { RequestID.number(Int64($0)) })
    let inOrder = peer.texts.enumerated().allSatisfy { $1.contains("\"id\":\($0),") || $1.contains("\"id\":\($0)}") }
    #expect(inOrder)
  }
}
