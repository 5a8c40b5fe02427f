// A room over two workers: one copy of a layer crosses, wishes for keyframes are merged, and each hop repairs what it has lost.

import RTP
import Testing

@testable import Basics
@testable import Forwarding
@testable import Media

/// Keeps what a pipe says.
private struct MessageList: PipeSink {
  var messages: [PipeMessage] = []
  var takesMessages = true
  var takesPackets = true

  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool { takesPackets }
  mutating func write(_ message: PipeMessage) { messages.append(message) }
}

struct PipeTests {
  @Test(arguments: [CodecProfile.vp8, .h264ConstrainedBaseline, .av1])
  func threeWatchAndOneCopyCrosses(codec: CodecProfile) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene(codec: codec)
    let sound = room.near.publish(anna, .audio)
    room.mirror(sound, .audio, publisher: anna)
    let heard = room.far.subscribe(room.far.peers[0], to: sound)
    // Somebody beside anna watches without the pipe.
    let local = room.near.subscribe(try room.near.join("emil"), to: video)
    room.run(.seconds(4))
    for consumer in watching {
      let stream = try #require(room.far.stream(consumer))
      #expect(stream.problems == [] && stream.frames.count > 90 && !stream.reports.isEmpty)
    }
    #expect(room.near.stream(local)?.problems == [])
    let voice = try #require(room.far.stream(heard))
    #expect(voice.problems == [] && voice.frames.count > 150)
    #expect(room.far.lastSpeakers == [sound.value])
    #expect(room.copies == 0 && room.repeats == 0 && room.asked == 0)
    #expect(room.packets.count < 450 && room.far.worker.counters.forwarded > 800)
    #expect(anna.nackedByServer == 0)
    #expect(room.far.worker.counters.drops[.unknownStream] == 0 && room.far.worker.counters.drops[.malformed] == 0)
  }

  @Test func layersThatNobodyWantsDoNotCross() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene(layers: [1, 2, 4], wishes: [nil, 2, 0])
    room.run(.seconds(4))
    #expect(room.layers[0, default: 0] > 100 && room.layers[1] == nil && room.layers[2, default: 0] > 400)
    #expect(room.copies == 0)
    for consumer in watching { #expect(room.far.stream(consumer)?.problems == []) }
    // Nobody wants the highest any more, and after a while it does not cross. Meanwhile its numbers go round.
    for consumer in watching { room.far.apply(.setLayer(consumer, 0)) }
    room.run(.seconds(12))
    room.forget()
    for _ in 0..<3 {
      room.near.track(video) { $0.layers[2].sequence &+= 20_000 }
      room.run(.milliseconds(200))
    }
    #expect(room.layers[0, default: 0] > 10 && room.layers.count == 1)
    // It is wanted again.
    room.far.apply(.setLayer(watching[1], 2))
    room.run(.seconds(3))
    #expect(room.layers[2, default: 0] > 200 && room.layers[1] == nil && room.copies == 0)
    let stream = try #require(room.far.stream(watching[1]))
    #expect(stream.ordered.last?.stamp?.layer == 2 && stream.problems == [])
    // Nobody watches.
    for consumer in watching { room.far.apply(.setPaused(consumer, true)) }
    room.run(.seconds(25))
    room.forget()
    room.run(.seconds(1))
    #expect(room.packets.isEmpty)
  }

  /// Intervals between requests for a keyframe that are too short.
  private func hasty(_ requests: [Instant]) -> Int {
    zip(requests, requests.dropFirst()).count { $1 - $0 < KeyframeThrottle.spacing }
  }

  private func askOften(_ room: TwoWorkers, _ watching: [ConsumerKey]) {
    for _ in 0..<8 {
      for (peer, consumer) in zip(room.far.peers, watching) {
        peer.requestKeyframe(consumer)
        room.run(.milliseconds(13))
      }
      room.run(.milliseconds(120))
    }
  }

  @Test func wishesForKeyframesAreMerged() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, _, watching) = try room.scene()
    room.run(.seconds(2))
    room.forget()
    let before = anna.tracks[0].layers[0].requests
    askOften(room, watching)
    let crossed = room.keyframes(of: 0)
    #expect(crossed.count >= 2 && crossed.count <= 6 && hasty(crossed) == 0)
    #expect(anna.tracks[0].layers[0].requests - before <= crossed.count)
    for consumer in watching { #expect(room.far.stream(consumer)?.problems == []) }
    // The control: without merging each wish crosses.
    let control = try TwoWorkers()
    defer { control.end() }
    let others = try control.scene().watching
    control.run(.seconds(2))
    control.forget()
    control.forgetsRequests = true
    askOften(control, others)
    #expect(control.keyframes(of: 0).count > 8 && hasty(control.keyframes(of: 0)) > 4)
  }

  enum Hop: CaseIterable { case publisher, pipe, receiver }

  @Test(arguments: Hop.allCases) func eachHopRepairsWhatItHasLost(hop: Hop) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, _, watching) = try room.scene(layers: [4])
    room.run(.seconds(1))
    room.forget()
    var dice = SplitMix64(seed: 9)
    switch hop {
    case .publisher: anna.uplink = .losing(0.05)
    case .pipe: room.loses = { !$0.isRepeat && dice.next() % 20 == 0 }
    case .receiver: room.far.peers[0].downlink = .losing(0.05)
    }
    room.run(.seconds(3))
    (anna.uplink, room.far.peers[0].downlink, room.loses) = (.good, .good, { _ in false })
    room.run(.seconds(1))
    for consumer in watching {
      let stream = try #require(room.far.stream(consumer))
      #expect(stream.problems == [] && stream.frames.count > 140)
    }
    #expect(hop == .publisher ? anna.nackedByServer > 10 : anna.nackedByServer == 0)
    #expect(hop == .pipe ? room.repeats > 10 : room.repeats == 0)
    #expect(hop == .receiver ? room.asked == 0 : true)
    #expect(hop == .receiver ? room.far.worker.counters.retransmitted > 10 : true)
    #expect(room.copies == 0)
  }

  /// The other worker is busy for longer than the pipe has room.
  @Test func whatFindsNoRoomIsDroppedAndTheStreamGoesOn() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene(layers: [20])
    room.run(.seconds(1))
    room.isStopped = true
    room.run(.seconds(4))
    #expect(room.near.worker.counters.drops[.backlogFull] > 50)
    room.forget()
    room.isStopped = false
    room.near.track(video) { $0.layers[0].packetsPerFrame = 4 }
    room.run(.milliseconds(1))
    let waited = room.packets.reduce(0) { $0 + Int($1.packet.length) }
    #expect(room.packets.count <= Pipe.mostPackets && waited <= Pipe.mostBytes && waited > Pipe.mostBytes * 9 / 10)
    room.run(.seconds(3))
    #expect(!room.keyframes(of: 0).isEmpty && anna.nackedByServer == 0)
    let stream = try #require(room.far.stream(watching[0]))
    let newest = try #require(stream.ordered.last?.stamp)
    #expect(room.near.now.nanoseconds - newest.capture < 200_000_000)
  }

  /// Meanwhile the numbers go more than half of their circle.
  @Test func aPipeThatWasFullForLongGoesOn() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene(layers: [20])
    room.run(.seconds(1))
    room.isStopped = true
    room.run(.seconds(4))
    let dropped = room.near.worker.counters.drops[.backlogFull]
    #expect(dropped > 50)
    for _ in 0..<2 {
      room.near.track(video) { $0.layers[0].sequence &+= 20_000 }
      room.run(.milliseconds(200))
    }
    room.isStopped = false
    room.run(.milliseconds(200))
    let before = room.frames(watching[0])
    room.run(.seconds(2))
    #expect(room.frames(watching[0]) > before + 40 && room.far.worker.counters.drops[.duplicate] == 0)
  }

  @Test func messagesThatWaitAreBounded() {
    var pipe = Pipe(key: PipeKey(1))
    for number in 0..<2_000 {
      pipe.say(.missing(ProducerKey(1), place: 0, [UInt16(number)]))
      pipe.say(.keyframe(ProducerKey(UInt64(number % 3)), place: 0))
      pipe.say(.layers(ProducerKey(UInt64(number % 5)), wanted: UInt8(number % 7)))
    }
    var crossing = MessageList()
    _ = pipe.drain(into: &crossing)
    #expect(crossing.messages.count >= Pipe.mostMessages && crossing.messages.count <= Pipe.mostMessages + 5)
    let layers = crossing.messages.filter { if case .layers = $0 { true } else { false } }
    #expect(layers.count == 5 && layers.contains(.layers(ProducerKey(4), wanted: UInt8(1_999 % 7))))
    #expect(crossing.messages.count { if case .keyframe = $0 { true } else { false } } == 3)
  }

  /// What a sink does not take waits, is said to wait, and merges meanwhile.
  @Test func whatIsNotTakenWaits() {
    var pipe = Pipe(key: PipeKey(1))
    var crossing = MessageList()
    let isAnythingAtFirst = pipe.drain(into: &crossing)
    #expect(!isAnythingAtFirst)
    crossing.takesMessages = false
    let sayings: [PipeMessage] = [
      .keyframe(ProducerKey(1), place: 0), .layers(ProducerKey(1), wanted: 1), .missing(ProducerKey(1), place: 0, [5]),
    ]
    for message in sayings {
      for _ in 0..<3 {
        pipe.say(message)
        let isStuck = pipe.drain(into: &crossing)
        #expect(isStuck && crossing.messages.isEmpty)
      }
    }
    crossing.takesMessages = true
    let isLeft = pipe.drain(into: &crossing)
    #expect(!isLeft && crossing.messages == [sayings[1], sayings[0], sayings[2], sayings[2], sayings[2]])
    // The same of packets.
    let layer = PipedLayer(
      pipe: PipeID(index: 0, generation: 1), track: ProducerKey(1), place: 0, stream: 1, ssrc: nil)
    let packet = PipedPacket(layer, isRepeat: false, packet: .none, descriptorLength: 0)
    let isKept = pipe.keep(
      packet, UnsafeRawBufferPointer(start: nil, count: 0), UnsafeRawBufferPointer(start: nil, count: 0))
    crossing.takesPackets = false
    let isStuck = pipe.drain(into: &crossing)
    crossing.takesPackets = true
    let isStillStuck = pipe.drain(into: &crossing)
    #expect(isKept && isStuck && !isStillStuck)
  }

  @Test func copiesAreCounted() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, _) = try room.scene()
    room.run(.seconds(2))
    room.near.track(video) { $0.isSending = false }
    room.run(.milliseconds(100))
    let (near, far) = (room.near.worker.counters, room.far.worker.counters)
    #expect(room.packets.count > 100 && near.piped == UInt64(room.packets.count) && far.crossed == near.piped)
    // The control: nothing goes the other way.
    #expect(far.piped == 0 && near.crossed == 0)
  }

  /// Mirrors that come and go while the source takes nothing.
  @Test func ofMirrorsThatAreGoneNothingWaits() {
    var pipe = Pipe(key: PipeKey(1))
    for number in 0..<1_000 {
      pipe.say(.layers(ProducerKey(UInt64(number)), wanted: 1))
      if number > 0 { pipe.forget(track: ProducerKey(UInt64(number))) }
    }
    var crossing = MessageList()
    _ = pipe.drain(into: &crossing)
    #expect(crossing.messages == [.layers(ProducerKey(0), wanted: 1)])
    // The source has heard of this one, and hears that it is over, once.
    for _ in 0..<3 {
      pipe.forget(track: ProducerKey(0))
      _ = pipe.drain(into: &crossing)
    }
    #expect(crossing.messages == [.layers(ProducerKey(0), wanted: 1), .layers(ProducerKey(0), wanted: 0)])
  }

  @Test func aSenderThatBeginsAnewGoesOnBehindThePipe() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene()
    room.run(.seconds(2))
    let before = room.frames(watching[0])
    let ssrc = room.near.makeSSRC()
    room.near.track(video) { $0.restart(0, ssrc: ssrc, &room.near.dice) }
    room.run(.seconds(3))
    #expect(room.frames(watching[0]) > before + 60)
    #expect(room.far.stream(watching[0])?.problems == [])
  }

  @Test(arguments: [0, 20_000] as [UInt16]) func aMutedTrackDoesNotCross(jump: UInt16) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene()
    room.run(.seconds(2))
    for call in [room.near, room.far] { call.apply(.setMuted(video, true)) }
    room.run(.milliseconds(100))
    room.forget()
    // The numbers go on meanwhile, for more than half of their circle.
    for _ in 0..<2 {
      room.near.track(video) { $0.layers[0].sequence &+= jump }
      room.run(.milliseconds(500))
    }
    #expect(room.packets.isEmpty)
    let before = room.frames(watching[0])
    for call in [room.near, room.far] { call.apply(.setMuted(video, false)) }
    var silent: Set<Int64> = []
    room.near.worker.tracks.encodings.forEach { if $1.mutedUntil > .min { silent.insert($1.mutedUntil) } }
    let last = try #require(silent.count == 1 ? silent.first : nil)
    room.run(.seconds(1))
    // What was not said is not missing.
    #expect(room.asked == 0 && room.far.worker.counters.drops[.duplicate] == 0)
    #expect(room.packets.allSatisfy { Int16(truncatingIfNeeded: $0.packet.sequence &- last) > 0 })
    #expect(room.frames(watching[0]) > before + 20 && room.far.stream(watching[0])?.problems == [])
  }

  /// A track without a layer, and one of more than can be asked for.
  @Test(arguments: [0, 9]) func aMirrorHasOneToEightLayers(count: Int) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    _ = try room.far.join("bert")
    room.mirror(ProducerKey(1), .video, publisher: try room.near.join("anna"), layers: count)
    #expect(room.far.worker.counters.staleCommands == 1 && room.far.worker.counters.producers == 0)
    room.run(.seconds(1))
  }

  /// Of a mirror nothing comes that a publisher sent: who records goes to the source.
  @Test func aMirrorHasNoTap() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, _) = try room.scene()
    room.far.apply(.openTap(TapKey(1), video))
    #expect(room.far.worker.counters.staleCommands == 1 && room.far.worker.ends.taps.count == 0)
  }

  /// The control of what is looked for in tables.
  @Test func aPipeThatIsGoneAndStillNamedIsFound() throws {
    let room = try TwoWorkers()
    _ = try room.scene()
    room.run(.seconds(1))
    #expect(room.near.brokenRules() == [] && room.far.brokenRules() == [])
    var rows: [PipedLayer] = []
    room.near.worker.tracks.encodings.forEach { rows += $1.pipes }
    room.near.apply(.closePipe(room.pipe))
    room.near.worker.tracks.encodings.forEach { $1.pipes = rows }
    #expect(room.near.brokenRules() == ["a row names a pipe that is gone"])
  }

  @Test func whatEndsLeavesNothingBehind() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene()
    room.run(.seconds(1))
    room.far.apply(.removeProducer(video))
    room.run(.milliseconds(50))
    room.forget()
    room.run(.seconds(1))
    #expect(room.packets.isEmpty && room.far.worker.counters.consumers == 0 && watching.count == 3)
    // Again, and now the audience goes first: the mirror keeps the room until it is removed.
    room.mirror(video, .video, publisher: anna)
    room.far.subscribe(room.far.peers[0], to: video)
    room.run(.seconds(1))
    #expect(room.layers[0, default: 0] > 20)
    for peer in room.far.peers { room.far.apply(.closeTransport(peer.key)) }
    room.run(.milliseconds(50))
    #expect(room.far.worker.tracks.rooms.count == 1)
    room.far.apply(.closePipe(room.pipe))
    #expect(room.far.worker.tracks.rooms.count == 0 && room.far.worker.counters.producers == 0)
    #expect(room.far.worker.directory.rooms.isEmpty && room.far.worker.ends.pipes.count == 0)
    // The source ends its own end, and then the other's commands name nothing.
    room.near.apply(.closePipe(room.pipe))
    #expect(room.far.leftovers() == [])
    var crossing = 0
    room.near.worker.tracks.encodings.forEach { crossing += $1.pipes.count }
    #expect(crossing == 0)
    let stale = room.near.worker.counters.staleCommands
    room.near.apply(.closePipe(room.pipe))
    room.near.apply(
      .addMirror(
        ProducerKey(1), pipe: room.pipe, room: RoomKey(1),
        parameters: ReceiveParameters(
          mid: "", kind: .video, payloads: [], extensions: HeaderExtensionIDs(), encodings: [], nack: true),
        publisher: Publisher(1, canonicalName: "")))
    #expect(room.near.worker.counters.staleCommands == stale + 2)
  }
}
