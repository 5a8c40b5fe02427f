// docs/operations.md lists lines of the log: they are logged as it says, with those fields and no other.

import Basics
import Calls
import Foundation
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct LogDocumentTests {
  private static let document: String = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return (try? String(contentsOf: root.appending(path: "docs/operations.md"), encoding: .utf8)) ?? ""
  }()

  /// The words in backticks.
  private func names(_ text: some StringProtocol) -> [String] {
    String(text).matches(of: /`([a-z_.]+)`/).map { String($0.1) }
  }

  /// A conference in which all of it happens.
  private func log() throws -> [LogEntry] {
    var rules = ConferenceRules.test
    rules.maxSessions = 2
    var restored = RestoredState()
    restored.bans = [KeptBan(room: "demo", user: "X", until: nil, by: "H")]
    restored.rooms = [KeptRoom(room: "ward", plan: RoomPlan(kind: "gone"), tag: "1")]
    restored.blocks = (0..<KeptBlock.most).map { KeptBlock(user: "\($0 / 500)", blocked: "\($0 % 500)") }
    let scene = Scene(rules, restored: restored)
    _ = scene.operate(.liftBan(user: "X", room: "demo"))
    let address = try #require(AddressRange("203.0.113.7"))
    _ = scene.operate(.banAddress(address, room: nil, until: nil))
    _ = scene.operate(.liftAddress(address, room: nil))
    let (a, b) = try scene.two()
    #expect(scene.code(a, .block(.add(BlockParams(user: "X")))) == nil)
    _ = scene.operate(.liftBlocks(of: a.user, blocked: nil))
    _ = scene.hello(scene.stranger("C"))
    _ = scene.code(a, .chat(.send(ChatSendParams(room: "none", text: "x"))))
    let seat = try scene.seat(a)
    scene.declined = [
      DeclinedLine(mid: "1", error: ErrorObject(.noCommonCodec)),
      DeclinedLine(mid: "0", attribute: "a=extmap", error: ErrorObject(.negotiationFailed)),
    ]
    _ = try scene.publish(a, ["0:audio"])
    scene.declined = []
    scene.negotiationError = ErrorObject(.noCommonCodec)
    _ = try? scene.publish(a, ["0:audio"])
    scene.apply(.serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: [])))
    _ = scene.code(a, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "x"))))
    scene.apply(.media(seat, .publish, .failed(.dtls, reason: "fingerprint", isFinal: false)))
    for change in [MediaChange.strays(reason: "No MID."), .found] { scene.apply(.media(seat, .publish, change)) }
    scene.apply(.excess(seat, .publish, .video, bitsPerSecond: 5_000_000))
    scene.apply(.media(seat, .subscribe, .closed(reason: "gone")))
    _ = scene.operate(.setMedia(.video, room: "demo"))
    for (from, to) in [("demo", "hall"), ("hall", "demo")] {
      _ = scene.operate(.move(user: "B", room: from, to: to))
    }
    for isLocked in [true, false] {
      _ = scene.operate(.setLocked(isLocked, room: "demo"))
      _ = scene.operate(.remove(user: "B", room: "demo"))
      _ = scene.join(b)
    }
    _ = scene.operate(.closeRoom("demo"))
    _ = scene.operate(.makeRoom("standup", RoomPlan(kind: "pair"), locked: false, lobby: false))
    _ = scene.operate(.replaceSettings(of: "standup", RoomPlan(kind: "group"), .any))
    _ = scene.operate(.takeBackSettings(of: "standup", .any))
    _ = scene.operate(.endCall(try scene.start(a, ["B"]).call.callId))
    return try scene.log + tokenLog()
  }

  /// The same where there are tokens.
  private func tokenLog() throws -> [LogEntry] {
    let scene = Scene()
    scene.isVerified = true
    _ = try scene.join(scene.client("A")).get()
    _ = scene.operate(.narrow(user: "A", to: [.join], room: nil))
    _ = scene.operate(.liftNarrowings(of: "A", room: nil))
    _ = scene.operate(.revoke("t"))
    _ = scene.operate(.liftRevocation("t"))
    return scene.log
  }

  @Test func theLinesAreLoggedAsTheTableSays() throws {
    let log = try log()
    let rows = Self.document.split(separator: "\n").drop { $0 != "| line | level | fields |" }.dropFirst(2)
      .prefix { $0.hasPrefix("|") }
    #expect(rows.count == 15)
    for row in rows {
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      let name = try #require(names(cells[0]).first)
      // What stands behind the fields explains the last of them.
      let fields = names(cells[2].prefix { $0 != ":" })
      let lines = log.filter { $0.event == name }
      #expect(!lines.isEmpty, "\(name) is not logged")
      for line in lines {
        #expect("\(line.level)" == cells[1] && line.fields.map(\.name).sorted() == fields.sorted(), "\(line)")
      }
    }
  }

  @Test func whatOperatorsDoStandsInTheLog() throws {
    let log = try log()
    let list = try #require(Self.document.firstMatch(of: /stands in the log \(([^)]*)\)/)?.1)
    #expect(names(list).count == 18)
    for name in names(list) { #expect(log.contains { $0.event == name }, "\(name)") }
  }
}
