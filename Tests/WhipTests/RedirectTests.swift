// Load (RFC 9725 §4.5): where another server serves a room, offers are sent there, by 307 alone and to an absolute URL; a server that has
// too much to do says when to come again.

import Basics
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import WebSockets

@testable import Whip

@Suite struct RedirectTests {
  /// What a door does with a request to the endpoint of this pattern: its answer, and how much it told the core.
  private static func ask(
    _ method: HTTPMethod, _ pattern: String, _ segments: [String: String], query: String = "",
    isOverloaded: Bool = false, elsewhere: @escaping @Sendable (String) -> String?
  ) throws -> (response: HTTPResponse?, commands: Int) {
    let commands = Locked(0)
    var surroundings = WhipDoor.Surroundings()
    surroundings.elsewhere = elsewhere
    let door = WhipDoor(
      id: DoorID(1), surroundings: surroundings, log: .disabled, isOverloaded: { _ in isOverloaded },
      sink: { _ in commands.withLock { $0 += 1 } })
    let route = try #require(door.routes.first { $0.match == .pattern(PathPattern(pattern)) })
    var request = HTTPRequest(method, path: pattern, query: query, host: "here.example")
    request.segments = segments
    request.headers = [HTTPHeader("content-type", "application/sdp")]
    request.content = Array((pattern.hasPrefix("/whep") ? playerOffer : ffmpegOffer).utf8)
    let answer = Locked<HTTPResponse?>(nil)
    route.handler(request) { response in answer.withLock { $0 = response } }
    return (answer.withLock { $0 }, commands.withLock { $0 })
  }

  @Test func anOfferGoesToTheServerOfItsRoom() throws {
    let person = ["room": "stage", "participant": "Camera 1/a"]
    let cases: [(pattern: String, segments: [String: String], query: String, target: String)] = [
      ("/whip/{room}", ["room": "stage"], "", "/whip/stage"),
      ("/whip/{room}", ["room": "stage"], "name=Studio", "/whip/stage?name=Studio"),
      ("/whep/{room}", ["room": "stage"], "", "/whep/stage"),
      ("/whep/{room}/{participant}", person, "", "/whep/stage/Camera%201%2Fa"),
      (
        "/whep/{room}/{participant}/{track}", person.merging(["track": "camera"]) { $1 }, "",
        "/whep/stage/Camera%201%2Fa/camera"
      ),
    ]
    for (pattern, segments, query, target) in cases {
      let (response, commands) = try Self.ask(.post, pattern, segments, query: query) {
        $0 == "stage" ? "https://b.example:8443" : nil
      }
      #expect(response?.status == 307)
      #expect(response?.headers.first { $0.name == "location" }?.value == "https://b.example:8443\(target)")
      #expect(commands == 0, "nobody takes a seat here")
    }
  }

  @Test(arguments: ["/whip/{room}", "/whep/{room}"]) func whoHasTooMuchToDoSaysWhenToComeAgain(pattern: String) throws {
    let (full, commands) = try Self.ask(.post, pattern, ["room": "hall"], isOverloaded: true) { _ in nil }
    #expect(full?.status == 503 && commands == 0)
    let patience = full?.headers.first { $0.name == "retry-after" }?.value
    #expect(patience.flatMap { Int($0) } ?? 0 > 0)
    #expect(full.map { String(decoding: $0.body, as: UTF8.self).contains("OVERLOADED") } == true)
    let preflight = try Self.ask(.options, pattern, ["room": "hall"], isOverloaded: true) { _ in nil }
    #expect(preflight.response?.status == 204, "the control: what costs nothing is served")
  }

  /// The control: rooms of this server, and requests that are no offers.
  @Test func everythingElseStaysHere() throws {
    let other = try Self.ask(.post, "/whip/{room}", ["room": "hall"]) { $0 == "stage" ? "https://b.example" : nil }
    #expect(other.response == nil && other.commands == 1, "the core is asked, and answers later")
    for method in [HTTPMethod.get, .options] {
      let stage = try Self.ask(method, "/whip/{room}", ["room": "stage"]) { _ in "https://b.example" }
      #expect(stage.response?.status == 204)
    }
    #expect(WhipDoor.Surroundings().elsewhere("stage") == nil, "as it is without a cluster")
  }
}
