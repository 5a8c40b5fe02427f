// One of two asks for video, and the other is away: what waits for an answer is in every snapshot of the call.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct MediaRequests {
    private let wish = MediaRequest(by: "anna", media: .video)

    /// More than the server remembers for a replay.
    private static let events = 600

    @Test func whoeverComesBackFindsWhatIsAskedAndAnswersIt() async throws {
      try await TestServer.calls({
        $0.calls.resumeGrace = .seconds(60)
        $0.sessions.resumeGrace = .seconds(60)
        ($0.chat.messagesPerSecond, $0.chat.burst) = (100_000, 100_000)
      }) { server in
        let proxy = try CuttableProxy(to: server.server.port)
        defer { proxy.stop() }
        let anna = try await Phone(talking: server.url, "anna")
        let ben = try await Phone(talking: "ws://127.0.0.1:\(proxy.port)/rtc", "ben", reconnects: true)
        let id = try await talk(anna, ben)

        // His socket is lost, and more happens than can be replayed: a resync.
        proxy.cut()
        _ = try await anna.hears(\.reconnecting)
        try await anna.change(.request, .video, id)
        for number in 0..<Self.events {
          _ = try await anna.session.request(.chat(.send(ChatSendParams(room: "call:\(id)", text: "\(number)"))))
        }
        proxy.mend()
        #expect(
          await ben.log.turn { if case .resynced(let resync) = $0 { resync.call?.mediaRequest == wish } else { false } }
        )
        #expect(await ben.heard(\.mediaRequest, of: id).isEmpty)
        #expect(await ben.session.call(id).state?.mediaRequest == wish)

        // His app is started anew: another session of the same device, which takes up the seat.
        let again = try await Phone(server.url, "ben", device: ben.device, token: ben.token)
        #expect(try await again.current()?.mediaRequest == wish)
        #expect(try await again.join(id).call.mediaRequest == wish)
        try await again.change(.accept, nil, id)
        let change = try await anna.hears(\.mediaChanged, of: id)
        #expect(change.result == .accepted && change.by == "anna" && change.media == .video)
        for one in [anna, again] {
          let call = try await one.get(id)
          #expect(call.media == .video && call.mediaRequest == nil)
        }
        await [anna, ben, again].close()
      }
    }

    @Test func whoHasAskedWithdrawsItAndItEndsWithTheOther() async throws {
      try await TestServer.calls({ $0.sessions.resumeGrace = .seconds(60) }) { server in
        let three = try await server.talkers(["anna", "ben", "carl"])
        let (ben, carl) = (three[1], three[2])
        let id = try await talk(three[0], ben)
        try await three[0].change(.request, .video, id)
        let anna = try await Phone(server.url, "anna", device: three[0].device, token: three[0].token)
        #expect(try await anna.join(id).call.mediaRequest == wish)
        try await anna.change(.cancel, nil, id)
        #expect(try await ben.hears(\.mediaChanged, of: id).result == .cancelled)

        try await anna.change(.request, .video, id)
        try await anna.invite(id, ["carl"])
        #expect(try await carl.rings(id).call.mediaRequest == nil, "not for one who is only rung")
        try await anna.settle()
        let start = await anna.log.count
        try await ben.hangup(id)
        #expect(try await anna.hears(\.mediaChanged, of: id, from: start).result == .cancelled)
        #expect(try await anna.get(id).mediaRequest == nil)
        #expect(try await refused { try await anna.change(.cancel, nil, id) }?.code == .invalidState)
        await (three + [anna]).close()
      }
    }

    private func talk(_ anna: Phone, _ ben: Phone) async throws -> String {
      let id = try await anna.start([ben.user], .oneToOne, .audio).call.callId
      try await ben.rings(id)
      try await ben.accept(id)
      for one in [anna, ben] { _ = try await one.hears(\.active, of: id) }
      return id
    }
  }
}

extension Phone {
  fileprivate func change(_ action: MediaChangeAction, _ media: MediaClass?, _ callId: String) async throws {
    _ = try await session.request(.call(.mediaChange(MediaChangeParams(callId: callId, action: action, media: media))))
  }
}
