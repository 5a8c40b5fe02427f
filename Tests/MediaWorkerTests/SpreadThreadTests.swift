// A worker's loop and its pipes. The test itself is the other worker: it holds the other ends of the rings.

import CAllocationCounter
import Crypto
import RTP
import Synchronization
import Testing
import Threads

@testable import Basics
@testable import Forwarding
@testable import Media
@testable import MediaWorker

private let key = PipeKey(1)
private let track = ProducerKey(1)

/// Whether something holds within ten seconds.
private func comes(_ condition: () -> Bool) -> Bool {
  let end = MonotonicClock.now() + .seconds(10)
  while !condition() {
    if MonotonicClock.now() > end { return false }
    OwnerThread.sleep(milliseconds: 0)
  }
  return true
}

/// A worker on its thread, and the other end of its pipe.
private struct OtherEnd: ~Copyable {
  let worker: MediaWorker
  var writer: PipeWriter
  var reader: PipeReader

  /// `bell` stands for the worker's own.
  init(bell: Bell? = nil) throws {
    let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)
    worker = try MediaWorker(
      options: MediaWorker.Options(addresses: [loopback]),
      certificate: Certificate(wallMilliseconds: 1_760_000_000_000), deliver: { _ in })
    let (there, back) = (PipeRing(), PipeRing())
    writer = PipeWriter(there, bell ?? worker.bell)
    reader = PipeReader(back)
    worker.attach(PipeEnd(out: back, into: there, other: Bell {}), as: key)
  }

  deinit { worker.stop() }

  /// Writes packets of a track, as many as there is room for at a time.
  mutating func write(_ numbers: Range<Int>) -> Bool {
    for number in numbers {
      let isWritten = comes {
        if writer.write(number, track: track) { return true }
        writer.finish()
        return false
      }
      if !isWritten { return false }
    }
    writer.finish()
    return true
  }

  mutating func say(_ message: PipeMessage) -> Bool {
    guard comes({ writer.takesMessages }) else { return false }
    writer.write(message)
    writer.finish()
    return true
  }

  /// Whether the worker takes all that was written.
  func isTaken() -> Bool { comes { writer.isTaken } }

  /// What the worker says, so many messages of it.
  mutating func hear(_ count: Int) -> [PipeMessage] {
    var heard: [PipeMessage] = []
    _ = comes {
      if reader.look() { reader.takeMessages { heard.append($0) } }
      return heard.count >= count
    }
    return heard
  }
}

/// What went no further, besides what nobody watches.
private func lost(_ drops: DropCounters) -> UInt64 {
  DropReason.allCases.filter { $0 != .noConsumer }.reduce(0) { $0 + drops[$1] }
}

extension MediaWorker {
  fileprivate func count() async -> WorkerCounters {
    await withCheckedContinuation { continuation in counters { continuation.resume(returning: $0) } }
  }
}

extension Bench {
  /// Attaches a pipe, and returns the other end of it.
  fileprivate mutating func attach() -> (into: PipeRing, out: PipeRing) {
    let (there, back) = (PipeRing(), PipeRing())
    loop.pipes.attach(key, PipeEnd(out: back, into: there, other: Bell {}))
    loop.state.apply(.openPipe(key), at: MonotonicClock.now())
    return (there, back)
  }

  /// How many pipes the first layer of the track is copied to; nil where there is no such track.
  fileprivate mutating func copies() -> Int? {
    guard let id = loop.state.directory.producers[track] else { return nil }
    return loop.state.tracks.encodings[loop.state.tracks.producers[id].declared[0]].pipes.count
  }
}

struct SpreadThreadTests {
  @Test func aTrackCrossesToAnotherThread() async throws {
    var other = try OtherEnd()
    other.worker.post([somebody(), mirror(track, through: key)])
    let isWritten = other.write(0..<5_000)
    let isTaken = other.isTaken()
    let worker = other.worker
    var counters = await worker.count()
    #expect(isWritten && isTaken && counters.crossed == 5_000 && counters.staleCommands == 0)
    #expect(lost(counters.drops) == 0)
    // The control: no mirror takes them in.
    worker.post([.removeProducer(track)])
    let isLater = other.write(5_000..<5_010) && other.isTaken()
    counters = await worker.count()
    #expect(isLater && counters.drops[.unknownStream] == 10)
  }

  /// A worker that has nothing to do sleeps without end, and is woken by each packet and by each message.
  @Test func whoSleepsIsWoken() throws {
    var other = try OtherEnd()
    other.worker.post([
      somebody(),
      .addProducer(
        track, transport: TransportKey(1), parameters: parameters(.video, 3),
        publisher: Publisher(1, canonicalName: "anna")),
    ])
    var late = 0
    for number in 0..<100 {
      if !other.write(number..<(number + 1)) || !other.isTaken() { late += 1 }
      if !other.say(.layers(track, wanted: UInt8(number % 8))) || !other.isTaken() { late += 1 }
      if number % 10 == 0 { OwnerThread.sleep(milliseconds: 5) }
    }
    #expect(late == 0)
  }

