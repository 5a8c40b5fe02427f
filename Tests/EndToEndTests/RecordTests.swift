// What outlives a server, over sockets: chat is there again after a restart, and a disk that takes nothing stops nobody.

import Configuration
import Foundation
import RoostClient
import RoostProtocol
import Testing

extension EndToEnd {
  @Suite struct Records {
    /// Servers one after the other on one record file.
    private final class Place {
      let folder = FileManager.default.temporaryDirectory.appending(path: "roost-records-\(UUID().uuidString)")
      var file: String { folder.appending(path: "roost.db").path }
      init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
      deinit { try? FileManager.default.removeItem(at: folder) }

      func server(_ body: (TestServer) async throws -> Void) async throws {
        try await TestServer.with({ $0.storage.path = self.file }, body)
      }
    }

    @Test func chatIsThereAgainAfterARestart() async throws {
      let place = try Place()
      var said: [String: [String]] = [:]
      try await place.server { server in
        for room in ["demo", "a room of our own"] {
          let anna = try await Client(server.url, "anna in \(room)")
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
