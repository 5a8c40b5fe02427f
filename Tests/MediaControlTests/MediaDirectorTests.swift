// The media director against clients' SDP: which commands the workers get, and that late news about what is gone is harmless.

import Basics
import Media
import MediaPeer
import Negotiation
import RTP
import RoostProtocol
import SDP
import TestSupport
import Testing

@testable import Members
@testable import MediaControl

@Suite struct MediaDirectorTests {
  /// Anna (seat 1) publishes tracks 11 (audio) and 12 (video); Bert (seat 2) is there.
  private func scene() throws -> Desk {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.audio("0")
    anna.video("1")
    try desk.publish(1, anna.offer, ["0": .audio, "1": .video], first: 11)
    return desk
  }

  /// The same, with Bert receiving both on subscriptions 21 and 22.
  private func watched() throws -> Desk {
    let desk = try scene()
    desk.subscribe(21, seat: 2, track: 11)
    desk.subscribe(22, seat: 2, track: 12)
    try desk.answer(2, try #require(desk.offer(2)))
    return desk
  }

  @Test func aSeatIsTwoTransportsAndAnAnswerStartsConsumers() throws {
    let desk = try watched()
    let commands = desk.commands()
    #expect(commands.opened.map(\.value) == [1, 2, 3, 4] && commands.closed.isEmpty)
    #expect(commands.consumers == [ConsumerKey(21), ConsumerKey(22)])
    // The offer's transport is told the client's end before anything is sent on it.
    #expect(commands.remotes == [TransportKey(1), TransportKey(4)])
    desk.director.closeSeat(SeatID(2))
    #expect(desk.commands().closed == [TransportKey(3), TransportKey(4)])
  }

  /// Who is moved to a room on the same worker, or to one that nobody is in, keeps their transports.
  @Test func whoIsMovedKeepsTransports() throws {
    let address = MediaDirector.WorkerAddress(addresses: [SocketAddress(v4: 0x7f00_0001, port: 40_000)])
    let desk = Desk()
    desk.director = MediaDirector(
      workers: [address, address], fingerprint: .filled(with: 0x5a), publishOptions: PublishOptions())
    for seat in [(1, 1), (2, 2), (3, 1)] as [(UInt64, UInt64)] { desk.open(seat.0, room: seat.1) }
    _ = desk.commands()
    func move(_ seat: UInt64, to room: UInt64) -> Bool? {
      let outcome = desk.director.apply(.askMove(SeatID(seat), to: Members.RoomKey(room)))
      guard case .mayMove(SeatID(seat), _, let keeps)? = outcome.commands.first else { return nil }
      if keeps {
        _ = desk.director.apply(
          .moveSeat(SeatID(seat), room: Members.RoomKey(room), sound: SoundRules(), sends: SendingRights()))
      }
      return keeps
    }
    #expect(move(3, to: 9) == true)
    let moved = desk.commands().compactMap { command -> UInt64? in
      if case .moveTransport(let key, Media.RoomKey(9), _) = command { key.value } else { nil }
    }
    #expect(moved == [5, 6], "both, and nothing is opened or closed")
    #expect(desk.director.connections[ConnectionKey(seat: SeatID(3), id: .publish)]?.room == Members.RoomKey(9))
    #expect(move(3, to: 2) == false && desk.commands().isEmpty, "the room is on the other worker")
    desk.director.closeSeat(SeatID(3))
    #expect(move(1, to: 9) == true, "a room that everybody has left begins anew, where its first comes from")
  }

  /// New rooms go where the fewest seats are, on a worker that can take them; a room stays on its worker.
  @Test func roomsArePlacedWhereThereIsRoom() {
    let address = MediaDirector.WorkerAddress(addresses: [])
    var director = MediaDirector(
      workers: [address, address, address], fingerprint: .filled(with: 0x5a),
      publishOptions: PublishOptions())
    func worker(of seat: UInt64, in room: UInt64) -> Int? {
      director.openSeat(SeatID(seat), room: Members.RoomKey(room), participant: ParticipantID(seat))
      return director.takeCommands().first?.worker
    }
    func tell(_ isOverloaded: Bool, _ worker: Int) -> MediaLoad? {
      let event = WorkerEvent.load(worker: worker, percent: isOverloaded ? 90 : 10)
      guard case .mediaLoad(let told) = director.apply(event) else { return nil }
      return told
    }
    #expect((1...4).map { worker(of: $0, in: $0) } == [0, 1, 2, 0])
    #expect(tell(true, 1) == MediaLoad(fullRooms: [Members.RoomKey(2)]))
    #expect(tell(true, 1) == nil, "it is said once")
    #expect((5...6).map { worker(of: $0, in: $0) } == [2, 0])
    #expect(worker(of: 7, in: 2) == 1, "a room stays where it is")
    #expect(tell(true, 0)?.takesRooms == true && tell(true, 2)?.takesRooms == false)
    for worker in 0..<3 { #expect(tell(false, worker)?.takesRooms == true) }
    #expect(director.placement.mediaLoad == MediaLoad())
  }

  /// Only who says that it takes several lines of a kind at once is offered all tracks at first.
  @Test(arguments: [([], 2), ([.wholeOffers], 3)] as [(Set<ClientCapability>, Int)])
  func theFirstOfferHasAllTracksForWhoTakesThem(_ capabilities: Set<ClientCapability>, lines: Int) throws {
    let desk = Desk()
    desk.director = MediaDirector(
      workers: [.init(addresses: [SocketAddress(v4: 0x7f00_0001, port: 40_000)])], fingerprint: .filled(with: 0x5a),
      publishOptions: PublishOptions())
    desk.open(1)
    desk.director.openSeat(SeatID(2), room: Members.RoomKey(1), participant: ParticipantID(2), capabilities)
    var anna = Browser()
    anna.audio("0")
    anna.video("1")
    anna.video("2")
    try desk.publish(1, anna.offer, ["0": .audio, "1": .video, "2": .video], first: 11)
    for track in 11...13 as ClosedRange<UInt64> { desk.subscribe(track + 10, seat: 2, track: track) }
    let offer = try #require(desk.offer(2))
    #expect(try SessionDescription.parse(offer.sdp).media.count == lines)
    #expect(offer.lines.count == lines)
  }

  // MARK: answers that change

  @Test func aLaterAnswerChangesARunningConsumer() throws {
    let desk = try watched()
    _ = desk.commands()
    var anna = Browser()
    anna.audio("0")
    anna.video("1")
    anna.video("2")
    try desk.publish(1, anna.offer, ["2": .video], first: 13)
    desk.subscribe(23, seat: 2, track: 13)
    let offer = try #require(desk.offer(2))
    _ = desk.commands()
    try desk.answer(2, offer) { line, index in
      if index == 1 { line.rtp.codecs.removeAll { $0.isRTX } }
    }
    let commands = desk.commands()
    #expect(commands.consumers == [ConsumerKey(23)])
    let updated = try #require(commands.updated.first)
    #expect(commands.updated.count == 1 && updated.key == ConsumerKey(22))
    #expect(updated.parameters.rtxSSRC == nil && updated.parameters.payloads.map(\.codec) == [.vp8])
  }

  @Test func aLineTakenBackEndsItsSubscription() throws {
    let desk = try watched()
    desk.director.restartICE(SeatID(2))
    let offer = try #require(desk.offer(2))
    var bert = Browser()
    bert.ufrag = "next"
    let refused = try desk.answer(2, offer, bert) { line, index in if index == 1 { line.direction = .inactive } }
    #expect(refused.map(\.id) == [SubscriptionID(22)] && refused.map(\.reason) == [.refused])
  }

  @Test func otherCodecsOfAPublisherAreOfferedToItsSubscribers() throws {
    let desk = try watched()
    #expect(desk.offer(2) == nil)
    _ = desk.commands()
    var anna = Browser()
    anna.audio("0")
    anna.video("1", codecs: Codec.video(96, "VP8", rtx: 97) + Codec.video(98, "VP9", rtx: 99))
    try desk.publish(1, anna.offer, [:], first: 99)
    let offer = try #require(desk.offer(2))
    #expect(try SessionDescription.parse(offer.sdp).media[1].rtp.codecs.map(\.payloadType) == [96, 97, 98, 99])
    try desk.answer(2, offer)
    #expect(desk.commands().updated.map { $0.parameters.payloads.map(\.codec) } == [[.vp8, .vp9Profile0]])
  }

  /// What an application says of an offer, by the names of codecs in SDP: also of one that comes from a new peer connection.
  @Test(arguments: PublishLimits.Codec.allCases) func anOfferIsLimited(codec: PublishLimits.Codec) throws {
    let desk = try scene()
    var anna = Browser()
    anna.fingerprint = .filled(with: 0x12)
    anna.audio("0")
    let profiles = ["VP8", "VP9", "H264", "AV1"]
    anna.video(
      "1", codecs: profiles.enumerated().flatMap { Codec.video(UInt8(96 + 2 * $0), $1, rtx: UInt8(97 + 2 * $0)) })
    var limits = PublishLimits()
    limits.codecs = [codec]
    let params = PublishOfferParams(
      pc: .publish, sdp: anna.offer, tracks: [AnnouncedTrack(mid: "1", kind: .video, label: "camera")])
    for seat in [SeatID(1), SeatID(2)] {
      let key = RequestKey(session: SessionID(1), id: .number(Int64(seat.rawValue)))
      let bound = desk.director.apply(.negotiatePublish(key, seat, params, limits)).commands
      guard case .publishPrepared(_, let result)? = bound.first else { throw Nothing() }
      if codec == .opus {
        #expect(throws: ErrorObject.self, "nothing is left of what is announced") { try result.get() }
        continue
      }
      let video = try SessionDescription.parse(try result.get().answer).media[1]
      #expect(Set(video.rtp.codecs.filter { !$0.isRTX }.map(\.name)) == [codec.rawValue])
      let free = desk.director.apply(.negotiatePublish(key, seat, params, nil)).commands
      guard case .publishPrepared(_, .success(let change))? = free.first else { throw Nothing() }
      #expect(profiles.allSatisfy(change.answer.contains), "the control")
    }
  }

  private struct Nothing: Error {}

  /// Music that begins in mid-call: its room bounds the rate, and those who hear it are offered stereo.
  @Test func soundIsOfferedToSubscribersAsItsPublisherSendsIt() throws {
    let desk = Desk(seats: 1)
    var sound = SoundRules()
    sound.maxBitsPerSecond = 256_000
    desk.director.openSeat(SeatID(3), room: Members.RoomKey(1), participant: ParticipantID(3), sound: sound)
    var music = Browser()
    music.audio("0")
    try desk.publish(3, music.offer, ["0": .audio], first: 11)
    desk.subscribe(21, seat: 1, track: 11)
    try desk.answer(1, try #require(desk.offer(1)))
    #expect(desk.offer(1) == nil)

    music.lines[0].rtp.codecs = [.opus(111, format: "stereo=1;maxaveragebitrate=510000")]
    let change = try desk.publish(3, music.offer, [:], first: 99)
    #expect(change.recoded == ["0"])
    #expect(change.answer.contains("a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;maxaveragebitrate=256000\r\n"))
    let offer = try #require(desk.offer(1))
    #expect(offer.sdp.contains(";stereo=1;sprop-stereo=1;maxaveragebitrate=256000\r\n"))
  }

  /// From what a worker says is needed to the next answer.
  @Test func layersThatNobodyNeedsStayPausedInTheAnswer() throws {
    let desk = Desk(seats: 1)
    var anna = Browser()
    anna.simulcast("0", ["l", "m", "h"])
    try desk.publish(1, anna.offer, ["0": .video], first: 11)
    desk.director.setActive([0], of: TrackID(11))
    #expect(try desk.publish(1, anna.offer, [:], first: 99).answer.contains("a=simulcast:recv l;~m;~h\r\n"))
    desk.director.setActive([0, 1, 2], of: TrackID(11))
    #expect(try desk.publish(1, anna.offer, [:], first: 99).answer.contains("a=simulcast:recv l;m;h\r\n"))
  }

  // MARK: swap

  /// Two video tracks of Anna's, the second in H264 only, on Bert's subscriptions 22 and 23.
  private func twoCodecs() throws -> Desk {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.video("0")
    let h264 = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
    anna.video("1", codecs: Codec.video(102, "H264", format: FormatParameters(h264), rtx: 103))
    try desk.publish(1, anna.offer, ["0": .video, "1": .video], first: 11)
    desk.subscribe(22, seat: 2, track: 11)
    desk.subscribe(23, seat: 2, track: 12)
    return desk
  }

  @Test func aSwapOntoALineWithoutTheCodecIsRefusedAndChangesNothing() throws {
    let desk = try twoCodecs()
    try desk.answer(2, try #require(desk.offer(2)))
    _ = desk.commands()
    let error = try #require(try desk.swap(22, 23))
    #expect(error.code == .noCommonCodec && error.data.mid == "1")
    #expect(desk.commands().isEmpty && desk.offer(2) == nil)
    #expect(desk.subscriptions[SubscriptionID(22)]?.track == TrackID(11))
  }

  @Test func aSwapOfWaitingSubscriptionsIsOfferedAsItIs() throws {
    let desk = try twoCodecs()
    #expect(try desk.swap(22, 23) == nil)
    let offer = try #require(desk.offer(2))
    let lines = try SessionDescription.parse(offer.sdp).media.filter { $0.type == .video }
    #expect(lines.map { $0.rtp.codecs[0].payloadType } == [102, 96])
    try desk.answer(2, offer)
    let producers = desk.commands().compactMap {
      if case .addConsumer(_, let producer, _, _, _, _, _) = $0 { producer } else { nil }
    }
    #expect(producers == [ProducerKey(12), ProducerKey(11)])
  }

  @Test func aSwappedTrackEndsAtTheSubscriptionThatHasItNow() throws {
    let desk = try scene()
    var carl = Browser()
    carl.ufrag = "carl"
    carl.video("0")
    desk.open(3)
    try desk.publish(3, carl.offer, ["0": .video], first: 31)
    desk.subscribe(22, seat: 2, track: 12)
    desk.subscribe(23, seat: 2, track: 31)
    try desk.answer(2, try #require(desk.offer(2)))
    _ = desk.commands()
    #expect(try desk.swap(22, 23) == nil && desk.offer(2) == nil)
    #expect(desk.commands().swaps == [[ConsumerKey(22), ConsumerKey(23)]])
    #expect(desk.subscribers(of: TrackID(31)) == [SubscriptionID(22)])
    desk.unsubscribe(SubscriptionID(22))
    desk.director.closeTrack(TrackID(31))
    let ending = desk.commands()
    #expect(ending.removedConsumers == [ConsumerKey(22)] && ending.removedProducers == [ProducerKey(31)])
    #expect(desk.subscribers(of: TrackID(12)) == [SubscriptionID(23)])
  }

  // MARK: transports that are replaced

  @Test func anotherCertificateReplacesThePublishTransport() throws {
    let desk = try scene()
    _ = desk.commands()
    var again = Browser()
    again.fingerprint = .filled(with: 0x22)
    again.video("0")
    let change = try desk.publish(1, again.offer, ["0": .video], first: 15)
    #expect(Set(change.removed) == ["0", "1"] && change.isNewConnection)
    let commands = desk.commands()
    #expect(commands.closed == [TransportKey(1)] && commands.opened == [TransportKey(5)])
    #expect(desk.director.connections.transports[TransportKey(1)] == nil)
    // What ends now must not end the line of the same name that has just begun.
    for track in [11, 12] as [UInt64] { desk.director.closeTrack(TrackID(track)) }
    #expect(desk.published(1) == ["0": TrackID(15)])
  }

  @Test func anAnswerThatRejectsEverythingReplacesTheSubscribeTransport() throws {
    let desk = try watched()
    desk.director.restartICE(SeatID(2))
    let offer = try #require(desk.offer(2))
    _ = desk.commands()
    let refused = try desk.answer(2, offer) { line, _ in line = .rejection(of: line) }
    #expect(Set(refused.map(\.id)) == [SubscriptionID(21), SubscriptionID(22)])
    let commands = desk.commands()
    #expect(commands.closed == [TransportKey(4)] && commands.opened == [TransportKey(5)])
    #expect(desk.director.connections.transports[TransportKey(5)]?.id == .subscribe)
  }

  @Test func aRestartWithdrawsTheOutstandingOffer() throws {
    let desk = try watched()
    desk.subscribe(24, seat: 2, track: 12)
    let lost = try #require(desk.offer(2))
    _ = desk.commands()
    desk.director.restartICE(SeatID(2))
    let offer = try #require(desk.offer(2))
    #expect(offer.id == lost.id + 1 && offer.lines == lost.lines)
    #expect(desk.commands().restarted == [TransportKey(4)])
    var bert = Browser()
    bert.ufrag = "next"
    let late = desk.director.handleAnswer(seat: SeatID(2), offer: lost.id, sdp: try bert.answer(lost.sdp))
    #expect(throws: ErrorObject.self) { try late.result.get() }
    try desk.answer(2, offer, bert)
    #expect(desk.commands().consumers == [ConsumerKey(24)])
  }

  // MARK: races

  /// The track ends between the offer's preparation and its commit, and the line begins anew: the new one stays.
  @Test func unpublishWhileALineIsTakenOver() throws {
    let desk = try scene()
    var anna = Browser()
    anna.audio("0")
    anna.lines.append(.rejection(of: Browser.line("1")))
    _ = try desk.publish(1, anna.offer, [:], first: 99)
    desk.director.closeTrack(TrackID(12))
    desk.director.closeTrack(TrackID(12))
    anna.lines.removeLast()
    anna.video("7")
    let change = try desk.publish(1, anna.offer, ["7": .video], first: 13)
    #expect(change.added.map(\.mid) == ["7"] && change.removed.isEmpty)
    #expect(desk.published(1) == ["0": TrackID(11), "7": TrackID(13)])
  }

  @Test func unpublishBetweenPreparationAndCommit() throws {
    let desk = try scene()
    var anna = Browser()
    anna.audio("0")
    anna.video("1")
    anna.video("2")
    let (key, result) = desk.prepare(1, anna.offer, [.init(mid: "2", kind: .video)])
    #expect(try result.get().added.map(\.mid) == ["2"])
    desk.director.closeTrack(TrackID(12))
    _ = desk.commands()
    desk.director.commitPublish(key, seat: SeatID(1), [CommittedTrack(mid: "2", track: TrackID(13), kind: .video)])
    for command in desk.commands() {
      if case .addProducer(let producer, _, _, _, _) = command { #expect(producer == ProducerKey(13)) }
      if case .updateProducer(let producer, _) = command { #expect(producer != ProducerKey(12)) }
    }
    #expect(desk.director.tracks[TrackID(12)] == nil)
  }

  /// An offer that was prepared goes with its seat: who leaves between the two is not remembered for it.
  @Test func aPreparedOfferGoesWithItsSeat() throws {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.video("5")
    for seat in 1...2 as ClosedRange<UInt64> {
      let (_, result) = desk.prepare(seat, anna.offer, [RoostProtocol.AnnouncedTrack(mid: "5", kind: .video)])
      _ = try result.get()
    }
    #expect(desk.director.prepared.count == 2)
    desk.director.closeSeat(SeatID(1))
    #expect(desk.director.prepared.values.map(\.connection.seat) == [SeatID(2)], "another's waits on")
    desk.director.closeSeat(SeatID(2))
    #expect(desk.director.prepared.isEmpty)
  }

  @Test func nothingHappensToWhatIsGone() throws {
    let desk = try watched()
    let (key, _) = desk.prepare(1, "v=0", [])
    desk.director.closeSeat(SeatID(1))
    desk.director.closeSeat(SeatID(2))
    _ = desk.commands()
    desk.director.commitPublish(key, seat: SeatID(1), [])
    desk.director.setMuted(TrackID(11), true)
    desk.director.closeTrack(TrackID(11))
    desk.director.restartICE(SeatID(2))
    var wish = SubscriptionWish()
    wish.paused = true
    try desk.update(21, wish)
    desk.unsubscribe(SubscriptionID(21))
    #expect(desk.subscribe(30, seat: 2, track: 11)?.code == .trackNotFound)
    let late = desk.director.handleAnswer(seat: SeatID(2), offer: 1, sdp: "")
    #expect(throws: ErrorObject.self) { try late.result.get() }
    #expect(desk.director.takeOffers().isEmpty && desk.commands().isEmpty)
    #expect(desk.director.connections.transports.isEmpty)
  }

  // MARK: errors

  @Test func aRefusedDescriptionNamesItsLine() throws {
    let desk = try scene()
    let anna = Browser()
    let (_, result) = desk.prepare(1, anna.offer, [.init(mid: "9", kind: .audio)])
    let shape = #expect(throws: ErrorObject.self) { try result.get() }
    #expect(shape?.code == .negotiationFailed && shape?.data.mid == nil)
    var known = Browser()
    known.audio("0")
    known.video("1")
    let (_, second) = desk.prepare(1, known.offer, [.init(mid: "9", kind: .audio)])
    #expect(#expect(throws: ErrorObject.self) { try second.get() }?.data.mid == "9")
    for index in 2..<70 { known.audio("\(index)") }
    let (_, third) = desk.prepare(1, known.offer, [])
    let many = #expect(throws: ErrorObject.self) { try third.get() }
    #expect(many?.code == .tooManyTracks && many?.data.limit == 64 && many?.data.count == 70)
  }
}

extension Browser {
  static func line(_ mid: String) -> MediaDescription {
    .video(mid: mid, .sendOnly, Browser().transport, Codec.video(96, "VP8", rtx: 97))
  }
}
