// Sessions against a scripted server on loopback.
import Basics
import Foundation
import RoostProtocol
import TestSupport
import Testing

@testable import RoostClient

private func connect(_ server: FakeServer, _ options: SessionOptions = quick()) async throws -> RoostSession {
  try await RoostSession.connect(to: server.url, hello: HelloParams(user: "anna"), options: options)
}

/// A box that scripts may write to.
private final class Cell<Value: Sendable>: Sendable {
  private let value: Locked<Value>
  init(_ value: Value) { self.value = Locked(value) }
  func with<R: Sendable>(_ body: (inout Value) -> R) -> R { value.withLock { body(&$0) } }
}

@Suite struct RequestTests {
  @Test func saysHelloJoinsChatsAndLeaves() async throws {
    let server = try FakeServer { call in
      switch call.request {
      case .room(.join(let params)):
        call.reply(.room(snapshot(params.room, seq: 0)))
        call.event(1, .participantJoined(ParticipantEvent(room: params.room, participant: participant("p2"))))
      case .chat(.send): call.reply(.chatSent(ChatSendResult(msgId: "m1", ts: 5, delivered: 1, stored: false)))
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    #expect(await session.hello.user == "anna")
    let room = try await session.join(room: "demo", displayName: "Anna")
    #expect(room.name == "demo")
    #expect(room.selfId == "p1")
    #expect(await eventually { await room.snapshot?.count == 2 })
    #expect(try await room.chat("hi", to: ["ben"]).msgId == "m1")
    try await room.leave()
    #expect(await room.snapshot == nil)
    await session.close()
    #expect(await eventually { server.closed.first?.clean == true })
    let methods = server.requests.map(\.method)
    #expect(methods == [.sessionHello, .roomJoin, .chatSend, .roomLeave, .sessionBye])
    #expect(Set(server.ids).count == server.ids.count)
    await #expect(throws: RoostError.closed(.byUs)) { _ = try await session.request(.session(.ping)) }
  }

  /// What others are told of one is asked for; a seat that the question took by itself is given back.
  @Test(arguments: [true, false]) func whoMayDoSomethingElseAsksHowItStands(isStillThere: Bool) async throws {
    let joins = Locked(0)
    let server = try FakeServer { call in
      guard case .room(.join(let params)) = call.request else { return false }
      let isFirst = joins.withLock { count in
        count += 1
        return count == 1
      }
      var own = participant(isFirst || isStillThere ? "p1" : "p9")
      own.role = isFirst ? .moderator : nil
      var now = snapshot(params.room, seq: isFirst ? 0 : 1, participants: [own])
      now.selfId = own.participantId
      call.reply(.room(now))
      if isFirst { call.event(1, .sessionGrants(SessionGrants(grants: [.join]))) }
      return true
    }
    let session = try await connect(server)
    let room = try await session.join(room: "demo")
    if isStillThere {
      #expect(await eventually { await room.snapshot?.participants.first?.role == nil })
      #expect(server.requests.map(\.method) == [.sessionHello, .roomJoin, .roomJoin])
    } else {
      #expect(await eventually { server.requests.map(\.method) == [.sessionHello, .roomJoin, .roomJoin, .roomLeave] })
      #expect(await eventually { await room.snapshot == nil })
    }
    await session.close()
  }

  @Test func repliesMayComeInAnyOrder() async throws {
    let waiting = Cell<[FakeServer.Call]>([])
    let server = try FakeServer { call in
      guard case .room(.info) = call.request else { return false }
      let all = waiting.with { calls -> [FakeServer.Call] in
        calls.append(call)
        return calls.count == 50 ? calls : []
      }
      for call in all.shuffled() {
        guard case .room(.info(let params)) = call.request else { continue }
        call.reply(.roomInfo(RoomInfo(name: params.room, kind: "demo", media: .video, limit: 3, count: 0)))
      }
      return true
    }
    let session = try await connect(server)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for n in 0..<50 {
        group.addTask {
          guard case .roomInfo(let info) = try await session.request(.room(.info(RoomParams(room: "r\(n)")))) else {
            throw CancellationError()
          }
          #expect(info.name == "r\(n)")
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func refusalsCarryTheServersWords() async throws {
    let server = try FakeServer { call in
      guard case .room(.join) = call.request else { return false }
      call.refuse(.limit(.roomFull, limit: 3, count: 3))
      return true
    }
    let session = try await connect(server)
    let error = await #expect(throws: RoostError.self) { _ = try await session.join(room: "demo") }
    #expect(error?.code == 2002)
    #expect(error?.name == "ROOM_FULL")
    #expect(error == .refused(.limit(.roomFull, limit: 3, count: 3)))
    #expect(await session.snapshot(of: "demo") == nil)
  }

  @Test func anUnansweredRequestTimesOutAndALateReplyIsIgnored() async throws {
    let server = try FakeServer { if case .room(.list) = $0.request { true } else { false } }
    let session = try await connect(server, quick { $0.requestTimeout = .milliseconds(150) })
    await #expect(throws: RoostError.timedOut(.roomList)) { _ = try await session.request(.room(.list())) }
    server.latest?.reply(.rooms(RoomListResult(rooms: [])))
    #expect(try await session.request(.session(.ping)) == .empty)
  }

  @Test func aCancelledTaskGivesUpItsRequest() async throws {
    let server = try FakeServer { if case .room(.list) = $0.request { true } else { false } }
    let session = try await connect(server)
    let task = Task { try await session.request(.room(.list())) }
    #expect(await eventually { server.requests.last == .room(.list()) })
    task.cancel()
    await #expect(throws: RoostError.cancelled) { _ = try await task.value }
  }

  @Test func aRefusedHelloAndAnAbsentServerAreErrors() async throws {
    let server = try FakeServer { call in
      call.refuse(ErrorObject(.authFailed))
      return true
    }
    await #expect(throws: RoostError.refused(ErrorObject(.authFailed))) { _ = try await connect(server) }
    let url = server.url
    server.stop()
    let error = await #expect(throws: RoostError.self) {
      _ = try await RoostSession.connect(to: url, hello: HelloParams(user: "anna"), options: quick())
    }
    #expect(error?.name == "UNREACHABLE")
    await #expect(throws: RoostError.self) {
      _ = try await RoostSession.connect(to: "nonsense", hello: HelloParams(user: "anna"))
    }
  }

  @Test func aServerThatNeverAnswersHelloIsGivenUp() async throws {
    let server = try FakeServer { _ in true }
    let error = await #expect(throws: RoostError.self) {
      _ = try await connect(server, quick { $0.requestTimeout = .milliseconds(200) })
    }
    #expect(error == .unreachable("no reply in time"))
  }

  @Test func garbageFromTheServerIsIgnored() async throws {
    let server = try FakeServer { call in
      guard case .room(.list) = call.request else { return false }
      for text in ["", "{", "[]", "{\"id\":99,\"result\":{}}", "{\"method\":\"x.y\",\"params\":{\"seq\":1}}"] {
        call.server?.web.withLock { $0 }?.send(Array(text.utf8), to: call.connection)
      }
      call.reply(.rooms(RoomListResult(rooms: [])))
      return true
    }
    let session = try await connect(server)
    #expect(try await session.request(.room(.list())) == .rooms(RoomListResult(rooms: [])))
    #expect(await session.lastSeq == 1)
  }
}

/// Passes everything on but the word that the connection is gone.
private final class SilentTransport: MessageTransport {
  let received: AsyncStream<TransportEvent>
  private let base: any MessageTransport

  init(_ base: any MessageTransport) {
    self.base = base
    let (stream, arriving) = AsyncStream<TransportEvent>.makeStream()
    received = stream
    Task {
      for await event in base.received { if case .text = event { arriving.yield(event) } }
      arriving.finish()
    }
  }

  func open() async throws(RoostError) { try await base.open() }
  func send(_ text: [UInt8]) { base.send(text) }
  func close(code: UInt16, reason: String) { base.close(code: code, reason: reason) }
}

/// Remembers how often it was told to ping.
private final class PacedTransport: MessageTransport {
  let received: AsyncStream<TransportEvent>
  private let base: any MessageTransport
  private let paces: Cell<[Duration?]>

  init(_ base: any MessageTransport, _ paces: Cell<[Duration?]>) {
    (self.base, self.paces, received) = (base, paces, base.received)
  }

  func open() async throws(RoostError) { try await base.open() }
  func send(_ text: [UInt8]) { base.send(text) }
  func close(code: UInt16, reason: String) { base.close(code: code, reason: reason) }
  func setPace(_ interval: Duration?) {
    paces.with { $0.append(interval) }
    base.setPace(interval)
  }
}

@Suite struct PaceTests {
  /// A server that pings who only waits every 45 s.
  private static let patient: @Sendable (FakeServer.Call) -> Bool = { call in
    switch call.request {
    case .session(.hello(let params)): call.reply(.hello(FakeServer.hello(params.user, idlePingMs: 45_000)))
    case .room(.join(let params)): call.reply(.room(snapshot(params.room)))
    default: return false
    }
    return true
  }

  /// While one only waits, no more often than the server pings such a session; as ever while one has a seat.
  @Test func whoOnlyWaitsPingsAsRarelyAsTheServer() async throws {
    let server = try FakeServer(Self.patient)
    let paces = Cell<[Duration?]>([])
    var options = quick()
    options.transport = { (url) throws(RoostError) in PacedTransport(try LibWebSocketsTransport(url: url), paces) }
    let session = try await connect(server, options)
    #expect(paces.with { $0 } == [.seconds(45)])
    let room = try await session.join(room: "demo")
    #expect(paces.with { $0 } == [.seconds(45), nil])
    try await room.leave()
    #expect(paces.with { $0 } == [.seconds(45), nil, .seconds(45)])
    await session.close()
  }

  /// The same for requests of `ping`: the interval of the options is for those who have a seat.
  @Test func whoOnlyWaitsDoesNotAsk() async throws {
    let server = try FakeServer(Self.patient)
    var options = quick()
    options.keepAlive = .milliseconds(50)
    let (waiting, seated) = (try await connect(server, options), try await connect(server, options))
    _ = try await seated.join(room: "demo")
    #expect(await eventually { server.requests.count { $0.method == .ping } >= 3 })
    let hellos = server.requests.count { $0.method == .sessionHello }
    #expect(hellos == 2)
    await seated.close()
    let asked = server.requests.count { $0.method == .ping }
    try await Task.sleep(for: .milliseconds(300))
    #expect(server.requests.count { $0.method == .ping } == asked, "the one that waits has asked nothing")
    await waiting.close()
  }
}

@Suite struct ResumeTests {
  @Test func aLostConnectionIsResumedAndEventsComeOnce() async throws {
    let connections = Cell(0)
    let server = try FakeServer { call in
      switch call.request {
      case .room(.join(let params)):
        call.reply(.room(snapshot(params.room)))
        for seq in 1...3 {
          call.event(seq, .participantJoined(.init(room: "demo", participant: participant("p\(seq + 1)"))))
        }
      case .session(.resume(let params)):
        connections.with { $0 += 1 }
        call.reply(.resumed(.replayed(2)))
        for seq in (params.lastSeq - 1)...(params.lastSeq + 2) where seq > 0 {
          call.event(seq, .participantJoined(.init(room: "demo", participant: participant("p\(seq + 1)"))))
        }
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    let gathered = Gathered(await session.events())
    let room = try await session.join(room: "demo")
    #expect(await eventually { await session.lastSeq == 3 })
    server.latest?.hangUp()
    #expect(await eventually { await session.lastSeq == 5 })
    #expect(await eventually { gathered.seqs == [1, 2, 3, 4, 5] })
    #expect(await room.snapshot?.participants.map(\.participantId) == ["p1", "p2", "p3", "p4", "p5", "p6"])
    #expect(gathered.contains { $0 == .resumed(replayed: 2) })
    #expect(gathered.contains { if case .reconnecting = $0 { true } else { false } })
    #expect(server.requests.contains(.session(.resume(ResumeParams(resumeToken: "secret", lastSeq: 3)))))
    #expect(connections.with { $0 } == 1)
  }

  @Test func unansweredRequestsAreSentAgainWithTheirIds() async throws {
    let seen = Cell<[RequestID]>([])
    let server = try FakeServer { call in
      guard case .room(.list) = call.request else { return false }
      let times = seen.with { ids -> Int in
        ids.append(call.id)
        return ids.count
      }
      if times == 1 { call.hangUp() } else { call.reply(.rooms(RoomListResult(rooms: []))) }
      return true
    }
    let session = try await connect(server)
    #expect(try await session.request(.room(.list())) == .rooms(RoomListResult(rooms: [])))
    let ids = seen.with { $0 }
    #expect(ids.count == 2)
    #expect(ids.first == ids.last)
    #expect(Set(server.ids).count == server.ids.count - 1)
  }

  @Test func requestsMadeWhileReconnectingWait() async throws {
    let server = try FakeServer { _ in false }
    let session = try await connect(server)
    await session.dropConnection()
    #expect(try await session.request(.session(.ping)) == .empty)
    #expect(server.requests.map(\.method) == [.sessionHello, .sessionResume, .ping])
    #expect(await eventually { server.closed.first?.clean == false })
  }

  @Test func aResyncReplacesTheRoom() async throws {
    let server = try FakeServer { call in
      switch call.request {
      case .room(.join(let params)): call.reply(.room(snapshot(params.room)))
      case .session(.resume):
        let room = snapshot("demo", seq: 700, participants: [participant("p1"), participant("p9")])
        call.reply(.resumed(.resync(Resync(seq: 700, room: room))))
        call.event(701, .participantLeft(.init(room: "demo", participantId: "p9", user: "user-p9", reason: .left)))
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    let gathered = Gathered(await session.events())
    let room = try await session.join(room: "demo")
    await session.dropConnection()
    #expect(await eventually { await session.lastSeq == 701 })
    #expect(await room.snapshot?.participants.map(\.participantId) == ["p1"])
    #expect(await eventually { gathered.seqs == [701] })
    #expect(gathered.contains { if case .resynced(let resync) = $0 { resync.seq == 700 } else { false } })
  }

  @Test func anExpiredSessionBeginsAnew() async throws {
    let server = try FakeServer { call in
      switch call.request {
      case .session(.resume): call.refuse(ErrorObject(.resumeExpired))
      case .room(.join(let params)): call.reply(.room(snapshot(params.room, seq: 0)))
      case .room(.list): call.hangUp()
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    let gathered = Gathered(await session.events())
    _ = try await session.join(room: "demo")
    let error = await #expect(throws: RoostError.self) { _ = try await session.request(.room(.list())) }
    #expect(error == .closed(.expired(ErrorObject(.resumeExpired))))
    #expect(await session.snapshot(of: "demo") == nil)
    #expect(try await session.request(.session(.ping)) == .empty)
    #expect(await eventually { gathered.contains { if case .restarted = $0 { true } else { false } } })
    #expect(server.requests.filter { $0.method == .sessionHello }.count == 2)
  }

  /// The first hello of the new session was answered too late: the server has a session of this device that nobody knows of.
  @Test func aSessionThatIsInItsOwnWayBeginsAnewLater() async throws {
    let hellos = Cell<[HelloParams]>([])
    let server = try FakeServer { call in
      switch call.request {
      case .session(.resume): call.refuse(ErrorObject(.resumeExpired))
      case .session(.hello(let params)):
        let times = hellos.with { hellos -> Int in
          hellos.append(params)
          return hellos.count
        }
        guard times == 2 || times == 3 else { return false }
        call.refuse(
          ErrorObject(.forbidden) {
            $0.reason = "device_in_use"
            if times == 3 { ($0.retryable, $0.retryAfterMs) = (true, 300) }
          })
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    let gathered = Gathered(await session.events())
    await session.dropConnection()
    #expect(await eventually { gathered.contains { if case .restarted = $0 { true } else { false } } })
    #expect(try await session.request(.session(.ping)) == .empty)
    #expect(hellos.with { $0.map(\.resumeToken) } == [nil, "secret", "secret", "secret"])
  }

  /// An application that says no with that word means something else.
  @Test func aWordOfAnApplicationIsNotTheServers() async throws {
    let hellos = Cell(0)
    let server = try FakeServer { call in
      switch call.request {
      case .session(.resume): call.refuse(ErrorObject(.resumeExpired))
      case .session(.hello):
        let times = hellos.with { (times: inout Int) -> Int in
          times += 1
          return times
        }
        guard times > 1 else { return false }
        call.refuse(ErrorObject(.refusedByApp, "no") { $0.reason = "device_in_use" })
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    await session.dropConnection()
    let error = await #expect(throws: RoostError.self) { _ = try await session.request(.session(.ping)) }
    guard case .closed(.expired(let object))? = error else { throw try #require(error) }
    #expect(object.code == .refusedByApp && hellos.with { $0 } == 2)
  }

  /// A transport whose reader is behind has no place left for the word that it is gone.
  @Test func aTransportThatEndsWithoutAWordIsALostConnection() async throws {
    let server = try FakeServer { call in
      guard case .room(.list) = call.request else { return false }
      call.hangUp()
      return true
    }
    let options = quick {
      $0.keepAlive = nil
      $0.transport = { (url) throws(RoostError) in SilentTransport(try defaultTransport(url)) }
    }
    let session = try await connect(server, options)
    let list = Task { try await session.request(.room(.list())) }
    #expect(await eventually { server.requests.contains { $0.method == .sessionResume } })
    list.cancel()
    await session.close()
  }

  @Test func anExpiredSessionEndsWhereThatIsWanted() async throws {
    let server = try FakeServer { call in
      guard case .session(.resume) = call.request else { return false }
      call.refuse(ErrorObject(.resumeExpired))
      return true
    }
    let session = try await connect(server, quick { $0.helloAgain = false })
    let gathered = Gathered(await session.events())
    await session.dropConnection()
    #expect(await eventually { gathered.end == .expired(ErrorObject(.resumeExpired)) })
  }

  @Test func aReplacedSessionDoesNotComeBack() async throws {
    let server = try FakeServer { call in
      guard case .room(.list) = call.request else { return false }
      call.event(1, .sessionReplaced)
      call.hangUp(code: 4000)
      return true
    }
    let session = try await connect(server)
    let gathered = Gathered(await session.events())
    await #expect(throws: RoostError.closed(.replaced)) { _ = try await session.request(.room(.list())) }
    #expect(await eventually { gathered.end == .replaced })
    try await Task.sleep(for: .milliseconds(100))
    #expect(server.requests.map(\.method) == [.sessionHello, .roomList])
    var late: [SessionEvent] = []
    for await event in await session.events() { late.append(event) }
    #expect(late == [.ended(.replaced)])
  }

  @Test func itGivesUpAfterTheLastAttempt() async throws {
    let server = try FakeServer { _ in false }
    let session = try await connect(server, quick { $0.reconnect?.attempts = 3 })
    let gathered = Gathered(await session.events())
    server.stop()
    #expect(await eventually { if case .lost = gathered.end { true } else { false } })
    let error = await #expect(throws: RoostError.self) { _ = try await session.request(.session(.ping)) }
    #expect(error?.name == "CLOSED")
  }

  @Test func anUnansweredPingIsALostConnection() async throws {
    let resumes = Cell(0)
    let server = try FakeServer { call in
      switch call.request {
      case .session(.ping): return resumes.with { $0 } == 0
      case .session(.resume): resumes.with { $0 += 1 }
      default: break
      }
      return false
    }
    let session = try await connect(
      server,
      quick {
        $0.keepAlive = .milliseconds(50)
        $0.requestTimeout = .milliseconds(200)
      })
    #expect(await eventually { resumes.with { $0 } >= 1 })
    #expect(await eventually { (try? await session.request(.room(.leave(RoomParams(room: "x"))))) == .empty })
  }

  @Test func aSlowReaderMissesTheOldestAndTheRoomStaysRight() async throws {
    let server = try FakeServer { call in
      guard case .room(.join(let params)) = call.request else { return false }
      call.reply(.room(snapshot(params.room)))
      for seq in 1...100 {
        call.event(seq, .participantJoined(.init(room: "demo", participant: participant("p\(seq + 1)"))))
      }
      return true
    }
    let session = try await connect(server, quick { $0.eventBuffer = 10 })
    let stream = await session.events()
    let room = try await session.join(room: "demo")
    #expect(await eventually { await session.lastSeq == 100 })
    #expect(await room.snapshot?.count == 101)
    #expect(await session.droppedEvents == 90)
    await session.close()
    var seqs: [Int] = []
    for await event in stream { if case .event(let message) = event { seqs.append(message.seq) } }
    #expect(seqs == Array(92...100))
  }
}
