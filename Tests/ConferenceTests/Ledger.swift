// The media side as a ledger: everything is opened once, closed once, and never used after.

import RoostProtocol
import Testing

@testable import Conference

/// What the core has told the media side.
struct Ledger {
  var seats: [SeatID: RoomKey] = [:]
  var tracks: [TrackID: SeatID] = [:]
  var muted: Set<TrackID> = []
  var subscriptions: [SubscriptionID: (seat: SeatID, track: TrackID, wish: SubscriptionWish)] = [:]
  var negotiating: Set<SeatID> = []
  var restarts: [SeatID] = []
  private var everSeats: Set<SeatID> = []

  mutating func apply(_ effect: MediaEffect) {
    switch effect {
    case .openSeat(let seat, let room, _, _):
      #expect(everSeats.insert(seat).inserted, "a seat is opened once")
      seats[seat] = room
    case .closeSeat(let seat):
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
    case .subscribe(let id, let seat, let track, let wish):
      #expect(seats[seat] != nil && tracks[track] != nil, "no subscription to a dead track")
      #expect(subscriptions.updateValue((seat, track, wish), forKey: id) == nil)
    case .unsubscribe(let id): #expect(subscriptions.removeValue(forKey: id) != nil, "a subscription ends once")
    case .updateSubscription(let id, let wish):
      #expect(subscriptions[id] != nil)
      subscriptions[id]?.wish = wish
    case .swapSubscriptions(_, let a, let b):
      let first = subscriptions[a]?.track
      let second = subscriptions[b]?.track
      #expect(first != nil && second != nil)
      if let second { subscriptions[a]?.track = second }
      if let first { subscriptions[b]?.track = first }
    case .negotiatePublish, .negotiateAnswer: Issue.record("not for the ledger: \(effect)")
    }
  }
}
