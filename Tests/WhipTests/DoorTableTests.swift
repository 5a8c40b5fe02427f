// What a door keeps of a session that is over, whichever way it ended: nothing.

import Basics
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import WebSockets

@testable import Whip

@Suite struct DoorTableTests {
  private let said = Locked<[Command]>([])
  private let door: WhipDoor

  init() {
    let said = said
    door = WhipDoor(id: DoorID(1), log: .disabled, sink: { command in said.withLock { $0.append(command) } })
  }

  private func ask(_ method: HTTPMethod, _ pattern: String, _ segments: [String: String], _ body: String = "") throws
    -> Int?
  {
    let route = try #require(door.routes.first { $0.match == .pattern(PathPattern(pattern)) })
    var request = HTTPRequest(
      method, path: "/whip/hall", host: "here.example", peer: SocketAddress(v4: 1, port: 7))
    request.segments = segments
    request.headers = [HTTPHeader("content-type", WhipRequest.sdpType)]
    request.content = Array(body.utf8)
    let answer = Locked<HTTPResponse?>(nil)
    route.handler(request) { response in answer.withLock { $0 = response } }
    return answer.withLock { $0?.status }
  }

  /// Begins a session, and returns its connection and the secret of its URL.
  private func begin() throws -> (connection: ConnectionID, secret: String) {
    _ = try ask(.post, "/whip/{room}", ["room": "hall"], ffmpegOffer)
    let connection = said.withLock { said -> ConnectionID? in
      if case .hello(let connection, _, _, _) = said.last { connection } else { nil }
    }
    let number = try #require(connection)
    return (number, try #require(door.table.with { $0.entries[number.number]?.secret }))
  }

  private var kept: [Int] { door.table.with { [$0.entries.count, $0.bySecret.count] } }

  /// One entry and one secret while it lasts. A secret that stayed would be kept for ever: each offer makes another one.
  @Test func nothingIsLeftOfASession() throws {
    let other = try begin()
    #expect(kept == [1, 1])
    let ends: [(ConnectionID, String) throws -> Void] = [
      { _, secret in
        let status = try ask(.delete, "/whip/{room}/{session}", ["room": "hall", "session": secret])
        #expect(status == 200)
      },
      { connection, _ in door.carryOut(.closeConnection(connection, .replaced)) },
      { connection, _ in
        door.carryOut(.reply(connection, WhipSession.hello, .failure(ErrorObject(.overloaded))))
      },
    ]
    for (index, end) in ends.enumerated() {
      let (connection, secret) = try begin()
      #expect(kept == [2, 2], "\(index)")
      try end(connection, secret)
      #expect(kept == [1, 1], "\(index)")
      #expect(said.withLock { $0.contains { $0.isEnd(of: connection) } }, "\(index): its seat is freed")
      #expect(try ask(.delete, "/whip/{room}/{session}", ["room": "hall", "session": secret]) == 404)
    }
    #expect(door.table.with { $0.bySecret[other.secret] } == other.connection.number, "others keep theirs")
  }
}

extension Command {
  fileprivate func isEnd(of connection: ConnectionID) -> Bool {
    if case .connectionClosed(connection, clean: true) = self { true } else { false }
  }
}
