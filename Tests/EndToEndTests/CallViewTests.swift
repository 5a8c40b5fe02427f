// A device with several views is called: who answers binds the views he shows, pays for no other, and lets two of them change
// places, as in a room that is joined by name.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct CallViews {
    @Test func aCallerBindsViewsOfADeviceAndPaysForNoOther() async throws {
      try await TestServer.calls { server in
        let device = try await Phone(talking: server.url, "gate", sends: true) { $0.video = Self.views }
        let viewer = try await Phone(talking: server.url, "anna")
        let id = try await viewer.start(["gate"]) {
          ($0.autoSubscribe, $0.metadata) = (false, ["screen": "hall"])
        }.call.callId
        try await device.rings(id)
        let answered = try await device.accept(id) { $0.metadata = ["model": "G2"] }
        #expect(answered.room.participants.map(\.metadata) == [["screen": "hall"], ["model": "G2"]])
        let room = try #require(await viewer.session.call(id).room)
        #expect(await eventually { await room.snapshot?.participants.last?.tracks.count == 4 })
        let shown = try #require(await room.snapshot?.participants.last)
        #expect(shown.metadata == ["model": "G2"])
        let tracks = Dictionary(uniqueKeysWithValues: shown.tracks.map { ($0.label, $0) })
        #expect(tracks["front"]?.viewIndex == 0 && tracks["yard"]?.viewIndex == 1)
        #expect(tracks["quad"]?.split == Self.split)

        let media = try #require(viewer.media)
        let sender = try #require(device.media)
        let bind = { (label: String, view: Int) async throws -> String in
          let trackId = try #require(tracks[label]?.trackId)
          return try await room.subscribe(SubscribeParams(trackId: trackId, view: view))
        }
        let front = try await bind("front", 0)
        let quad = try await bind("quad", 1)
        #expect(await media.shows("front", on: front))
        #expect(await media.shows("quad", on: quad))

        // What is not bound does not come, however much of it is sent.
        let sent = await sender.sentPackets("yard")
        #expect(await eventually { await sender.sentPackets("yard") >= sent + 20 })
        let streams = await media.statistics
        #expect(Set(streams.received.map(\.subscriptionId)) == [front, quad])
        #expect(streams.subscribe.unknownSSRC == 0 && streams.received.allSatisfy { $0.wrongStream == 0 })

        // A swap shows each in the other's place, with no new offer and on the same streams.
        try await viewer.settle()
        let offers = await viewer.heard(\.offer).count
        try await room.swap(front, quad)
        #expect(await media.shows("quad", on: front))
        #expect(await media.shows("front", on: quad))
        try await viewer.settle()
        #expect(await viewer.heard(\.offer).count == offers)
        let swapped = await media.statistics.received
        #expect(Set(swapped.map(\.ssrc)) == Set(streams.received.map(\.ssrc)) && swapped.count == 2)

        // A view that is let go costs nothing from then on.
        try await room.unsubscribe(front)
        #expect(await media.isSilent(front, while: quad))
        await [device, viewer].close()
      }
    }

    /// A view is negotiated once. Then it shows one track after the other, and tells of each; what it does not show does not come.
    @Test func aViewShowsOneTrackAfterTheOther() async throws {
      try await TestServer.calls { server in
        let device = try await Phone(talking: server.url, "gate", sends: true) { $0.video = Self.views }
        let viewer = try await Phone(talking: server.url, "anna")
        let id = try await viewer.start(["gate"]) { $0.autoSubscribe = false }.call.callId
        try await device.rings(id)
        _ = try await device.accept(id) { $0.metadata = [:] }
        let room = try #require(await viewer.session.call(id).room)
        #expect(await eventually { await room.snapshot?.participants.last?.tracks.count == 4 })
        let owner = try #require(await room.snapshot?.participants.last)
        let tracks = Dictionary(uniqueKeysWithValues: owner.tracks.map { ($0.label, $0.trackId) })
        let views = try await room.openViews(2)
        let media = try #require(viewer.media)
        #expect(await eventually { await viewer.heard(\.offer).last?.views?.map(\.subscriptionId) == views })
        for (view, label) in zip(views, ["front", "yard"]) {
          try await room.show([ViewWish(subscriptionId: view, trackId: tracks[label])])
          #expect(await media.shows(label, on: view))
        }
        try await viewer.settle()
        let offers = await viewer.heard(\.offer).count
        for label in ["quad", "yard", "front", "quad"] {
          try await room.show([ViewWish(subscriptionId: views[0], trackId: tracks[label])])
          #expect(await media.shows(label, on: views[0]))
        }
        try await room.show([ViewWish(subscriptionId: views[0])])
        #expect(await media.isSilent(views[0], while: views[1]))
        try await viewer.settle()
        #expect(await viewer.heard(\.offer).count == offers, "nothing was negotiated")
        let told = await viewer.heard(\.viewChanged).filter { $0.subscriptionId == views[0] }
        #expect(told.map(\.trackId) == ["front", "quad", "yard", "front", "quad"].map { tracks[$0] } + [nil])
        #expect(told.dropLast().allSatisfy { $0.rtpTimestamp != nil && $0.participantId == owner.participantId })
        let received = await media.statistics
        #expect(received.subscribe.unknownSSRC == 0 && received.received.count == 2)
        await [device, viewer].close()
      }
    }

    /// Two cameras, and a picture that holds four views.
    private static let views: [VideoPlan] = ["front", "yard", "quad"].enumerated().map { index, label in
      var plan = VideoPlan.light
      plan.label = label
      if label == "quad" { plan.split = split } else { plan.viewIndex = index }
      return plan
    }

    private static let split: JSONValue = [
      "views": [
        ["index": 2, "x": 0, "y": 0, "w": 0.5, "h": 0.5], ["index": 3, "x": 0.5, "y": 0, "w": 0.5, "h": 0.5],
        ["index": 4, "x": 0, "y": 0.5, "w": 0.5, "h": 0.5], ["index": 5, "x": 0.5, "y": 0.5, "w": 0.5, "h": 0.5],
      ]
    ]
  }
}

extension SyntheticParticipant {
  fileprivate nonisolated func stream(_ subscription: String) async -> ReceiveStatistics? {
    await statistics.received.first { $0.subscriptionId == subscription }
  }

  /// Whether this view of the device comes on a subscription, and goes on coming.
  fileprivate nonisolated func shows(_ label: String, on subscription: String) async -> Bool {
    let identity = PayloadStamp.identity(user: "gate", label: label)
    guard await eventually({ await stream(subscription)?.shownIdentity == identity }) else { return false }
    let frames = await stream(subscription)?.frames ?? 0
    guard await eventually({ await stream(subscription)?.frames ?? 0 >= frames + 5 }) else { return false }
    return await stream(subscription)?.shownIdentity == identity
  }

  /// Whether nothing comes on a subscription any more while another one goes on.
  fileprivate nonisolated func isSilent(_ subscription: String, while other: String) async -> Bool {
    var packets = UInt64.max
    return await eventually {
      let before = await stream(other)?.frames ?? 0
      guard await eventually({ await stream(other)?.frames ?? 0 >= before + 10 }) else { return false }
      let now = await stream(subscription)?.packets ?? 0
      defer { packets = now }
      return now == packets
    }
  }

  fileprivate nonisolated func sentPackets(_ label: String) async -> UInt64 {
    await statistics.sent.first { $0.label == label }?.packets ?? 0
  }
}
