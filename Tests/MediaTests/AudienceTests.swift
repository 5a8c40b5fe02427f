// Sound to those who only listen may wait longer: fewer sends, nothing late, and nobody who answers is such a listener.

import Basics
import Testing

@testable import Forwarding
@testable import Media

@Suite struct AudienceTests {
  /// One speaks to sixty: with a window for the audience fewer sends carry as much, nothing is late, lost or out of order, and the
  /// sockets are looked at meanwhile.
  @Test func anAudienceIsSentToLessOften() throws {
    var sends: [Int: Double] = [:]
    for audience in [0, 30] {
      var settings = WorkerState.Settings()
      settings.coalescing.audience = .milliseconds(audience)
      let call = try Call(seed: 11, settings: settings)
      let speaker = try call.join("speaker")
      let tracks = [call.publish(speaker, .audio), call.publish(speaker, .video)]
      let listeners = try (0..<60).map { try call.join("listener\($0)") }
      let consumers = listeners.flatMap { listener in tracks.map { call.subscribe(listener, to: $0) } }
      call.run(.seconds(1))
      // Enough of a load for the whole window.
      call.track(tracks[1]) { $0.layers[0].packetsPerFrame = 12 }
      call.run(.milliseconds(300))
      var (longest, blind) = (TimeDelta.zero, 0)
      call.afterTurn = { call in
        #expect(call.worker.egress.queue.nextDue > call.now, "what is due has left")
        guard call.worker.egress.queue.count > 0 else { return }
        let wait = call.worker.egress.queue.nextDue - call.now
        longest = max(longest, wait)
        if wait > .milliseconds(2), call.worker.rest(at: call.now) > .zero { blind += 1 }
      }
      let before = call.worker.counters
      call.run(.seconds(1))
      sends[audience] =
        Double(call.worker.counters.sends - before.sends)
        / Double(call.worker.counters.packetsOut - before.packetsOut)
      #expect(longest <= .milliseconds(max(2, audience)) && (longest > .milliseconds(2)) == (audience > 0))
      #expect(blind == 0, "what comes meanwhile must not wait for an audience's sound")
      for consumer in consumers {
        let stream = try #require(call.stream(consumer))
        #expect(stream.problems == [])
      }
      #expect(call.sink.violations == 0)
    }
    let (apart, together) = (try #require(sends[0]), try #require(sends[30]))
    #expect(together < apart * 0.9, "\(apart) sends a packet without, \(together) with")
  }

  /// Two hear each other before sixty who listen: that is no audience to wait for.
  @Test func whoAnswersIsNoAudience() throws {
    var settings = WorkerState.Settings()
    settings.coalescing.audience = .milliseconds(30)
    let call = try Call(seed: 12, settings: settings)
    let speakers = try (0..<2).map { try call.join("speaker\($0)") }
    let tracks = [
      call.publish(speakers[0], .audio), call.publish(speakers[0], .video), call.publish(speakers[1], .audio),
    ]
    for peer in try (0..<60).map({ try call.join("listener\($0)") }) + speakers {
      for (track, owner) in zip(tracks, [0, 0, 1]) where peer.key != speakers[owner].key {
        _ = call.subscribe(peer, to: track)
      }
    }
    call.run(.seconds(1))
    call.track(tracks[1]) { $0.layers[0].packetsPerFrame = 12 }
    call.run(.milliseconds(300))
    var longest = TimeDelta.zero
    call.afterTurn = { call in
      if call.worker.egress.queue.count > 0 { longest = max(longest, call.worker.egress.queue.nextDue - call.now) }
    }
    call.run(.milliseconds(500))
    #expect(longest <= .milliseconds(2))
  }
}
