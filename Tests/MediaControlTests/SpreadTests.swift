// A room over two workers, and what each of them is told: a track is brought to another worker for the first who is sent it there, and ends
// there behind the last.

import Basics
import Media
import MediaPeer
import RTP
import RoostProtocol
import SDP
import Testing

@testable import MediaControl
@testable import Members

@Suite struct SpreadTests {
  /// Seats 1 and 3 are at worker 0, 2 and 4 at worker 1. Seat 1 publishes the tracks 11 (sound) and 12, seat 3 the tracks 13 and 14.
  private func scene() throws -> Desk {
    let desk = Desk(workers: 2, spread: .always, seats: 4)
    try publish(1, first: 11, desk)
    try publish(3, first: 13, desk)
    _ = told(desk)
    return desk
  }

  private func publish(_ seat: UInt64, first: UInt64, _ desk: Desk) throws {
    var browser = Browser()
    browser.audio("0")
    browser.simulcast("1", ["l", "h"])
    try desk.publish(seat, browser.offer, ["0": .audio, "1": .video], first: first)
  }

  /// Subscriptions of a seat, all accepted.
  private func watch(_ seat: UInt64, _ tracks: [UInt64: UInt64], _ desk: Desk) throws {
    for (id, track) in tracks.sorted(by: { $0.key < $1.key }) {
      #expect(desk.subscribe(id, seat: seat, track: track) == nil)
    }
    try desk.answerAll()
  }

  /// What workers were told of tracks and subscriptions in this turn, in their order, with the names that come first.
  private func told(_ desk: Desk) -> [String] {
    let about = ["produce", "update", "end", "mute", "consume", "remove", "swap", "mirror", "show"]
    return desk.turn().flatMap { turn in
      turn.commands.map { $0.summary.split(separator: " ").prefix(3) }.filter { about.contains(String($0[0])) }
        .map { "\(turn.worker): \($0.joined(separator: " "))" }
    }
  }

  // MARK: who is brought what