  /// The control: the bell of another.
  @Test func whoHearsNoBellSleepsOn() throws {
    var other = try OtherEnd(bell: Bell {})
    // What was posted woke it, and it sleeps when it has looked.
    OwnerThread.sleep(milliseconds: 300)
    let isWritten = other.write(0..<1)
    OwnerThread.sleep(milliseconds: 300)
    let isTakenEarly = other.writer.isTaken
    other.worker.bell.ring()
    let isTaken = other.isTaken()
    #expect(isWritten && !isTakenEarly && isTaken)
  }

  /// A ring whose reader hangs is tried again by itself: nothing else wakes the worker.
  @Test func aFullRingIsTriedAgain() throws {
    var other = try OtherEnd()
    other.worker.post([somebody(), mirror(track, through: key, layers: 2)])
    let isFirst = comes { other.reader.look() }
    other.worker.post([mirror(ProducerKey(2), through: key, layers: 2)])
    OwnerThread.sleep(milliseconds: 50)
    let heard = other.hear(2)
    #expect(isFirst && heard == [.layers(track, wanted: 0), .layers(ProducerKey(2), wanted: 0)])
  }

  /// The same by its turns. The control: where nothing waits it is not looked at again.
  @Test func whatIsStuckIsDueSoon() throws {
    var bench = try Bench()
    let (_, out) = bench.attach()
    let (now, due) = (Instant.zero, Instant.zero + WorkerLoop.again)
    let atFirst = bench.loop.pipesDue(at: now)
    for number in [1, 2] as [UInt64] {
      for command in (number == 1 ? [somebody()] : []) + [mirror(ProducerKey(number), through: key, layers: 2)] {
        bench.mailbox.post(.command(command))
      }
      bench.loop.turn()
    }
    let stuck = bench.loop.pipesDue(at: now)
    var reader = PipeReader(out)
    var heard = 0
    _ = reader.look()
    reader.takeMessages { _ in heard += 1 }
    bench.loop.turn()
    let later = bench.loop.pipesDue(at: now)
    _ = reader.look()
    reader.takeMessages { _ in heard += 1 }
    #expect(atFirst == .distantFuture && stuck == due && later == .distantFuture && heard == 2)
  }

  @Test func aTurnThatLeavesCrossedPacketsIsFollowedAtOnce() throws {
    var bench = try Bench()
    var writer = PipeWriter(bench.attach().into, Bell {})
    let count = WorkerPipes.packetsPerTurn + 1
    for number in 0..<count { _ = writer.write(number) }
    bench.loop.turn()
    let (first, isLeft, due) = (
      bench.loop.state.counters.crossed, bench.loop.pipes.hasMore, bench.loop.pipesDue(at: .zero)
    )
    #expect(first == UInt64(WorkerPipes.packetsPerTurn) && isLeft && due == .zero)
    bench.loop.turn()
    let (all, isStillLeft) = (bench.loop.state.counters.crossed, bench.loop.pipes.hasMore)
    #expect(all == UInt64(count) && !isStillLeft)
    // Who leaves takes along what was left.
    for number in 0..<count { _ = writer.write(number) }
    bench.loop.turn()
    let isLeftAgain = bench.loop.pipes.hasMore
    bench.loop.pipes.detach(key)
    let isForgotten = !bench.loop.pipes.hasMore
    #expect(isLeftAgain && isForgotten)
  }

  /// What waits to be sent is sent before there is no space for more, and the rest is read in the next turn.
  @Test func oneCrossedPacketForAThousandFlushesEarly() throws {
    var bench = try Bench()
    var writer = PipeWriter(bench.attach().into, Bell {})
    for number in 0..<100 { _ = writer.write(number) }
    var (chain, waiting) = (SendChain(), 0)
    let entry = SendEntry(
      encoding: EncodingID(index: 0, generation: 1), consumer: ConsumerID(index: 0, generation: 1), sequence: 0,
      due: .distantFuture, rewrite: Rewrite(sequence: 0, timestamp: 0, payloadType: 0, pictureIDDelta: 0, tl0Delta: 0),
      length: 100)
    let receiver = Destination.transport(TransportID(index: 0, generation: 1))
    while !bench.loop.state.isNearlyFull {
      guard bench.loop.state.egress.queue.append(entry, kind: .audio, receiver: receiver, chain: &chain) else { break }
      waiting += 1
    }
    let isThere = bench.loop.pipes.look()
    var flushes = 0
    Self.read(&bench.loop.pipes, into: &bench.loop.state) { flushes += 1 }
    let (crossed, isLeft) = (bench.loop.state.counters.crossed, bench.loop.pipes.hasMore)
    #expect(isThere && waiting > SendQueue.pressure && flushes == 1 && crossed == 1 && isLeft)
  }

  private static func read(_ pipes: inout WorkerPipes, into state: inout WorkerState, flush: () -> Void) {
    pipes.read(into: &state, at: MonotonicClock.now()) { _ in flush() }
  }

