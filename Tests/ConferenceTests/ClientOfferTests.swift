// Clients that offer on their subscribe connection, and views of sound: what a WHEP player needs of a room.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ClientOfferTests {
  private let scene = Scene()

  private func player(_ name: String = "P") throws -> Client {
    let player = scene.client(name, capabilities: .object(["clientOffers": .bool(true)]))
    _ = try scene.join(player, "x") { $0.autoSubscribe = false }.get()
    _ = player.take()
    return player
  }

  private func open(_ kind: TrackKind, _ client: Client) throws -> String {
    let reply = try scene.request(client, .view(.open(ViewOpenParams(count: 1, kind: kind)))).get()
    guard case .views(let result) = reply else { throw ErrorObject(.internalError) }
    return try #require(result.views.first)
  }

  private func offer(_ client: Client) -> Result<Reply, ErrorObject> {
    scene.request(client, .peerConnection(.offer(PublishOfferParams(pc: .subscribe, sdp: "offer"))))
  }

  @Test func whoOffersIsAnsweredAndNeverOfferedAnything() throws {
    let anna = scene.client("A")
    _ = try scene.join(anna, "x").get()
    let published = try scene.publish(anna, ["0:audio", "1:video"])
    let player = try player()
    let (sound, picture) = (try open(.audio, player), try open(.video, player))
    let wishes = [sound, picture].map { ViewWish(subscriptionId: $0, follow: .activeSpeaker) }
    _ = try scene.request(player, .view(.show(ViewShowParams(views: wishes)))).get()
    #expect(try offer(player).get() == .published(PublishResult(sdp: "answer to offer", tracks: [])))
    for (view, mid) in [(sound, "0"), (picture, "1")] {
      let subscription = try #require(SubscriptionID(wire: view).flatMap { scene.core.rooms.media.subscriptions[$0] })
      #expect(subscription.isAgreed && subscription.track.map { "\($0)" } == published[mid])
    }
    #expect(!player.take().contains { if case .pcOffer = $0 { true } else { false } })
    #expect(scene.code(player, .peerConnection(.restart(RestartParams(pc: .subscribe)))) == .invalidState)
  }

  @Test func aRefusalIsToldAndChangesNothing() throws {
    let player = try player()
    let view = try #require(SubscriptionID(wire: try open(.video, player)))
    scene.negotiationError = ErrorObject(.noCommonCodec)
    #expect(throws: ErrorObject(.noCommonCodec)) { try offer(player).get() }
    #expect(scene.core.rooms.media.subscriptions[view]?.isAgreed == false)
    scene.negotiationError = nil
    #expect((try? offer(player).get()) != nil)
  }

  @Test func theServerOffersToAllOthers() throws {
    let anna = scene.client("A")
    #expect(scene.code(anna, .peerConnection(.offer(PublishOfferParams(pc: .subscribe, sdp: "offer")))) == .notJoined)
    _ = try scene.join(anna, "x").get()
    #expect(
      scene.code(anna, .peerConnection(.offer(PublishOfferParams(pc: .subscribe, sdp: "offer")))) == .invalidState)
  }

  @Test func viewsShowTracksOfTheirKindAlone() throws {
    let anna = scene.client("A")
    _ = try scene.join(anna, "x").get()
    let published = try scene.publish(anna, ["0:audio", "1:video"])
    let player = try player()
    let sound = try open(.audio, player)
    func show(_ mid: String) -> ErrorCode? {
      let wish = ViewWish(subscriptionId: sound, trackId: published[mid])
      return scene.code(player, .view(.show(ViewShowParams(views: [wish]))))
    }
    #expect(show("1") == .invalidParams && show("0") == nil)
  }

  /// A view of sound goes where a view of pictures goes: to who speaks.
  @Test func viewsOfSoundFollowWhoSpeaks() throws {
    let people = ["A", "B"].map { scene.client($0) }
    var microphones: [String?] = []
    for person in people {
      _ = try scene.join(person, "x").get()
      microphones.append(try scene.publish(person, ["0:audio"])["0"])
    }
    let player = try player()
    let sound = try open(.audio, player)
    let wish = ViewWish(subscriptionId: sound, follow: .activeSpeaker)
    _ = try scene.request(player, .view(.show(ViewShowParams(views: [wish])))).get()
    func heard() -> String? {
      SubscriptionID(wire: sound).flatMap { scene.core.track(of: $0) }.map(\.description)
    }
    #expect(heard() == microphones[0], "nobody has spoken")
    let room = try #require(scene.core.rooms.table.seats[try scene.seat(people[1])]).room
    scene.apply(.activeSpeakers(room, [SpeakerLevel(seat: try scene.seat(people[1]), level: 30)]))
    scene.advance(.seconds(2))
    #expect(heard() == microphones[1])
  }

  @Test func aRoomForSoundHasViewsOfSound() throws {
    let player = scene.client("P")
    _ = try scene.join(player, "talk") { $0.media = .audio }.get()
    #expect(scene.code(player, .view(.open(ViewOpenParams(count: 1, kind: .video)))) == .mediaNotAllowed)
    #expect(scene.code(player, .view(.open(ViewOpenParams(count: 1, kind: .audio)))) == nil)
  }

  @Test func roomInfoSaysHowManyPublish() throws {
    let asking = scene.client("Q")
    func info(_ room: String) -> Result<Reply, ErrorObject> {
      scene.request(asking, .room(.info(RoomParams(room: room))))
    }
    #expect(throws: ErrorObject(.roomNotFound) { $0.retryable = true }) { try info("x").get() }
    let anna = scene.client("A")
    _ = try scene.join(anna, "x").get()
    guard case .roomInfo(let before) = try info("x").get() else { return }
    _ = try scene.publish(anna, ["0:audio"])
    guard case .roomInfo(let after) = try info("x").get() else { return }
    #expect(before.publishers == 0 && after.publishers == 1 && after.count == 1)
  }
}
