// What everybody publishes and receives. Nobody else writes what ties these to each other, so that a track is in its seat's list, and a
// subscription in its seat's by its track.

import Basics
import Members
import RoostProtocol

/// One published track.
struct PublishedTrack: Sendable {
  let id: TrackID
  let seat: SeatID
  /// In which room.
  fileprivate(set) var room: RoomKey
  /// On which media connection of the seat it comes.
  let connection: MediaConnectionID
  /// Its media line.
  let mid: String
  /// As others see it.
  fileprivate(set) var wire: Track
  /// The simulcast layers that its publisher was asked for last; nil while that is all of them from the beginning.
  fileprivate(set) var askedFor: [Int]?
}

/// What one seat publishes and receives.
struct Carried: Sendable {
  /// What it publishes, oldest first.
  fileprivate(set) var tracks: [TrackID] = []
  /// What it receives, by track.
  fileprivate(set) var subscriptions: [TrackID: SubscriptionID] = [:]
  /// Its views, in the order of opening.
  fileprivate(set) var views: [SubscriptionID] = []
  /// What they are for.
  fileprivate(set) var viewKinds: Set<TrackKind> = []

  /// All that it receives, in order.
  var received: [SubscriptionID] { (subscriptions.values + views).sorted() }
}

/// The tracks there are, and who receives them.
struct TrackTable: Sendable {
  private(set) var tracks: [TrackID: PublishedTrack] = [:]
  private(set) var subscriptions: [SubscriptionID: Subscription] = [:]
  private(set) var carried: [SeatID: Carried] = [:]
  /// By room, whose video is sent where not everybody's is: one more than the rules say, for those among them.
  private(set) var loudest: [RoomKey: [SeatID]] = [:]
  /// Subscriptions of a seat that are no views.
  let mostSubscriptions: Int
  /// Views of a seat.
  let mostViews: Int

  init(_ rules: ConferenceRules) {
    (mostSubscriptions, mostViews) = (rules.maxSubscriptions, rules.maxViews)
  }

  /// What a seat publishes and receives.
  subscript(_ seat: SeatID) -> Carried { carried[seat] ?? Carried() }

  /// A seat is gone, and all that it carried.
  mutating func forget(_ seat: SeatID) { carried[seat] = nil }

  /// Whose video is sent in a room now; nil where the room is gone.
  mutating func setLoudest(_ seats: [SeatID]?, in room: RoomKey) { loudest[room] = seats }

  // MARK: - Tracks

  mutating func insert(_ track: PublishedTrack) {
    tracks[track.id] = track
    carried[track.seat, default: Carried()].tracks.append(track.id)
  }

  /// Takes a track out, whose subscriptions are gone.
  mutating func remove(_ id: TrackID) {
    guard let track = tracks.removeValue(forKey: id) else { return }
    carried[track.seat]?.tracks.removeAll { $0 == id }
  }

  /// A track that nobody receives goes on in another room.
  mutating func move(_ id: TrackID, to room: RoomKey) { tracks[id]?.room = room }

  mutating func setMuted(_ isMuted: Bool, _ id: TrackID) { tracks[id]?.wire.muted = isMuted }

  /// The tracks of a seat, oldest first.
  func tracks(of seat: SeatID) -> [PublishedTrack] {
    (carried[seat]?.tracks ?? []).compactMap { tracks[$0] }
  }

  /// The track of this name in the seat's room.
  /// - Throws: 4001.
  func track(named name: String, visibleFrom seat: Seat) throws(ErrorObject) -> PublishedTrack {
    guard let track = TrackID(wire: name).flatMap({ tracks[$0] }), track.room == seat.room else {
      throw ErrorObject(.trackNotFound)
    }
    return track
  }

  // MARK: - Subscriptions

  mutating func insert(_ subscription: Subscription) {
    subscriptions[subscription.id] = subscription
    if let view = subscription.view {
      carried[subscription.seat, default: Carried()].views.append(subscription.id)
      carried[subscription.seat]?.viewKinds.insert(view.kind)
    } else if let track = subscription.track {
      carried[subscription.seat, default: Carried()].subscriptions[track] = subscription.id
    }
  }

