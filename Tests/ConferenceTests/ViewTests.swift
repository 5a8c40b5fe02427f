// Views: places whose track changes without negotiation, by hand or as people speak.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ViewTests {
  /// Four people in a room; all but the last have a camera. The first has views, which the client has accepted.
  private struct Table {
    let scene: Scene
    let people: [Client]
    let cameras: [TrackID]
    let views: [SubscriptionID]
    var me: Client { people[0] }

    init(views count: Int = 2, publishers: Int = 4) throws {
      scene = Scene()
      people = ["A", "B", "C", "D", "E"].map { [scene] in scene.client($0) }
      _ = try scene.join(people[0], "x") { $0.views = count }.get()
      for person in people[1...] { _ = try scene.join(person, "x").get() }
      cameras = try people[1...].prefix(publishers).map { [scene] person in
        try #require(TrackID(wire: try scene.publish(person, ["0:video", "1:audio"])["0"] ?? ""))
      }
      let seat = try scene.seat(people[0])
      views = scene.core.rooms.media[seat].views
      let lines = views.map { ServerOffer.Line(mid: "\($0)", subscription: $0) }
      scene.apply(.serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: lines)))
      scene.request(people[0], .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "answer"))))
      for person in people { _ = person.take() }
    }

    func show(_ view: Int, _ camera: Int?, follow: ViewFollow? = nil) -> ErrorCode? {
      let wish = ViewWish(
        subscriptionId: "\(views[view])", trackId: camera.map { "\(cameras[$0])" }, follow: follow)
      return scene.code(me, .view(.show(ViewShowParams(views: [wish]))))
    }

    /// Who is shown, by their cameras' places; nil for nothing.
    var shown: [Int?] {
      views.map { view in scene.core.track(of: view).flatMap { cameras.firstIndex(of: $0) } }
    }

    /// These speak, the loudest first, for so long.
    func speak(_ people: [Int], for time: TimeDelta) throws {
      let seat = try #require(scene.core.rooms.table.seats[try scene.seat(me)])
      let levels = try people.map { SpeakerLevel(seat: try scene.seat(self.people[$0]), level: 30) }
      scene.apply(.activeSpeakers(seat.room, levels))
      scene.advance(time)
    }

    func started(_ view: Int, timestamp: UInt32 = 90_000) throws {
      let track = try #require(scene.core.track(of: views[view]))
      scene.apply(.subscription(views[view], .started(track, timestamp: timestamp)))
    }

    /// What was said of views since the last time.
    func told() -> [ViewChanged] {
      me.take().compactMap { if case .viewChanged(let changed) = $0 { changed } else { nil } }
    }
  }

  @Test func whoHasViewsGetsSoundAlone() throws {
    let table = try Table()
    let seat = try #require(table.scene.core.rooms.table.seats[try table.scene.seat(table.me)])
    let kinds = table.scene.core.rooms.media[seat.id].subscriptions.keys.map {
      table.scene.core.rooms.media.tracks[$0]?.wire.kind
    }
    #expect(kinds == [.audio, .audio, .audio, .audio])
    let other = try #require(table.scene.core.rooms.table.seats[try table.scene.seat(table.people[1])])
    let carried = table.scene.core.rooms.media[other.id]
    #expect(carried.subscriptions.count == 6 && carried.views.isEmpty, "the others get all as before")
    #expect(seat.id.snapshot(in: table.scene.core.rooms, at: 0)?.views == table.views.map(\.description))
    #expect(other.id.snapshot(in: table.scene.core.rooms, at: 0)?.views == nil)
  }

  @Test func aViewTellsWithItsFirstPicture() throws {
    let table = try Table()
    #expect(table.shown == [nil, nil])
    #expect(table.show(0, 1) == nil && table.shown == [1, nil])
    #expect(table.told().isEmpty, "not before there is a picture")
    try table.started(0, timestamp: 7)
    try table.started(0, timestamp: 9)
    let participant = table.scene.core.rooms.table.seats[try table.scene.seat(table.people[2])]?.participant
    #expect(
      table.told() == [
        ViewChanged(
          subscriptionId: "\(table.views[0])", trackId: "\(table.cameras[1])", participantId: participant?.description,
          rtpTimestamp: 7)
      ])
    // What a track that is not shown any more has begun with is no news.
    #expect(table.show(0, 0) == nil)
    table.scene.apply(.subscription(table.views[0], .started(table.cameras[1], timestamp: 11)))
    #expect(table.told().isEmpty)
    #expect(table.show(0, nil) == nil && table.told() == [ViewChanged(subscriptionId: "\(table.views[0])")])
  }

  /// Where no picture comes, the name must not wait for one.
  @Test func whatHasNoPictureIsToldAtOnce() throws {
    let table = try Table()
    let camera = TrackParams(trackId: "\(table.cameras[0])")
    table.scene.request(table.people[1], .track(.mute(camera)))
    #expect(table.show(0, 0) == nil && table.told().map(\.trackId) == [camera.trackId])
    #expect(table.show(0, 1) == nil && table.told().isEmpty)
    table.scene.request(table.people[2], .track(.mute(TrackParams(trackId: "\(table.cameras[1])"))))
    #expect(table.told().map(\.rtpTimestamp) == [nil], "it was muted before it came")
    let hidden = SubscriptionUpdateParams(subscriptionId: "\(table.views[1])", maxHeight: 0)
    #expect(table.show(1, 2) == nil && table.told().isEmpty)
    table.scene.request(table.me, .subscription(.update(hidden)))
    #expect(table.told().map(\.trackId) == ["\(table.cameras[2])"])
    table.scene.request(table.me, .subscription(.update(.init(subscriptionId: hidden.subscriptionId, maxHeight: 360))))
    #expect(table.show(1, 3) == nil && table.told().isEmpty)
    table.scene.apply(.subscription(table.views[1], .paused(.bandwidth)))
    #expect(table.told().map(\.trackId) == ["\(table.cameras[3])"])
    table.scene.apply(.subscription(table.views[1], .cannotShow))
    #expect(table.told().map(\.reason) == [.noCodec] && table.shown == [1, nil])
  }

  @Test func aViewIsEmptiedWithItsTrack() throws {
    let table = try Table()
    #expect(table.show(0, 0) == nil && table.show(1, 1) == nil)
    table.scene.request(table.people[1], .room(.leave(RoomParams(room: "x"))))
    #expect(table.shown == [nil, 1] && table.told().map(\.trackId) == [nil])
    table.scene.request(table.people[2], .track(.unpublish(TrackParams(trackId: "\(table.cameras[1])"))))
    #expect(table.shown == [nil, nil])
    table.scene.request(table.me, .subscription(.unsubscribe(SubscriptionParams(subscriptionId: "\(table.views[0])"))))
    #expect(table.show(0, 2) == .notSubscribed && table.show(1, 2) == nil && table.shown == [nil, 2])
  }

  @Test func whatAViewCannotShowIsRefused() throws {
    let table = try Table(publishers: 2)
    let (me, scene) = (table.me, table.scene)
    let own = try scene.publish(me, ["0:video"])["0"]
    let sound = scene.core.rooms.media.tracks.values.first { $0.wire.kind == .audio }?.id.description
    func show(_ view: String, _ track: String?) -> ErrorCode? {
      scene.code(me, .view(.show(ViewShowParams(views: [ViewWish(subscriptionId: view, trackId: track)]))))
    }
    let view = table.views[0].description
    #expect(
      show(view, own) == .forbidden && show(view, sound) == .invalidParams && show(view, "t999") == .trackNotFound)
    #expect(show("s999", nil) == .notSubscribed)
    let audio = scene.core.rooms.media[try scene.seat(me)].subscriptions.values.first?.description ?? ""
    #expect(show(audio, nil) == .notSubscribed, "a subscription to one track is no view")
    #expect(scene.code(me, .subscription(.swap(SwapParams(a: view, b: table.views[1].description)))) == .invalidParams)
    #expect(scene.code(me, .view(.open(ViewOpenParams(count: 48)))) == .tooManyTracks)
    #expect(scene.code(me, .view(.open(ViewOpenParams(count: 47)))) == nil)
    let listener = scene.client("L")
    _ = try scene.join(listener, "voice") { $0.views = 3 }.get()
    #expect(scene.code(listener, .view(.open(ViewOpenParams(count: 1)))) == .mediaNotAllowed)
    scene.rights = .all.subtracting(.subscribe)
    let blind = scene.client("Z")
    _ = try scene.join(blind, "x") { $0.views = 3 }.get()
    #expect(scene.code(blind, .view(.open(ViewOpenParams(count: 1)))) == .forbidden)
    #expect(scene.core.rooms.media[try scene.seat(blind)].views == [])
  }

  @Test func viewsAreChangedSoOftenAndNoMore() throws {
    var rules = ConferenceRules.test
    (rules.showsPerSecond, rules.showBurst) = (1, 4)
    let scene = Scene(rules)
    let me = scene.client("A")
    let room = try scene.join(me, "x") { $0.views = 3 }.get()
    let wishes = try #require(room.views).map { ViewWish(subscriptionId: $0) }
    let request = Request.view(.show(ViewShowParams(views: wishes)))
    #expect(scene.code(me, request) == nil)
    let refusal = scene.refusal(me, request)
    #expect(refusal?.code == .rateLimited && (refusal?.data.retryAfterMs ?? 0) > 0)
    // Three of four are gone: one more passes, and not a fifth.
    let one = Request.view(.show(ViewShowParams(views: Array(wishes.prefix(1)))))
    #expect(scene.code(me, one) == nil && scene.code(me, one) == .rateLimited)
    scene.advance(.seconds(3))
    #expect(scene.code(me, request) == nil)
  }

  // MARK: who speaks

  @Test func aViewFollowsWhoSpeaks() throws {
    let table = try Table(views: 1)
    #expect(table.show(0, nil, follow: .activeSpeaker) == nil)
    #expect(table.shown == [0], "somebody before anybody has spoken")
    try table.speak([3], for: .milliseconds(900))
    #expect(table.shown == [0], "a cough is no speech")
    try table.speak([], for: .seconds(1))
    try table.speak([3], for: .milliseconds(1_100))
    #expect(table.shown == [2])
    try table.speak([3, 2], for: .milliseconds(800))
    try table.speak([2, 3], for: .milliseconds(150))
    #expect(table.shown == [2], "who speaks beside them has to go on for a while")
    table.scene.advance(.milliseconds(100))
    #expect(table.shown == [1])
    try table.speak([3, 2], for: .seconds(10))
    #expect(table.shown == [1], "two who speak at once take no turns")
    try table.speak([3], for: .milliseconds(1))
    #expect(table.shown == [2], "until one of them stops")
    try table.speak([], for: .seconds(60))
    #expect(table.shown == [2], "silence changes nothing")
  }

  @Test func nobodySeesThemselves() throws {
    let table = try Table(views: 2)
    try table.scene.publish(table.me, ["0:video"])
    for view in 0...1 { #expect(table.show(view, nil, follow: .activeSpeaker) == nil) }
    try table.speak([4], for: .seconds(2))
    try table.speak([0], for: .seconds(5))
    #expect(Set(table.shown) == [3, 0], "the last who spoke, and somebody")
    #expect(
      table.scene.core.rooms.table[try #require(table.scene.core.rooms.table[named: "x"])]?.speaking.seats.count == 2)
  }

  /// A picture stays where it is for as long as it is shown at all.
  @Test func picturesDoNotDance() throws {
    let table = try Table(views: 3)
    for view in 0...2 { #expect(table.show(view, nil, follow: .activeSpeaker) == nil) }
    #expect(table.shown == [0, 1, 2])
    for speaker in [3, 1, 2, 3] {
      try table.speak([speaker], for: .seconds(2))
      #expect(table.shown == [0, 1, 2], "all who speak are shown already")
    }
    try table.speak([4], for: .seconds(2))
    #expect(table.shown == [3, 1, 2], "in place of who has not spoken for longest")
    // One is pinned by hand: whom it shows is not shown again.
    #expect(table.show(1, 3) == nil)
    #expect(Set(table.shown) == [3, 1, 2] && table.shown[1] == 3 && table.shown[2] == 2)
    table.scene.request(table.people[3], .room(.leave(RoomParams(room: "x"))))
    #expect(Set(table.shown) == [3, 1, 0] && table.shown[1] == 3)
  }

  /// Those whose cameras are off come after those who can be seen, unless they speak.
  @Test func camerasThatAreOffComeLast() throws {
    let table = try Table(views: 1)
    for person in 1...3 {
      table.scene.request(table.people[person], .track(.mute(TrackParams(trackId: "\(table.cameras[person - 1])"))))
    }
    #expect(table.show(0, nil, follow: .activeSpeaker) == nil && table.shown == [3])
    try table.speak([2], for: .seconds(2))
    #expect(table.shown == [1] && table.told().last?.trackId == "\(table.cameras[1])")
  }

  @Test func whoComesLaterIsShownWhereThereIsSpace() throws {
    let table = try Table(views: 3, publishers: 1)
    for view in 0...2 { #expect(table.show(view, nil, follow: .activeSpeaker) == nil) }
    #expect(table.shown == [0, nil, nil])
    let screen = AnnouncedTrack(mid: "5", kind: .video, source: .screen)
    table.scene.request(table.people[2], .peerConnection(.offer(.init(pc: .publish, sdp: "offer", tracks: [screen]))))
    #expect(table.shown == [0, nil, nil], "a shared screen is nobody's face")
    let camera = try table.scene.publish(table.people[3], ["0:video"])["0"]
    #expect(table.scene.core.track(of: table.views[1])?.description == camera)
  }

  @Test func whoHasLostEventsIsToldAgain() throws {
    let table = try Table()
    #expect(table.show(0, 0) == nil)
    try table.started(0)
    _ = table.told()
    table.scene.cut(table.me)
    let track = TrackParams(trackId: "\(table.cameras[1])")
    for _ in 0..<300 {
      for muted in [true, false] { table.scene.request(table.people[2], .track(muted ? .mute(track) : .unmute(track))) }
    }
    guard case .resumed(.resync(let resync)) = try table.scene.resume(table.me).get() else {
      Issue.record("no resync")
      return
    }
    #expect(resync.room?.views == table.views.map(\.description))
    #expect(table.told().map(\.trackId) == ["\(table.cameras[0])", nil])
  }

  /// A room that a takeover moves to another device opens as many views there as that asks for.
  @Test func aTakeoverOpensItsOwnViews() throws {
    let table = try Table()
    let phone = table.scene.client("A", "phone")
    let room = try table.scene.join(phone, "x") {
      ($0.takeover, $0.resumeToken, $0.views) = (true, table.me.token, 1)
    }.get()
    #expect(room.views?.count == 1 && room.views?.first != table.views[0].description)
    #expect(table.scene.core.rooms.media.subscriptions.values.count { $0.view != nil } == 1)
  }
}
