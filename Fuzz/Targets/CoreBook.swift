// What the conference has told the media side, as a book in which everything is opened once, closed once and not used after.
import Members
import RoostProtocol

struct CoreBook {
  private(set) var seats: [SeatID: RoomKey] = [:]
  private(set) var tracks: [TrackID: SeatID] = [:]
  private(set) var subscriptions: [SubscriptionID: SeatID] = [:]
  /// Subscriptions whose line has been accepted, and that are sent.
  private(set) var running: Set<SubscriptionID> = []
  private var closed: Set<SeatID> = []

  /// Seats in the room that has most.
  var fullest: Int { Dictionary(grouping: seats.values) { $0 }.values.map(\.count).max() ?? 0 }

  mutating func note(_ effect: MediaEffect) {
    switch effect {
    case .openSeat(let seat, let room, _, _, _, _, _):
      precondition(seats.updateValue(room, forKey: seat) == nil && !closed.contains(seat), "a seat is opened once")
    case .closeSeat(let seat):
      precondition(seats.removeValue(forKey: seat) != nil && closed.insert(seat).inserted, "a seat is closed once")
      precondition(!tracks.values.contains(seat), "its tracks were closed before")
      precondition(!subscriptions.values.contains(seat), "its subscriptions were closed before")
    case .moveSeat(let seat, let room, _, _):
      precondition(seats.updateValue(room, forKey: seat) != nil, "who is moved has a seat")
    case .closeRoom(let room): precondition(!seats.values.contains(room), "a room closes after its seats")
    case .commitPublish(_, let seat, let committed):
      precondition(seats[seat] != nil, "tracks are of a seat")
      for track in committed {
        precondition(tracks.updateValue(seat, forKey: track.track) == nil, "a track begins once")
      }
    case .setMuted(let track, _): precondition(tracks[track] != nil, "what is muted is there")
    case .closeTrack(let track): precondition(tracks.removeValue(forKey: track) != nil, "a track ends once")
    case .subscribe(let one):
      precondition(seats[one.seat] != nil, "a subscription is of a seat")
      precondition(one.track.map { tracks[$0] != nil } ?? true, "and of a track that is there")
      precondition(subscriptions.updateValue(one.seat, forKey: one.id) == nil, "it begins once")
    case .startSubscription(let one):
      precondition(subscriptions[one.id] != nil && running.insert(one.id).inserted, "it starts once")
    case .unsubscribe(let one):
      running.remove(one.id)
      precondition(subscriptions.removeValue(forKey: one.id) != nil, "it ends once")
    case .updateSubscription(let one, _), .offerCodecs(let one), .show(let one, _):
      precondition(subscriptions[one.id] != nil, "what changes is there")
    case .restartICE(let seat), .discardPublish(_, let seat), .negotiatePublish(_, let seat, _, _),
      .negotiateAnswer(_, let seat, _, _), .answerOffer(_, let seat, _),
      .askSilence(_, let seat), .askMove(let seat, _):
      precondition(seats[seat] != nil, "the seat is there")
    case .swapSubscriptions(_, let a, let b):
      precondition(a.seat == b.seat && subscriptions[a.id] != nil && subscriptions[b.id] != nil, "both are one's own")
    case .stream: preconditionFailure("streams are of other doors")
    }
  }
}
