// What waits to be sent: places, chains, what is due when; and padding that lets packets share a call.

import RTP
import Testing

@testable import Basics
@testable import Forwarding
@testable import Media

struct SendQueueTests {
  private static let receiver = Destination.transport(TransportID(index: 0, generation: 1))
  private static let other = Destination.transport(TransportID(index: 1, generation: 1))

  private func entry(_ length: Int = 100, due: Instant = .zero) -> SendEntry {
    SendEntry(
      encoding: EncodingID(index: 0, generation: 1), consumer: ConsumerID(index: 0, generation: 1), sequence: 0,
      due: due, rewrite: Rewrite(sequence: 0, timestamp: 0, payloadType: 0, pictureIDDelta: 0, tl0Delta: 0),
      length: UInt16(length))
  }

  /// A packet in the queue costs one line of the CPU's caches and not two.
  @Test func anEntryIsOneLine() {
    let isAligned = SendQueue().isAligned
    #expect(isAligned)
  }

  /// What deciding and sending look at of a consumer lies within what is fetched ahead of it.
  @Test func aConsumersFrontHoldsWhatEachPacketNeeds() throws {
    // Before the consumer stand its destination and two layers: two words.
    let segments = try #require(MemoryLayout<Consumer>.offset(of: \Consumer.map.segments))
    #expect(segments + MemoryLayout<SequenceMap.Segment>.stride <= ConsumerSlot.front - 2 * MemoryLayout<Int>.size)
    #expect(try #require(MemoryLayout<Consumer>.offset(of: \Consumer.ssrc)) < segments)
    #expect(try #require(MemoryLayout<Consumer>.offset(of: \Consumer.header)) < segments)
  }

  /// What queueing a packet looks at of a transport lies within what is fetched ahead of it: its chain, its path, what is known of its
  /// line, and the first words of its security.
  @Test func aTransportsFrontHoldsWhatQueueingNeeds() {
    let front = MemoryLayout<SendChain>.stride + MemoryLayout<Path?>.stride + MemoryLayout<LineSummary>.stride
    #expect(front + 2 * MemoryLayout<Int>.size <= Transport.queued)
  }

  @Test func aReceiverIsDueWithHisMostUrgentPacket() {
    var queue = SendQueue()
    var (chain, otherChain) = (SendChain(), SendChain())
    let at = Instant.zero + .seconds(1)
    for (kind, delay) in [(MediaKind.audio, 5), (.video, 2), (.audio, 3)] {
      let taken = queue.append(
        entry(due: at + .milliseconds(delay)), kind: kind, receiver: Self.receiver, chain: &chain)
      #expect(taken)
    }
    let taken = queue.append(
      entry(due: at + .milliseconds(4)), kind: .audio, receiver: Self.other, chain: &otherChain)
    #expect(taken)
    let (dues, next, count) = (queue.receivers.map(\.due), queue.nextDue, queue.count)
    #expect(dues == [at + .milliseconds(2), at + .milliseconds(4)])
    #expect(next == at + .milliseconds(2))
    #expect(chain.position == 0 && otherChain.position == 1 && count == 4)
  }

  @Test func placesAreUsedAgain() {
    var queue = SendQueue()
    for round in 0..<100 {
      var chain = SendChain()
      for length in 0..<10 {
        let taken = queue.append(
          entry(length), kind: .video, receiver: Self.receiver, chain: &chain)
        #expect(taken)
      }
      // Every other round something stays, so that places come back in a mixed order.
      var next = chain.video.first
      var lengths: [Int] = []
      while next >= 0 {
        lengths.append(Int(queue[next].length))
        next = queue.free(next)
      }
      #expect(lengths == Array(0..<10), "round \(round)")
      let count = queue.count
      #expect(count == 0)
      queue.keep(round % 2)
      if round % 2 == 1 { queue.keep(0) }
      let due = queue.nextDue
      #expect(due == .distantFuture)
    }
  }

  @Test func theQueueIsBounded() {
    var queue = SendQueue()
    var chain = SendChain()
    var taken = 0
    var warning: Int?
    for _ in 0..<(SendQueue.capacity + 10) {
      if queue.append(entry(), kind: .video, receiver: Self.receiver, chain: &chain) { taken += 1 }
      if queue.isNearlyFull, warning == nil { warning = taken }
    }
    #expect(warning == SendQueue.capacity / 2, "while a datagram for many still finds place")
    let (count, isUnderPressure) = (queue.count, queue.isUnderPressure)
    #expect(taken == SendQueue.capacity && count == taken && isUnderPressure)
  }

