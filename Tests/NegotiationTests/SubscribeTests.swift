// What becomes of the lines that the server offers, answer by answer.

import Basics
import Negotiation
import RTP
import SDP
import Testing

@Suite struct SubscribeSequenceTests {
  /// Offers, answers, and returns both with what came of it.
  private func round(
    _ negotiation: inout SubscribeNegotiation, _ client: Answerer = Answerer(), seed: UInt64 = 1,
    _ bend: (inout MediaDescription, Int) -> Void = { _, _ in }
  ) throws -> (SessionDescription, SubscribeNegotiation.Applied) {
    let offer = try negotiation.newOffer(seed: seed)
    let applied = try negotiation.handle(answer: try client.answer(offer.sdp, bend), offerID: offer.id)
    return (try SessionDescription.parse(offer.sdp), applied)
  }

  @Test func endedLinesAreUsedAgainAfterARoundOfRest() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    let (first, _) = try round(&negotiation)
    negotiation.remove(1)
    try negotiation.add(subscription(2, .video))
    let (second, applied) = try round(&negotiation, seed: 2)
    #expect(second.media.map(\.direction) == [.sendOnly, .inactive, .sendOnly])
    #expect(second.media[1].streams == StreamAttributes())
    #expect(applied.started.map(\.parameters.mid) == ["2"])
    try negotiation.add(subscription(3, .video, stream: "bob"))
    let (third, _) = try round(&negotiation, seed: 3)
    #expect(third.media.map(\.mid) == ["0", "1", "2"] && third.media[1].direction == .sendOnly)
    #expect(third.media[1].streams.msids[0].stream == "bob")
    #expect(
      Set(third.media[1].streams.sources.map(\.ssrc)).isDisjoint(with: first.media[1].streams.sources.map(\.ssrc)))
    #expect(third.media[2].streams == second.media[2].streams)
  }

  /// The lines of a first offer have no track yet. They are taken all the same, and their first track comes under the SSRC that was offered.
  @Test func anOpenLineCarriesItsFirstTrackUnderTheSourceThatWasOffered() throws {
    var negotiation = Server.subscribe()
    let (first, applied) = try round(&negotiation)
    #expect(applied.started.isEmpty && applied.rejected.isEmpty && applied.transport != nil)
    #expect(negotiation.offersNothing)
    try negotiation.add(subscription(1, .video, stream: "anna"))
    let (second, started) = try round(&negotiation, seed: 2)
    #expect(second.media.map(\.mid) == ["0", "1"] && second.media[1].streams.msids[0].stream == "anna")
    #expect(second.media[1].streams.sources.map(\.ssrc) == first.media[1].streams.sources.map(\.ssrc))
    #expect(second.media[0].streams == first.media[0].streams)
    #expect(started.started.map(\.parameters.ssrc) == [first.media[1].streams.sources[0].ssrc])
  }

  @Test func anOpenLineThatTheClientDoesNotWantIsLeftAlone() throws {
    var negotiation = Server.subscribe()
    _ = try round(&negotiation) { line, index in
      if index == 0 { line.direction = .inactive } else { line = .rejection(of: line) }
    }
    try negotiation.add(subscription(1, .audio))
    try negotiation.add(subscription(2, .video))
    let (next, applied) = try round(&negotiation, seed: 2)
    #expect(
      next.media.map(\.mid) == ["0", "1", "2", "3"] && next.media[0].direction == .inactive && next.media[1].isRejected)
    #expect(applied.started.map(\.parameters.mid) == ["2", "3"])
  }

  /// aiortc, Pion and GStreamer show a track when a line brings it, and never again on that line.
  @Test func freshLinesForThoseWhoWantThem() throws {
    var options = Server.allAtOnce
    options.maxMediaLines = 4
    for (usesLinesAgain, mids) in [(false, ["2", "3", "1"]), (true, ["1", "2", "1"])] {
      options.usesLinesAgain = usesLinesAgain
      var negotiation = Server.subscribe(options)
      _ = try round(&negotiation)
      var used: [String] = []
      for id in 1...3 as ClosedRange<UInt64> {
        try negotiation.add(subscription(id, .video))
        used += try round(&negotiation, seed: id).1.started.map(\.parameters.mid)
        negotiation.remove(id)
        // The last one ends before the next comes only in every second round: its line has been answered as inactive then.
        if id == 2 { _ = try round(&negotiation, seed: id + 10) }
      }
      // With four lines at most the third has to take one again.
      #expect(used == mids)
    }
  }

  @Test func whatIsThereAlreadyComesWithTheFirstOfferOnFreshLinesToo() throws {
    var options = Server.allAtOnce
    options.usesLinesAgain = false
    var negotiation = Server.subscribe(options)
    try negotiation.add(subscription(1, .video))
    #expect(try round(&negotiation).1.started.map(\.parameters.mid) == ["1"])
  }

  @Test func removedWhileOffered() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    let offer = try negotiation.newOffer()
    negotiation.remove(1)
    let applied = try negotiation.handle(answer: try Answerer().answer(offer.sdp), offerID: offer.id)
    #expect(applied.started.isEmpty && applied.rejected.isEmpty)
    #expect(try round(&negotiation).0.media[1].direction == .inactive)
    #expect(negotiation.offersNothing)
  }

  @Test func lineRejectedByTheClient() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    let (_, applied) = try round(&negotiation) { line, index in
      if index == 1 { line = .rejection(of: line) }
    }
    #expect(applied.rejected.map(\.subscriptionID) == [1] && applied.rejected[0].code == .negotiationFailed)
    try negotiation.add(subscription(2, .video))
    let (next, second) = try round(&negotiation)
    #expect(next.media.map(\.port) == [9, 0, 9] && next.bundle?.mids == ["0", "2"])
    #expect(second.started.map(\.parameters.mid) == ["2"])
  }

  @Test func aRejectedLineIsTheLastResort() throws {
    var options = Server.allAtOnce
    options.maxMediaLines = 2
    var negotiation = Server.subscribe(options)
    try negotiation.add(subscription(1, .video))
    _ = try round(&negotiation) { line, index in
      if index == 1 { line = .rejection(of: line) }
    }
    try negotiation.add(subscription(2, .video))
    let (next, applied) = try round(&negotiation)
    #expect(next.media.map(\.mid) == ["0", "2"] && applied.started.map(\.parameters.mid) == ["2"])
  }

  @Test func lineAnsweredInactive() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    let (_, applied) = try round(&negotiation) { line, _ in line.direction = .inactive }
    #expect(applied.started.isEmpty && applied.rejected.map(\.subscriptionID) == [1])
    try negotiation.add(subscription(2, .video))
    #expect(try round(&negotiation).1.started.map(\.parameters.mid) == ["2"])
  }

  @Test func noCommonCodecEndsTheSubscription() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video, codecs: [.av1]))
    let (_, applied) = try round(&negotiation) { line, index in
      if index == 1 { line.rtp.codecs = [Codec(120, "VP8", 90_000)] }
    }
    #expect(applied.rejected.map(\.code) == [.noCommonCodec])
    #expect(try round(&negotiation).0.media[1].direction == .inactive)
    #expect(negotiation.offersNothing)
  }

  @Test func runningLineTakenBackByTheClient() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    _ = try round(&negotiation)
    try negotiation.add(subscription(2, .audio))
    let (_, applied) = try round(&negotiation) { line, index in
      if index == 1 { line.direction = .inactive }
    }
    #expect(applied.rejected.map(\.subscriptionID) == [1] && applied.started.map(\.subscriptionID) == [2])
  }

  @Test func changedParametersAreReported() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    _ = try round(&negotiation)
    try negotiation.add(subscription(2, .audio))
    let (_, applied) = try round(&negotiation) { line, index in
      if index == 1 { line.rtp.codecs.removeAll { $0.isRTX } }
    }
    #expect(applied.changed.map(\.subscriptionID) == [1] && applied.changed[0].parameters.rtxSSRC == nil)
  }

  @Test func moreThanThereAreLinesIsRefusedWithTheNumbers() throws {
    var options = Server.allAtOnce
    options.maxMediaLines = 2
    var negotiation = Server.subscribe(options)
    for id in 1...2 as ClosedRange<UInt64> { try negotiation.add(subscription(id, .video)) }
    let refusal = #expect(throws: NegotiationError.self) { try negotiation.add(subscription(3, .video)) }
    #expect(refusal?.code == .tooManyTracks && refusal?.excess?.limit == 2 && refusal?.excess?.count == 3)
  }

  // MARK: swap

  @Test func aSwapOffersNothingAndLaterOffersListTheCodecsThatCome() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video, codecs: [.vp8, .vp9Profile0]))
    try negotiation.add(subscription(2, .video, stream: "bob", codecs: [.vp8]))
    let (before, _) = try round(&negotiation)
    try negotiation.swap(1, 2)
    #expect(negotiation.offersNothing)
    try negotiation.add(subscription(3, .audio))
    let (after, applied) = try round(&negotiation)
    let lines = [before, after].map { $0.media.filter { $0.type == .video } }
    #expect(lines[0].map { $0.rtp.codecs.map(\.payloadType) } == [[96, 97, 98, 99], [96, 97]])
    #expect(lines[1].map { $0.rtp.codecs.map(\.payloadType) } == [[96, 97], [96, 97, 98, 99]])
    #expect(lines[0].map(\.streams.msids) == lines[1].map(\.streams.msids))
    #expect(lines[0].map(\.streams.sources) == lines[1].map(\.streams.sources))
    #expect(applied.changed.map(\.subscriptionID) == [1, 2])
  }

  @Test func aSwapOntoALineWithoutTheCodecIsRefused() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video, codecs: [.vp8]))
    try negotiation.add(subscription(2, .video, codecs: [.h264ConstrainedBaseline, .vp8]))
    _ = try round(&negotiation)
    let refusal = #expect(throws: NegotiationError.self) { try negotiation.swap(1, 2) }
    #expect(refusal?.code == .noCommonCodec && refusal?.mid == "1")
    #expect(refusal?.message.contains("H264") == true)
    #expect(negotiation.offersNothing)
  }

  @Test func aSwapBeforeTheOfferIsOfferedAsItIs() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video, codecs: [.vp8]))
    try negotiation.add(subscription(2, .video, stream: "bob", codecs: [.av1]))
    try negotiation.swap(1, 2)
    let (offer, applied) = try round(&negotiation)
    let lines = offer.media.filter { $0.type == .video }
    #expect(lines.map { $0.streams.msids.map(\.stream) } == [["bob"], ["alice"]])
    #expect(applied.started.map { $0.parameters.payloads.map(\.codec) } == [[.av1], [.vp8]])
  }

  @Test func otherCodecsOfAPublisherAreOffered() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video, codecs: [.vp8]))
    _ = try round(&negotiation)
    negotiation.setCodecs([.vp8], of: 1)
    #expect(negotiation.offersNothing)
    negotiation.setCodecs([.av1], of: 1)
    let (offer, applied) = try round(&negotiation)
    #expect(offer.media.last?.rtp.codecs.map(\.payloadType) == [45, 46])
    #expect(applied.started.isEmpty && applied.changed.map { $0.parameters.payloads.map(\.codec) } == [[.av1]])
  }

  @Test func iceRestart() throws {
    var negotiation = Server.subscribe()
    var client = Answerer()
    try negotiation.add(subscription(1, .video))
    _ = try round(&negotiation, client)
    negotiation.restartICE(Server.fresh)
    let offer = try negotiation.newOffer()
    #expect(offer.credentials == Server.fresh && offer.sdp.contains("a=ice-ufrag:srv2") && !offer.sdp.contains("srv1"))
    let stale = negotiation.refusal(try client.answer(offer.sdp), offer.id)
    #expect(stale?.message.contains("restarts ICE") == true)
    client.credentials = ICECredentials(ufrag: "new1", password: "clientclientclientclient2")
    let applied = try negotiation.handle(answer: try client.answer(offer.sdp), offerID: offer.id)
    let transport = try #require(applied.transport)
    #expect(transport.isICERestart && transport.local == Server.fresh && transport.remote == client.credentials)
    #expect(applied.started.isEmpty && applied.changed.isEmpty)
    #expect(negotiation.offersNothing)
    try negotiation.add(subscription(2, .audio))
    #expect(try round(&negotiation, client).1.transport?.isICERestart == false)
  }

  @Test func withdrawnOfferIsMadeAgain() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .video))
    let lost = try negotiation.newOffer()
    negotiation.withdraw()
    negotiation.withdraw()
    #expect(negotiation.outstanding == nil)
    let again = try negotiation.newOffer()
    #expect(again.id == 2 && again.tracks == lost.tracks)
    #expect(negotiation.refusal(try Answerer().answer(lost.sdp), lost.id)?.message.contains("offer 2") == true)
    let applied = try negotiation.handle(answer: try Answerer().answer(again.sdp), offerID: 2)
    #expect(applied.started.map(\.subscriptionID) == [1])
  }

  @Test(arguments: [(SetupRole.active, DTLSRole.server), (.passive, .client)])
  func dtlsRoles(setup: SetupRole, role: DTLSRole) throws {
    var negotiation = Server.subscribe()
    var client = Answerer()
    client.setup = setup
    #expect(try round(&negotiation, client).1.transport?.role == role)
    try negotiation.add(subscription(1, .audio))
    let offer = try negotiation.newOffer()
    client.setup = setup == .active ? .passive : .active
    #expect(negotiation.refusal(try client.answer(offer.sdp), offer.id)?.message.contains("DTLS role") == true)
  }

  /// A hundred random steps against a client that remembers what JSEP makes it remember.
  @Test(arguments: 0..<9)
  func randomSteps(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed) &* 7919)
    var options = Server.allAtOnce
    options.maxMediaLines = [4, 8, 100][seed % 3]
    var negotiation = Server.subscribe(options)
    var model = ModelClient()
    var wished: Set<UInt64> = []
    var nextID: UInt64 = 1
    for _ in 0..<100 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3:
        let kind: MediaKind = Bool.random(using: &random) ? .audio : .video
        if (try? negotiation.add(subscription(nextID, kind, codecs: [.opus, .vp8]))) != nil { wished.insert(nextID) }
        nextID += 1
      case 4...5:
        guard let id = wished.sorted().randomElement(using: &random) else { continue }
        wished.remove(id)
        model.running.remove(id)
        negotiation.remove(id)
      default:
        if let open = negotiation.outstanding {
          try model.answer(open, to: &negotiation, wished: &wished, refuses: seed % 2 == 1, &random)
        } else if let offer = negotiation.makeOffer(using: &random) {
          try model.see(offer)
        }
      }
    }
    for _ in 0..<20 {
      if let open = negotiation.outstanding {
        try model.answer(open, to: &negotiation, wished: &wished, refuses: false, &random)
      }
      guard let offer = negotiation.makeOffer(using: &random) else { break }
      try model.see(offer)
    }
    #expect(negotiation.outstanding == nil)
    if options.maxMediaLines == 100 { #expect(model.running == wished) }
    #expect(model.running.isSubset(of: wished))
    #expect(model.lines.count <= options.maxMediaLines)
  }
}

