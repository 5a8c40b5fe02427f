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
      coalescing.note(rate / 100, kind, tracks: 32, at: .zero + .milliseconds(1_000 + 10 * tick))
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
    busy.note(10, .audio, tracks: 32, at: .zero + .seconds(100))
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

  /// A worker that was sent a picture and sound each millisecond, a third of it apart, for as long as it takes to judge that.
  private func dense(_ window: CoalescingWindow, tracks: Int = 32, perMillisecond arrivals: Int = 2) -> Coalescing {
    var coalescing = Coalescing(window)
    for tick in 0...200 {
      for arrival in 0..<arrivals {
        let now = Instant.zero + .milliseconds(1_000 + tick) + .microseconds(333 * arrival)
        coalescing.arrived(at: now)
        coalescing.note(40, arrival == 0 ? .video : .audio, tracks: tracks, at: now)
      }
    }
    return coalescing
  }

  /// What would wake the worker counts, whatever it is: frames of small rooms, and what receivers report, which comes from five hundred
  /// of them twenty times a second.
  @Test(arguments: [
    (apart: TimeDelta.microseconds(100), beats: true), (.microseconds(40), true), (.microseconds(2), false),
  ])
  func reportsToo(_ apart: TimeDelta, _ beats: Bool) {
    var coalescing = Coalescing(CoalescingWindow())
    for tick in 0...20 {
      let begin = Instant.zero + .milliseconds(1_000 + 20 * tick)
      coalescing.note(1_000, .video, tracks: 2, at: begin)
      for report in 0..<190 { coalescing.arrived(at: begin + apart * Int64(report)) }
    }
    #expect(coalescing.beat == (beats ? .milliseconds(1) : .zero), "those that come back to back wake it a few times")
    #expect(coalescing.hold(.video, tracks: 2, endsFrame: true) == .zero, "the beat is all that a small room waits for")
    #expect(coalescing.hold(.audio, tracks: 2, endsFrame: false) == .zero)
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

  /// Sixty calls of two send little, and would have the worker wake for each packet.
  @Test(arguments: [(perMillisecond: 4, beats: true), (3, false)])
  func whoWouldWakeOftenKeepsABeat(_ perMillisecond: Int, _ beats: Bool) {
    var coalescing = Coalescing(CoalescingWindow())
    for tick in 0...300 {
      for arrival in 0..<perMillisecond {
        let now = Instant.zero + .milliseconds(1_000 + tick) + .microseconds(120 * arrival)
        coalescing.arrived(at: now)
        coalescing.note(1, arrival == 0 ? .video : .audio, tracks: 4, at: now)
      }
    }
    #expect(coalescing.beat == (beats ? .milliseconds(1) : .zero))
  }

  /// However long the window is, few datagrams are no reason for a beat.
  @Test func aLongWindowIsNoReasonForABeat() {
    var coalescing = Coalescing(CoalescingWindow(video: .milliseconds(10), audio: .milliseconds(10)))
    for tick in 0...500 {
      let now = Instant.zero + .milliseconds(1_000 + tick)
      coalescing.arrived(at: now)
      coalescing.note(1, .video, tracks: 4, at: now)
    }
    #expect(coalescing.beat == .zero, "a thousand wakings a second")
  }

  /// A little sound of a large room takes the beat from nobody; where most of what comes is that, what is held has the worker rest.
  @Test(arguments: [(large: 1, beats: true), (5, false)])
  func soundOfALargeRoomKeepsTheWorkerResting(_ large: Int, _ beats: Bool) {
    var coalescing = Coalescing(CoalescingWindow())
    for tick in 0...300 {
      for arrival in 0..<6 {
        let now = Instant.zero + .milliseconds(1_000 + tick) + .microseconds(120 * arrival)
        coalescing.arrived(at: now)
        coalescing.note(20, .audio, tracks: arrival < large ? 32 : 2, at: now)
      }
    }
    #expect(coalescing.beat == (beats ? .milliseconds(1) : .zero))
  }

  @Test func whoHasLittleToDoKeepsNoBeat() {
    let window = CoalescingWindow(video: .milliseconds(1), audio: .milliseconds(2))
    #expect(dense(window, perMillisecond: 1).beat == .zero, "one event a window")
    let uneven = CoalescingWindow(video: .milliseconds(10), audio: .microseconds(250))
    #expect(dense(uneven, perMillisecond: 1).beat == .zero, "a beat would be shorter than what comes is apart")
    #expect(dense(window, tracks: 2).beat == .milliseconds(1), "the control, and small rooms too")
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
        #expect(call.worker.egress.queue.nextDue > call.now, "what is due has left")
        if call.worker.egress.queue.count > 0 { longest = max(longest, call.worker.egress.queue.nextDue - call.now) }
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
    #expect(call.worker.egress.coalescing.beat == .milliseconds(1))
    var turns = try #require(call.machine).turns
    var worst = TimeDelta.zero
    call.afterTurn = { call in
      guard let machine = call.machine, machine.turns > turns else { return }
      turns = machine.turns
      for receiver in call.worker.egress.queue.receivers {
        let waiting = call.worker.ends.chain(of: receiver.destination)?.pointee
        #expect(waiting.map { $0.video.first < 0 } == true, "pictures leave with the turn that finds them")
        worst = max(worst, receiver.due - call.now)
      }
    }
    let (before, start) = (call.worker.counters, turns)
    call.run(.milliseconds(500))
    #expect((450...510).contains(turns - start), "\(turns - start) turns in half a second")
    let began = call.worker.egress.turned
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
    #expect(call.worker.egress.queue.count == 2 && call.worker.egress.queue.nextDue == due)
    call.worker.flush(at: due, into: &sink)
    #expect(sink.calls == 2 && call.worker.counters.packetsOut - before.packetsOut == 5)
    #expect(call.worker.egress.queue.count == 0 && call.worker.egress.queue.nextDue == .distantFuture)
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
    #expect(call.worker.egress.queue.count == 2 && call.worker.egress.queue.nextDue == later)
    // Where more is due than rides, all sound goes.
    try queue(picture, for: seen, 1, to: transport, due: later, on: call)
    try queue(sound, for: heard, 3, to: transport, due: later + .milliseconds(1), on: call)
    call.worker.flush(at: later, into: &sink)
    #expect(sink.calls == 3 && call.worker.counters.packetsOut - before.packetsOut == 6)
    #expect(call.worker.egress.queue.count == 0 && call.worker.egress.queue.nextDue == .distantFuture)
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
    #expect(call.worker.egress.queue.count == 0 && call.worker.egress.queue.nextDue == .distantFuture)
  }

  /// Queues a track's newest packet under a number that was not sent yet.
  private func queue(
    _ track: ProducerKey, for consumer: ConsumerKey, _ number: Int, to transport: TransportID, due: Instant,
    on call: Call
  ) throws {
    let encoding = call.worker.tracks.producers[try #require(call.worker.directory.producers[track])].encodings[0]
    let newest = call.worker.tracks.encodings[encoding].encoding.newest
    let found = call.worker.tracks.encodings[encoding].encoding.cache.find(newest)
    let packet = try #require(found)
    let handle = try #require(call.worker.directory.consumers[consumer])
    let decision = call.worker.forwarder.consumers[handle].consumer.decide(packet, layer: 0, alignment: nil)
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
    let encoding = call.worker.tracks.producers[try #require(call.worker.directory.producers[track])].encodings[0]
    let rewrite = Rewrite(sequence: 1, timestamp: 1, payloadType: 111, pictureIDDelta: 0, tl0Delta: 0)
    for sequence in 0..<5 {
      let entry = SendEntry(
        encoding: encoding, consumer: handle, sequence: Int64(sequence),
        due: call.now + .seconds(1), rewrite: rewrite, length: 40)
      call.worker.enqueue(entry, to: transport)
    }
    #expect(call.worker.egress.queue.count == 5 && call.worker.nextDeadline <= call.now + .seconds(1))
    let before = call.worker.counters.drops[.transportDown]
    call.apply(.closeTransport(bert.key))
    #expect(call.worker.counters.drops[.transportDown] == before + 5)
    #expect(call.worker.egress.queue.count == 0)
    call.run(.seconds(2))
    #expect(call.worker.egress.queue.nextDue == .distantFuture)
  }
}

extension WorkerState {
  /// Puts a packet into the queue of its receiver, as for one that is sent again.
  fileprivate mutating func enqueue(_ entry: SendEntry, to transport: TransportID) {
    let kind = forwarder.consumers[entry.consumer].consumer.parameters.kind
    egress.enqueue(entry, kind, to: .transport(transport), &ends)
  }
}
