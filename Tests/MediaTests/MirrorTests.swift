// What a mirror brings, and when: layers as their source has them, at once for whoever begins or goes on, with the clock of their publisher.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct MirrorTests {
  private func haveReports(_ call: Call, _ track: ProducerKey) -> [Bool] {
    let rows = call.worker.directory.producers[track].map { call.worker.tracks.producers[$0].declared } ?? []
    return rows.map { call.worker.tracks.encodings[$0].encoding.senderReport != nil }
  }

  /// The publisher's last report is older than what crosses.
  @Test func whatCrossesAnewHasItsClockAtOnce() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene(layers: [1, 2, 4], wishes: [0, 0, 0])
    room.run(.seconds(8))
    anna.sendsReports = false
    #expect(haveReports(room.near, video) == [true, true, true])
    #expect(haveReports(room.far, video) == [true, false, false])
    room.far.apply(.setLayer(watching[0], 2))
    room.run(.milliseconds(100))
    #expect(haveReports(room.far, video)[2])
    // And behind a mute.
    for muted in [true, false] {
      for call in [room.near, room.far] { call.apply(.setMuted(video, muted)) }
      room.run(.milliseconds(400))
    }
    #expect(haveReports(room.far, video)[2])
    let error = try #require(room.far.stream(watching[0])?.captureError())
    #expect(error < .milliseconds(20))
  }

  /// A sender that begins anew while nobody hears it has another clock: it is not said of what crossed before.
  @Test func aReportIsOfTheStreamThatItIsAbout() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, _) = try room.scene()
    room.run(.seconds(2))
    for call in [room.near, room.far] { call.apply(.setMuted(video, true)) }
    let ssrc = room.near.makeSSRC()
    room.near.track(video) { $0.restart(0, ssrc: ssrc, &room.near.dice) }
    room.run(.seconds(1))
    room.forget()
    room.run(.seconds(7))
    #expect(room.near.worker.tracks.encodings.count == 1 && haveReports(room.near, video) == [true])
    #expect(!room.told.contains { if case .report = $0 { true } else { false } })
    for call in [room.near, room.far] { call.apply(.setMuted(video, false)) }
    room.run(.milliseconds(200))
    #expect(haveReports(room.far, video) == [true])
  }
}
