// Turns of a worker's loop over real sockets: how much each reads, and what it sleeps on.

import Basics
import CAllocationCounter
import CLinux
import Crypto
import Forwarding
import Foundation
import Testing
import Threads

@testable import Media
@testable import MediaWorker

private let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)

private func sockets() throws -> UDPSockets {
  try UDPSockets(addresses: [loopback], receiveBuffer: 4 << 20, sendBuffer: 1 << 20)
}

/// A loop, and somebody who sends to it.
struct Bench: ~Copyable {
  var loop: WorkerLoop
  var sender: UDPSockets
  let to: Path
  let mailbox: Mailbox<MediaWorker.Message>

  init(
    _ settings: WorkerState.Settings = WorkerState.Settings(), mailbox: Mailbox<MediaWorker.Message> = Mailbox()
  ) throws {
    self.mailbox = mailbox
    let certificate = try Certificate(wallMilliseconds: 1_760_000_000_000)
    let ours = try sockets()
    let others = try sockets()
    let waits = LoopWaits(ours, mailbox: mailbox.descriptor)
    to = Path(remote: ours.boundAddress(0), socket: 0)
    loop = WorkerLoop(
      index: 0, Handover(waits: waits, sockets: ours), mailbox: mailbox, bell: Bell { mailbox.wake() },
      certificate: certificate, settings: settings, deliver: { _ in })
    sender = others
  }

  /// - Returns: how many of the runs the kernel took.
  mutating func send(_ runs: Span<OutgoingRun>) -> Int {
    var taken = 0
    sender.send(runs) { if $1 == nil { taken += 1 } }
    return taken
  }

  /// - Returns: whether the kernel took it.
  mutating func send(_ bytes: [UInt8], segment: Int) -> Bool {
    bytes.withUnsafeBytes { sender.send($0, segment: segment, to: to) } == nil
  }
}

