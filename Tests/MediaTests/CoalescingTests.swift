// Waiting for company: how long, for whom, and that nothing is late, lost or out of order because of it.

import RTP
import Testing

@testable import Basics
@testable import Forwarding
@testable import Media

struct CoalescingTests {
  /// A worker that has sent `rate` packets a second until now.
  private func coalescing(
    _ rate: Int, _ kind: MediaKind = .video, _ window: CoalescingWindow = CoalescingWindow()
  ) -> Coalescing {
    var coalescing = Coalescing(window)
    for tick in 0...40 {
      coalescing.note(rate / 100, kind, tracks: 32, endsFrame: true, at: .zero + .milliseconds(1_000 + 10 * tick))
    }
    return coalescing
  }

  @Test(arguments: [
    (rate: 3_000, tracks: 32, share: 0.0), (10_000, 32, 0.5), (50_000, 32, 1), (50_000, 4, 0), (50_000, 8, 0.5),
    (10_000, 8, 0.25), (50_000, 2, 0), (0, 1_000, 0),
  ])
  func idleWorkersAndSmallRoomsWaitLess(_ rate: Int, _ tracks: Int, _ share: Double) {
    let busy = coalescing(rate, .video, CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)))
    let video = busy.hold(.video, tracks: tracks, endsFrame: true)
    let audio = busy.hold(.audio, tracks: tracks, endsFrame: false)
    #expect(abs(video.seconds - 0.001 * share) < 0.000_01)
    #expect(abs(audio.seconds - 0.002 * share) < 0.000_02)
  }

  /// The first packets of a frame wait for its end where they would wait for nothing else, and only on a busy worker.
  @Test(arguments: [(rate: 50_000, tracks: 2, microseconds: 250), (10_000, 2, 125), (3_000, 2, 0), (50_000, 32, 1_000)])
  func aBegunFrameWaitsForItsEnd(_ rate: Int, _ tracks: Int, _ microseconds: Int64) {
    let window = CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2))
    let hold = coalescing(rate, .video, window).hold(.video, tracks: tracks, endsFrame: false)
    #expect(abs(hold.seconds * 1_000_000 - Double(microseconds)) < 10)
    #expect(coalescing(rate, .video, .off).hold(.video, tracks: tracks, endsFrame: false) == .zero)
  }

  @Test func offMeansOff() {
    #expect(coalescing(1_000_000, .audio, .off).hold(.audio, tracks: 1_000, endsFrame: false) == .zero)
  }

  @Test func aSilentWorkerForgetsItsLoad() {
    var busy = coalescing(50_000)
    #expect(busy.hold(.audio, tracks: 32, endsFrame: false) > .zero)
    #expect(busy.rest > .zero)
    busy.note(10, .audio, tracks: 32, endsFrame: false, at: .zero + .seconds(100))
    #expect(busy.hold(.audio, tracks: 32, endsFrame: false) == .zero)
    #expect(busy.rest == .zero)
  }

  /// The sockets are left alone for as long as what comes most urgently may wait, and no longer.
  @Test(arguments: [
    (
      rate: 50_000, kind: MediaKind.video, window: CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)),
      rest: 1.0
    ),
    (50_000, .audio, CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)), 2),
    (50_000, .video, CoalescingWindow(video: .milliseconds(3), audio: .milliseconds(2)), 2),
    (50_000, .video, CoalescingWindow(video: .zero, audio: .milliseconds(2)), 0),
    (10_000, .audio, CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)), 1),
    (3_000, .audio, CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)), 0),
    (50_000, .audio, .off, 0),
  ])
  func aBusyWorkerRests(_ rate: Int, _ kind: MediaKind, _ window: CoalescingWindow, _ milliseconds: Double) {
    let rest = coalescing(rate, kind, window).rest
    #expect(abs(rest.seconds * 1_000 - milliseconds) < 0.02)
  }

  /// A worker that was sent one picture's end and sound each millisecond, for as long as it takes to judge that.
  private func dense(_ window: CoalescingWindow, tracks: Int = 32, perMillisecond events: Int = 2) -> Coalescing {
    var coalescing = Coalescing(window)
    for tick in 0...200 {
      for event in 0..<events {
        coalescing.note(
          40, event == 0 ? .video : .audio, tracks: tracks, endsFrame: true, at: .zero + .milliseconds(1_000 + tick))
      }
    }
    return coalescing
  }

  @Test(arguments: [
    (CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)), beat: 1_000, audio: 750_000),
    (CoalescingWindow(video: .microseconds(750), audio: .milliseconds(2)), 750, 1_062_500),
    (CoalescingWindow(video: .milliseconds(3), audio: .milliseconds(2)), 2_000, 0), (.off, 0, 0),
    (CoalescingWindow(video: .zero, audio: .milliseconds(2)), 0, 2_000_000),
  ])
  func aBusyWorkerTurnsAtABeat(_ window: CoalescingWindow, _ beat: Int, _ audio: Int) throws {
    let busy = dense(window)
    #expect(busy.beat == .microseconds(beat))
    #expect(busy.hold(.audio, tracks: 32, endsFrame: false) == TimeDelta(nanoseconds: Int64(audio)))
    #expect(
      busy.hold(.video, tracks: 32, endsFrame: true)
        == max(TimeDelta.zero, window.video - busy.beat * 5 / 4))
    let now = Instant.zero + .microseconds(1_200_300)
    if beat == 0 {
      #expect(busy.untilBeat(at: now, began: now) == nil)
      return
    }
    let rest = try #require(busy.untilBeat(at: now, began: now))
    #expect(rest > .zero && rest <= busy.beat && (now + rest).nanoseconds % busy.beat.nanoseconds == 0)
    #expect(busy.slack == .zero)
    #expect(busy.untilBeat(at: now + rest - .microseconds(1), began: now) == .microseconds(1))
    for late in [TimeDelta.zero, .microseconds(300), .milliseconds(2)] {
      #expect(busy.untilBeat(at: now + rest + late, began: now) == .zero, "the beat went by")
    }
    let later = Instant.zero + .milliseconds(1_400)
    #expect(busy.untilBeat(at: later, began: later) == nil, "nothing came, so there is nothing to turn for")
    #expect(
      busy.hold(.video, tracks: 32, endsFrame: false) <= window.video - busy.beat, "begun frames too")
  }

  @Test func whoHasLittleToDoKeepsNoBeat() {
    let window = CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2))
    #expect(dense(window, perMillisecond: 1).beat == .zero, "one event a window")
    let uneven = CoalescingWindow(video: .milliseconds(10), audio: .microseconds(250))
    #expect(dense(uneven, perMillisecond: 1).beat == .zero, "a beat would be shorter than what comes is apart")
    #expect(dense(window, tracks: 11).beat == .zero, "rooms are small")
    #expect(coalescing(50_000, .audio, window).beat == .zero, "sound alone rests for its own window")
    #expect(coalescing(50_000, .video, window).beat == .zero, "a hundred frames a second")
  }

  /// Fourteen talk; what each receives is whole and in order, and no packet was held beyond the window.
  @Test func aRoomSharesCallsWithinTheWindow() throws {
    var calls: [Bool: Double] = [:]
    for holds in [false, true] {
      var settings = WorkerState.Settings()
      settings.coalescing = holds ? CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2)) : .off
      let call = try Call(seed: 5, settings: settings)
      let peers = try (0..<14).map { try call.join("p\($0)") }
      let tracks = peers.map { call.publish($0, .audio) }
      var consumers: [ConsumerKey] = []
      for (index, peer) in peers.enumerated() {
        for (other, track) in tracks.enumerated() where other != index {
          consumers.append(call.subscribe(peer, to: track))
        }
      }
      call.run(.seconds(1))
      // Everybody's clock has a phase of its own.
      for (index, track) in tracks.enumerated() {
        let phase = call.now + .microseconds(300 * index)
        call.track(track) { $0.next = phase }
      }
      call.run(.milliseconds(300))
      var longest = TimeDelta.zero
      call.afterTurn = { call in
        #expect(call.worker.queue.nextDue > call.now, "what is due has left")
        if call.worker.queue.count > 0 { longest = max(longest, call.worker.queue.nextDue - call.now) }
      }
      let before = call.worker.counters
      call.run(.seconds(1))
      calls[holds] =
        Double(call.worker.counters.sends - before.sends)
        / Double(call.worker.counters.packetsOut - before.packetsOut)
      #expect(longest <= (holds ? .milliseconds(2) : .zero) && (longest > .zero) == holds)
      for consumer in consumers {
        let stream = try #require(call.stream(consumer))
        #expect(stream.problems == [])
      }
      #expect(call.sink.violations == 0)
    }
    let (apart, together) = (try #require(calls[false]), try #require(calls[true]))
    #expect(together < apart * 0.8, "\(apart) calls a packet without, \(together) with")
  }

  /// Sound to those who only listen waits for as long as they are allowed to wait; where a second one is heard, it does not.
  @Test(arguments: [
    (sounds: 1, receivers: 500, milliseconds: 20), (1, 50, 20), (1, 49, nil), (2, 500, nil), (32, 500, nil),
  ])
  func anAudienceMayWaitLonger(_ sounds: Int, _ receivers: Int, _ milliseconds: Int?) {
    var window = CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2), audience: .milliseconds(20))
    let hold = coalescing(50_000, .audio, window).holdForAudience(sounds: sounds, receivers: receivers)
    #expect(hold == milliseconds.map { .milliseconds($0) })
    let idle = coalescing(3_000, .audio, window).holdForAudience(sounds: sounds, receivers: receivers)
    #expect(idle == milliseconds.map { _ in .zero }, "who has little to do waits for nobody")
    let atABeat = dense(window).holdForAudience(sounds: sounds, receivers: receivers)
    #expect(atABeat == milliseconds.map { .milliseconds($0) - .microseconds(1_250) })
    window.audience = .zero
    #expect(coalescing(50_000, .audio, window).holdForAudience(sounds: sounds, receivers: receivers) == nil)
  }

  /// Sixteen with pictures: the worker turns once a millisecond, whatever comes; no picture waits beyond a turn and no sound
  /// beyond the next, and when nobody sends any more it sleeps.
  @Test func aFullRoomIsServedAtABeat() throws {
    let call = try Call(seed: 7)
    let peers = try (0..<16).map { try call.join("p\($0)") }
    let tracks = peers.flatMap { [call.publish($0, .audio), call.publish($0, .video)] }
    var consumers: [ConsumerKey] = []
    for (index, peer) in peers.enumerated() {
      for (other, track) in tracks.enumerated() where other / 2 != index {
        consumers.append(call.subscribe(peer, to: track))
      }
    }
    call.run(.seconds(1))
    var machine = Machine()
    machine.costs = (.zero, .zero)
    machine.rests = true
    call.machine = machine
    // Everybody's clock has a phase of its own.
    for (index, track) in tracks.enumerated() {
      let phase = call.now + .microseconds(700 * index)
      call.track(track) { $0.next = phase }
    }
    call.run(.milliseconds(300))
    #expect(call.worker.coalescing.beat == .milliseconds(1))
    var turns = try #require(call.machine).turns
    var worst = TimeDelta.zero
    call.afterTurn = { call in
      guard let machine = call.machine, machine.turns > turns else { return }
      turns = machine.turns
      for receiver in call.worker.queue.receivers {
        #expect(
          call.worker.transports[receiver.id].chain.video.first < 0, "pictures leave with the turn that finds them")
        worst = max(worst, receiver.due - call.now)
      }
    }
    let (before, start) = (call.worker.counters, turns)
    call.run(.milliseconds(500))
    #expect((450...510).contains(turns - start), "\(turns - start) turns in half a second")
    let began = call.worker.turned
    let soon = call.worker.beat(at: began + .microseconds(200))
    let beat = try #require(soon)
    let rest = call.worker.rest(at: began + .microseconds(200))
    #expect(rest == beat.next - began - .microseconds(200) && beat.interval == .milliseconds(1))
    for late in [beat.next, beat.next + .microseconds(300)] {
      let (rest, next) = (call.worker.rest(at: late), call.worker.beat(at: late)?.next)
      #expect(rest == .zero && next == nil, "the beat went by")
    }
    #expect(worst > .zero && worst <= .microseconds(750))
    #expect((call.worker.counters.sends - before.sends) * 3 < (call.worker.counters.packetsOut - before.packetsOut) * 2)
    for consumer in consumers {
      let stream = try #require(call.stream(consumer))
      #expect(stream.problems == [])
    }
    call.afterTurn = nil
    for track in tracks { call.track(track) { $0.next = .distantFuture } }
    call.run(.milliseconds(300))
    #expect(call.worker.rest(at: call.now) == .zero, "there is nothing to turn for")
  }

  /// Anna's sound and picture, Bert's subscriptions to them and his transport; nothing waits for him.
  private func annaForBert() throws -> (Call, ProducerKey, ConsumerKey, ProducerKey, ConsumerKey, TransportID) {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let (sound, picture) = (call.publish(anna, .audio), call.publish(anna, .video))
    let (heard, seen) = (call.subscribe(bert, to: sound), call.subscribe(bert, to: picture))
    call.run(.milliseconds(1_010))
    let transport = try #require(call.worker.directory.transports[bert.key])
    return (call, sound, heard, picture, seen, transport)
  }

  /// Audio that is not due waits on where it would cost a call: one packet leaves behind the video, the others stay until
  /// they are due.
  @Test func audioRidesBehindVideo() throws {
    let (call, sound, heard, picture, seen, transport) = try annaForBert()
    let due = call.now + .milliseconds(1)
    for number in 0..<2 { try queue(picture, for: seen, number, to: transport, due: call.now, on: call) }
    for number in 0..<3 { try queue(sound, for: heard, number, to: transport, due: due, on: call) }
    let before = call.worker.counters
    var sink = CollectingSink()
    call.worker.flush(at: call.now, into: &sink)
    #expect(sink.calls == 1 && call.worker.counters.packetsOut - before.packetsOut == 3)
    #expect(call.worker.queue.count == 2 && call.worker.queue.nextDue == due)
    call.worker.flush(at: due, into: &sink)
    #expect(sink.calls == 2 && call.worker.counters.packetsOut - before.packetsOut == 5)
    #expect(call.worker.queue.count == 0 && call.worker.queue.nextDue == .distantFuture)
  }

  /// What is due rides as well, and what came behind it and is not due need not leave with a call of its own for its sake.
  @Test func whatIsDueRidesBehindVideo() throws {
    let (call, sound, heard, picture, seen, transport) = try annaForBert()
    let later = call.now + .milliseconds(1)
    try queue(picture, for: seen, 0, to: transport, due: call.now, on: call)
    for number in 0..<3 {
      try queue(sound, for: heard, number, to: transport, due: number == 0 ? call.now : later, on: call)
    }
    let before = call.worker.counters
    var sink = CollectingSink()
    call.worker.flush(at: call.now, into: &sink)
    #expect(sink.calls == 1 && call.worker.counters.packetsOut - before.packetsOut == 2)
    #expect(call.worker.queue.count == 2 && call.worker.queue.nextDue == later)
    // Where more is due than rides, all sound goes.
    try queue(picture, for: seen, 1, to: transport, due: later, on: call)
    try queue(sound, for: heard, 3, to: transport, due: later + .milliseconds(1), on: call)
    call.worker.flush(at: later, into: &sink)
    #expect(sink.calls == 3 && call.worker.counters.packetsOut - before.packetsOut == 6)
    #expect(call.worker.queue.count == 0 && call.worker.queue.nextDue == .distantFuture)
  }

  /// One that may wait does not hold up one behind it that may not.
  @Test func whatIsDueFirstDecides() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let sound = call.publish(anna, .audio)
    let heard = call.subscribe(bert, to: sound)
    call.run(.milliseconds(1_010))
    let transport = try #require(call.worker.directory.transports[bert.key])
    try queue(sound, for: heard, 0, to: transport, due: call.now + .milliseconds(20), on: call)
    try queue(sound, for: heard, 1, to: transport, due: call.now, on: call)
    let before = call.worker.counters.packetsOut
    var sink = CollectingSink()
    call.worker.flush(at: call.now, into: &sink)
    #expect(sink.calls == 1 && call.worker.counters.packetsOut - before == 2, "in order, and none late")
    #expect(call.worker.queue.count == 0 && call.worker.queue.nextDue == .distantFuture)
  }

  /// Queues a track's newest packet under a number that was not sent yet.
  private func queue(
    _ track: ProducerKey, for consumer: ConsumerKey, _ number: Int, to transport: TransportID, due: Instant,
    on call: Call
  ) throws {
    let encoding = call.worker.producers[try #require(call.worker.directory.producers[track])].encodings[0]
    let newest = call.worker.encodings[encoding].encoding.newest
    let found = call.worker.encodings[encoding].encoding.cache.find(newest)
    let packet = try #require(found)
    let handle = try #require(call.worker.directory.consumers[consumer])
    let decision = call.worker.consumers[handle].consumer.decide(packet, layer: 0, alignment: nil)
    guard case .forward(var rewrite) = decision else {
      Issue.record("\(decision)")
      return
    }
    rewrite.sequence &+= UInt16(1 + number)
    let entry = SendEntry(
      encoding: encoding, consumer: handle, sequence: newest, due: due, rewrite: rewrite, length: packet.length)
    call.worker.enqueue(entry, to: transport)
  }

  /// Packets that wait when their receiver goes are dropped and counted, and their places are free again.
  @Test func whoLeavesTakesWhatWaitsForHim() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let track = call.publish(anna, .audio)
    let consumer = call.subscribe(bert, to: track)
    call.run(.seconds(1))
    let transport = try #require(call.worker.directory.transports[bert.key])
    let handle = try #require(call.worker.directory.consumers[consumer])
    let encoding = call.worker.producers[try #require(call.worker.directory.producers[track])].encodings[0]
    let rewrite = Rewrite(sequence: 1, timestamp: 1, payloadType: 111, pictureIDDelta: 0, tl0Delta: 0)
    for sequence in 0..<5 {
      let entry = SendEntry(
        encoding: encoding, consumer: handle, sequence: Int64(sequence),
        due: call.now + .seconds(1), rewrite: rewrite, length: 40)
      call.worker.enqueue(entry, to: transport)
    }
    #expect(call.worker.queue.count == 5 && call.worker.nextDeadline <= call.now + .seconds(1))
    let before = call.worker.counters.drops[.transportDown]
    call.apply(.closeTransport(bert.key))
    #expect(call.worker.counters.drops[.transportDown] == before + 5)
    #expect(call.worker.queue.count == 0)
    call.run(.seconds(2))
    #expect(call.worker.queue.nextDue == .distantFuture)
  }
}

struct SendQueueTests {
  private static let receiver = TransportID(index: 0, generation: 1)
  private static let other = TransportID(index: 1, generation: 1)

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
    // Before the consumer stand its transport's handle and two layers: two words.
    let segments = try #require(MemoryLayout<Consumer>.offset(of: \Consumer.segments))
    #expect(segments + MemoryLayout<Consumer.Segment>.stride <= ConsumerSlot.front - 2 * MemoryLayout<Int>.size)
    #expect(try #require(MemoryLayout<Consumer>.offset(of: \Consumer.ssrc)) < segments)
    #expect(try #require(MemoryLayout<Consumer>.offset(of: \Consumer.header)) < segments)
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
    for _ in 0..<(SendQueue.capacity + 10) {
      if queue.append(entry(), kind: .video, receiver: Self.receiver, chain: &chain) { taken += 1 }
    }
    let (count, isUnderPressure) = (queue.count, queue.isUnderPressure)
    #expect(taken == SendQueue.capacity && count == taken && isUnderPressure)
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
