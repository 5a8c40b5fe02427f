// Whose a packet is (RFC 8843 §9.2): encoders that declare no SSRC, send no MID, or change their SSRC in mid-stream.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct DemultiplexTests {
  @Test(arguments: DemultiplexScenarios.all) func demultiplexes(_ scenario: Scenario) throws { try scenario.play() }

  /// A MID moves an SSRC, even one that was declared for another line (RFC 8843 §9.2).
  @Test func midGoesBeforeSSRC() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let first = call.publish(anna, .video)
    let second = call.publish(anna, .video)
    let consumer = call.subscribe(bert, to: second)
    // What was declared for the first line is sent under the second one's MID, and the second stream not at all.
    call.track(second) { $0.isSending = false }
    call.run(.milliseconds(500))
    #expect(call.stream(consumer)?.frames.isEmpty == true)
    let ssrc = call.layers(first)[0].ssrc
    call.track(first) { $0.isSending = false }
    call.track(second) {
      $0.isSending = true
      $0.layers[0].ssrc = ssrc
      $0.layers[0].wantsKeyframe = true
    }
    call.run(.seconds(1))
    let stream = try #require(call.stream(consumer))
    #expect(stream.frames.count > 15 && stream.problems == [])
  }

  /// The same RID on two lines names neither, and what it could be is not guessed.
  @Test func aRIDOfTwoLinesNamesNone() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let tracks = [call.publish(anna, .video, layers: [1, 2]), call.publish(anna, .video, layers: [1, 2])]
    for track in tracks { call.track(track) { $0.tagsMid = false } }
    let consumers = tracks.map { call.subscribe(bert, to: $0) }
    call.run(.seconds(2))
    #expect(consumers.allSatisfy { call.stream($0)?.frames.isEmpty == true })
    #expect(call.worker.counters.drops[.unknownStream] > 50)
  }

  /// Ever new SSRCs take nothing from the one that sends, and tables do not grow.
  @Test func inventedSSRCsTakeNothing() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let video = call.publish(anna, .video, declared: false)
    let consumer = call.subscribe(bert, to: video)
    call.run(.milliseconds(500))
    for number in 0..<500 {
      var header = RTPHeader(
        marker: true, payloadType: Agreed.payloadType(.vp8), sequenceNumber: 7, timestamp: 9,
        ssrc: 0x7000_0000 + UInt32(number))
      header.extensions.mid = nil
      anna.send(
        PlainPacket(header: header, ids: Agreed.publisherExtensions, body: [0x10, 0, 0, 0], sent: SentPacket()),
        at: call.now)
      call.run(.milliseconds(3))
    }
    call.run(.milliseconds(300))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count > 50)
    #expect(call.worker.routes(of: anna.key) == 1, "the stream's own")
  }

  /// A track that was ended at the server is nobody else's, whatever its client goes on sending.
  @Test func whatAnEndedTrackSendsIsNobodys() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let kept = call.publish(anna, .video, declared: false)
    let ended = call.publish(anna, .video)
    let consumer = call.subscribe(bert, to: kept)
    call.track(kept) { $0.isSending = false }
    call.run(.seconds(1))
    call.apply(.removeProducer(ended))
    call.track(ended) { $0.taggedPackets = 0 }
    call.run(.seconds(7))
    #expect(call.stream(consumer)?.frames.isEmpty == true)
    #expect(call.count { if case .streamStrays = $0 { true } else { false } } == 0, "it is known whose they are")
  }

  /// A track that begins anew on the line of an ended one has its stream, though nothing but the line says so.
  @Test func aLineThatBeginsAnewHasItsStreamBack() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let ended = call.publish(anna, .video, declared: false)
    call.run(.seconds(1))
    call.apply(.removeProducer(ended))
    call.run(.milliseconds(200))
    let key = ProducerKey(call.makeKey())
    call.apply(
      .addProducer(
        key, transport: anna.key,
        parameters: ReceiveParameters(
          mid: "0", kind: .video, payloads: Agreed.payloads(Agreed.publisher, .video),
          extensions: Agreed.publisherExtensions, encodings: [EncodingParameters()], nack: true),
        publisher: Publisher(anna.key.value, canonicalName: anna.name), pausesLayers: false))
    let consumer = call.subscribe(bert, to: key)
    call.run(.seconds(2))
    #expect(call.stream(consumer)?.frames.count ?? 0 > 30)
  }

  // MARK: - Said

  private func strays(_ call: Call, _ peer: VirtualPeer) -> [StrayStreamReport] {
    call.events.compactMap { if case .streamStrays(peer.key, let report) = $0.event { report } else { nil } }
  }

  private func found(_ call: Call, _ peer: VirtualPeer) -> Int {
    call.count { if case .streamsFound(peer.key) = $0 { true } else { false } }
  }

  @Test func packetsOfNoTrackAreToldOnceAfterFiveSeconds() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let tracks = [call.publish(anna, .video, declared: false), call.publish(anna, .video, declared: false)]
    call.run(.milliseconds(4_900))
    #expect(strays(call, anna).isEmpty, "not before")
    call.run(.seconds(6))
    #expect(strays(call, anna).map(\.cause) == [.ambiguous])
    #expect(found(call, anna) == 0)
    // The client tags its packets after all.
    for track in tracks { call.track(track) { $0.taggedPackets = .max } }
    call.run(.milliseconds(2_500))
    #expect(found(call, anna) == 1 && strays(call, anna).count == 1)
    call.run(.seconds(6))
    #expect(found(call, anna) == 1 && strays(call, anna).count == 1)
  }

  /// Retransmissions of no track do not keep a stream of no track from being told.
  @Test func retransmissionsHideNoStray() {
    var stray = StrayStream()
    var told = 0
    for step in 0..<70 {
      let now = Instant.zero + .milliseconds(100 * (step + 1))
      let isHidden = stray.note(1, isMedia: false, at: now)
      #expect(!isHidden)
      if stray.note(2, isMedia: true, at: now) { told += 1 }
    }
    #expect(told == 1)
  }

  @Test func aPayloadTypeOfNoLineIsTold() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    call.track(video) { $0.payloadType = 126 }
    call.run(.seconds(7))
    #expect(strays(call, anna).map(\.cause) == [.unknownPayloadType])
    call.track(video) { $0.payloadType = nil }
    call.run(.seconds(3))
    #expect(found(call, anna) == 1)
  }

  /// Neither silence nor a mute nor a stream that ends is a stray.
  @Test func whatIsSentInOrderIsNeverTold() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video, layers: [1, 2])
    let audio = call.publish(anna, .audio)
    call.run(.seconds(2))
    call.apply(.setMuted(video, true))
    call.track(audio) { $0.isSending = false }
    call.run(.seconds(7))
    call.apply(.removeProducer(audio))
    call.track(audio) { $0.isSending = true }
    call.run(.seconds(7))
    #expect(strays(call, anna).isEmpty)
  }

  /// Identifiers of a line that is gone mean what the next line says.
  @Test func identifiersOfAnEndedLineMeanSomethingElse() {
    var ids = HeaderExtensionIDs()
    ids.mid = 4
    ids.rid = 10
    var new = HeaderExtensionIDs()
    new.rid = 4
    new.mid = 5
    ids.merge(new)
    #expect(ids.mid == 5 && ids.rid == 4)
  }
}

