// Media connections that their clients close while the session goes on.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ClosedMediaTests {
  /// Who only listens and closes that connection is missed at once, and has lost the seat after the grace.
  @Test func aListenerWhoClosesTheConnectionIsMissed() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    scene.apply(.media(try scene.seat(a), .subscribe, .connected))
    _ = a.take()
    scene.apply(.media(try scene.seat(a), .subscribe, .closed(reason: "gone")))
    #expect(b.takeNames() == [.participantReconnecting])
    #expect(a.take() == [.mediaFailed(MediaEvent(pc: .subscribe, step: .dtls, reason: "gone"))])
    scene.advance(.milliseconds(1_999))
    #expect(b.take().isEmpty)
    scene.advance(.milliseconds(1))
    #expect(b.takeNames() == [.participantLeft] && a.takeNames() == [.roomClosed])
    #expect(scene.counters[.left(.lost)] == 1 && scene.counters[.mediaFailed(.subscribe)] == nil)
  }

  @Test func aListenerWhoClosesTheConnectionEndsTheCallAfterTheGrace() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = try scene.talk(a, b)
    scene.apply(.media(try scene.seat(b), .subscribe, .closed(reason: "gone")))
    #expect(a.takeNames() == [.participantReconnecting])
    scene.advance(.milliseconds(15_000))
    let ended = a.take().compactMap { event -> CallEnded? in if case .callEnded(let end) = event { end } else { nil } }
    #expect(ended.map(\.reason) == [.disconnected] && ended.first?.by == "b")
  }

  /// What they publish comes no more. They are back with a new connection, or when they say that it is over.
  @Test(arguments: [true, false]) func aPublisherWhoClosesTheConnectionIsMissed(unpublishes: Bool) throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let track = try #require(try scene.publish(a, ["0:video"])["0"])
    _ = (a.take(), b.take())
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .closed(reason: "gone")))
    #expect(b.takeNames() == [.participantReconnecting])
    if unpublishes {
      #expect(scene.code(a, .track(.unpublish(TrackParams(trackId: track)))) == nil)
      #expect(b.takeNames() == [.subscriptionEnded, .trackUnpublished, .participantReconnected])
      let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer")))
      #expect(scene.code(a, offer) == .transportFailed, "that connection is over all the same")
    } else {
      scene.apply(.media(seat, .publish, .connected))
      #expect(b.takeNames() == [.participantReconnected])
    }
    scene.advance(.seconds(60))
    #expect(b.take().isEmpty)
  }

  /// Nothing came on it: who has switched everything off may do without it.
  @Test func aPublishConnectionWithoutTracksIsNotMissed() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let track = try #require(try scene.publish(a, ["0:video"])["0"])
    scene.request(a, .track(.unpublish(TrackParams(trackId: track))))
    _ = (a.take(), b.take())
    scene.apply(.media(try scene.seat(a), .publish, .closed(reason: "gone")))
    scene.advance(.seconds(60))
    #expect(b.take().isEmpty && a.takeNames() == [.mediaFailed])
  }
}