/// Until a timer goes off, to the second, as the kernel says.
private func timeLeft(_ timer: Int32) throws -> TimeDelta {
  let text = try String(contentsOfFile: "/proc/self/fdinfo/\(timer)", encoding: .utf8)
  let seconds = text.firstMatch(of: /it_value: \((\d+), \d+\)/).flatMap { Int($0.1) }
  return .seconds(try #require(seconds, "\(text)"))
}

struct LoopTests {
  /// A turn ends before all is read, so that timers and sends are not kept waiting: the next must look again at once, and not
  /// rest first.
  @Test func aTurnThatLeavesDatagramsBehindIsFollowedAtOnce() throws {
    var bench = try Bench()
    // Fewer than the kernel's buffer holds whatever its limit. Of different sizes, so that it joins none.
    let count = WorkerLoop.datagramsPerTurn + 20
    for number in 0..<count {
      let size = 10 + number % 7
      let isSent = bench.send([UInt8](repeating: 0xff, count: size), segment: size)
      #expect(isSent)
    }
    bench.loop.turn()
    let (first, isLeft) = (bench.loop.datagrams, bench.loop.hasMore)
    #expect(isLeft && first >= UInt64(WorkerLoop.datagramsPerTurn) && first < UInt64(count))
    bench.loop.turn()
    let (all, isStillLeft) = (bench.loop.datagrams, bench.loop.hasMore)
    #expect(all == UInt64(count) && !isStillLeft)
  }

  /// The other half of a packet's way is in MediaTests.AllocationTests: between the datagrams that arrive and those that leave.
  @Test func aTurnThatReadsAndASendAllocateNothing() throws {
    var bench = try Bench()
    let segments = [UInt8](repeating: 0xff, count: 5 * 1_200)
    let to = bench.to
    var (taken, allocated) = (0, UInt(0))
    segments.withUnsafeBytes { bytes in
      let runs = [OutgoingRun](repeating: OutgoingRun(path: to, bytes: bytes, segment: 1_200, count: 5), count: 8)
      // The first rounds make what is kept.
      var before: UInt = 0
      for round in 0..<40 {
        if round == 20 { before = roost_thread_allocations() }
        taken += bench.send(runs.span)
        bench.loop.turn()
      }
      allocated = roost_thread_allocations() - before
    }
    let (read, phases, busy) = (bench.loop.datagrams, bench.loop.counters.phases, bench.loop.counters.busyNanoseconds)
    #expect(taken == 40 * 8 && read == 40 * 8 * 5)
    #expect(allocated == 0)
    #expect(phases.receiving > 0 && phases.receiving + phases.sealing + phases.sending <= busy)
  }

  /// What the kernel had no room for is in the worker's figures.
  @Test func figuresHaveWhatNeverReachedTheLoop() async throws {
    var options = MediaWorker.Options(addresses: [loopback])
    options.receiveBuffer = 16_384
    let worker = try MediaWorker(
      options: options, certificate: Certificate(wallMilliseconds: 1_760_000_000_000), deliver: { _ in })
    defer { worker.stop() }
    var sender = try sockets()
    let runs = [UInt8](repeating: 0xff, count: 64 * 1_000)
    // Far more at a time than its buffer holds, until something is lost.
    var lost: UInt64 = 0
    for _ in 0..<1_000 where lost == 0 {
      for _ in 0..<8 {
        _ = runs.withUnsafeBytes {
          sender.send($0, segment: 1_000, to: Path(remote: worker.addresses[0], socket: 0))
        }
      }
      let counters = await withCheckedContinuation { continuation in
        worker.counters { continuation.resume(returning: $0) }
      }
      lost = counters.drops[.receiveQueueFull]
    }
    #expect(lost > 0 && worker.refusedMessages == 0)
  }

  @Test func aWaitEndsWithDatagramsAndWithMessages() throws {
    let ours = try sockets()
    var sender = try sockets()
    let mailbox = Mailbox<Int>()
    let waits = LoopWaits(ours, mailbox: mailbox.descriptor)
    let to = Path(remote: ours.boundAddress(0), socket: 0)
    let nothing = waits.wait(nanoseconds: 1_000_000)
    #expect(!nothing.has(0) && !nothing.mail)
    let refusal = [UInt8](repeating: 0xff, count: 10).withUnsafeBytes { sender.send($0, segment: 10, to: to) }
    #expect(refusal == nil)
    let datagram = waits.wait(nanoseconds: 60_000_000_000)
    #expect(datagram.has(0) && !datagram.mail)
    mailbox.post(1)
    let both = waits.wait(nanoseconds: 60_000_000_000)
    #expect(both.has(0) && both.mail)
  }

  /// A command does not end a rest, and is seen behind it.
  @Test func whoRestsLooksForCommandsAfterwards() throws {
    var bench = try Bench()
    bench.mailbox.post(.counters { _ in })
    let before = MonotonicClock.now()
    let ready = bench.loop.wait(rest: .milliseconds(2), from: before)
    #expect(ready.has(0) && ready.mail && MonotonicClock.now().nanoseconds >= (before + .milliseconds(2)).nanoseconds)
    var messages: [MediaWorker.Message] = []
    bench.mailbox.drain(into: &messages)
    let later = bench.loop.wait(rest: .milliseconds(1), from: MonotonicClock.now())
    #expect(messages.count == 1 && later.has(0) && !later.mail)
  }

  /// Where a beat is kept the rest ends with it, however long it might be.
  @Test func whoKeepsABeatRestsUntilTheNext() throws {
    var bench = try Bench()
    let start = MonotonicClock.now().nanoseconds
    // Sixty frames of a large room in fifty milliseconds.
    for frame in 0...60 {
      let arrival = Instant(nanoseconds: start - 50_000_000 + Int64(frame) * 833_334)
      bench.loop.state.egress.coalescing.arrived(at: arrival)
      bench.loop.state.egress.coalescing.note(100, .video, tracks: 16, at: arrival)
    }
    bench.mailbox.post(.counters { _ in })
    let now = Instant(nanoseconds: start) + .microseconds(100)
    bench.loop.state.egress.turned = now
    let next = try #require(bench.loop.state.beat(at: now)?.next)
    let ready = bench.loop.wait(rest: .seconds(60), from: now)
    let end = MonotonicClock.now()
    #expect(ready.has(0) && ready.mail && end >= next && end - now < .seconds(30))
  }

  /// Also where beats were left out. With a beat a minute, a rest that ended with the next one instead would be noticed.
  @Test func aRestAtABeatEndsWithIt() throws {
    let ours = try sockets()
    let mailbox = Mailbox<Int>()
    var waits = LoopWaits(ours, mailbox: mailbox.descriptor)
    let interval = TimeDelta.milliseconds(2)
    var beat = Instant(nanoseconds: MonotonicClock.now().nanoseconds / interval.nanoseconds * interval.nanoseconds)
    for later in [1, 1, 1, 3, 1, 2, 1] {
      beat = beat + TimeDelta(nanoseconds: interval.nanoseconds * Int64(later))
      waits.rest(until: beat, every: interval)
      #expect(MonotonicClock.now().nanoseconds >= beat.nanoseconds)
    }
    let minute = TimeDelta.seconds(60)
    let soon = MonotonicClock.now() + .milliseconds(10)
    waits.rest(until: soon, every: minute)
    #expect(MonotonicClock.now().nanoseconds < (soon + minute).nanoseconds)
    let left = try [timeLeft(waits.beats.timers[0]), timeLeft(waits.beats.timers[1])].max()
    #expect(try #require(left) > .seconds(1), "the timer of the next beat is set")
  }

  @Test func theTimersOfTheBeatAndOfTheNextOneRun() throws {
    var beats = BeatTimers()
    let interval = TimeDelta.seconds(100)
    let beat = Instant(
      nanoseconds: (MonotonicClock.now().nanoseconds / interval.nanoseconds + 5) * interval.nanoseconds)
    for number in 0..<3 {
      let first = beat + TimeDelta(nanoseconds: interval.nanoseconds * Int64(number))
      beats.prepare(for: first, every: interval)
      let now = MonotonicClock.now()
      var left: [TimeDelta] = []
      for index in beats.timers.indices { left.append(try timeLeft(beats.timers[index])) }
      left.sort { $0 < $1 }
      // The moment between the two looks at the clock, and what is cut off below a second.
      #expect(left[0] <= first - now && left[0] > first - now - .seconds(60))
      #expect(left[1] <= first + interval - now && left[1] > first + interval - now - .seconds(60))
    }
  }

  @Test func thatNoDescriptorIsLeftIsSaid() {
    for code in [23, 24] as [Int32] {
      let text = SocketError(address: loopback, code: code).description
      #expect(text == "No file descriptor is left: raise the limit of open files (LimitNOFILE=)")
    }
  }
}