/// The client's side of many rounds: checks every offer against the ones before it.
private struct ModelClient {
  var lines: [(mid: String, type: MediaType, wasRejected: Bool)] = []
  var running: Set<UInt64> = []
  var ssrcs: [UInt32: String] = [:]
  var version: UInt64 = 0

  mutating func see(_ offer: SubscribeNegotiation.Offer) throws {
    let parsed = try SessionDescription.parse(offer.sdp)
    #expect(parsed.origin.sessionVersion > version)
    version = parsed.origin.sessionVersion
    #expect(parsed.media.count >= lines.count)
    let mids = parsed.media.compactMap(\.mid)
    #expect(Set(mids).count == parsed.media.count)
    #expect(parsed.bundle?.mids ?? [] == parsed.media.filter { !$0.isRejected }.compactMap(\.mid))
    for (index, line) in parsed.media.enumerated() {
      let mid = line.mid ?? ""
      if index < lines.count {
        #expect(line.type == lines[index].type)
        #expect(mid == lines[index].mid || (lines[index].wasRejected && !line.isRejected))
        lines[index].mid = mid
      } else {
        lines.append((mid, line.type, false))
      }
      let track = line.streams.msids.first?.track ?? ""
      let isOpen = line.streams.msids.first?.stream == "-"
      for source in line.streams.sources where !isOpen {
        #expect(source.ssrc != 0)
        #expect(ssrcs[source.ssrc] ?? track == track, "an SSRC serves two tracks")
        ssrcs[source.ssrc] = track
      }
      #expect((line.direction == .sendOnly && !isOpen) == offer.tracks.contains { $0.mid == mid })
    }
    #expect(Set(offer.tracks.map(\.subscriptionID)).count == offer.tracks.count)
  }

  mutating func answer(
    _ offer: SubscribeNegotiation.Offer, to negotiation: inout SubscribeNegotiation, wished: inout Set<UInt64>,
    refuses: Bool, _ random: inout SplitMix64
  ) throws {
    var refused: Set<Int> = []
    let text = try Answerer().answer(offer.sdp) { line, index in
      guard refuses, index > 1, Int.random(in: 0..<12, using: &random) == 0, !line.isRejected else { return }
      refused.insert(index)
      line = .rejection(of: line)
    }
    let applied = try negotiation.handle(answer: text, offerID: offer.id)
    let answered = try SessionDescription.parse(text).media
    for index in lines.indices { lines[index].wasRejected = answered[index].isRejected }
    let carried = Set(offer.tracks.map(\.subscriptionID))
    for started in applied.started {
      #expect(carried.contains(started.subscriptionID) && wished.contains(started.subscriptionID))
      #expect(running.insert(started.subscriptionID).inserted)
    }
    for rejected in applied.rejected {
      running.remove(rejected.subscriptionID)
      wished.remove(rejected.subscriptionID)
    }
    #expect(refused.isEmpty || applied.rejected.count <= refused.count)
  }
}
