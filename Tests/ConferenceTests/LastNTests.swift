// Large rooms that send the video of those alone who spoke last.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct LastNTests {
  /// Five people with camera and sound in a room that sends two cameras. Everybody has accepted all lines.
  private struct Hall {
    let scene: Scene
    let people: [Client]
    let cameras: [TrackID]

    init(_ change: (Scene, [Client]) throws -> Void = { _, _ in }) throws {
      var rules = ConferenceRules.test
      var hall = RoomRules(kind: "hall")
      (hall.media, hall.videoLastN) = (.video, 2)
      rules.rooms["hall"] = hall
      scene = Scene(rules)
      people = ["A", "B", "C", "D", "E"].map { [scene] in scene.client($0) }
      for person in people { _ = try scene.join(person, "hall").get() }
      try change(scene, people)
      cameras = try people.map { [scene] person in
        try #require(TrackID(wire: try scene.publish(person, ["0:video", "1:audio"])["0"] ?? ""))
      }
      for person in people { try accept(person) }
    }

    /// The client accepts all that it is subscribed to.
    func accept(_ person: Client) throws {
      let seat = try scene.seat(person)
      let all = scene.core.rooms.media[seat].subscriptions.values.sorted()
      let lines = all.map { ServerOffer.Line(mid: "\($0)", subscription: $0) }
      scene.apply(.serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: lines)))
      scene.request(person, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "answer"))))
    }

    func speak(_ person: Int) throws {
      let seat = try scene.seat(people[person])
      let room = try #require(scene.core.rooms.table.seats[seat]?.room)
      scene.apply(.activeSpeakers(room, [SpeakerLevel(seat: seat, level: 30)]))
      scene.advance(.seconds(2))
    }

    func subscription(of person: Int, to publisher: Int) throws -> Subscription {
      let seat = try #require(scene.core.rooms.table.seats[try scene.seat(people[person])])
      return try #require(
        scene.core.rooms.media[seat.id].subscriptions[cameras[publisher]].flatMap {
          scene.core.rooms.media.subscriptions[$0]
        })
    }

    /// Whose cameras somebody is sent, by what the media side was told.
    func seen(by person: Int) throws -> Set<Int> {
      Set(
        try people.indices.filter { publisher in
          guard publisher != person else { return false }
          let id = try subscription(of: person, to: publisher).id
          return scene.ledger.subscriptions[id]?.wish.sendsNothing == false
        })
    }
  }

  @Test func thoseWhoSpokeLastAreSent() throws {
    let hall = try Hall()
    #expect(try hall.seen(by: 4) == [0, 1], "the first who came, while nobody has spoken")
    #expect(try hall.seen(by: 0) == [1, 2], "oneself does not count")
    try hall.speak(3)
    #expect(try hall.seen(by: 4) == [3, 0] && hall.seen(by: 0) == [3, 1] && hall.seen(by: 3) == [0, 1])
    try hall.speak(4)
    #expect(try hall.seen(by: 4) == [3, 0] && hall.seen(by: 0) == [4, 3] && hall.seen(by: 3) == [4, 0])
    for person in hall.people.indices {
      let seat = try #require(hall.scene.core.rooms.table.seats[try hall.scene.seat(hall.people[person])])
      let sounds = hall.scene.core.rooms.media[seat.id].subscriptions.filter {
        hall.scene.core.rooms.media.tracks[$0.key]?.wire.kind == .audio
      }
      #expect(sounds.count == 4)
      #expect(sounds.values.allSatisfy { hall.scene.ledger.subscriptions[$0]?.wish.sendsNothing == false })
    }
  }

  @Test func whatIsNotSentIsSaid() throws {
    let hall = try Hall()
    let (second, fourth) = (try hall.subscription(of: 4, to: 1).id, try hall.subscription(of: 4, to: 3).id)
    let before = hall.people[4].take().filter { $0.name == .subscriptionPaused }
    let left = try [2, 3].map { try hall.subscription(of: 4, to: $0).id.description }
    #expect(
      Set(before) == Set(left.map { .subscriptionPaused(SubscriptionEvent(subscriptionId: $0, reason: .lastN)) }),
      "of what was left out when it began")
    try hall.speak(3)
    #expect(
      hall.people[4].take().filter { $0.name == .subscriptionPaused || $0.name == .subscriptionResumed } == [
        .subscriptionPaused(SubscriptionEvent(subscriptionId: "\(second)", reason: .lastN)),
        .subscriptionResumed(SubscriptionEvent(subscriptionId: "\(fourth)")),
      ])
    // A line that is too thin is no news of what the room leaves out, and is told when that is over.
    hall.scene.apply(.subscription(second, .paused(.bandwidth)))
    #expect(hall.people[4].take().isEmpty)
    try hall.speak(1)
    #expect(
      hall.people[4].take().contains(
        .subscriptionPaused(SubscriptionEvent(subscriptionId: "\(second)", reason: .bandwidth))))
    hall.scene.apply(.subscription(second, .resumed))
    #expect(hall.people[4].take().map(\.name) == [.subscriptionResumed])
  }

  @Test func whatWasAskedForIsSentAllTheSame() throws {
    let hall = try Hall()
    func update(_ publisher: Int, priority: Int) throws {
      let name = try hall.subscription(of: 4, to: publisher).id.description
      hall.scene.request(
        hall.people[4], .subscription(.update(SubscriptionUpdateParams(subscriptionId: name, priority: priority))))
    }
    try update(2, priority: 1)
    #expect(try hall.seen(by: 4) == [0, 1, 2])
    try update(2, priority: 0)
    #expect(try hall.seen(by: 4) == [0, 1])
    let screen = AnnouncedTrack(mid: "5", kind: .video, source: .screen)
    hall.scene.request(
      hall.people[3], .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: [screen]))))
    let shared = hall.scene.ledger.subscriptions.values.filter { one in
      one.track.flatMap { hall.scene.core.rooms.media.tracks[$0] }?.wire.source == .screen
    }
    #expect(shared.count == 4 && shared.allSatisfy { !$0.wish.sendsNothing })
    // A pause of one's own stays one's own.
    let first = try hall.subscription(of: 4, to: 0).id.description
    hall.scene.request(
      hall.people[4], .subscription(.update(SubscriptionUpdateParams(subscriptionId: first, paused: true))))
    try hall.speak(2)
    try hall.speak(0)
    #expect(try hall.seen(by: 4) == [2])
  }

  @Test func whoLeavesMakesSpace() throws {
    let hall = try Hall()
    hall.scene.request(hall.people[0], .track(.unpublish(TrackParams(trackId: "\(hall.cameras[0])"))))
    let sent = try (1...3).filter { try !hall.subscription(of: 4, to: $0).wish.sendsNothing }
    #expect(sent == [1, 2])
    hall.scene.request(hall.people[1], .room(.leave(RoomParams(room: "hall"))))
    let then = try (2...3).filter { try !hall.subscription(of: 4, to: $0).wish.sendsNothing }
    #expect(then == [2, 3])
  }

  /// Two subscriptions that exchange what they carry keep to the rule.
  @Test func aSwapKeepsToTheRule() throws {
    let hall = try Hall()
    let (a, b) = (try hall.subscription(of: 4, to: 0).id, try hall.subscription(of: 4, to: 3).id)
    hall.scene.request(hall.people[4], .subscription(.swap(SwapParams(a: "\(a)", b: "\(b)"))))
    #expect(try hall.subscription(of: 4, to: 0).id == b && hall.seen(by: 4) == [0, 1])
  }

  /// The same room without the rule.
  @Test func otherRoomsSendAll() throws {
    let scene = Scene()
    let people = ["A", "B", "C", "D"].map { scene.client($0) }
    for person in people {
      _ = try scene.join(person, "x").get()
      try scene.publish(person, ["0:video"])
    }
    #expect(scene.ledger.subscriptions.count == 12)
    #expect(scene.ledger.subscriptions.values.allSatisfy { !$0.wish.sendsNothing })
  }
}
