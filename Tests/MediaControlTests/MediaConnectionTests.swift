// Seats with more connections than the two of the room protocol, as other front doors open them.

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

@Suite struct MediaConnectionTests {
  private let third = MediaConnectionID(2)

  /// Anna (seat 1) publishes track 11 on her first connection and 12 on her third; Bert (seat 2) receives both.
  private func publishing() throws -> Desk {
    let desk = Desk(seats: 2)
    #expect(desk.open(third, of: 1, for: .publish))
    var anna = Browser()
    anna.video("0")
    try desk.publish(1, anna.offer, ["0": .video], first: 11)
    var encoder = Browser()
    (encoder.ufrag, encoder.fingerprint) = ("encd", .filled(with: 0x33))
    encoder.video("0")
    try desk.publish(1, on: third, encoder.offer, ["0": .video], first: 12)
    desk.subscribe(21, seat: 2, track: 11)
    desk.subscribe(22, seat: 2, track: 12)
    try desk.answer(2, try #require(desk.offer(2)))
    return desk
  }

  @Test func aThirdConnectionThatOnlyPublishes() throws {
    let desk = try publishing()
    let commands = desk.commands()
    #expect(commands.opened.map(\.value) == [1, 2, 3, 4, 5])
    #expect(commands.producers.map(\.transport) == [TransportKey(1), TransportKey(5)])
    #expect(commands.remotes == [TransportKey(1), TransportKey(5), TransportKey(4)])
    #expect(commands.consumers == [ConsumerKey(21), ConsumerKey(22)])
    #expect(desk.connection(1, third)?.subscribe == nil && desk.offer(1, on: third) == nil)
    #expect(desk.subscribe(30, seat: 1, on: third, track: 11)?.code == .trackNotFound)
  }

  /// Where room is scarce a participant counts once, by whatever connections their tracks come.
  @Test func allTracksOfAParticipantAreOnePublishers() throws {
    let desk = try publishing()
    var bert = Browser()
    bert.audio("0")
    try desk.publish(2, bert.offer, ["0": .audio], first: 41)
    let publishers = desk.commands().publishers
    #expect(publishers == [1, 1, 2].map { Publisher($0, canonicalName: "p\($0)") })
  }

  /// Its tracks end with it, and so do others' subscriptions to them. What the seat has on other connections stays.
  @Test func whatIsPublishedEndsWithItsConnection() throws {
    let desk = try publishing()
    _ = desk.commands()
    let ended = desk.close(third, of: 1)
    #expect(ended.tracks == [TrackID(12)] && ended.subscriptions == [SubscriptionID(22)])
    let commands = desk.commands()
    #expect(commands.closed == [TransportKey(5)] && commands.removedProducers == [ProducerKey(12)])
    #expect(commands.removedConsumers == [ConsumerKey(22)])
    #expect(desk.published(1) == ["0": TrackID(11)] && desk.subscriptions.keys.sorted() == [SubscriptionID(21)])
    let offer = try #require(desk.offer(2))
    #expect(offer.lines.map(\.subscription) == [SubscriptionID(21)])
    #expect(desk.director.closeConnection(third, seat: SeatID(1)).isEmpty && desk.commands().isEmpty)
    desk.director.closeSeat(SeatID(1))
    #expect(desk.commands().closed == [TransportKey(1), TransportKey(2)])
  }

  @Test func aThirdConnectionThatOnlySubscribes() throws {
    let desk = try publishing()
    #expect(desk.open(third, of: 2, for: .subscribe))
    _ = desk.commands()
    #expect(desk.subscribe(31, seat: 2, on: third, track: 12) == nil)
    #expect(desk.prepare(2, on: third, "v=0", []).result.failure?.code == .notJoined)
    let offers = desk.director.takeOffers()
    #expect(offers.map(\.connection) == [ConnectionKey(seat: SeatID(2), id: third)])
    var player = Browser()
    player.ufrag = "play"
    try desk.answer(2, on: third, offers[0].offer, player)
    let commands = desk.commands()
    #expect(commands.consumers == [ConsumerKey(31)] && commands.remotes == [TransportKey(6)])

    let ended = desk.close(third, of: 2)
    #expect(ended.tracks.isEmpty && ended.subscriptions == [SubscriptionID(31)])
    let closing = desk.commands()
    #expect(closing.closed == [TransportKey(6)] && closing.removedConsumers == [ConsumerKey(31)])
    #expect(closing.removedProducers.isEmpty && desk.subscribers(of: TrackID(12)) == [SubscriptionID(22)])
  }

  /// As a WHEP door plays: the client offers what it wants to receive, and the answer starts it at once.
  @Test func aConnectionOnWhichTheClientOffers() throws {
    let desk = try publishing()
    #expect(!desk.open(third, of: 2, for: [.publish, .subscribe], offerer: .client))
    #expect(desk.open(third, of: 2, for: .subscribe, offerer: .client))
    #expect(desk.subscribe(31, seat: 2, on: third, track: 12) == nil)
    _ = desk.commands()
    #expect(desk.director.takeOffers().isEmpty)
    var player = Browser()
    player.audio("0")
    player.video("1")
    for index in player.lines.indices { player.lines[index].direction = .receiveOnly }
    let (result, refused) = try desk.answer(offer: player.offer, seat: 2, on: third)
    #expect(refused.isEmpty)
    let answer = try SessionDescription.parse(try result.get())
    #expect(answer.media.map(\.direction) == [.inactive, .sendOnly])
    let commands = desk.commands()
    #expect(commands.remotes == [TransportKey(6)] && commands.consumers == [ConsumerKey(31)])
    // An offer that is refused changes nothing.
    let bad = try desk.answer(offer: "v=0", seat: 2, on: third).result
    #expect(bad.failure?.code == .negotiationFailed && desk.commands().isEmpty)
    // A restart by the client brings new credentials to the worker.
    player.ufrag = "next"
    let restarted = try desk.answer(offer: player.offer, seat: 2, on: third)
    _ = try restarted.result.get()
    let after = desk.commands()
    #expect(after.restarted == [TransportKey(6)] && after.remotes == [TransportKey(6)] && after.consumers.isEmpty)
    #expect(try desk.answer(offer: player.offer, seat: 2, on: .subscribe).result.failure != nil)
  }

  /// A worker's report about a transport names one connection: nothing is said of the others.
  @Test func eachTransportIsOneConnection() throws {
    let desk = try publishing()
    let owners = desk.director.connections.transports
    #expect(owners[TransportKey(5)] == ConnectionKey(seat: SeatID(1), id: third))
    #expect(owners[TransportKey(1)] == ConnectionKey(seat: SeatID(1), id: .publish))
    // A new DTLS association on the third replaces its transport alone.
    _ = desk.commands()
    var again = Browser()
    again.fingerprint = .filled(with: 0x44)
    again.video("0")
    let change = try desk.publish(1, on: third, again.offer, ["0": .video], first: 13)
    #expect(change.isNewConnection && change.removed == ["0"])
    let commands = desk.commands()
    #expect(commands.closed == [TransportKey(5)] && commands.opened == [TransportKey(6)])
    #expect(desk.connection(1, .publish)?.transport == TransportKey(1))
  }

  /// Both directions on one transport: no answer replaces it, and the subscribe side follows an ICE restart by the client.
  @Test func aConnectionForBothDirectionsIsOneTransport() throws {
    let desk = try publishing()
    let both = MediaConnectionID(3)
    #expect(desk.open(both, of: 1, for: [.publish, .subscribe]))
    #expect(desk.commands().opened.last == TransportKey(6))
    var client = Browser()
    client.video("0")
    try desk.publish(1, on: both, client.offer, ["0": .video], first: 14)
    let offer = try #require(desk.offer(1, on: both))
    let credentials = try #require(desk.connection(1, both)?.credentials)
    #expect(offer.sdp.contains("a=ice-ufrag:\(credentials.ufrag)\r\n"))
    try desk.answer(1, on: both, offer, client)
    client.ufrag = "next"
    try desk.publish(1, on: both, client.offer, [:], first: 15)
    let commands = desk.commands()
    #expect(commands.opened.isEmpty && commands.closed.isEmpty && commands.restarted == [TransportKey(6)])
    let fresh = try #require(desk.connection(1, both)?.credentials)
    let followed = try #require(desk.offer(1, on: both))
    #expect(fresh != credentials && desk.connection(1, both)?.transport == TransportKey(6))
    #expect(followed.sdp.contains("a=ice-ufrag:\(fresh.ufrag)\r\n"))
    try desk.answer(1, on: both, followed, client) { line, _ in line = .rejection(of: line) }
    #expect(desk.commands().isEmpty, "what is published goes on, on the same transport")
  }

  @Test func connectionsOfASeatAreBoundedAndNamedOnce() {
    let desk = Desk(seats: 1)
    let opened = (2..<200 as Range<UInt64>).map {
      desk.open(MediaConnectionID($0), of: 1, for: .publish)
    }
    #expect(opened.count { $0 } == MediaDirector.connectionsPerSeat - 2)
    let transports = desk.director.connections.transports.count
    #expect(transports == MediaDirector.connectionsPerSeat)
    #expect(!desk.open(.publish, of: 1, for: .publish))
    #expect(!desk.open(third, of: 9, for: .publish))
    #expect(desk.director.connections.transports.count == transports)
    desk.director.closeSeat(SeatID(1))
    #expect(desk.director.connections.transports.isEmpty)
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
