// The door without sockets: how many rooms the clients of one network may have, and what is counted.

import Basics
import DoorKit
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import WebSockets

@testable import Flashphoner

/// A door, what it asks of the core, and its clock.
private struct Stage {
  let door: FlashphonerDoor
  let commands: Locked<[Command]>
  let now: Locked<Instant>

  init(_ limits: DoorLimits = DoorLimits()) {
    let (commands, now) = (Locked<[Command]>([]), Locked(Instant(nanoseconds: 1)))
    (self.commands, self.now) = (commands, now)
    door = FlashphonerDoor(
      id: DoorID(2), appKeys: ["roomApp"], limits: limits, log: Logger(level: .error) { _ in },
      clock: { now.withLock { $0 } },
      sink: { command in commands.withLock { $0.append(command) } })
  }

  func open(_ number: UInt64, from address: SocketAddress) {
    door.handle(.opened(WebSocketID(rawValue: number), WebSocketPeer(address: address, origin: nil)))
    say(#"{"message":"connection","data":[{"appKey":"roomApp","custom":{"login":"user\#(number)"}}]}"#, number)
  }

  func wait(_ time: TimeDelta) { now.withLock { $0 += time } }

  func say(_ text: String, _ number: UInt64) { door.handle(.text(WebSocketID(rawValue: number), Array(text.utf8))) }

  func join(_ room: Int, _ number: UInt64) {
    let wish = #"{"command":"join","options":{"name":"room\#(room)"}}"#
    say(#"{"message":"sendData","data":[{"operationId":"o","payload":\#(wish)}]}"#, number)
  }

  /// Sessions that were begun in the core.
  var begun: Int { commands.withLock { $0.count { if case .hello = $0 { true } else { false } } } }
}

@Suite struct FlashphonerDoorTests {
  private let near = SocketAddress(v4: 0xc000_0201, port: 1_000)
  private let far = SocketAddress(v4: 0xc633_6401, port: 1_000)

  @Test func theClientsOfOneNetworkHaveAThousandRoomsTogether() {
    let stage = Stage()
    for client in UInt64(1)...20 {
      stage.open(client, from: near)
      for room in 1...60 {
        stage.wait(.milliseconds(200))
        stage.join(room, client)
      }
    }
    #expect(stage.door.statistics.members == 1_000 && stage.begun == 1_000)
    stage.open(21, from: near)
    stage.join(1, 21)
    #expect(stage.begun == 1_000, "refused whoever asks")
    stage.open(22, from: far)
    stage.join(1, 22)
    #expect(stage.begun == 1_001, "others are not concerned")
    // One goes, and there is space for sixty rooms again.
    stage.door.handle(.closed(WebSocketID(rawValue: 1), WebSocketClosure(cause: .peer, code: 1000, reason: "")))
    #expect(stage.door.statistics.members == 941)
    for room in 1...64 {
      stage.wait(.milliseconds(200))
      stage.join(room, 21)
    }
    #expect(stage.door.statistics.members == 1_001 && stage.begun == 1_061)
  }

  /// A room costs ten, as at the native door: of forty that are left after the connection there are four, and not a fifth.
  @Test func messagesCountByTheirWeight() {
    let limits = DoorLimits(requestsPerSecond: 1, burst: 45)
    let stage = Stage(limits)
    stage.open(1, from: near)
    for room in 1...4 { stage.join(room, 1) }
    #expect(stage.begun == 4 && stage.door.statistics.refused == 0)
    stage.join(5, 1)
    #expect(stage.begun == 4 && stage.door.statistics.refused == 1)
    stage.wait(.milliseconds(9_900))
    stage.join(5, 1)
    #expect(stage.begun == 4)
    stage.wait(.milliseconds(100))
    stage.join(5, 1)
    #expect(stage.begun == 5 && stage.door.statistics.refused == 2)
    // The control: what is cheap passes ten times as often.
    let control = Stage(limits)
    control.open(1, from: near)
    for _ in 0..<40 { control.say(#"{"message":"ping"}"#, 1) }
    #expect(control.door.statistics.refused == 0)
    control.say(#"{"message":"ping"}"#, 1)
    #expect(control.door.statistics.refused == 1)
  }

  /// All streams of a full room can be played at once within the default limits of a server.
  @Test func heavyMessagesWeighAsRequestsDo() {
    let join = ClientMessage.data(operation: "o", .join(room: "r", isRecorded: false))
    let stream = StreamWish(id: "s", name: "n", sdp: "")
    let weights: [(ClientMessage, Int)] = [
      (join, Request.room(.join(RoomJoinParams(room: "r"))).weight),
      (.publish(stream), Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "", tracks: []))).weight),
      (.data(operation: "o", .message(room: "r", to: [], text: "")), 2), (.play(stream), 2),
      (.available(id: "s", name: "n"), 5), (.stop(id: "s"), 1), (.ping, 1), (.pong, 1),
      (.streamEvent(id: "s", .other("x")), 1), (.data(operation: "o", .leave(room: "r")), 1),
    ]
    for (message, weight) in weights { #expect(message.weight == weight && weight <= Request.mostWeight, "\(message)") }
    let all = 5 + join.weight + ClientMessage.publish(stream).weight + 61 * ClientMessage.play(stream).weight
    #expect(all <= 200)
  }

  @Test func whatIsRefusedAndClosedIsCounted() {
    let stage = Stage()
    stage.open(1, from: near)
    for _ in 1...10 { stage.say("nonsense", 1) }
    #expect(stage.door.statistics.refused == 10 && stage.door.statistics.closedForAbuse == 1)
    stage.door.handle(.opened(WebSocketID(rawValue: 2), WebSocketPeer(address: near, origin: nil)))
    stage.now.withLock { $0 += .seconds(60) }
    for _ in 1...2 { stage.door.closeIdle() }
    #expect(stage.door.statistics.closedIdle == 1)
  }

  @Test func whatIsNotReadIsTooFast() {
    var limits = DoorLimits()
    limits.strangersTooFast = 3
    let stage = Stage(limits)
    stage.door.handle(.opened(WebSocketID(rawValue: 1), WebSocketPeer(address: near, origin: nil)))
    for count in 1...3 {
      stage.door.handle(.unread(WebSocketID(rawValue: 1), wait: 70))
      #expect(stage.door.statistics.refused == UInt64(count))
      #expect(stage.door.statistics.closedForAbuse == (count == 3 ? 1 : 0))
    }
  }

  // MARK: - Coming back

  private let hello = HelloResult(
    sessionId: "1", resumeToken: "r1.secret", user: "u", deviceId: "d", serverTime: 0,
    limits: ServerLimits(
      messageBytes: 1, chatBytes: 1, metadataBytes: 1, tracks: 1, replayEvents: 1, resumeGraceMs: 1),
    iceServers: [], ringing: [], current: nil, missed: 0)

  /// Sockets break: so many may come back to their seats, and one more has to wait until its seat is free.
  /// One network cannot fill what is kept of all.
  @Test func soManyOfOneNetworkMayComeBackAndNoMore() {
    let stage = Stage()
    let most = FlashphonerDoor.mostKeptOfNetwork
    stage.door.table.with { table in
      func keep(_ number: Int, _ address: SocketAddress) {
        let kept = FlashphonerDoor.Kept(
          user: "u", realm: .default, proofs: [:], until: Instant(nanoseconds: 2), network: PeerNetwork(address))
        table.keep(kept, "t\(number)")
      }
      for number in 0..<most + 1 { keep(number, near) }
      #expect(table.kept.count == most && table.kept["t\(most)"] == nil)
      keep(most, far)
      table.forget("t0")
      keep(most + 1, near)
      #expect(table.kept.count == most + 1 && table.kept["t\(most + 1)"] != nil)
    }
    stage.wait(.seconds(1))
    stage.door.closeIdle()
    #expect(stage.door.statistics.kept == 0 && stage.door.table.with { $0.keptOfNetwork.isEmpty })
  }

  @Test func soManyMayComeBackAndNoMore() throws {
    let stage = Stage()
    /// Joins a room, and its socket breaks. Returns by what it may come back.
    func breakOff(_ number: Int) throws -> String {
      let id = UInt64(number)
      stage.open(id, from: SocketAddress(v4: 0x0a00_0000 + UInt32(number), port: 1))
      stage.join(1, id)
      let begun = stage.commands.withLock { commands in
        defer { commands = [] }
        return commands.compactMap { if case .hello(let connection, _, _, _) = $0 { connection } else { nil } }
      }
      stage.door.carryOut(.reply(try #require(begun.last), .number(1), .success(.hello(hello))))
      let token = stage.door.table.with { $0.byToken.first { $0.value.id.rawValue == id }?.key }
      stage.door.handle(.closed(WebSocketID(rawValue: id), WebSocketClosure(cause: .lost)))
      return try #require(token)
    }
    func comeBack(_ token: String, as user: Int, _ number: UInt64) {
      let id = WebSocketID(rawValue: number)
      stage.door.handle(.opened(id, WebSocketPeer(address: near, origin: nil)))
      let wish = #"{"appKey":"roomApp","authToken":"\#(token)","custom":{"login":"user\#(user)"}}"#
      stage.say(#"{"message":"connection","data":[\#(wish)]}"#, number)
    }
    let tokens = try (1...FlashphonerDoor.mostKept).map { try breakOff($0) }
    #expect(stage.door.statistics.kept == 4_096)
    let late = try breakOff(4_097)
    #expect(stage.door.statistics.kept == 4_096)
    comeBack(late, as: 4_097, 10_001)
    #expect(stage.door.statistics.kept == 4_096, "it is not known")
    comeBack(tokens[6], as: 7, 10_002)
    #expect(stage.door.statistics.kept == 4_095, "whoever is known comes back, and makes space")
    _ = try breakOff(4_098)
    #expect(stage.door.statistics.kept == 4_096)
    stage.wait(.seconds(16))
    stage.door.closeIdle()
    #expect(stage.door.statistics.kept == 0)
  }
}
