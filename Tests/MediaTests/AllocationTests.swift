// What a forwarded packet may allocate: nothing, from the datagram that arrives to the datagrams that leave. Receiving and sending
// them is in MediaWorkerTests.LoopTests.

import Basics
import CAllocationCounter
import Forwarding
@testable import Media
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

/// Counts what a tap and a pipe were given.
private struct CopyCounter: TapSink, PipeSink {
  var (taps, pipes) = (0, 0)

  mutating func write(_ packet: TappedPacket, _ rtp: Span<UInt8>) -> Bool {
    taps += 1
    return true
  }

  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool {
    pipes += 1
    return true
  }

  mutating func write(_ message: PipeMessage) {}
}

/// Keeps what crosses a pipe.
private struct CopyKeeper: PipeSink {
  var packets: [(PipedPacket, [UInt8])] = []

  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool {
    packets.append((packet, bytes.withUnsafeBufferPointer { Array($0) }))
    return true
  }

  mutating func write(_ message: PipeMessage) {}
}

struct AllocationTests {
  /// A publisher's packets of a second, sealed, with `receivers` that watch.
  @Test(
    arguments: [(CodecProfile.vp8, 1), (.vp8, 12), (.opus, 12), (.av1, 12)],
    SRTPBackend.available.filter { $0 != .libSRTP })
  func forwardingAllocatesNothing(_ load: (codec: CodecProfile, receivers: Int), backend: SRTPBackend) throws {
    let (codec, receivers) = load
    var settings = WorkerState.Settings()
    settings.srtpBackend = backend
    let call = try Call(settings: settings)
    let anna = try call.join("anna")
    let track = call.publish(anna, codec == .opus ? .audio : .video, codec: codec)
    for number in 0..<receivers { call.subscribe(try call.join("p\(number)"), to: track) }
    // Long enough for tables, queues, the allocator's own and every cache entry to have been there once.
    call.run(.seconds(3))
    let datagrams = Self.datagrams(of: anna, from: call.now)
    defer { for datagram in datagrams { datagram.deallocate() } }
    #expect(datagrams.count >= 30)
    let before = call.worker.counters.forwarded
    let allocated = Self.allocations(&call.worker, datagrams, from: anna.path, at: call.now + .milliseconds(1))
    #expect(call.worker.counters.forwarded - before == UInt64(datagrams.count * receivers))
    #expect(allocated == 0)
  }

  enum Copies: CaseIterable { case tap, pipe, both }

