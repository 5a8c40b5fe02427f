// One track as one seat receives it, as effects carry it.

import RoostProtocol

/// What is special about a view.
public struct ViewState: Hashable, Sendable {
  /// What it carries.
  public let kind: TrackKind
  /// It shows whoever speaks.
  public package(set) var follows = false
  /// The client has been told what it shows.
  public package(set) var isTold = true
  /// Tracks of the room in codecs that its client has not.
  package var unshowable: Set<TrackID> = []

  package init(kind: TrackKind) { self.kind = kind }
}

/// One track as one seat receives it, or a view, which shows one track after the other. It is kept in the conference alone; effects carry a copy of it as it is then.
public struct Subscription: Hashable, Sendable {
  /// Its number.
  public let id: SubscriptionID
  /// Who receives.
  public let seat: SeatID
  /// On which media connection of the seat.
  public let connection: MediaConnectionID
  /// What is received; nil for a view that shows nothing.
  public package(set) var track: TrackID?
  /// nil for a subscription to one track.
  public package(set) var view: ViewState?
  /// How the subscriber wants it.
  public package(set) var wish: SubscriptionWish
  /// Whether the client has accepted a line for it, so that a worker serves it.
  public package(set) var isAgreed = false
  /// Whether the worker sends nothing of it for now, because the receiver's line does not carry it.
  public package(set) var isHeldBack = false
  /// What is missing of its track; nil while something comes, or nothing is expected.
  public package(set) var missing: SubscriptionStep?

  package init(
    id: SubscriptionID, seat: SeatID, connection: MediaConnectionID, track: TrackID?, view: ViewState? = nil,
    wish: SubscriptionWish, isAgreed: Bool = false
  ) {
    (self.id, self.seat, self.connection) = (id, seat, connection)
    (self.track, self.view, self.wish, self.isAgreed) = (track, view, wish, isAgreed)
  }

  /// Says before it is kept whether the room leaves it out.
  package mutating func leaveOut(_ isLeftOut: Bool) { wish.isLeftOut = isLeftOut }

  /// Why nothing of it is sent for now, where that is not its receiver's wish.
  package var pauseReason: SubscriptionReason? {
    wish.isLeftOut ? .lastN : isHeldBack ? .bandwidth : missing == nil ? nil : .noMedia
  }
}