  @Test func aTrackIsBroughtOnceForAllWhoWatch() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    #expect(told(desk) == ["1: mirror 12 1", "1: consume 21 12"])
    try watch(4, [22: 12], desk)
    #expect(told(desk) == ["1: consume 22 12"])
    let pipes = desk.director.pollPipes()
    #expect(pipes.opened == [PipeOrder(key: PipeKey(1), first: 0, second: 1)] && pipes.closed == [])
    // The control: who is at the track's own worker.
    try watch(3, [23: 12], desk)
    #expect(told(desk) == ["0: consume 23 12"])
  }

  /// Streams that cross have numbers of their own, which a publisher's might equal.
  @Test func aMirrorHasLayersAndNoNumbersOfStreams() throws {
    let desk = try scene()
    let parameters = try #require(desk.director.tracks[TrackID(12)]?.parameters)
    var described = parameters
    described.encodings = [EncodingParameters(rid: "l", ssrc: 1, rtxSSRC: 2), EncodingParameters(rid: "h", ssrc: 3)]
    described.parameterSets = [[0x67]]
    desk.director.tracks[TrackID(12)]?.parameters = described
    try watch(2, [21: 12], desk)
    let mirrors = desk.turn().flatMap(\.commands).compactMap { command in
      if case .addMirror(_, _, let room, let parameters, let publisher) = command {
        (room, parameters, publisher)
      } else {
        nil
      }
    }
    let (room, mirror, publisher) = try #require(mirrors.first)
    #expect(room == Media.RoomKey(1) && publisher.key == 1)
    #expect(mirror.encodings == [EncodingParameters(rid: "l"), EncodingParameters(rid: "h")])
    #expect(mirror.nack && mirror.payloads.isEmpty && mirror.parameterSets == [[0x67]] && mirror.kind == .video)
  }

  @Test func theLastOneWhoGoesTakesTheMirrorAlong() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    try watch(4, [22: 12], desk)
    _ = told(desk)
    desk.unsubscribe(SubscriptionID(21))
    #expect(told(desk) == ["1: remove 21"], "the control: one is left")
    try desk.leave(4, [])
    #expect(told(desk) == ["1: remove 22", "1: end 12"])
    #expect(desk.director.spread.mirrors.isEmpty)
  }

  /// A worker ends all consumers of what it ends: the view must have left it before.
  @Test func aViewIsLedElsewhereBeforeItsMirrorEnds() throws {
    let desk = try scene()
    desk.openView(31, seat: 2)
    try desk.answerAll()
    #expect(told(desk) == ["1: consume 31 0"])
    try desk.show(31, 12)
    #expect(told(desk) == ["1: mirror 12 1", "1: show 31 12"])
    try desk.show(31, 14)
    #expect(told(desk) == ["1: mirror 14 1", "1: show 31 14", "1: end 12"])
    try desk.show(31, nil)
    #expect(told(desk) == ["1: show 31 0", "1: end 14"])
  }

  /// A view whose client has not taken the codec goes on with what it showed, and so does the mirror.
  @Test func whatCannotBeShownChangesNothing() throws {
    let desk = try scene()
    desk.openView(31, seat: 2)
    let offer = try #require(desk.offer(2))
    try desk.answer(2, offer) { line, _ in line.rtp.codecs.removeAll { $0.name.uppercased() == "H264" } }
    try desk.show(31, 12)
    _ = told(desk)
    desk.director.tracks[TrackID(14)]?.parameters.payloads = [
      PayloadMapping(payloadType: 102, codec: .h264ConstrainedBaseline)
    ]
    try desk.show(31, 14)
    #expect(told(desk) == [] && desk.director.spread.mirrors.workers(of: TrackID(12)) == [1])
    guard case .subscription(SubscriptionID(31), .cannotShow)? = desk.news.last else {
      Issue.record("\(desk.news)")
      return
    }
  }

  @Test func aSwapOfTwoMirrorsChangesTheirUses() throws {
    let desk = try scene()
    try watch(2, [21: 12, 22: 14], desk)
    _ = told(desk)
    #expect(try desk.swap(21, 22) == nil)
    #expect(told(desk) == ["1: swap 21 22"])
    desk.unsubscribe(SubscriptionID(21))
    #expect(told(desk) == ["1: remove 21", "1: end 14"])
  }

  // MARK: mutes and ends

  @Test func aMuteGoesToAllWorkers() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    _ = told(desk)
    desk.director.setMuted(TrackID(12), true)
    desk.director.setMuted(TrackID(11), true)
    #expect(told(desk) == ["0: mute 12 true", "0: mute 11 true", "1: mute 12 true"])
  }

  @Test func whoComesWhileItIsMutedHasAMutedMirror() throws {
    let desk = try scene()
    desk.director.setMuted(TrackID(12), true)
    _ = told(desk)
    try watch(2, [21: 12, 22: 14], desk)
    #expect(
      told(desk) == ["1: mirror 12 1", "1: mute 12 true", "1: consume 21 12", "1: mirror 14 1", "1: consume 22 14"])
    desk.director.setMuted(TrackID(14), true)
    desk.director.setMuted(TrackID(14), false)
    desk.unsubscribe(SubscriptionID(22))
    _ = told(desk)
    try watch(4, [23: 14], desk)
    #expect(told(desk) == ["1: mirror 14 1", "1: consume 23 14"], "the mute is over")
  }

  @Test func aTrackThatEndsEndsEverywhere() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    _ = told(desk)
    // Also where somebody is sent it still.
    desk.director.closeTrack(TrackID(12))
    #expect(told(desk) == ["0: end 12", "1: end 12"])
    desk.unsubscribe(SubscriptionID(21))
    #expect(told(desk) == ["1: remove 21"] && desk.director.spread.mirrors.isEmpty)
  }

  /// What crosses says itself what it is: a mirror need not be told.
  @Test func newParametersGoToTheSourceAlone() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    _ = told(desk)
    var browser = Browser()
    browser.audio("0")
    browser.simulcast("1", ["l", "h"])
    browser.lines[1].rtp.codecs += Codec.video(98, "VP9", rtx: 99)
    try desk.publish(1, browser.offer, [:], first: 50)
    let updates = told(desk).filter { $0.contains("update 12") }
    #expect(updates == ["0: update 12"])
  }

  // MARK: seats

  @Test func aMovedSeatTakesNoMirrorAlong() throws {
    let desk = try scene()
    try publish(2, first: 15, desk)
    try watch(2, [21: 12], desk)
    try watch(1, [22: 16], desk)
    _ = told(desk)
    #expect(try desk.move(2, [15, 16], to: 2))
    #expect(told(desk) == ["0: remove 22", "0: end 16", "1: remove 21", "1: end 12"])
    #expect(desk.director.spread.mirrors.isEmpty && desk.director.pollPipes().closed == [], "seat 4 is there")
    // Watched in the new room, from the other worker.
    desk.open(5, room: 2)
    try watch(5, [23: 16], desk)
    #expect(told(desk) == ["0: mirror 16 1", "0: consume 23 16"])
  }

  /// Whoever comes back may come to another worker, where the track is.
  @Test func aTakeoverOnAnotherWorkerIsBroughtAnew() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    try watch(4, [22: 14], desk)
    for seat in 5...7 as ClosedRange<UInt64> { desk.open(seat) }
    #expect(told(desk).count == 4)
    try desk.leave(3, [13, 14])
    try desk.leave(5, [])
    try desk.leave(7, [])
    _ = told(desk)
    try desk.leave(2, [])
    desk.open(8)
    try watch(8, [23: 12], desk)
    #expect(told(desk) == ["0: consume 23 12", "1: remove 21", "1: end 12"])
  }

  @Test func aReplacedSubscribeTransportLeavesNoUse() throws {
    let desk = try scene()
    try watch(2, [21: 12], desk)
    desk.director.restartICE(SeatID(2))
    let offer = try #require(desk.offer(2))
    _ = told(desk)
    let refused = try desk.answer(2, offer) { line, _ in line = .rejection(of: line) }
    #expect(refused.map(\.id) == [SubscriptionID(21)])
    #expect(told(desk) == ["1: remove 21", "1: end 12"] && desk.director.spread.mirrors.isEmpty)
  }

  // MARK: order

  /// The worker that a track comes from knows it before the other asks for it.
  @Test func sourcesHearFirst() throws {
    let desk = try scene()
    try publish(2, first: 15, desk)
    try watch(1, [21: 16], desk)
    let turn = desk.turn()
    #expect(turn.map(\.worker) == [1, 0], "the control is their number: 0, 1")
    // Where nothing is brought they come by number.
    try publish(4, first: 17, desk)
    try publish(3, first: 19, desk)
    #expect(desk.turn().map(\.worker) == [0, 1])
  }

  @Test func pipesLiveAsLongAsARoomIsShared() throws {
    let desk = try scene()
    for id in 21...22 as ClosedRange<UInt64> {
      try watch(2, [id: 12], desk)
      desk.unsubscribe(SubscriptionID(id))
    }
    var pipes = desk.director.pollPipes()
    #expect(pipes.opened.map(\.key) == [PipeKey(1)] && pipes.closed == [], "it stays where nothing crosses")
    try desk.leave(2, [])
    #expect(desk.director.pollPipes().closed == [])
    try desk.leave(4, [])
    #expect(desk.director.pollPipes().closed.map(\.key) == [PipeKey(1)])
    desk.open(5)
    try watch(5, [23: 12], desk)
    pipes = desk.director.pollPipes()
    #expect(pipes.opened.map(\.key) == [PipeKey(2)] && pipes.closed == [])
  }

  // MARK: bounds

  /// A mirror says by a bit which layer is wanted. A track of more layers is not brought; at its own worker it is watched.
  @Test(arguments: [8, 9]) func aTrackOfTooManyLayersIsNotBrought(layers: Int) throws {
    let desk = try scene()
    for track in [12, 14] as [UInt64] {
      desk.director.tracks[TrackID(track)]?.parameters.encodings = (0..<layers).map { EncodingParameters(rid: "\($0)") }
    }
    desk.openView(31, seat: 2)
    try desk.show(31, 14)
    try watch(2, [21: 12], desk)
    try watch(3, [22: 12], desk)
    let told = told(desk)
    #expect(told.contains("0: consume 22 12"))
    let refused = desk.news.compactMap { command -> SubscriptionID? in
      switch command {
      case .subscription(let id, .ended(.refused)), .subscription(let id, .cannotShow): id
      default: nil
      }
    }
    if layers == ReceiveParameters.mostMirrored {
      #expect(told.contains("1: mirror 12 1") && told.contains("1: consume 31 14") && refused == [])
    } else {
      #expect(!told.contains { $0.contains("mirror") } && told.contains("1: consume 31 0"))
      #expect(refused.sorted() == [SubscriptionID(21), SubscriptionID(31)])
    }
  }

  // MARK: without spread

  private static func sum(_ seed: UInt64, _ spread: RoomSpread, steps: Int = 2_000) throws -> UInt64 {
    let rooms = RandomRooms(Desk(workers: 2, spread: spread), seed: seed)
    var sum = CommandSum()
    for step in 0..<steps {
      try rooms.step()
      if step % 3 == 0 { try rooms.desk.answerAll() }
      sum.add(rooms.desk.turn())
    }
    return sum.value
  }

  /// What was told before rooms could be spread, for these scripts. Where nobody is nearly full it is the same.
  @Test(arguments: [(1, RoomSpread.off, 0x2859_0ea6_12aa_c797), (2, .load, 0xc435_686a_193e_9068)])
  func withoutSpreadNothingIsSentThatWasNotSent(seed: UInt64, spread: RoomSpread, before: UInt64) throws {
    #expect(try Self.sum(seed, spread) == before)
    let short = try Self.sum(seed, spread, steps: 100)
    #expect(try Self.sum(seed, .always, steps: 100) != short, "the control")
  }
}
