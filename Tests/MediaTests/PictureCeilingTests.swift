// A worker that cannot send all pictures of the people on it: they step down, and sound stays whole.

import Basics
import Congestion
import Forwarding
import RTP
import Testing

@testable import Media

@Suite struct PictureCeilingTests {
  /// People who all send sound and a picture in three layers to each other, on a worker that is too slow for the highest.
  private final class Hall {
    let call: Call
    let peers: [VirtualPeer]
    private var streams: [(key: ConsumerKey, kind: MediaKind)] = []
    private var began = Instant.zero
    private var before: (sent: UInt64, shares: UInt64) = (0, 0)

    /// A packet that leaves takes `cost`. Where not `steps`, pictures do not step down.
    init(people: Int, steps: Bool, reports: Bool) throws {
      let call = try Call(seed: 11)
      peers = try (0..<people).map { try call.join("person\($0)") }
      for (index, peer) in peers.enumerated() {
        peer.reportsArrivals = reports
        for kind in [MediaKind.video, .audio] {
          let track = call.publish(peer, kind, layers: [1, 2, 5])
          for (other, receiver) in peers.enumerated() where other != index {
            streams.append((call.subscribe(receiver, to: track, hasFeedback: reports), kind))
          }
        }
      }
      self.call = call
      #expect(call.run(atMost: .seconds(5)) { call.peers.allSatisfy { call.isConnected($0) } })
      call.run(.seconds(1))
      call.worker.tracks.ceiling = PictureCeiling(isOn: steps)
    }

    func slowDown(_ cost: TimeDelta) {
      var machine = Machine()
      machine.costs = (incoming: .microseconds(10), outgoing: cost)
      call.machine = machine
    }

    func begin() {
      began = call.now
      before = (call.worker.counters.packetsOut, call.worker.counters.drops[.roomOverShare])
    }

    /// What has come since `begin`, by seconds.
    private var seconds: Double { Double((call.now - began).nanoseconds) / 1e9 }
    /// Packets that left each second.
    var sent: Double { Double(call.worker.counters.packetsOut - before.sent) / seconds }
    /// What the room was refused.
    var refused: UInt64 { call.worker.counters.drops[.roomOverShare] - before.shares }

    private func received(_ kind: MediaKind) -> [ReceivedStream] {
      streams.filter { $0.kind == kind }.compactMap { call.stream($0.key) }
    }

    /// Of the sound that each is sent what came, at worst.
    var sound: Double {
      received(.audio).map { Double($0.packets.values.count { $0.arrival >= began }) / (50 * seconds) }.min() ?? 0
    }

    /// Whole pictures a second that a receiver has of each other person, on average and at worst.
    var pictures: (mean: Double, worst: Double) {
      let rates = received(.video).map { Double($0.completed(since: began).count) / seconds }
      return (rates.reduce(0, +) / Double(max(rates.count, 1)), rates.min() ?? 0)
    }

    /// Streams of the highest layer at the end.
    var highest: Int { received(.video).count { $0.ordered.last?.stamp?.layer == 2 } }
  }

  /// Eight people take 11,200 packets a second, and the worker can send 6,600.
  private func crowded(steps: Bool, reports: Bool = true) throws -> Hall {
    let hall = try Hall(people: 8, steps: steps, reports: reports)
    hall.slowDown(.microseconds(150))
    hall.call.run(.seconds(4))
    hall.begin()
    hall.call.run(.seconds(5))
    return hall
  }

  @Test(arguments: [true, false]) func picturesStepDownAndSoundStaysWhole(_ reports: Bool) throws {
    let hall = try crowded(steps: true, reports: reports)
    #expect(hall.sound > 0.999)
    // Streams of whole layers do not fill all of it.
    #expect(hall.sent > (reports ? 0.8 : 0.7) * 6_600)
    #expect(hall.pictures.mean > 24)
    // And all is as before when it is over.
    hall.call.machine = Machine()
    var isOver: Bool { hall.call.worker.tracks.ceiling.rate == nil && hall.highest == 56 }
    for _ in 0..<30 where !isOver { hall.call.run(.seconds(1)) }
    #expect(isOver)
    #expect(hall.call.brokenRules() == [])
  }

  /// What the test above is about: packets that are refused at random leave few pictures whole.
  @Test func sharesAloneBreakPictures() throws {
    let hall = try crowded(steps: false)
    #expect(hall.pictures.mean < 20)
  }
}
