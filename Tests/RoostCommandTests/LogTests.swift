// What `roost serve` logs: in the format that the file wants, and from its level on.
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing

@Suite struct LogTests {
  /// Anna takes the only seat, ben finds none, both go. Gives what the server has logged.
  private func lines(log: String) async throws -> [String] {
    let server = try ServerProcess("log: {\(log)}\nrooms: {tiny: {kind: demo, limits: 1}}")
    try server.start()
    let (anna, ben) = (try await connect(to: server.url, "anna"), try await connect(to: server.url, "ben"))
    _ = try await anna.join(room: "tiny")
    await #expect(throws: RoostError.self) { try await ben.join(room: "tiny") }
    for one in [anna, ben] { await one.close() }
    #expect(await server.says("join_refused"))
    kill(server.identifier, SIGTERM)
    #expect(await server.says(log.contains("warning") ? "roost: stopping" : " stopped\n"))
    server.stop()
    // What the command says of itself is no log line.
    return server.lines.all.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("roost") }
  }

  @Test func textFromInfoOn() async throws {
    let lines = try await lines(log: "level: info, format: text")
    for (words, count) in [
      (" info join room=tiny user=anna participant=", 1), (" info leave reason=left room=tiny user=anna", 1),
      (" warning join_refused room=tiny user=ben code=ROOM_FULL", 1), (" debug ", 0), (" info started url=", 1),
    ] { #expect(lines.count { $0.contains(words) } == count, "\(words): \(lines)") }
  }

  @Test func jsonFromWarningOn() async throws {
    let lines = try await lines(log: "level: warning, format: json")
    let objects = try lines.map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String], "\(line)")
    }
    #expect(objects.allSatisfy { ["warning", "error"].contains($0["level"]) }, "\(lines)")
    let refusals = objects.filter { $0["msg"] == "join_refused" }
    #expect(refusals.count == 1 && refusals.first?["ts"]?.hasSuffix("Z") == true)
    #expect(refusals.first?["user"] == "ben" && refusals.first?["code"] == "ROOM_FULL")
  }

  @Test func debugIsForWhoAsks() async throws {
    let lines = try await lines(log: "level: debug, format: text")
    #expect(lines.contains { $0.contains(" debug ") })
  }
}