enum DemultiplexScenarios {
  /// Sound and picture without SSRC, MID or RID.
  static func bare(_ stage: Stage) throws {
    try stage.join("anna")
    try stage.join("bert")
    try stage.publish("anna", .audio, declared: false)
    try stage.publish("anna", .video, declared: false)
    try stage.subscribe("bert", "anna.audio")
    try stage.subscribe("bert", "anna.video")
  }

  static func restart(_ stage: Stage, _ track: String) throws {
    let ssrc = stage.call.makeSSRC()
    var dice = SplitMix64(seed: 5)
    try stage.change(track) { $0.restart(0, ssrc: ssrc, &dice) }
  }

  static let all: [Scenario] = [
    Scenario(
      "payload types of one line alone find it",
      Step("everything arrives") { stage in
        try bare(stage)
        stage.call.run(.seconds(2))
        #expect(try stage.stream("bert", "anna.audio").frames.count > 80)
        #expect(try stage.stream("bert", "anna.video").frames.count > 45)
        stage.expectCleanStreams()
      },
      Step("what is lost is asked for, and comes on a repair stream that nobody told of") { stage in
        let before = try stage.person("anna").nackedByServer
        var left = 3
        stage.call.loses = { _, sent in
          guard left > 0, !sent.isRetransmission, sent.stamp?.count ?? 0 > 1 else { return false }
          left -= 1
          return true
        }
        stage.call.run(.seconds(1))
        #expect(try stage.person("anna").nackedByServer >= before + 3)
        #expect(stage.call.worker.counters.drops[.unknownStream] == 0)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "an SSRC that changes in mid-stream is latched on to",
      Step("both restart") { stage in
        try bare(stage)
        stage.call.run(.seconds(1))
        try restart(stage, "anna.audio")
        try restart(stage, "anna.video")
        stage.marks["restart"] = stage.call.now
        stage.call.run(.seconds(2))
        let mark = try #require(stage.marks["restart"])
        for track in ["anna.audio", "anna.video"] {
          let stream = try stage.stream("bert", track)
          let back = try #require(stream.ordered.first { $0.arrival > mark + .milliseconds(150) })
          #expect(back.arrival - mark < .seconds(1), "\(track)")
        }
        #expect(try stage.layer("anna.video").requests > 0, "the new stream is asked for a keyframe")
        stage.expectCleanStreams()
      },
      Step("its repairs are its own") { stage in
        var left = 2
        stage.call.loses = { _, sent in
          guard left > 0, !sent.isRetransmission, sent.stamp?.count ?? 0 > 1 else { return false }
          left -= 1
          return true
        }
        stage.call.run(.seconds(1))
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "of two lines with one payload type the one that is silent is latched on to, when the other has gone on",
      Step("two videos; the first restarts without a MID") { stage in
        try stage.join("anna")
        try stage.join("bert")
        try stage.publish("anna", .video)
        let other = stage.call.publish(try stage.person("anna"), .video)
        try stage.subscribe("bert", "anna.video")
        stage.call.run(.seconds(1))
        try stage.change("anna.video") { $0.taggedPackets = 0 }
        try restart(stage, "anna.video")
        stage.marks["restart"] = stage.call.now
        stage.call.run(.seconds(2))
        let mark = try #require(stage.marks["restart"])
        let stream = try stage.stream("bert", "anna.video")
        let back = try #require(stream.ordered.first { $0.arrival > mark + .milliseconds(150) })
        #expect(back.arrival - mark < .milliseconds(1_500))
        stage.expectCleanStreams()
        stage.call.track(other) { $0.isSending = false }
      }
    ),
    Scenario(
      "which of two silent lines a stream is of is not guessed",
      Step("both stop, and one comes back under another SSRC") { stage in
        try stage.join("anna")
        try stage.join("bert")
        try stage.publish("anna", .video)
        let other = stage.call.publish(try stage.person("anna"), .video)
        try stage.subscribe("bert", "anna.video")
        stage.call.run(.seconds(1))
        try stage.change("anna.video") { $0.isSending = false }
        stage.call.run(.seconds(1))
        let before = try stage.stream("bert", "anna.video").frames.count
        var dice = SplitMix64(seed: 9)
        stage.call.track(other) {
          $0.taggedPackets = 0
          $0.restart(0, ssrc: 0x0bad_0001, &dice)
        }
        stage.call.run(.seconds(2))
        #expect(try stage.stream("bert", "anna.video").frames.count == before, "it is the other's picture")
      }
    ),
    Scenario(
      "a layer that restarts without its RID takes the place of the one that is silent",
      Step("three layers; the highest restarts") { stage in
        try stage.join("anna")
        try stage.join("bert")
        try stage.publish("anna", .video, layers: [1, 2, 5])
        try stage.subscribe("bert", "anna.video")
        stage.call.run(.milliseconds(2_500))
        try stage.change("anna.video") { $0.taggedPackets = 0 }
        let ssrc = stage.call.makeSSRC()
        var dice = SplitMix64(seed: 5)
        try stage.change("anna.video") { $0.restart(2, ssrc: ssrc, &dice) }
        stage.call.run(.seconds(3))
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.layers.last == 2)
        stage.expectCleanStreams()
      }
    ),
  ]
}
