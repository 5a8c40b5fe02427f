// What the kit gives a door: one line in the server, and no way to have the conference wait for it.

import Basics
import Configuration
import DoorKit
import Foundation
import FoundationNetworking
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import Threads
import WebSockets

@testable import Server

/// Somebody at a door, who says texts and keeps what comes.
private final class Visitor: Sendable {
  private let client: WebSocketClient
  private let texts = Locked<[String]>([])

  init(_ port: UInt16, _ path: String) throws {
    let texts = texts
    client = try .connect(to: WebSocketURL("ws://127.0.0.1:\(port)\(path)")) { event in
      if case .text(_, let bytes) = event { texts.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
    }
  }

  /// At the native door, as `user`.
  init(_ server: RoostServer, as user: String) async throws {
    let texts = texts
    client = try .connect(to: WebSocketURL("ws://127.0.0.1:\(server.port)/rtc")) { event in
      if case .text(_, let bytes) = event { texts.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
    }
    ask(1, "session.hello", #"{"user":"\#(user)"}"#)
    #expect(await hears(#""id":1"#))
  }

  func say(_ text: String) { client.send(Array(text.utf8)) }
  func ask(_ id: Int, _ method: String, _ params: String) {
    say(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#)
  }
  func heard(_ part: String) -> String? { texts.withLock { $0.first { $0.contains(part) } } }
  func hears(_ part: String, within time: Duration = .seconds(60)) async -> Bool {
    await eventually(within: time) { heard(part) != nil }
  }
}

@Suite(.timeLimit(.minutes(2))) struct ToyDoorTests {
  private func start(_ block: ToyDoor.Block = .init()) throws -> RoostServer {
    var configuration = ServerConfiguration()
    configuration.listen.address = SocketAddress(v4: 0x7f00_0001, port: 0)
    configuration.media.port = 0
    configuration.media.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
    configuration.storage.path = nil
    return try RoostServer(configuration, log: .disabled, doors: RoostServer.doors + [ToyDoor.maker(block)])
  }

  /// A toy in a room with Anna.
  private func meet(_ server: RoostServer) async throws -> (toy: Visitor, anna: Visitor) {
    let toy = try Visitor(try #require(server.port(of: "toy")), "/toy")
    let anna = try await Visitor(server, as: "anna")
    toy.say("tom in demo")
    #expect(
      await eventually {
        anna.ask(2, "room.info", #"{"room":"demo"}"#)
        return await anna.hears(#""participants":1"#, within: .milliseconds(200)) || anna.heard(#""count":1"#) != nil
      })
    anna.ask(3, "room.join", #"{"room":"demo"}"#)
    #expect(await anna.hears(#""id":3,"result""#))
    return (toy, anna)
  }

  /// Its seat, its route, its figures and its port.
  @Test func aDoorIsOneLineInTheServerAndABlockOfConfiguration() async throws {
    let server = try start()
    defer { server.stop() }
    let (toy, anna) = try await meet(server)
    anna.ask(4, "chat.send", #"{"room":"demo","text":"to all toys"}"#)
    #expect(await toy.hears("to all toys"))
    func get(_ port: UInt16, _ path: String) async throws -> String {
      let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
      return String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self)
    }
    #expect(try await get(try #require(server.port(of: "toy")), "/toys") == "1\n")
    let metrics = try await get(server.port, "/metrics")
    #expect(metrics.contains("\nroost_toys_total 1\n") && metrics.contains(#"roost_websockets{listener="toy"} 1"#))
  }

  /// A door parses SDP for as long as a call beside it takes, and 200 ms at least: the call is set up meanwhile. The control is a door of
  /// the old shape, whose effects wait for the lock that it parses under: no call is set up before it is done.
  @Test(arguments: [false, true]) func aDoorThatParsesKeepsNoCallWaiting(isOld: Bool) async throws {
    let block = ToyDoor.Block(isOld: isOld)
    let server = try start(block)
    defer { server.stop() }
    let (toy, anna) = try await meet(server)
    let ben = try await Visitor(server, as: "ben")
    toy.say("parse")
    #expect(await eventually { block.parsing.isUnderWay })
    anna.ask(4, "chat.send", #"{"room":"demo","text":"hi"}"#)
    anna.ask(5, "call.start", #"{"to":["ben"],"kind":"one_to_one","media":"audio","replace":true}"#)
    let isSetUp = await ben.hears("call.incoming", within: isOld ? .seconds(1) : .seconds(60))
    #expect(isSetUp == !isOld)
    if isSetUp {
      let text = try #require(ben.heard("call.incoming"))
      let id = try #require(text.split(separator: "\"").drop { $0 != "callId" }.dropFirst(2).first)
      ben.ask(6, "call.accept", #"{"callId":"\#(id)"}"#)
      #expect(await anna.hears("call.accepted"))
    }
    #expect(block.parsing.isUnderWay, "all of that while it parsed")
    block.parsing.end()
    // What was posted meanwhile comes now.
    if !isOld { #expect(await toy.hears("hi")) }
    #expect(await ben.hears("call.incoming") && block.parsing.parsed > 0)
  }
}

@Suite(.timeLimit(.minutes(2))) struct DoorWorkTests {
  /// Each door of the server, while its thread is held: whoever has something for its clients goes on at once, and it is done later.
  @Test(arguments: RoostServer.doors.indices) func noDoorWorksOnTheThreadThatPosts(number: Int) async throws {
    var configuration = ServerConfiguration()
    configuration.flashphoner.port = 0
    let log = Logger(level: .error) { _ in }
    let surroundings = DoorSurroundings(
      id: DoorID(UInt16(number)), log: log, lines: SessionLines(log), tokens: TokenGate(OpenAccess()),
      isOverloaded: { _ in false }, sink: { _ in })
    let door = RoostServer.doors[number](configuration, surroundings)
    let server = try WebServer.start(
      WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)]), routes: door.routes,
      makeHandler: { sender in door.serve(sender) ?? { _ in } })
    defer { server.stop() }
    #expect(await eventually { !door.thread.isCurrent })
    let (state, release) = (Locked(""), Promise<Void>())
    door.thread.run(for: door) {
      state.withLock { $0 = "held" }
      release.take()
      state.withLock { $0 = "let go" }
    }
    #expect(await eventually { state.withLock { $0 } == "held" })
    let connection = ConnectionID(1, door: door.id)
    door.carryOut(.reply(connection, .number(1), .failure(ErrorObject(.authFailed))))
    door.carryOut(.closeConnection(connection, .replaced))
    door.closeIdle()
    #expect(state.withLock { $0 } == "held", "nobody has waited for it")
    release.give(())
    let isDone = Locked(false)
    door.thread.run(for: door) { isDone.withLock { $0 = true } }
    #expect(await eventually { isDone.withLock { $0 } }, "all before it is done")
  }
}
