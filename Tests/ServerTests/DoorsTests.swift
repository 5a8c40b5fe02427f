// Two front doors in one process, whose sockets have the same numbers.

import Basics
import Configuration
import DoorKit
import Logging
import Members
import NativeDoor
import RoostProtocol
import TestSupport
import Testing
import WebSockets

@testable import Server

/// A door with a server of its own and one client.
private final class Entrance: Sendable {
  let door: FrontDoor
  private let server: WebServer
  private let client: WebSocketClient
  private let events = Locked<[WebSocketEvent]>([])

  init(_ id: UInt16, sink: @escaping @Sendable (Command) -> Void) throws {
    door = FrontDoor(id: DoorID(id), log: Logger(level: .error) { _ in }, sink: sink)
    server = try WebServer.start(
      WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)]), makeHandler: door.handler)
    let events = events
    client = try .connect(to: WebSocketURL("ws://127.0.0.1:\(server.port)/rtc")) { event in
      events.withLock { $0.append(event) }
    }
  }
  deinit { server.stop() }

  func ask(_ id: Int) { client.send(Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping","params":{}}"#.utf8)) }

  var texts: [String] {
    events.withLock { $0 }.compactMap {
      if case .text(_, let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }
  var isClosed: Bool { events.withLock { $0 }.contains { if case .closed = $0 { true } else { false } } }
}

@Suite(.timeLimit(.minutes(2))) struct DoorsTests {
  @Test func whatIsSaidToAConnectionLeavesByItsDoor() async throws {
    let heard = Locked<[ConnectionID]>([])
    let sink: @Sendable (Command) -> Void = { command in
      if case .request(let connection, _, _) = command { heard.withLock { $0.append(connection) } }
    }
    let (first, second) = (try Entrance(0, sink: sink), try Entrance(7, sink: sink))
    let doors = Doors([first.door, second.door])
    first.ask(1)
    second.ask(1)
    #expect(await eventually { heard.withLock { $0.count } == 2 })
    let ids = heard.withLock { $0 }.sorted()
    #expect(ids == [ConnectionID(1, door: DoorID(0)), ConnectionID(1, door: DoorID(7))], "their numbers are equal")
    #expect(ids.map(\.description) == ["1", "7-1"])

    doors.deliver(.reply(ids[1], .number(1), .success(.empty)))
    doors.deliver(.event(ids[1], EventMessage(seq: 1, serverTime: 0, event: .sessionReplaced)))
    let message = Message(msgId: "m1", room: "demo", ts: 5, from: "anna", text: "to all")
    doors.deliver(
      .broadcast(
        [EventReceiver(ids[0], seq: 10), EventReceiver(ids[1], seq: 20)], serverTime: 7, .chatMessage(message)))
    doors.deliver(.broadcast([EventReceiver(ids[1], seq: 21)], serverTime: 8, .chatMessage(message)))
    // Of no door, so nobody's.
    doors.deliver(.reply(ConnectionID(1, door: DoorID(3)), .number(1), .success(.empty)))
    doors.deliver(.closeConnection(ConnectionID(1, door: DoorID(3)), .replaced))
    doors.deliver(.closeConnection(ids[1], .replaced))
    #expect(await eventually { second.isClosed })
    doors.deliver(.reply(ids[0], .number(1), .success(.empty)))
    #expect(await eventually { first.texts.count == 2 })

    #expect(second.texts.count == 4 && second.texts.allSatisfy { !$0.contains(#""seq":10"#) }, "\(second.texts)")
    #expect(second.texts.suffix(2).map { $0.contains(#""seq":20"#) } == [true, false])
    #expect(first.texts[0].contains(#""seq":10"#) && first.texts[1].contains(#""result":{}"#), "\(first.texts)")
    #expect(!first.isClosed)
  }

  /// A door that is given what belongs to another does nothing with it.
  @Test func aDoorLeavesOthersConnectionsAlone() async throws {
    let entrance = try Entrance(1) { _ in }
    entrance.ask(1)
    #expect(await eventually { entrance.door.statistics.requests == [.ping: 1] })
    entrance.door.carryOut(.closeConnection(ConnectionID(1), .replaced))
    entrance.door.carryOut(.reply(ConnectionID(1), .number(1), .success(.empty)))
    entrance.door.carryOut(.reply(ConnectionID(1, door: DoorID(1)), .number(2), .success(.empty)))
    #expect(await eventually { !entrance.texts.isEmpty })
    #expect(entrance.texts.count == 1 && entrance.texts[0].contains(#""id":2"#) && !entrance.isClosed)
  }
}

@Suite struct ConfiguredPaceTests {
  /// One setting is that of the door and of the core, and none of other requests is theirs.
  @Test func customMessagesHaveOneSetting() {
    var configuration = ServerConfiguration()
    (configuration.messages.perSecond, configuration.messages.burst) = (7, 300)
    let (door, rules) = (DoorLimits(configuration), ConferenceRules(configuration))
    #expect(door.dataPerSecond == 7 && door.dataBurst == 300 && door.dataUnanswered == 300)
    #expect(rules.dataPerSecond == 7 && rules.dataBurst == 300)
    let (usual, usualRules) = (DoorLimits(), ConferenceRules())
    #expect(door.burst == DoorLimits(ServerConfiguration()).burst)
    #expect(usual.dataPerSecond == usualRules.dataPerSecond && usual.dataBurst == usualRules.dataBurst)
    configuration.messages.burst = 20
    #expect(DoorLimits(configuration).dataUnanswered == 256, "answers are waited for, too")
  }
}
