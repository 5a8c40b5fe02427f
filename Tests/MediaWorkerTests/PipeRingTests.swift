// Rings between two threads, and the bell beside them.

import Basics
import CAllocationCounter
import Synchronization
import Testing
import Threads

@testable import Media
@testable import MediaWorker

/// Counts how often somebody is woken.
private final class WakeCounter: Sendable {
  private let number = Atomic<Int>(0)
  var count: Int { number.load(ordering: .relaxed) }
  func wake() { number.add(1, ordering: .relaxed) }
}

private struct Read: Equatable {
  let number: Int64
  let bytes: [UInt8]
}

extension PipeReader {
  /// All that there is.
  fileprivate mutating func readAll() -> [Read] {
    var all: [Read] = []
    guard look() else { return [] }
    _ = read(.max / 2) { packet, bytes in
      all.append(Read(number: packet.packet.sequence, bytes: bytes.withUnsafeBufferPointer { Array($0) }))
      return true
    }
    return all
  }
}

struct PipeRingTests {
  @Test func whatIsWrittenIsRead() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    var dice = SplitMix64(seed: 5)
    var (number, isRight) = (0, true)
    for _ in 0..<2_000 {
      var expected: [Read] = []
      for _ in 0..<(dice.next() % 40) {
        let size = [0, 1, 1_500, Int(dice.next() % 1_500)][Int(dice.next() % 4)]
        isRight = isRight && writer.write(number, size: size)
        expected.append(Read(number: Int64(number), bytes: content(number, size: size)))
        number += 1
      }
      isRight = isRight && reader.readAll() == expected && writer.isTaken
    }
    #expect(isRight && number > 20 * PipeRing.mostPackets)
  }

  @Test func atItsBoundAndOneMore() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    var taken = 0
    for number in 0..<(PipeRing.mostPackets + 3) where writer.write(number, size: 0) { taken += 1 }
    #expect(taken == PipeRing.mostPackets)
    // There is room for as many as were read, and for no more.
    var read = 0
    let isThere = reader.look()
    let isLeft = reader.read(2) { _, _ in
      read += 1
      return true
    }
    #expect(isThere && isLeft && read == 2)
    taken = 0
    for number in 0..<5 where writer.write(number, size: 0) { taken += 1 }
    #expect(taken == 2)
  }

  @Test func bytesAtTheirBoundAndOneMore() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    let size = PipeRing.mostBytes / 16
    var taken = 0
    for number in 0..<15 where writer.write(number, size: size) { taken += 1 }
    let isOneMoreByte = writer.write(15, size: size + 1)
    let isLast = writer.write(15, size: size)
    let isOver = writer.write(16, size: 1)
    #expect(taken == 15 && !isOneMoreByte && isLast && !isOver)
    // What was refused comes again, when something was read.
    _ = reader.look()
    _ = reader.read(1) { _, _ in true }
    let isTaken = writer.write(16, size: size)
    let isNext = writer.write(17, size: 1)
    let rest = reader.readAll()
    #expect(isTaken && !isNext && rest.map(\.number) == Array(1...16))
    #expect(rest.last?.bytes == content(16, size: size))
  }

  /// Reading ends where its reader says so, and with what the last look has seen.
  @Test func readingEndsWhereItsReaderSaysSo() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    for number in 0..<10 { _ = writer.write(number) }
    _ = reader.look()
    _ = writer.write(10)
    var seen: [Int64] = []
    let isLeft = reader.read(100) { packet, _ in
      seen.append(packet.packet.sequence)
      return packet.packet.sequence != 3
    }
    #expect(isLeft && seen == [0, 1, 2, 3])
    let isStillLeft = reader.read(100) { packet, _ in
      seen.append(packet.packet.sequence)
      return true
    }
    let hasNews = reader.hasNews
    #expect(!isStillLeft && seen == Array(0...9) && hasNews)
  }

  /// A packet is seen when it is whole. The control: one that is seen before has what stood there.
  @Test func aPacketIsSeenWhenItIsWhole() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    for number in 0..<PipeRing.mostPackets { _ = writer.write(number, size: 4) }
    let before = reader.readAll()
    let isThere = writer.prepare(piped(5_000, size: 4), content(5_000, size: 4).span)
    let early = reader.readAll()
    writer.publish()
    let whole = reader.readAll()
    #expect(before.count == PipeRing.mostPackets && isThere && early == [])
    #expect(whole == [Read(number: 5_000, bytes: content(5_000, size: 4))])
    writer.publish()
    let old = reader.readAll()
    #expect(old.map(\.number) == [1])
  }

  private func checksum(_ bytes: Span<UInt8>) -> UInt32 {
    var sum: UInt32 = 1
    for index in bytes.indices { sum = sum &* 31 &+ UInt32(bytes[index]) }
    return sum
  }

  /// One thread writes, the other reads: all of it, in order and unchanged.
  @Test(arguments: [(0, 0), (1, 0), (0, 1)]) func twoThreadsLoseNothing(pause: (writer: Int, reader: Int)) {
    let (ring, count) = (PipeRing(), 60_000)
    let sizes = Array(repeating: 0, count: 512).indices.map { ($0 * 7_919) % 300 }
    let all = sizes.enumerated().map { content($0.offset, size: $0.element) }
    let sums = all.map { checksum($0.span) }
    let thread = OwnerThread(name: "writer") {
      var writer = PipeWriter(ring, Bell {})
      for number in 0..<count {
        let bytes = all[number % 512]
        while !writer.write(piped(number, size: bytes.count), bytes.span) { OwnerThread.sleep(milliseconds: 0) }
        if number % 1_000 == 0 {
          if writer.takesMessages { writer.write(.layers(ProducerKey(UInt64(number)), wanted: 3)) }
          writer.finish()
          if pause.writer > 0 { OwnerThread.sleep(milliseconds: pause.writer) }
        }
      }
      writer.finish()
    }
    var reader = PipeReader(ring)
    var (next, wrong, messages) = (0, 0, 0)
    while next < count {
      guard reader.look() else {
        OwnerThread.sleep(milliseconds: 0)
        continue
      }
      reader.takeMessages { if case .layers(_, wanted: 3) = $0 { messages += 1 } else { wrong += 1 } }
      _ = reader.read(100) { packet, bytes in
        if packet.packet.sequence != Int64(next) || checksum(bytes) != sums[next % 512] { wrong += 1 }
        next += 1
        return true
      }
      if pause.reader > 0, next % 7 == 0 { OwnerThread.sleep(milliseconds: pause.reader) }
    }
    thread.join()
    #expect(wrong == 0 && next == count && messages > 0)
  }

  // MARK: messages

  @Test func messagesCrossInTheirOrderAndAreTakenOnce() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    let said = (0..<5).map { PipeMessage.keyframe(ProducerKey($0), place: 0) }
    for message in said { writer.write(message) }
    let isSeenEarly = reader.look()
    writer.finish()
    let isTakenEarly = writer.takesMessages
    let isSeen = reader.look()
    var heard: [PipeMessage] = []
    for _ in 0..<2 { reader.takeMessages { heard.append($0) } }
    let (takes, hasNews) = (writer.takesMessages, reader.hasNews)
    #expect(!isSeenEarly && !isTakenEarly && isSeen && heard == said && takes && !hasNews)
  }

  /// While a reader does not come, what is said waits in its pipe, where it merges.
  @Test func messagesWaitWhereTheyMerge() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    var pipe = Pipe(key: PipeKey(1))
    var (stuck, heard): (Int, [PipeMessage]) = (0, [])
    for round in 0..<10_000 {
      pipe.say(.keyframe(ProducerKey(1), place: 0))
      pipe.say(.layers(ProducerKey(2), wanted: UInt8(round % 7)))
      if pipe.drain(into: &writer) { stuck += 1 }
      writer.finish()
    }
    for _ in 0..<2 {
      _ = reader.look()
      reader.takeMessages { heard.append($0) }
      if pipe.drain(into: &writer) { stuck += 1 }
      writer.finish()
    }
    #expect(stuck == 9_999)
    let keyframe = PipeMessage.keyframe(ProducerKey(1), place: 0)
    #expect(heard == [.layers(ProducerKey(2), wanted: 0), keyframe, .layers(ProducerKey(2), wanted: 3), keyframe])
  }

  // MARK: bells

  /// Something comes before its owner looks: it does not sleep. Something comes when it has looked: it is woken.
  @Test func whoeverGoesToSleepSeesWhatCameMeanwhile() {
    let ring = PipeRing()
    let wakes = WakeCounter()
    let bell = Bell { wakes.wake() }
    var writer = PipeWriter(ring, bell)
    var reader = PipeReader(ring)
    let mayFirst = bell.maySleep {
      _ = writer.write(1)
      writer.finish()
      return reader.hasNews
    }
    let first = reader.readAll()
    #expect(!mayFirst && first.count == 1)
    let before = wakes.count
    let maySecond = bell.maySleep {
      let hasNews = reader.hasNews
      _ = writer.write(2)
      writer.finish()
      return hasNews
    }
    #expect(maySecond && wakes.count == before + 1)
    bell.isAwake()
    let second = reader.readAll()
    #expect(second.count == 1)
    // The control: who looks first and says so then sleeps beside what waits.
    let hasNews = reader.hasNews
    _ = writer.write(3)
    writer.finish()
    #expect(!hasNews && wakes.count == before + 1)
  }

  @Test func oneWakeABatch() {
    let ring = PipeRing()
    let wakes = WakeCounter()
    let bell = Bell { wakes.wake() }
    var writer = PipeWriter(ring, bell)
    for number in 0..<100 { _ = writer.write(number) }
    writer.finish()
    #expect(wakes.count == 0, "nobody sleeps")
    for round in 1...3 {
      let maySleep = bell.maySleep { false }
      for number in 0..<100 { _ = writer.write(number) }
      writer.finish()
      writer.finish()
      #expect(maySleep && wakes.count == round)
    }
    let maySleep = bell.maySleep { false }
    writer.finish()
    #expect(maySleep && wakes.count == 3, "nothing was written")
    // The control: who rings for each packet of one who sleeps again and again wakes it as often.
    for number in 0..<100 {
      _ = bell.maySleep { false }
      _ = writer.write(number)
      writer.finish()
    }
    #expect(wakes.count == 103)
  }

  /// Whoever sleeps is woken each time, however the two threads meet.
  @Test func twoThreadsMissNoWake() {
    let (there, back) = (PipeRing(), PipeRing())
    let events = [Mailbox<Int>(), Mailbox<Int>()]
    let bells = events.map { event in Bell { event.wake() } }
    let rounds = 3_000
    @Sendable func play(_ own: Int, _ out: PipeRing, _ into: PipeRing, begins: Bool) -> Int {
      var writer = PipeWriter(out, bells[1 - own])
      var reader = PipeReader(into)
      var spare: [Int] = []
      var late = 0
      for round in 0..<rounds {
        if begins || round > 0 {
          _ = writer.write(round)
          writer.finish()
        }
        while !reader.look() {
          guard bells[own].maySleep(unless: { reader.hasNews }) else { continue }
          let before = MonotonicClock.now()
          events[own].wait(nanoseconds: 20_000_000_000)
          if MonotonicClock.now() - before > .seconds(15) { late += 1 }
          bells[own].isAwake()
          events[own].drain(into: &spare)
        }
        _ = reader.read(10) { _, _ in true }
      }
      _ = writer.write(rounds)
      writer.finish()
      return late
    }
    let lates = WakeCounter()
    let thread = OwnerThread(name: "other") {
      for _ in 0..<play(1, back, there, begins: false) { lates.wake() }
    }
    let late = play(0, there, back, begins: true)
    thread.join()
    #expect(late == 0 && lates.count == 0)
  }

  // MARK: memory

  @Test func aRingAllocatesNothing() {
    let ring = PipeRing()
    var writer = PipeWriter(ring, Bell {})
    var reader = PipeReader(ring)
    let bytes = content(1, size: 1_200)
    var (before, read, taken) = (UInt(0), 0, 0)
    for round in 0..<40 {
      if round == 20 { before = roost_thread_allocations() }
      for number in 0..<50 where writer.write(piped(number, size: 1_200), bytes.span) { taken += 1 }
      writer.write(.keyframe(ProducerKey(1), place: 0))
      writer.finish()
      if reader.look() {
        reader.takeMessages { _ in read += 1 }
        _ = reader.read(100) { _, _ in
          read += 1
          return true
        }
      }
    }
    let allocated = roost_thread_allocations() - before
    #expect(taken == 40 * 50 && read == 40 * 51 && allocated == 0)
    // The control: copies in arrays allocate.
    var copies: [[UInt8]] = []
    let start = roost_thread_allocations()
    for number in 0..<50 { copies.append(content(number, size: 1_200)) }
    #expect(copies.count == 50 && (roost_thread_allocations() > start || roost_counts_allocations() == 0))
  }

  /// A ring gives its slots back as they are: one with an array in it would leak. The control is a message, which has one.
  @Test func pipedPacketsArePlainMemory() {
    #expect(_isPOD(PipedPacket.self) && !_isPOD(PipeMessage.self))
  }
}