  /// The conference tells the source of a track first, and then the other worker, which asks for it at once. Here the message has come
  /// meanwhile, and what woke the loop is no message.
  @Test func sourcesAreKnownBeforeTheyAreAsked() throws {
    var bench = try Bench(mailbox: Mailbox(capacity: 100) {})
    var writer = PipeWriter(bench.attach().into, Bell {})
    for command in [
      somebody(),
      .addProducer(
        track, transport: TransportKey(1), parameters: parameters(.video, 3),
        publisher: Publisher(1, canonicalName: "anna")),
    ] { bench.mailbox.post(.command(command)) }
    let isSent = bench.send([1, 2, 3], segment: 3)
    // The control: nothing came over the pipe, and the message waits for its own waking.
    bench.loop.turn()
    let before = bench.copies()
    writer.write(.layers(track, wanted: 1))
    writer.finish()
    bench.loop.turn()
    let after = bench.copies()
    #expect(isSent && before == nil && after == 1)
  }

  @Test func aTurnWithPipesAllocatesNothing() throws {
    var bench = try Bench()
    var writer = PipeWriter(bench.attach().into, Bell {})
    for command in [somebody(), mirror(track, through: key)] {
      bench.loop.state.apply(command, at: MonotonicClock.now())
    }
    let bytes = content(1, size: 100)
    var (before, taken) = (UInt(0), 0)
    for round in 0..<80 {
      if round == 60 { before = roost_thread_allocations() }
      for number in (round * 50)..<(round * 50 + 50) where writer.write(piped(number), bytes.span) { taken += 1 }
      writer.finish()
      bench.loop.turn()
    }
    let allocated = roost_thread_allocations() - before
    let (crossed, drops) = (bench.loop.state.counters.crossed, bench.loop.state.counters.drops)
    #expect(taken == 80 * 50 && crossed == 80 * 50 && allocated == 0)
    #expect(lost(drops) == 0)
  }

  /// What is told and written meets the worker in any order; nothing is left, and nothing hangs.
  @Test func whatLeavesWhilePacketsAreInTheRingIsHarmless() async throws {
    var other = try OtherEnd()
    let worker = other.worker
    worker.post([somebody()])
    var dice = SplitMix64(seed: 3)
    var isWell = true
    for round in 2..<202 {
      let (pipe, mirrored) = (PipeKey(UInt64(round)), ProducerKey(UInt64(round)))
      let (there, back) = (PipeRing(), PipeRing())
      var writer = PipeWriter(there, worker.bell)
      var reader = PipeReader(back)
      var steps = [0, 1, 2, 3, 4]
      // Now and then it is parted before it was laid, or packets come before their track.
      if dice.next() % 2 == 0 { steps.shuffle(using: &dice) }
      for step in steps {
        switch step {
        case 0: worker.attach(PipeEnd(out: back, into: there, other: Bell {}), as: pipe)
        case 1: worker.post([mirror(mirrored, through: pipe, layers: 2)])
        case 2: for number in 0..<Int(dice.next() % 400) { _ = writer.write(number, track: mirrored) }
        case 3:
          if writer.takesMessages { writer.write(.keyframe(mirrored, place: 0)) }
          writer.finish()
        default: worker.detach(pipe)
        }
      }
      writer.finish()
      // A mirror says which layers it wants; a wish for a keyframe that comes while it is there, it hands on.
      if reader.look() {
        reader.takeMessages {
          switch $0 {
          case .layers(mirrored, _), .keyframe(mirrored, _): break
          case .layers, .keyframe, .missing, .report, .arriving: isWell = false
          }
        }
      }
      worker.detach(pipe)
    }
    let isWritten = other.write(0..<10) && other.isTaken()
    let counters = await worker.count()
    #expect(isWell && isWritten)
    #expect(counters.producers == 0 && counters.transports == 1, "\(counters.producers), \(counters.transports)")
  }

  /// Two workers, and a pipe as the conference lays it.
  @Test func workersAreJoinedAndParted() async throws {
    let first = try OtherEnd()
    let second = try OtherEnd()
    let (source, far) = (first.worker, second.worker)
    MediaWorker.join(source, far, as: PipeKey(7))
    source.post([
      somebody(),
      .addProducer(
        track, transport: TransportKey(1), parameters: parameters(.video, 2),
        publisher: Publisher(1, canonicalName: "anna")),
    ])
    far.post([somebody(2), mirror(track, through: PipeKey(7), layers: 2)])
    var (here, there) = (await source.count(), await far.count())
    #expect(here.producers == 1 && there.producers == 1 && here.staleCommands + there.staleCommands == 0)
    MediaWorker.part(source, far, PipeKey(7))
    (here, there) = (await source.count(), await far.count())
    #expect(here.producers == 1 && there.producers == 0 && here.staleCommands + there.staleCommands == 0)
    // The control: a pipe that is gone brings nothing.
    far.post([mirror(track, through: PipeKey(7), layers: 2)])
    there = await far.count()
    #expect(there.staleCommands == 1)
  }
}
