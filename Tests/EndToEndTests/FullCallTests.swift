// A full group call with media: two talk, so many are invited that no seat is left, everybody receives everybody, and one more
// is refused. The two keep their connections.

import Basics
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct FullCalls {
    @Test func sixteenSeeAndHearEachOtherInACallAndTheSeventeenthIsRefused() async throws {
      try await fillCall(seats: 16, media: .video)
    }

    @Test func thirtyTwoHearEachOtherInACallAndTheThirtyThirdIsRefused() async throws {
      try await fillCall(seats: 32, media: .audio)
    }

    private func fillCall(seats: Int, media: MediaClass) async throws {
      // One after the other answers, and a sanitizer makes each of them slow.
      try await TestServer.calls({ ($0.calls.connectTimeout, $0.calls.ringTimeout) = (.seconds(600), .seconds(180)) }) {
        server in
        let driver = MediaDriver(threads: 2)
        var phones: [Phone] = []
        for number in 0..<seats {
          phones.append(
            try await Phone(talking: server.url, "user\(number)", sends: true, driver: driver) {
              try $0.showClips(media)
            })
        }
        let people = phones.compactMap(\.media)
        let id = try await phones[0].start(["user1"], .oneToOne, media).call.callId
        try await phones[1].rings(id)
        try await phones[1].accept(id)
        try await [SyntheticParticipant](people.prefix(2)).receiveEachOther(media)
        let before = await [streams(people[0], of: "user1"), streams(people[1], of: "user0")]

        // One who has declined may come as long as there is a seat.
        let late = try await server.phone("late")
        try await phones[0].invite(id, ["late"])
        try await late.rings(id)
        try await late.reject(id)
        try await phones[0].invite(id, phones.dropFirst(2).map(\.user))
        for phone in phones.dropFirst(2) {
          try await phone.rings(id)
          try await phone.accept(id)
        }
        for refusal in [
          try await refused { try await late.join(id) },
          try await refused { try await phones[1].invite(id, ["late"]) },
          try await refused { try await phones[1].invite(id, ["nobody"]) },
        ] {
          #expect(refusal?.code == .callFull && refusal?.data.limit == seats)
          #expect(refusal?.data.joined == seats && refusal?.data.ringing == 0)
        }
        try await late.settle()
        #expect(await late.heard(\.incoming, of: id).count == 1, "not rung again")

        try await people.receiveEachOther(media)
        #expect(await [streams(people[0], of: "user1"), streams(people[1], of: "user0")] == before)
        for phone in phones.prefix(2) {
          #expect(
            await phone.media?.incidents.map(\.kind) == [.connected, .connected], "one handshake each, the first")
          #expect(await phone.transports().count == 1, "the same credentials and certificate in every offer")
        }
        #expect(try await phones[0].get(id).kind == .group)
        await phones.close()
        driver.stop()
      }
    }

    /// What names the streams that one receives of another.
    private func streams(_ one: SyntheticParticipant, of user: String) async -> [String: UInt32] {
      let streams = await one.statistics.received.filter { $0.isActive && $0.user == user }
      return Dictionary(uniqueKeysWithValues: streams.map { ($0.subscriptionId, $0.ssrc) })
    }
  }
}