  /// Beside receivers, a tap and a pipe are given copies.
  @Test(arguments: Copies.allCases) func copyingAllocatesNothing(copies: Copies) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let track = call.publish(anna, .video)
    call.subscribe(try call.join("bert"), to: track)
    if copies != .pipe { call.apply(.openTap(TapKey(1), track)) }
    call.apply(.openPipe(PipeKey(2)))
    if copies != .tap { call.worker.receive(.layers(track, wanted: 1), through: PipeKey(2), at: call.now) }
    call.run(.seconds(3))
    var counter = CopyCounter()
    call.worker.drainTaps(into: &counter)
    call.worker.drainPipe(PipeKey(2), into: &counter)
    let (taps, pipes) = (counter.taps, counter.pipes)
    let datagrams = Self.datagrams(of: anna, from: call.now)
    defer { for datagram in datagrams { datagram.deallocate() } }
    let allocated = Self.allocations(&call.worker, datagrams, from: anna.path, at: call.now + .milliseconds(1))
    call.worker.drainTaps(into: &counter)
    call.worker.drainPipe(PipeKey(2), into: &counter)
    #expect(counter.taps - taps == (copies == .pipe ? 0 : datagrams.count))
    #expect(counter.pipes - pipes == (copies == .tap ? 0 : datagrams.count))
    #expect(allocated == 0)
  }

  /// What crosses a pipe is taken in, stored, and sent to those who watch.
  @Test(arguments: [CodecProfile.vp8, .opus, .av1]) func aMirrorAllocatesNothing(codec: CodecProfile) throws {
    let room = try TwoWorkers()
    let anna = try room.near.join("anna")
    let kind = codec == .opus ? MediaKind.audio : .video
    let track = room.near.publish(anna, kind, codec: codec)
    let people = try ["bert", "carl"].map { try room.far.join($0) }
    room.mirror(track, kind, publisher: anna)
    for peer in people { room.far.subscribe(peer, to: track) }
    room.run(.seconds(3))
    let datagrams = Self.datagrams(of: anna, from: room.near.now)
    defer { for datagram in datagrams { datagram.deallocate() } }
    let at = room.near.now + .milliseconds(1)
    for datagram in datagrams { room.near.worker.receive(datagram, from: anna.path, at: at) }
    var crossing = CopyKeeper()
    room.near.worker.drainPipe(room.pipe, into: &crossing)
    let before = room.far.worker.counters.forwarded
    let allocated = Self.allocations(&room.far.worker, crossing.packets, through: room.pipe, at: at)
    #expect(crossing.packets.count == datagrams.count && crossing.packets.count >= 30)
    #expect(room.far.worker.counters.forwarded - before == UInt64(crossing.packets.count * 2))
    #expect(allocated == 0)
  }

  private static func allocations(
    _ worker: inout WorkerState, _ packets: [(PipedPacket, [UInt8])], through pipe: PipeKey, at now: Instant
  ) -> UInt {
    var sink = NullSink()
    let before = roost_thread_allocations()
    var index = 0
    while index < packets.count {
      let (packet, bytes) = packets[index]
      worker.receive(packet, bytes.span, through: pipe, at: now)
      if index % 4 == 3 { worker.flush(at: now, into: &sink) }
      index += 1
    }
    worker.flush(at: now, into: &sink)
    return UInt(roost_thread_allocations() - before)
  }

  private static func fallBehind(_ call: Call) {
    let used = WorkerUse(processor: call.now - .zero)
    call.worker.noteTurn(
      waited: .milliseconds(30), leaves: false, busy: UInt64(call.now.nanoseconds), used: used, at: call.now)
  }

  /// A worker that is behind counts what rooms send, and refuses what is beyond their shares.
  @Test func sharingAWorkerAllocatesNothing() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let track = call.publish(anna, .video)
    for number in 0..<12 { call.subscribe(try call.join("p\(number)"), to: track) }
    call.run(.seconds(3))
    // Pictures would step down, and nothing be left to refuse.
    call.worker.tracks.ceiling = PictureCeiling(isOn: false)
    Self.fallBehind(call)
    call.run(.milliseconds(200))
    Self.fallBehind(call)
    let datagrams = Self.datagrams(of: anna, from: call.now)
    defer { for datagram in datagrams { datagram.deallocate() } }
    let before = call.worker.counters
    let allocated = Self.allocations(&call.worker, datagrams, from: anna.path, at: call.now + .milliseconds(1))
    let dropped = call.worker.counters.drops[.roomOverShare] - before.drops[.roomOverShare]
    let forwarded = (call.worker.counters.forwarded - before.forwarded) / 12
    #expect(dropped > 0 && forwarded > 0 && dropped + forwarded == UInt64(datagrams.count))
    #expect(allocated == 0)
  }

  /// A stream that says nothing but a payload type that two silent lines have: it is looked for with each of its packets, and found nowhere.
  @Test func aStreamOfNoTrackAllocatesNothing() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let tracks = [call.publish(anna, .video), call.publish(anna, .video)]
    call.run(.seconds(1))
    call.track(tracks[1]) { $0.isSending = false }
    call.track(tracks[0]) {
      $0.tagsMid = false
      $0.layers[0].ssrc = 0x7777_0001
    }
    call.run(.seconds(2))
    let datagrams = Self.datagrams(of: anna, from: call.now)
    defer { for datagram in datagrams { datagram.deallocate() } }
    let before = call.worker.counters.drops[.unknownStream]
    let allocated = Self.allocations(&call.worker, datagrams, from: anna.path, at: call.now + .milliseconds(1))
    #expect(call.worker.counters.drops[.unknownStream] - before == UInt64(datagrams.count) && datagrams.count >= 30)
    #expect(allocated == 0)
  }

  /// A room in which packets wait for company: a busy worker with many tracks, sound behind pictures.
  @Test func waitingForCompanyAllocatesNothing() throws {
    let call = try Call()
    let people = try (0..<12).map { try call.join("p\($0)") }
    let tracks = people.map { [call.publish($0, .audio), call.publish($0, .video)] }
    for (receiver, person) in people.enumerated() {
      for (sender, both) in tracks.enumerated() where sender != receiver {
        for track in both { call.subscribe(person, to: track) }
      }
    }
    call.run(.seconds(3))
    var traffic: [Arrival] = []
    for (number, person) in people.enumerated() {
      // Everybody in a phase of his own, his packets spread over half a second.
      let datagrams = Self.datagrams(of: person, from: call.now)
      for (index, bytes) in datagrams.enumerated() {
        let offset: Int = 500_000 * index / datagrams.count + 1_700 * number
        traffic.append(Arrival(at: call.now + .microseconds(offset), path: person.path, bytes: bytes))
      }
    }
    defer { for datagram in traffic { datagram.bytes.deallocate() } }
    traffic.sort { $0.at < $1.at }
    let before = call.worker.counters
    let (allocated, turns) = Self.allocations(&call.worker, traffic)
    let after = call.worker.counters
    #expect(after.forwarded - before.forwarded == UInt64(traffic.count * (people.count - 1)))
    #expect(turns * 5 < traffic.count * 3, "\(turns): a beat of a millisecond, and what it takes to judge that")
    #expect(2 * (after.packetsOut - before.packetsOut) > 3 * (after.sends - before.sends), "they left together")
    #expect(allocated == 0)
  }

  /// A datagram, when it comes and from where.
  private struct Arrival {
    let at: Instant
    let path: Path
    let bytes: UnsafeMutableRawBufferPointer
  }

  /// Turns as a worker's loop makes them but without timers (reports, feedback), resting while it may; and how many there were.
  private static func allocations(_ worker: inout WorkerState, _ traffic: [Arrival]) -> (allocations: UInt, turns: Int)
  {
    var sink = NullSink()
    var (index, turns, now) = (0, 0, traffic[0].at)
    let before = roost_thread_allocations()
    while index < traffic.count {
      now = max(traffic[index].at, now + worker.rest(at: now))
      while index < traffic.count && traffic[index].at <= now {
        worker.receive(traffic[index].bytes, from: traffic[index].path, at: traffic[index].at)
        index += 1
      }
      worker.flush(at: now, into: &sink)
      turns += 1
    }
    worker.flush(at: now + .seconds(1), into: &sink)
    return (UInt(roost_thread_allocations() - before), turns)
  }

  /// A second of a publisher's packets, sealed.
  private static func datagrams(of peer: VirtualPeer, from start: Instant) -> [UnsafeMutableRawBufferPointer] {
    for tick in 0..<30 {
      let at = start + .milliseconds(33 * tick + 40)
      for index in peer.tracks.indices { peer.tracks[index].next = at }
      for plain in peer.tracks.indices.flatMap({ peer.tracks[$0].due(at: at) }) { peer.send(plain, at: at) }
    }
    return peer.outbox.map { bytes, _ in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
      copy.copyBytes(from: bytes)
      return copy
    }
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
