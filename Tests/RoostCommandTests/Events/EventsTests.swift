// kill -9 ten times while people come and go and the web server that is told fails at random: each event comes once and in order, after known
// ids are dropped. `make events` does it with a million.
import Basics
import Foundation
import RoostClient
import Storage
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct EventsTests {
  private static let events = ProcessInfo.processInfo.environment["ROOST_EVENTS"].flatMap(Int.init) ?? 20_000
  private static let restarts = 10
  private static let people = 8
  private static let roomsOfEach = 16
  /// Who comes alone and leaves opens a room and closes it.
  private static let eventsOfVisit = 4
  private static let yaml = """
    limits: {requests_per_second: 100000, request_burst: 1000000, user_requests_per_second: 100000, user_request_burst: 1000000, address_requests_per_second: 100000, address_request_burst: 1000000}

    """

  @Test func eachEventComesOnceAndInOrderOverRestarts() async throws {
    let receiver = try EventReceiver()
    defer { receiver.stop() }
    let server = try ServerProcess(Self.yaml + receiver.yaml)
    let visits = Self.events / Self.eventsOfVisit / Self.restarts + 20
    for _ in 0..<Self.restarts {
      try server.start()
      try await Self.comeAndGo(visits, at: server.url) { server.kill() }
    }
    // Nothing is new any more: what is left is delivered.
    receiver.fall(ill: 0)
    let last = try Self.inspect(server) { try $0.eventFigures(of: .default).last } + 1
    // Which is told as well.
    try server.start()
    #expect(await eventually(within: .seconds(600)) { receiver.count >= Int(last) }, "\(receiver.count) of \(last)")
    server.stop()
    #expect(last >= Self.events)
    let told = receiver.events
    let findings = EventFindings(told, last: last)
    #expect(findings == EventFindings([], last: 0) && receiver.changed == 0, "\(findings), \(receiver.changed) changed")
    try compare(told, with: server)
    checkStarts(told)
    checkControls(told, last: last)
    print("events: \(receiver.words), over \(Self.restarts) restarts: each once and in order")
  }

  /// Without a record file there are no numbers, and what waits ends with the process.
  @Test func withoutARecordFileEventsAreMissing() async throws {
    let receiver = try EventReceiver()
    defer { receiver.stop() }
    receiver.fall(ill: 30)
    let server = try ServerProcess(Self.yaml + receiver.yaml, records: "none")
    try server.start()
    try await Self.comeAndGo(100, at: server.url) { server.kill() }
    #expect(EventFindings(receiver.events, last: 400).missing == 400)
    #expect(receiver.count < 400 && receiver.events.allSatisfy { $0.number == 0 })
  }

  /// People come to rooms and go until there have been so many visits; then the end comes in the middle of others.
  private static func comeAndGo(_ visits: Int, at url: String, end: () -> Void) async throws {
    let count = Locked(0)
    var sessions: [RoostSession] = []
    for person in 0..<people { sessions.append(try await connect(to: url, "user\(person)")) }
    await withTaskGroup { group in
      for (person, session) in sessions.enumerated() {
        group.addTask {
          for turn in 0... {
            guard let room = try? await session.join(room: "room\(person)-\(turn % roomsOfEach)"),
              (try? await room.leave()) != nil
            else { return }
            count.withLock { $0 += 1 }
          }
        }
      }
      while count.withLock({ $0 }) < visits, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
      end()
      await group.waitForAll()
    }
  }

  /// Reads a copy of the record file.
  private static func inspect<Result>(
    _ server: ServerProcess, _ body: (inout RecordFile) throws -> Result
  ) throws -> Result {
    let copy = server.folder.appending(path: "copy")
    try? FileManager.default.removeItem(at: copy)
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: server.file.path + suffix) {
      try FileManager.default.copyItem(atPath: server.file.path + suffix, toPath: copy.path + "/roost.db" + suffix)
    }
    var file = try RecordFile(path: copy.path + "/roost.db", wallMilliseconds: 0)
    return try body(&file)
  }

  /// Who asks the record file for all that came after a number gets the same.
  private func compare(_ told: [ToldEvent], with server: ServerProcess) throws {
    let bodies = Dictionary(told.map { ($0.number, $0.body) }) { first, _ in first }
    var (after, different) = (Int64(0), 0)
    try Self.inspect(server) { file in
      while true {
        let page = try file.events(EventQuery(after: after))
        #expect(page.lost == nil)
        guard let last = page.events.last else { break }
        different += page.events.count { bodies[$0.number] != $0.body }
        after = last.number
      }
      #expect(try file.eventFigures(of: .default).waiting == 0)
    }
    #expect(different == 0 && after == Int64(told.count))
  }

  /// Each process says that it has begun, and gives no seat the name of one of another.
  private func checkStarts(_ told: [ToldEvent]) {
    let all = told.map { (try? JSONSerialization.jsonObject(with: Data($0.body.utf8)) as? [String: Any]) ?? [:] }
    let of = { (type: String) in all.filter { $0["type"] as? String == type } }
    let seats = of("room.joined").compactMap { $0["participantId"] as? String }
    #expect(of("server.started").count == Self.restarts + 1 && seats.count > Self.restarts)
    #expect(Set(seats).count == seats.count)
  }

  /// What would be found if it were otherwise.
  private func checkControls(_ told: [ToldEvent], last: Int64) {
    #expect(EventFindings(Array(told.dropFirst()), last: last).missing == 1)
    // Two of one room that changed places.
    var swapped = told
    if let second = told.dropFirst().firstIndex(where: { $0.room == told[0].room }) { swapped.swapAt(0, second) }
    #expect(EventFindings(swapped, last: last).disordered > 0)
    // Numbers that are given before the commit are given again after a crash.
    var again = told
    let middle = again.count / 2
    for index in again[middle...].indices { again[index].number -= 1 }
    #expect(EventFindings(again, last: last).ambiguous > 0)
  }
}
