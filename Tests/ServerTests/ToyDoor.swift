// A front door that is no more than a door must be, for tests of what the kit gives it: "NAME in ROOM" takes a seat, "parse" keeps its
// thread busy with SDP, and what is written in the room is sent as it is.

import Basics
import DoorKit
import Members
import RoostProtocol
import SDP
import Threads
import WebSockets

@testable import Server

/// Keeps a thread busy: it parses until it is let go, and 200 ms at least.
final class Parsing: Sendable {
  private let state = Locked((isUnderWay: false, isOver: false, parsed: 0))
  private static let offer =
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
    + String(repeating: "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\n", count: 50)

  var isUnderWay: Bool { state.withLock { $0.isUnderWay } }
  var parsed: Int { state.withLock { $0.parsed } }
  func end() { state.withLock { $0.isOver = true } }

  func run() {
    let start = MonotonicClock.now()
    state.withLock { $0.isUnderWay = true }
    while MonotonicClock.now() < start + .milliseconds(200) || !state.withLock({ $0.isOver }) {
      if (try? SessionDescription.parse(Self.offer)) != nil { state.withLock { $0.parsed += 1 } }
    }
    state.withLock { $0.isUnderWay = false }
  }
}

/// Of the kit's shape: its sessions belong to its thread.
final class ToyDoor: ClientDoor {
  /// Its block of configuration.
  struct Block: Sendable {
    var port: UInt16 = 0
    var parsing = Parsing()
    /// Whether effects are carried out where they are made, under a lock, as doors did before there was a kit.
    var isOld = false
  }

  let id: DoorID
  let thread = DoorThread()
  let listener: DoorListener?
  private let surroundings: DoorSurroundings
  private let block: Block
  /// How many messages each connection was sent.
  private let sent: Owned<[UInt64: Int]>
  private let old = Locked(())
  private let total = Locked(0)

  init(_ surroundings: DoorSurroundings, _ block: Block) {
    (self.surroundings, self.block, id) = (surroundings, block, surroundings.id)
    var server = WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: block.port)])
    server.webSocketPath = "/toy"
    listener = DoorListener("toy", server)
    sent = Owned([:], by: thread)
  }

  static func maker(_ block: Block = Block()) -> DoorMaker { { _, surroundings in ToyDoor(surroundings, block) } }

  var routes: [HTTPRoute] { [.get("/toys") { [total] _ in .text(200, "\(total.withLock { $0 })") }] }
  var metrics: [Metric] { [.counter("roost_toys_total", help: "Messages sent.", total.withLock { $0 })] }

  func serve(_ sender: WebSocketSender) -> (@Sendable (WebSocketEvent) -> Void)? {
    thread.attach(sender)
    return { [self] event in
      switch event {
      case .opened(let id, _): sent.with { $0[id.rawValue] = 0 }
      case .text(let id, let bytes): heard(String(decoding: bytes, as: UTF8.self).split(separator: " "), id.rawValue)
      case .closed(let id, let closure):
        sent.with { $0[id.rawValue] = nil }
        surroundings.sink(.connectionClosed(ConnectionID(id.rawValue, door: self.id), clean: closure.clean))
      case .unread, .oversized, .binary, .overdue: break
      }
    }
  }

  private func heard(_ words: [Substring], _ number: UInt64) {
    if words == ["parse"] {
      return block.isOld ? old.withLock { _ in block.parsing.run() } : sent.with { _ in block.parsing.run() }
    }
    guard words.count == 3, words[1] == "in" else { return }
    let (connection, hello) = (ConnectionID(number, door: id), HelloParams(user: String(words[0])))
    let room = String(words[2])
    surroundings.tokens.verify(hello, from: nil, rank: TurnRank()) { [surroundings] result in
      guard case .success(let identity) = result else { return }
      surroundings.sink(.hello(connection, .number(1), hello, identity))
      surroundings.sink(.request(connection, .number(2), .room(.join(RoomJoinParams(room: room)))))
    }
  }

  func carryOut(_ effect: ClientEffect) {
    if block.isOld { return old.withLock { _ in } }
    thread.post(effect, to: self)
  }

  func apply(_ effect: ClientEffect) {
    switch effect {
    case .event(let connection, let message): send(message.event, to: connection)
    case .broadcast(let receivers, _, let event): for receiver in receivers { send(event, to: receiver.connection) }
    case .reply, .closeConnection, .setWaiting, .stream: break
    }
  }

  private func send(_ event: Event, to connection: ConnectionID) {
    guard connection.door == id, case .chatMessage(let message) = event else { return }
    sent.with { $0[connection.number]? += 1 }
    total.withLock { $0 += 1 }
    thread.sender?.send(Array(message.text.utf8), to: WebSocketID(rawValue: connection.number))
  }

  func overflowed(_ connection: ConnectionID) { thread.sender?.drop(WebSocketID(rawValue: connection.number)) }

  func keepHouse() {}
}
