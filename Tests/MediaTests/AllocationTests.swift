// What a forwarded packet may allocate: nothing, from the datagram that arrives to the datagrams that leave.

import Basics
import CAllocationCounter
import Forwarding
import Media
import RTP
import SRTP
import Testing

/// Counts and forgets.
private struct NullSink: DatagramSink {
  var bytes = 0
  mutating func send(_ datagrams: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    bytes += datagrams.count
    return nil
  }
}

struct AllocationTests {
  /// A publisher's packets of 200 ms, sealed, with `receivers` that watch; the same call without them in between.
  @Test(arguments: [(MediaKind.video, 1), (.video, 12), (.audio, 12)], SRTPBackend.available.filter { $0 != .libSRTP })
  func forwardingAllocatesNothing(_ load: (kind: MediaKind, receivers: Int), backend: SRTPBackend) throws {
    let (kind, receivers) = load
    var settings = WorkerState.Settings()
    settings.srtpBackend = backend
    let call = try Call(settings: settings)
    let anna = try call.join("anna")
    let track = call.publish(anna, kind)
    for number in 0..<receivers { call.subscribe(try call.join("p\(number)"), to: track) }
    // Long enough for tables, queues, the allocator's own and every cache entry to have been there once.
    call.run(.seconds(3))
    var datagrams: [UnsafeMutableRawBufferPointer] = []
    defer { for datagram in datagrams { datagram.deallocate() } }
    for tick in 0..<30 {
      let at = call.now + .milliseconds(33 * tick + 40)
      for index in anna.tracks.indices { anna.tracks[index].next = at }
      for plain in anna.tracks.indices.flatMap({ anna.tracks[$0].due(at: at) }) { anna.send(plain, at: at) }
    }
    for (bytes, _) in anna.outbox {
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
      copy.copyBytes(from: bytes)
      datagrams.append(copy)
    }
    #expect(datagrams.count >= 30)
    let before = call.worker.counters.forwarded
    let allocated = Self.allocations(&call.worker, datagrams, from: anna.path, at: call.now + .milliseconds(1))
    #expect(call.worker.counters.forwarded - before == UInt64(datagrams.count * receivers))
    #expect(allocated == 0)
  }

  /// Batches of four datagrams, each flushed.
  private static func allocations(
    _ worker: inout WorkerState, _ datagrams: [UnsafeMutableRawBufferPointer], from path: Path, at now: Instant
  ) -> UInt {
    var sink = NullSink()
    let before = roost_thread_allocations()
    // Plain counting: in a debug build `enumerated` would allocate.
    var index = 0
    while index < datagrams.count {
      worker.receive(datagrams[index], from: path, at: now)
      if index % 4 == 3 { worker.flush(at: now, into: &sink) }
      index += 1
    }
    worker.flush(at: now, into: &sink)
    return UInt(roost_thread_allocations() - before)
  }
}
