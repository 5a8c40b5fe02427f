// How often one network may offer and end sessions: so many at once, not one more, and then so many a second.

import Basics
import Logging
import Members
import TestSupport
import Testing
import WebSockets

@testable import Whip

@Suite struct RateTests {
  private let now = Locked(Instant.zero + .seconds(1))
  private let door: WhipDoor

  init() {
    let now = now
    door = WhipDoor(id: DoorID(1), log: .disabled, clock: { now.withLock { $0 } }, sink: { _ in })
  }

  /// What a request gets whose content is no offer and whose session is not there.
  private func status(_ method: HTTPMethod, of network: UInt32 = 1) throws -> Int {
    let pattern = PathPattern(method == .post ? "/whip/{room}" : "/whip/{room}/{session}")
    let route = try #require(door.routes.first { $0.match == .pattern(pattern) })
    var request = HTTPRequest(
      method, path: "/whip/hall", host: "here.example", peer: SocketAddress(v4: network, port: 7))
    request.segments = ["room": "hall", "session": "0"]
    let answer = Locked(0)
    route.handler(request) { response in answer.withLock { $0 = response.status } }
    return answer.withLock { $0 }
  }

  @Test(arguments: [(HTTPMethod.post, 50, 5), (.delete, 200, 20)])
  func soManyAtOnceAndNotOneMore(method: HTTPMethod, most: Int, perSecond: Int) throws {
    let limits = WhipLimits()
    #expect(most == (method == .post ? limits.postsAtOnce : limits.endingsAtOnce))
    for number in 0..<most { #expect(try status(method) != 429, "\(number)") }
    #expect(try status(method) == 429)
    #expect(try status(method, of: 2) != 429, "another network")
    #expect(try status(method == .post ? .delete : .post) != 429, "each has its own budget")
    now.withLock { $0 = $0 + .seconds(1) }
    for _ in 0..<perSecond { #expect(try status(method) != 429) }
    #expect(try status(method) == 429)
  }

  @Test func contentOfAnOfferIsBounded() throws {
    let route = try #require(door.routes.first { $0.match == .pattern(PathPattern("/whip/{room}")) })
    #expect(route.contentLimit == 64 << 10)
  }

  /// Fragments of SDP, and what a player wishes for. That not one byte more is read, `ContentTests` shows.
  @Test(arguments: [
    ("/whip/{room}/{session}", 16 << 10), ("/whep-sessions/{session}", 16 << 10),
    ("/whep-sessions/{session}/layer", 4 << 10), ("/whep-sessions/{session}/sse", 4 << 10),
  ])
  func contentOfOtherRequestsIsBounded(pattern: String, bytes: Int) throws {
    let route = try #require(door.routes.first { $0.match == .pattern(PathPattern(pattern)) })
    #expect(route.contentLimit == bytes)
  }
}