  /// Takes a subscription out; nil where there is none.
  mutating func remove(_ id: SubscriptionID) -> Subscription? {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return nil }
    if subscription.view != nil {
      carried[subscription.seat]?.views.removeAll { $0 == id }
      let left =
        carried[subscription.seat]?.views.compactMap { subscriptions[$0]?.view?.kind } ?? []
      carried[subscription.seat]?.viewKinds = Set(left)
    } else if let track = subscription.track {
      carried[subscription.seat]?.subscriptions[track] = nil
    }
    return subscription
  }

  /// The view as it is now; nil where it is gone. Its client has yet to be told.
  mutating func setShown(_ track: TrackID?, on id: SubscriptionID) -> Subscription? {
    subscriptions[id]?.track = track
    subscriptions[id]?.missing = nil
    subscriptions[id]?.view?.isTold = false
    return subscriptions[id]
  }

  mutating func setFollows(_ follows: Bool, _ id: SubscriptionID) {
    subscriptions[id]?.view?.follows = follows
  }

  /// Notes that a view cannot show a track. Those that are over are forgotten.
  mutating func setUnshowable(_ track: TrackID, _ id: SubscriptionID) {
    let before = subscriptions[id]?.view?.unshowable ?? []
    subscriptions[id]?.view?.unshowable = before.filter { tracks[$0] != nil }.union([track])
  }

  /// The view as it is now; nil where it is gone.
  mutating func setTold(_ id: SubscriptionID) -> Subscription? {
    subscriptions[id]?.view?.isTold = true
    return subscriptions[id]
  }

  /// The subscription as it is now; nil where it is gone.
  mutating func setWish(_ wish: SubscriptionWish, of id: SubscriptionID) -> Subscription? {
    subscriptions[id]?.wish = wish
    return subscriptions[id]
  }

  /// The subscription as it is now; nil where it is gone.
  mutating func setAgreed(_ id: SubscriptionID) -> Subscription? {
    subscriptions[id]?.isAgreed = true
    return subscriptions[id]
  }

  /// Notes which layers of a track its publisher is asked for. Whose it is; nil where it is gone, or was asked so last.
  mutating func setAskedFor(_ layers: [Int], of id: TrackID) -> SeatID? {
    guard let track = tracks[id], track.askedFor != layers else { return nil }
    tracks[id]?.askedFor = layers
    return track.seat
  }

  /// Whether that is news.
  mutating func setHeldBack(_ isHeldBack: Bool, _ id: SubscriptionID) -> Bool {
    guard subscriptions[id]?.isHeldBack != isHeldBack else { return false }
    subscriptions[id]?.isHeldBack = isHeldBack
    return true
  }

  /// Whether that is news. Only what is expected can be missing: nothing of another track than the one that is sent, nor of a muted one.
  mutating func setMissing(_ step: SubscriptionStep?, of track: TrackID, _ id: SubscriptionID)
    -> Bool
  {
    guard let one = subscriptions[id], one.track == track, one.missing != step else { return false }
    if step != nil && tracks[track]?.wire.muted != false { return false }
    subscriptions[id]?.missing = step
    return true
  }

  /// Lets two subscriptions of a seat carry each other's track.
  mutating func exchange(_ first: SubscriptionID, _ second: SubscriptionID) {
    guard let a = subscriptions[first], let b = subscriptions[second], let left = a.track,
      let right = b.track
    else {
      return
    }
    subscriptions[first]?.track = right
    subscriptions[second]?.track = left
    for id in [first, second] { subscriptions[id]?.missing = nil }
    carried[a.seat]?.subscriptions[right] = first
    carried[b.seat]?.subscriptions[left] = second
  }
}

extension TrackID {
  /// Who receives it: those of these seats that have subscribed to it.
  func subscribers(_ media: TrackTable, among seats: [SeatID]) -> [SubscriptionID] {
    seats.compactMap { media.carried[$0]?.subscriptions[self] }.sorted()
  }

  /// The views of these seats that show it.
  func viewers(_ media: TrackTable, among seats: [SeatID]) -> [SubscriptionID] {
    seats.flatMap { media.carried[$0]?.views ?? [] }.filter { media.subscriptions[$0]?.track == self }
  }
}
