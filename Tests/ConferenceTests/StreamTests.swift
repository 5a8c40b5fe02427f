// Streams: clients with a media connection for each that they publish or play, and what their door is told of it.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct StreamTests {
  private let scene = Scene()
  private let first = MediaConnectionID(2)
  private let second = MediaConnectionID(3)

  private func client(_ name: String, joins room: String = "x") throws -> Client {
    let client = scene.client(name, capabilities: .object(["clientOffers": .bool(true)]))
    _ = try scene.join(client, room) { $0.autoSubscribe = false }.get()
    _ = client.take()
    return client
  }

  private func ask(_ client: Client, _ request: StreamRequest) throws -> Result<Reply, ErrorObject> {
    let id = client.makeID()
    scene.apply(.stream(client.connection, id, request))
    return try #require(client.replies[id]?.last)
  }

  private func offer(_ lines: [(String, TrackKind)], label: String = "s") -> PublishOfferParams {
    PublishOfferParams(
      pc: .publish, sdp: "offer", tracks: lines.map { AnnouncedTrack(mid: $0.0, kind: $0.1, label: label) })
  }

  /// The tracks of a stream that is published.
  private func publish(_ client: Client, _ stream: MediaConnectionID, label: String = "s") throws -> [String] {
    let reply = try ask(client, .publish(stream, offer([("0", .audio), ("1", .video)], label: label))).get()
    guard case .published(let result) = reply else { throw ErrorObject(.internalError) }
    return result.tracks.map(\.trackId)
  }

  private var mediaOf: (Client) -> Seat? {
    { [scene] client in scene.core.seat(of: client.connection).flatMap { scene.core.rooms.table.seats[$0] } }
  }

  @Test func eachStreamHasItsOwnConnectionAndLines() throws {
    let (anna, ben) = (try client("A"), try client("B"))
    let (one, two) = (try publish(anna, first), try publish(anna, second, label: "t"))
    #expect(
      one.count == 2 && two.count == 2 && Set(one + two).count == 4, "lines of two connections may be called alike")
    #expect(ben.takeNames() == [.trackPublished, .trackPublished, .trackPublished, .trackPublished])
    _ = try ask(anna, .close(first)).get()
    #expect(ben.takeNames() == [.trackUnpublished, .trackUnpublished])
    let left = scene.core.rooms.media.tracks.keys.map { "\($0)" }
    #expect(Set(left) == Set(two), "the other goes on")
    #expect(mediaOf(anna)?.streams == [second])
    _ = try ask(anna, .close(first)).get()
    #expect(try ask(anna, .publish(second, offer([("0", .audio)]))).error?.code == .invalidState)
    #expect(try ask(anna, .publish(.publish, offer([("0", .audio)]))).error?.code == .invalidState)
  }

  @Test func aStreamIsPlayedOnLinesOfItsOwn() throws {
    let (anna, ben) = (try client("A"), try client("B"))
    let tracks = try publish(anna, first)
    for stream in [first, second] {
      let reply = try ask(ben, .play(stream, tracks: tracks, lines: [.audio, .video], sdp: "o")).get()
      #expect(reply == .published(PublishResult(sdp: "answer to o", tracks: [])))
    }
    let views = scene.core.rooms.media.subscriptions.values.filter { $0.view != nil }
    #expect(views.count == 4 && views.allSatisfy { $0.isAgreed && $0.track != nil }, "the same, twice")
    #expect(Set(views.map(\.connection)) == [first, second])
    _ = try ask(ben, .show(first, tracks: [tracks[0]])).get()
    let shown = scene.core.rooms.media.subscriptions.values.filter { $0.connection == first }.compactMap(\.track)
    #expect(shown.map { "\($0)" } == [tracks[0]])
    _ = try ask(ben, .close(first)).get()
    #expect(scene.core.rooms.media.subscriptions.values.allSatisfy { $0.connection == second })
    #expect(scene.code(ben, .room(.leave(RoomParams(room: "x")))) == nil)
    #expect(scene.core.rooms.media.subscriptions.isEmpty)
  }

  @Test func whatIsRefusedLeavesNoConnection() throws {
    let (anna, ben) = (try client("A"), try client("B"))
    let tracks = try publish(anna, first)
    #expect(try ask(anna, .play(second, tracks: tracks, lines: [.audio], sdp: "o")).error?.code == .forbidden)
    #expect(try ask(ben, .play(first, tracks: ["t999"], lines: [.audio], sdp: "o")).error?.code == .trackNotFound)
    #expect(try ask(ben, .play(first, tracks: [], lines: [.audio], sdp: "o")).error?.code == .trackNotFound)
    #expect(try ask(ben, .show(first, tracks: tracks)).error?.code == .notSubscribed)
    scene.negotiationError = ErrorObject(.noCommonCodec)
    #expect(try ask(ben, .play(first, tracks: tracks, lines: [.audio], sdp: "o")).error?.code == .noCommonCodec)
    #expect(try ask(ben, .publish(second, offer([("0", .audio)]))).error?.code == .noCommonCodec)
    scene.negotiationError = nil
    let views = scene.core.seat(of: ben.connection).map { scene.core.rooms.media[$0].views }
    #expect(mediaOf(ben)?.streams == [] && views == [])
    #expect(try ask(scene.client("C"), .close(first)).error?.code == .notJoined)
  }

  @Test func theyAreBounded() throws {
    var rules = ConferenceRules.test
    rules.maxStreams = 2
    let scene = Scene(rules)
    let anna = scene.client("A")
    _ = try scene.join(anna, "x").get()
    var codes: [ErrorCode?] = []
    for number in 2...4 as ClosedRange<UInt64> {
      let id = anna.makeID()
      scene.apply(.stream(anna.connection, id, .publish(MediaConnectionID(number), offer([("0", .audio)]))))
      codes.append(anna.replies[id]?.last?.error?.code)
    }
    #expect(codes == [nil, nil, .tooManyTracks])
    #expect(rules.maxStreams < ConferenceRules().maxStreams)
  }

  @Test func theDoorIsToldOfItsMediaAndALostOneCanBeGivenUp() throws {
    let (anna, ben) = (try client("A"), try client("B"))
    _ = try publish(anna, first)
    let seat = try #require(scene.core.seat(of: anna.connection))
    scene.apply(.media(seat, first, .connected))
    scene.apply(.media(seat, first, .lost))
    #expect(anna.streams.map(\.0) == [first, first] && anna.streams.map(\.1) == [.connected, .lost])
    #expect(ben.takeNames().contains(.participantReconnecting))
    _ = try ask(anna, .close(first)).get()
    #expect(ben.takeNames().contains(.participantReconnected), "nothing of her is lost any more")
    #expect(!anna.takeNames().contains(.mediaConnected), "the room protocol has no name for it")
  }

  @Test func roomsOfStreamsHaveTheirKind() throws {
    var rules = ConferenceRules.test
    var stream = RoomRules(kind: "stream")
    stream.publishers = 1
    rules.streamRooms = stream
    let scene = Scene(rules)
    scene.proof = { $0.opensStreamRooms = true }
    let anna = scene.client("A")
    #expect(try scene.join(anna, "street").get().kind == "stream")
    scene.proof = { _ in }
    #expect(try scene.join(scene.client("B"), "garden").get().kind != "stream")
    rules.unknownRooms = .refuse
    #expect(rules.rules(forRoom: "street", ofStream: true) == nil, "where names are refused, so are these")
  }
}
