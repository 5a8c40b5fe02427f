// The upgrade of a call between two to a group: the two who talk lose no packet and need no new connection.

import Basics
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Upgrade {
    @Test func theTwoWhoTalkNoticeNothingWhenTheThirdJoins() async throws {
      try await TestServer.calls { server in
        let three = try await server.talkers(["anna", "ben", "carl"], sends: true)
        let two = [Side(three[0], hears: "ben"), Side(three[1], hears: "anna")]
        let carl = three[2]
        let id = try await three[0].start(["ben"]).call.callId
        try await three[1].rings(id)
        try await three[1].accept(id)
        for side in two { #expect(await side.goesOn()) }

        let before = await [two[0].streams(), two[1].streams()]
        let gaps = [Task { await two[0].longestPause() }, Task { await two[1].longestPause() }]
        try await three[0].invite(id, ["carl"])
        try await carl.rings(id)
        try await carl.accept(id)
        for side in two { _ = try await side.phone.hears(\.typeChanged, of: id) }
        for side in two {
          #expect(await eventually { await side.media.received("carl", "camera").frames >= 5 })
          #expect(await side.goesOn())
        }
        for gap in gaps { gap.cancel() }
        for (side, gap) in zip(two, gaps) {
          print("upgrade: longest pause in \(side.other)'s sound at \(side.phone.user): \(await gap.value) ms")
        }

        for (side, old) in zip(two, before) {
          for (now, then) in zip(await side.streams(), old) {
            #expect(now.ssrc == then.ssrc && now.subscriptionId == then.subscriptionId)
            #expect(now.isClean && now.lost == 0 && now.repaired == 0 && now.resumptions == 0, "\(now)")
            #expect(now.packets > then.packets)
          }
          #expect(await side.media.incidents.map(\.kind) == [.connected, .connected], "one handshake each, the first")
          #expect(await side.phone.transports().count == 1, "the same credentials and certificate in every offer")
          #expect(await side.media.problems == [])
        }
        #expect(await eventually { await carl.media?.received("ben", "camera").frames ?? 0 >= 5 })
        await three.close()
      }
    }
  }
}

/// One of the two, and what he gets of the other.
private struct Side: Sendable {
  let phone: Phone
  let media: SyntheticParticipant
  let other: String

  init(_ phone: Phone, hears other: String) {
    self.phone = phone
    self.other = other
    // Talkers have media.
    media = phone.media ?? { preconditionFailure("no media") }()
  }

  /// The other's sound and picture.
  func streams() async -> [ReceiveStatistics] {
    [await media.received(other, "microphone"), await media.received(other, "camera")]
  }

  /// Whether sound and picture keep coming.
  func goesOn() async -> Bool {
    let start = await streams()
    return await eventually {
      let now = await streams()
      return now[0].frames >= start[0].frames + 25 && now[1].frames >= start[1].frames + 5
    }
  }

  /// The longest time between two packets of sound until the task is cancelled, in milliseconds.
  func longestPause() async -> Int64 {
    var longest: Int64 = 0
    var last = await streams()[0].lastPacketAt
    while !Task.isCancelled {
      let latest = await streams()[0].lastPacketAt
      if let last, let latest { longest = max(longest, (latest - last).milliseconds) }
      last = latest
      try? await Task.sleep(for: .milliseconds(5))
    }
    return longest
  }
}
