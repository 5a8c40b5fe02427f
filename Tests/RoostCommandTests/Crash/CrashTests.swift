// kill -9 at random moments, a hundred times, while two talk and others call, answer, decline, invite, join, leave and chat:
// the file opens again, and nothing is missing that a client was told. `make crash` does it as often as one likes.
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct CrashTests {
  private static let crashes = ProcessInfo.processInfo.environment["ROOST_CRASHES"].flatMap(Int.init) ?? 100
  /// So many crashes meet one file; then another is begun, as the one fills up with what nobody looks at any more.
  private static let crashesOfAFile = 10

  @Test func nothingThatWasAcknowledgedIsMissing() async throws {
    var total = CrashFigures()
    var left = Self.crashes
    while left > 0 {
      let count = min(left, Self.crashesOfAFile)
      let story = try CrashStory()
      for crash in 1...count { try await story.crash("crash \(Self.crashes - left + crash)") }
      try await story.end()
      total += story.figures
      left -= count
    }
    print("crashes: \(Self.crashes), and nothing that was acknowledged is missing of \(total)")
  }

  /// A call between two and a group call in the middle of a crash.
  @Test func callsAreTruthfulAfterACrash() async throws {
    let server = try ServerProcess()
    try server.start()
    let (anna, bert) = (try await connect(to: server.url, "anna"), try await connect(to: server.url, "bert"))
    let (carl, dora) = (try await connect(to: server.url, "carl"), try await connect(to: server.url, "dora"))
    let two = try await anna.startCall(CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio))
    _ = try await bert.call(two.call.callId).accept()
    let many = try await carl.startCall(CallStartParams(to: ["dora"], kind: .group, media: .audio))
    let room = try await dora.call(many.call.callId).accept()
    // What is told to be stored comes after all of it.
    #expect(try await room.chat("said in the call").stored)
    server.kill()
    try server.start()

    let again = try await connect(to: server.url, "bert")
    let record = try #require(try await again.callHistory().records.first)
    #expect(record.callId == two.call.callId && record.reason == .stopped && record.direction == .incoming)
    #expect(try await again.call(two.call.callId).refresh().reason == .stopped)
    let back = try await connect(to: server.url, "dora")
    let current = try #require(try await back.currentCall())
    #expect(current.callId == many.call.callId)
    let seat = try await current.join()
    #expect(await seat.snapshot?.chat.map(\.text) == ["said in the call"])
  }
}

/// A session that does not come back by itself.
func connect(to url: String, _ user: String) async throws -> RoostSession {
  try await RoostSession.connect(to: url, hello: HelloParams(user: user, deviceId: "phone"), options: .once)
}

extension SessionOptions {
  /// Patient, and for one connection.
  static var once: SessionOptions {
    var options = SessionOptions()
    options.requestTimeout = .seconds(60)
    options.reconnect = nil
    return options
  }
}

extension RoomSession {
  /// All that a room keeps, page by page.
  func wholeHistory() async throws -> [Message] {
    var messages: [Message] = []
    while true {
      let page = try await chatHistory(before: messages.first?.msgId, limit: 100)
      if page.isEmpty { return messages }
      messages = page + messages
    }
  }
}

/// How much was looked at.
struct CrashFigures: CustomStringConvertible {
  var calls = 0
  var ended = 0
  var running = 0
  /// Calls with media.
  var talks = 0
  var seats = 0
  var records = 0
  var messages = 0
  var hooks = 0
  var kept = 0

  static func += (a: inout Self, b: Self) {
    a.calls += b.calls
    a.ended += b.ended
    a.running += b.running
    a.talks += b.talks
    a.seats += b.seats
    a.records += b.records
    a.messages += b.messages
    a.hooks += b.hooks
    a.kept += b.kept
  }

  var description: String {
    """
    \(calls) calls (\(ended) over, \(running) found again) and \(talks) with media, \(seats) seats, \(records) records, \
    \(messages) messages; \(hooks) webhooks came, \(kept) of them from the outbox of a server that was killed
    """
  }
}
