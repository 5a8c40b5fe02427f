// What outlives a server, over sockets: chat is there again after a restart, and a disk that takes nothing stops nobody.

import Configuration
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Records {
    /// Servers one after the other on one record file.
    private final class Place {
      let folder: TemporaryFolder
      var file: String { folder.path("roost.db") }
      init() throws { folder = try TemporaryFolder() }

      func server(_ body: (TestServer) async throws -> Void) async throws {
        try await TestServer.with({ $0.storage.path = self.file }, body)
      }
    }

    @Test func chatIsThereAgainAfterARestart() async throws {
      let place = try Place()
      var said: [String: [String]] = [:]
      // They stay until the server ends: a room that is left takes its chat with it.
      var people: [Client] = []
      try await place.server { server in
        for room in ["demo", "a room of our own"] {
          let anna = try await Client(server.url, "anna in \(room)")
          people.append(anna)
          let joined = try await anna.session.join(room: room)
          for number in 0..<5 {
            let result = try await joined.chat("\(number)", clientMsgId: "c\(number)")
            #expect(result.stored)
            said[room, default: []].append(result.msgId)
          }
        }
      }
      try await place.server { server in
        for room in ["demo", "a room of our own"] {
          let anna = try await Client(server.url, "anna in \(room)")
          let joined = try await anna.session.join(room: room)
          let snapshot = try #require(await anna.session.snapshot(of: room))
          #expect(snapshot.chat.map(\.msgId) == said[room] && snapshot.chat.map(\.text) == ["0", "1", "2", "3", "4"])
          let again = try await joined.chat("4", clientMsgId: "c4")
          #expect(
            again.msgId == said[room]?.last && again.stored, "sent again after the restart, it is the same message")
          let next = try await joined.chat("5")
          #expect(said[room]?.contains(next.msgId) == false)
        }
      }
    }

    /// A call between two and a group call, and the process ends without a word to them.
    @Test func callsAreTruthfulAfterARestart() async throws {
      let place = try Place()
      var (pair, group) = ("", "")
      try await place.server { server in
        let (anna, bert) = (try await Client(server.url, "anna"), try await Client(server.url, "bert"))
        let (carl, dora) = (try await Client(server.url, "carl"), try await Client(server.url, "dora"))
        let two = try await anna.session.startCall(CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio))
        pair = two.call.callId
        try await bert.session.call(pair).accept()
        let many = try await carl.session.startCall(CallStartParams(to: ["dora", "emil"], kind: .group, media: .audio))
        group = many.call.callId
        let room = try await dora.session.call(group).accept()
        #expect(try await room.chat("said in the call").stored)
      }
      try await place.server { server in
        let bert = try await Client(server.url, "bert")
        let record = try #require(try await bert.session.callHistory().records.first)
        #expect(record.callId == pair && record.reason == .stopped && record.direction == .incoming)
        #expect(try await bert.session.call(pair).refresh().reason == .stopped, "the tombstone")

        let carl = try await Client(server.url, "carl")
        let current = try #require(try await carl.session.currentCall())
        #expect(current.callId == group)
        let room = try await current.join()
        #expect(await room.snapshot?.chat.map(\.text) == ["said in the call"])
        let emil = try await Client(server.url, "emil")
        #expect(try await emil.session.availableCalls().map(\.callId) == [group])
        _ = try await current.hangup()
      }
    }

    /// More records than fit into one page, and a page that only the disk has.
    @Test func recordsAreToldWhenTheyAreOnDiskAndPaged() async throws {
      let place = try Place()
      try await place.server { server in
        let (anna, bert) = (try await Client(server.url, "anna"), try await Client(server.url, "bert"))
        var calls: [String] = []
        for _ in 0..<6 {
          let started = try await anna.session.startCall(
            CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio))
          _ = try await started.call.cancel()
          calls.insert(started.call.callId, at: 0)
        }
        #expect(await eventually { await bert.heard.count { $0.isRecord(isStored: true) } == 6 })
        #expect(await bert.heard.count { $0.isRecord(isStored: false) } == 0)
        var found: [String] = []
        var before: String?
        repeat {
          let page = try await bert.session.callHistory(before: before, limit: 4)
          found += page.records.map(\.callId)
          before = page.next
        } while before != nil
        #expect(found == calls)
      }
      try await TestServer.with { server in
        let (anna, bert) = (try await Client(server.url, "anna"), try await Client(server.url, "bert"))
        let params = CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio)
        _ = try await anna.session.startCall(params).call.cancel()
        #expect(await eventually { await bert.heard.count { $0.isRecord(isStored: false) } == 1 }, "nothing is kept")
      }
    }

    @Test func aPlaceThatCannotBeUsedIsSaidAndChatGoesOn() async throws {
      try await TestServer.with({ $0.storage.path = "/nonexistent/roost.db" }) { server in
        let anna = try await Client(server.url, "anna")
        let joined = try await anna.session.join(room: "demo")
        #expect(try await joined.chat("hello").stored == false)
        #expect(server.log.all.contains { $0.contains("storage_off") && $0.contains("/nonexistent/roost.db") })
      }
    }
  }
}

extension Event {
  fileprivate func isRecord(isStored: Bool) -> Bool {
    guard case .callRecord(let event) = self else { return false }
    return (event.stored ?? true) == isStored
  }
}