  /// A thousand packets of nothing are no nothing to a line.
  @Test func headersCountAsWell() {
    var queue = SendQueue()
    var chain = SendChain()
    for length in [0, 10, 1_000] {
      _ = queue.append(entry(length), kind: .video, receiver: Self.receiver, chain: &chain)
    }
    let bytes = queue.bytes(from: chain.video.first)
    #expect(bytes == 1_010 + 3 * 60)
  }

  struct Run: Sendable, CustomTestStringConvertible {
    let what: String
    let lengths: [Int]
    let run: (count: Int, length: Int)
    var testDescription: String { what }
  }

  @Test(arguments: [
    Run(what: "one", lengths: [100], run: (1, 100)),
    Run(what: "equal ones", lengths: [100, 100, 100], run: (3, 100)),
    Run(what: "nearly equal ones take the longest", lengths: [100, 120, 110], run: (3, 120)),
    Run(what: "an encoder's split of a frame", lengths: [1_103, 1_103, 1_104, 1_104], run: (4, 1_104)),
    Run(what: "a much shorter one ends it", lengths: [1_100, 1_100, 300], run: (2, 1_100)),
    Run(what: "a much longer one too", lengths: [80, 1_100], run: (1, 80)),
    Run(what: "the spread counts, not the step", lengths: [100, 120, 140], run: (2, 120)),
    Run(what: "64 at most", lengths: Array(repeating: 50, count: 100), run: (64, 50)),
  ])
  func packetsOfNearlyOneLengthAreARun(_ run: Run) {
    var queue = SendQueue()
    var chain = SendChain()
    for length in run.lengths {
      _ = queue.append(entry(length), kind: .audio, receiver: Self.receiver, chain: &chain)
    }
    let found = queue.run(from: chain.audio.first)
    #expect(found == run.run)
  }
}

struct PaddingTests {
  /// What would not fit a datagram is dropped for its receivers and counted, and the rest of the frame goes on; padding makes no
  /// packet larger than fits.
  @Test func noPacketIsLargerThanFits() throws {
    let call = try Call()
    let bert = try call.join("bert")
    let track = call.publish(try call.join("anna"), .video)
    let consumer = call.subscribe(bert, to: track)
    call.track(track) { $0.layers[0].packetSize = 1_400 }
    call.run(.seconds(1))
    #expect(call.worker.counters.drops[.tooLarge] == 0)
    #expect(try #require(call.stream(consumer)).problems == [])
    // With the header of this line 1,436 are 1,408 of payload.
    for (size, isDropped) in [(1_408, false), (1_409, true)] {
      call.track(track) { $0.layers[0].packetSize = size }
      let before = call.worker.counters
      call.run(.seconds(1))
      let dropped = call.worker.counters.drops[.tooLarge] - before.drops[.tooLarge]
      #expect((dropped > 10) == isDropped, "\(size): \(dropped) dropped")
      #expect(call.worker.counters.forwarded - before.forwarded > 10)
    }
  }

  /// Three talk at the same moment in frames of different length: their packets leave with one call and arrive whole.
  @Test func unequalPacketsShareACall() throws {
    let call = try Call()
    let bert = try call.join("bert")
    let tracks = try [90, 75, 100].map { size in
      let key = call.publish(try call.join("p\(size)"), .audio)
      call.track(key) { $0.layers[0].packetSize = size }
      return key
    }
    let consumers = tracks.map { call.subscribe(bert, to: $0) }
    call.run(.seconds(1))
    let together = call.now
    for track in tracks { call.track(track) { $0.next = together } }
    let before = call.worker.counters
    call.run(.seconds(1))
    let (sends, packets) = (
      call.worker.counters.sends - before.sends, call.worker.counters.packetsOut - before.packetsOut
    )
    #expect(packets > 150 && Double(sends) < Double(packets) * 0.5, "\(sends) calls for \(packets) packets")
    for consumer in consumers {
      let stream = try #require(call.stream(consumer))
      #expect(stream.problems == [])
    }
  }
}
