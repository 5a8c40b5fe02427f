// Subscriptions of whose track nothing comes.

import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct MissingMediaTests {
  /// Anna publishes two cameras, Ben is sent them.
  private struct Pair {
    let scene = Scene(TrackTests.talkative)
    let anna: Client
    let ben: Client
    let tracks: [String: String]
    let ids: [SubscriptionID]

    init() throws {
      (anna, ben) = (scene.client("A"), scene.client("B"))
      for client in [anna, ben] { _ = try scene.join(client).get() }
      tracks = try scene.publish(anna, ["0:video", "1:video"])
      ids = scene.core.rooms.media.subscriptions.keys.sorted()
      _ = (anna.take(), ben.take())
    }

    func misses(_ index: Int, _ step: SubscriptionStep?, of other: Int? = nil) throws {
      let track = try #require(scene.core.track(of: ids[other ?? index]))
      scene.apply(.subscription(ids[index], .missing(track, step)))
    }

    func paused(_ index: Int, _ reason: SubscriptionReason = .noMedia, _ step: SubscriptionStep? = nil) -> Event {
      .subscriptionPaused(SubscriptionEvent(subscriptionId: "\(ids[index])", reason: reason, step: step))
    }

    func resumed(_ index: Int) -> Event { .subscriptionResumed(SubscriptionEvent(subscriptionId: "\(ids[index])")) }

    func name(_ mid: String) throws -> TrackParams { TrackParams(trackId: try #require(tracks[mid])) }
  }

  @Test func whatNobodySendsIsToldToWhoWaitsForIt() throws {
    let pair = try Pair()
    for step in [.nothing, .nothing, .noKeyframe, nil, nil] as [SubscriptionStep?] { try pair.misses(0, step) }
    #expect(
      pair.ben.take() == [pair.paused(0, .noMedia, .nothing), pair.paused(0, .noMedia, .noKeyframe), pair.resumed(0)])
    #expect(pair.anna.take().isEmpty)
  }

  /// A worker may say so of what was muted, or changed, a moment ago.
  @Test func whatIsMutedOrAnothersIsNotMissed() throws {
    let pair = try Pair()
    pair.scene.request(pair.anna, .track(.mute(try pair.name("0"))))
    _ = pair.ben.take()
    try pair.misses(0, .nothing)
    try pair.misses(1, .nothing, of: 0)
    #expect(pair.ben.take().isEmpty)
  }

  /// Of several reasons the one that counts is told, and the other when that is over.
  @Test func whatTheLineDoesNotCarryCountsMore() throws {
    let pair = try Pair()
    try pair.misses(0, .noKeyframe)
    for change in [.paused(.bandwidth), .resumed] as [SubscriptionChange] {
      pair.scene.apply(.subscription(pair.ids[0], change))
    }
    #expect(
      pair.ben.take() == [
        pair.paused(0, .noMedia, .noKeyframe), pair.paused(0, .bandwidth), pair.paused(0, .noMedia, .noKeyframe),
      ])
    pair.scene.apply(.subscription(pair.ids[0], .paused(.bandwidth)))
    try pair.misses(0, nil)
    pair.scene.apply(.subscription(pair.ids[0], .resumed))
    #expect(pair.ben.take() == [pair.paused(0, .bandwidth), pair.resumed(0)])
  }

  @Test func aSwapBeginsAnew() throws {
    let pair = try Pair()
    try pair.misses(0, .nothing)
    _ = pair.ben.take()
    let swap = SwapParams(a: "\(pair.ids[0])", b: "\(pair.ids[1])")
    #expect(pair.scene.code(pair.ben, .subscription(.swap(swap))) == nil)
    #expect(pair.ben.take() == [pair.resumed(0)])
  }

  @Test func whoLostEventsHearsOfItAgain() throws {
    let pair = try Pair()
    try pair.misses(0, .nothing)
    let told = pair.paused(0, .noMedia, .nothing)
    #expect(pair.ben.take() == [told])
    pair.scene.cut(pair.ben)
    let other = try pair.name("1")
    // More events than a session keeps for whoever resumes it.
    for _ in 0..<300 {
      for muted in [true, false] { pair.scene.request(pair.anna, .track(muted ? .mute(other) : .unmute(other))) }
    }
    guard case .resumed(.resync) = try pair.scene.resume(pair.ben).get() else {
      Issue.record("no resync")
      return
    }
    #expect(pair.ben.take() == [told])
  }

  /// A view tells what it shows although there is no picture, and that nothing comes; until it shows something else.
  @Test func aViewTellsThatNothingComes() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a) { $0.views = 1 }.get()
    _ = try scene.join(b).get()
    let cameras = try scene.publish(b, ["0:video", "1:video"])
    let seat = try scene.seat(a)
    let view = try #require(scene.core.rooms.media[seat].views.first)
    scene.apply(
      .serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: [ServerOffer.Line(mid: "0", subscription: view)])))
    scene.request(a, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "answer"))))
    func show(_ mid: String) -> ViewShowParams {
      ViewShowParams(views: [ViewWish(subscriptionId: "\(view)", trackId: cameras[mid])])
    }
    #expect(scene.code(a, .view(.show(show("0")))) == nil)
    _ = a.take()
    let track = try #require(scene.core.track(of: view))
    scene.apply(.subscription(view, .missing(track, .nothing)))
    let events = a.take()
    #expect(events.map(\.name) == [.viewChanged, .subscriptionPaused])
    guard case .viewChanged(let changed) = events.first, case .subscriptionPaused(let paused) = events.last else {
      Issue.record("not told")
      return
    }
    #expect(changed.trackId == cameras["0"] && changed.rtpTimestamp == nil)
    #expect(paused == SubscriptionEvent(subscriptionId: "\(view)", reason: .noMedia, step: .nothing))
    #expect(scene.code(a, .view(.show(show("1")))) == nil)
    #expect(a.takeNames() == [.subscriptionResumed], "of the new one nothing is known yet")
    scene.apply(.subscription(view, .missing(track, .nothing)))
    #expect(a.take().isEmpty)
  }
}
