// The media side as a ledger: everything is opened once, closed once, and never used after.

import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// What the core has told the media side.
struct Ledger {
  var seats: [SeatID: RoomKey] = [:]
  var tracks: [TrackID: SeatID] = [:]
  var muted: Set<TrackID> = []
  var subscriptions: [SubscriptionID: (seat: SeatID, track: TrackID?, wish: SubscriptionWish)] = [:]
  /// Subscriptions that are sent.
  var running: Set<SubscriptionID> = []
  var negotiating: Set<SeatID> = []
  var restarts: [SeatID] = []
  /// Connections of streams.
  var streams: [SeatID: Set<MediaConnectionID>] = [:]
  private var everSeats: Set<SeatID> = []

  mutating func apply(_ effect: MediaEffect) {
    switch effect {
    case .openSeat(let seat, let room, _, _, _, _, _):
      #expect(everSeats.insert(seat).inserted, "a seat is opened once")
      seats[seat] = room
    case .moveSeat(let seat, let room, _, _):
      #expect(seats.updateValue(room, forKey: seat) != nil, "who is moved has a seat")
      #expect(!subscriptions.values.contains { $0.seat == seat && $0.track != nil }, "it receives nothing")
      #expect(!subscriptions.values.contains { $0.track.map { tracks[$0] } == seat }, "and nobody receives it")
    case .closeSeat(let seat):
      streams[seat] = nil
      #expect(seats.removeValue(forKey: seat) != nil, "a seat is released exactly once")
      #expect(!tracks.values.contains(seat), "its tracks were closed before")
      #expect(!subscriptions.values.contains { $0.seat == seat }, "its subscriptions were closed before")
    case .closeRoom(let room): #expect(!seats.values.contains(room), "a room closes after its seats")
    case .restartICE(let seat): restarts.append(seat)
    case .commitPublish(_, let seat, let committed):
      #expect(negotiating.remove(seat) != nil && seats[seat] != nil)
      for track in committed { #expect(tracks.updateValue(seat, forKey: track.track) == nil) }
    case .discardPublish(_, let seat): #expect(negotiating.remove(seat) != nil)
    case .setMuted(let track, let isMuted):
      #expect(tracks[track] != nil)
      if isMuted { muted.insert(track) } else { muted.remove(track) }
    case .closeTrack(let track):
      #expect(tracks.removeValue(forKey: track) != nil, "a track is closed once")
      #expect(!subscriptions.values.contains { $0.track == track }, "its subscriptions were closed before")
      muted.remove(track)
    case .subscribe(let one):
      #expect(seats[one.seat] != nil && (one.view == nil) == (one.track != nil), "a view begins empty, and it alone")
      #expect(one.track.map { tracks[$0] != nil } ?? true, "no subscription to a dead track")
      #expect(subscriptions.updateValue((one.seat, one.track, one.wish), forKey: one.id) == nil && !one.isAgreed)
    case .startSubscription(let one):
      check(one, wish: one.wish)
      #expect(one.isAgreed && running.insert(one.id).inserted, "a subscription starts once")
    case .unsubscribe(let one):
      check(one, wish: one.wish)
      #expect(one.isAgreed == (running.remove(one.id) != nil), "what runs is stopped, and nothing else")
      #expect(subscriptions.removeValue(forKey: one.id) != nil, "a subscription ends once")
    case .updateSubscription(let one, let before):
      check(one, wish: before)
      #expect(one.isAgreed == running.contains(one.id))
      subscriptions[one.id]?.wish = one.wish
    case .offerCodecs(let one): check(one, wish: one.wish)
    case .show(let one, let before):
      #expect(one.view != nil && one.track != before && subscriptions[one.id]?.track == before)
      #expect(one.track.map { tracks[$0] != nil } ?? true, "no dead track is shown")
      subscriptions[one.id]?.track = one.track
      check(one, wish: one.wish)
    case .swapSubscriptions(_, let a, let b):
      for one in [a, b] { check(one, wish: one.wish) }
      #expect(a.seat == b.seat && a.connection == b.connection && a.isAgreed == b.isAgreed)
      subscriptions[a.id]?.track = b.track
      subscriptions[b.id]?.track = a.track
    case .stream(.open(let seat, let stream, _)):
      #expect(seats[seat] != nil && streams[seat, default: []].insert(stream).inserted, "a stream is opened once")
    case .stream(.close(let seat, let stream)):
      #expect(streams[seat]?.remove(stream) != nil, "a stream is closed once")
    case .askMove, .askSilence, .negotiatePublish, .negotiateAnswer, .answerOffer, .stream(.negotiate),
      .stream(.answer):
      Issue.record("not for the ledger: \(effect)")
    }
  }

  /// An effect carries a subscription as it is, of which the media side keeps nothing.
  private func check(_ one: Subscription, wish: SubscriptionWish) {
    let known = subscriptions[one.id]
    #expect(known != nil && known?.seat == one.seat && known?.track == one.track && known?.wish == wish)
  }
}
