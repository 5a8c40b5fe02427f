// Views: subscriptions that are opened once and then shown one track after the other, or nothing. What they show is decided here.
//
//   view.show ─▶ a track, nothing, or whoever speaks ─┐
//   people speak, come, go, publish ──────────────────┴▶ show ─▶ MediaEffect.show ─▶ the first picture ─▶ view.changed

import Basics
import Members
import RoostProtocol

/// The rules of views. What there is of them is kept in `TrackTable`.
enum Viewing {
  // MARK: - Requests

  static func perform(
    _ request: ViewRequest, _ session: SessionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try table.seat(of: session)
    switch request {
    case .open(let params):
      let views = try open(params.count, params.kind ?? .video, seat, &media, table, &step)
      return .views(ViewOpenResult(views: views.map(\.description)))
    case .show(let params):
      try show(params.views, seat, &media, table, &step)
      return .empty
    }
  }

  /// Opens views that show nothing yet.
  /// - Throws: 3016 in a room without video, 1005 without the right to receive, 4003 beyond as many as a seat may have.
  private static func open(
    _ count: Int, _ kind: TrackKind, _ seat: Seat, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> [SubscriptionID] {
    if kind == .video, table[seat.room]?.effectiveMedia == .audio {
      throw ErrorObject(.mediaNotAllowed)
    }
    try Access.checkSubscribe(seat, table)
    let limit = media.mostViews
    let views = media[seat.id].views.count
    guard views + count <= limit else { throw .limit(.tooManyTracks, limit: limit, count: views + count) }
    return open(count, kind, on: seat, &media, table, &step)
  }

  /// Opens as many views as the seat may have; none where its user may not receive.
  @discardableResult
  static func open(
    _ count: Int, _ kind: TrackKind = .video, on seat: Seat, connection: MediaConnectionID = .subscribe,
    _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) -> [SubscriptionID] {
    guard Access.maySubscribe(seat, table) else { return [] }
    return (0..<min(count, media.mostViews - media[seat.id].views.count)).map { _ in
      let view = Subscription(
        id: SubscriptionID(step.makeNumber()), seat: seat.id, connection: connection, track: nil,
        view: ViewState(kind: kind),
        wish: SubscriptionWish())
      media.insert(view)
      step.add(.subscribe(view))
      return view.id
    }
  }

  /// Lets views show something else, all of them or none.
  private static func show(
    _ wishes: [ViewWish], _ seat: Seat, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) {
    var changes: [(view: SubscriptionID, track: TrackID?, follows: Bool)] = []
    for (index, wish) in wishes.enumerated() {
      changes.append(try check(wish, "views[\(index)]", seat, media, table))
    }
    for change in changes {
      media.setFollows(change.follows, change.view)
      if !change.follows { show(change.track, on: change.view, &media, table, &step) }
    }
    follow(seat.id, &media, table, &step)
  }

  /// - Throws: 4002 for what is no view of one's own, 4001 for a track that is not in the room, 1005 for one's own, −32602 for one of another kind.
  private static func check(
    _ wish: ViewWish, _ path: String, _ seat: Seat, _ media: TrackTable, _ table: RoomTable
  ) throws(ErrorObject) -> (view: SubscriptionID, track: TrackID?, follows: Bool) {
    guard let view = SubscriptionID(wire: wish.subscriptionId), media[seat.id].views.contains(view) else {
      throw ErrorObject(.notSubscribed, "This is no view of yours.") { $0.field = "\(path).subscriptionId" }
    }
    guard let name = wish.trackId else { return (view, nil, wish.follow != nil) }
    let track = try media.track(named: name, visibleFrom: seat)
    try Access.checkSubscribe(seat, to: track, table)
    let kind = media.subscriptions[view]?.view?.kind ?? .video
    guard track.wire.kind == kind else { throw .parameter("\(path).trackId", expected: "a track of \(kind.rawValue)") }
    return (view, track.id, false)
  }

  // MARK: - What they show

  /// Lets a view show a track, or nothing. Its client hears of it with the first picture.
  static func show(
    _ track: TrackID?, on id: SubscriptionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) {
    guard let before = media.subscriptions[id], before.track != track, let view = media.setShown(track, on: id)
    else { return }
    step.add(.show(view, before: before.track))
    if before.pauseReason == .noMedia { LastN.tell(view, table, &step) }
    tellWithoutPicture(id, &media, table, &step)
  }

  /// A track is over, and taken out: views show nothing in its place, or whom they follow next.
  static func ended(
    _ track: TrackID, on views: [SubscriptionID], _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) {
    var following: Set<SeatID> = []
    for id in views {
      guard let view = media.subscriptions[id] else { continue }
      if view.view?.follows == true { following.insert(view.seat) } else { show(nil, on: id, &media, table, &step) }
    }
    guard let room = following.first.flatMap({ table.seats[$0]?.room }) else { return }
    let people = People(of: room, media, table)
    for seat in following.sorted() { follow(people, seat, &media, table, &step) }
  }

  /// The client cannot decode what a view was to show. One that follows shows the next whom it can.
  static func cannotShow(_ id: SubscriptionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let before = media.subscriptions[id]?.track, let view = media.setShown(nil, on: id) else {
      return
    }
    media.setUnshowable(before, id)
    step.add(.show(view, before: before))
    if view.view?.follows == true { follow(view.seat, &media, table, &step) }
    if media.subscriptions[id]?.track == nil { tellShown(id, reason: .noCodec, &media, table, &step) }
  }

  // MARK: - Who speaks

  /// Who spoke last, or who of them can be seen, has changed in a room: views that follow show others, and so does a room that sends
  /// the video of few.
  static func speakersChanged(in room: RoomKey, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    let viewers = table.members(of: room).filter { !media[$0.id].views.isEmpty }
    if !viewers.isEmpty {
      let people = People(of: room, media, table)
      for seat in viewers { follow(people, seat.id, &media, table, &step) }
    }
    LastN.update(in: room, &media, table, &step)
  }

  private static func follow(_ id: SeatID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let room = table.seats[id]?.room else { return }
    follow(People(of: room, media, table), id, &media, table, &step)
  }

  private static func follow(
    _ people: People, _ id: SeatID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) {
    for kind in TrackKind.allCases { follow(people[kind], kind, id, &media, table, &step) }
  }

  /// A view keeps whom it shows for as long as they are among those to be shown, so that pictures do not dance.
  private static func follow(
    _ people: [PublishedTrack], _ kind: TrackKind, _ id: SeatID, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) {
    let carried = media[id]
    guard carried.viewKinds.contains(kind) else { return }
    let views = carried.views.compactMap { media.subscriptions[$0] }.filter { $0.view?.kind == kind }
    let following = views.filter { $0.view?.follows == true }
    guard !following.isEmpty else { return }
    let pinned = views.filter { $0.view?.follows == false }.compactMap(\.track)
    let unshowable = following.reduce(into: Set<TrackID>()) { $0.formUnion($1.view?.unshowable ?? []) }
    var wanted: [TrackID] = people.lazy.filter {
      $0.seat != id && !pinned.contains($0.id) && !unshowable.contains($0.id)
    }
    .prefix(following.count).map(\.id)
    var free: [SubscriptionID] = []
    for view in following {
      if let shown = view.track, let index = wanted.firstIndex(of: shown) {
        wanted.remove(at: index)
      } else {
        free.append(view.id)
      }
    }
    for view in free { show(wanted.isEmpty ? nil : wanted.removeFirst(), on: view, &media, table, &step) }
  }

  /// The cameras and microphones of a room, in the order in which views show them: of those who have spoken, the last first, then of the
  /// rest in the order of joining, those that are switched off last. Made once for all who follow.
  private struct People {
    private let cameras: [PublishedTrack]
    private let microphones: [PublishedTrack]

    init(of room: RoomKey, _ media: TrackTable, _ table: RoomTable) {
      let spoken = table[room]?.speaking.seats ?? []
      let silent = (table[room]?.members ?? []).filter { !media[$0].tracks.isEmpty && !spoken.contains($0) }
      func own(_ kind: TrackKind) -> [PublishedTrack] {
        func tracks(_ seats: [SeatID]) -> [PublishedTrack] {
          seats.compactMap { media.tracks(of: $0).first { $0.wire.isOfPerson(kind) } }
        }
        let rest = tracks(silent)
        return tracks(spoken) + rest.filter { !$0.wire.muted } + rest.filter(\.wire.muted)
      }
      (cameras, microphones) = (own(.video), own(.audio))
    }

    subscript(kind: TrackKind) -> [PublishedTrack] { kind == .video ? cameras : microphones }
  }

  // MARK: - Telling

  /// The first picture of what a view shows has left.
  static func started(
    _ id: SubscriptionID, _ track: TrackID, timestamp: UInt32, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) {
    guard let view = media.subscriptions[id], view.track == track, view.view?.isTold == false else { return }
    tellShown(id, timestamp: timestamp, &media, table, &step)
  }

  /// Tells at once what a view shows where no picture of it is to be expected now: it shows nothing, or something that is muted,
  /// paused, held back, or does not come.
  static func tellWithoutPicture(
    _ id: SubscriptionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) {
    guard let view = media.subscriptions[id], view.view?.isTold == false else { return }
    let isMuted = view.track.flatMap { media.tracks[$0]?.wire.muted } ?? true
    if isMuted || view.wish.sendsNothing || view.isHeldBack || view.missing != nil {
      tellShown(id, &media, table, &step)
    }
  }

  /// The same of all views that show a track.
  static func muted(_ track: PublishedTrack, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    for view in track.id.viewers(media, among: table[track.room]?.members ?? []) {
      tellWithoutPicture(view, &media, table, &step)
    }
  }

  /// Tells a client that has lost events what its views show.
  static func tellAll(of id: SeatID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    for view in media[id].views { tellShown(view, &media, table, &step) }
  }

  private static func tellShown(
    _ id: SubscriptionID, timestamp: UInt32? = nil, reason: SubscriptionReason? = nil, _ media: inout TrackTable,
    _ table: RoomTable,
    _ step: inout Step
  ) {
    guard let view = media.setTold(id), let session = table.seats[view.seat]?.session else { return }
    let owner = view.track.flatMap { media.tracks[$0] }.flatMap { table.seats[$0.seat] }
    let event = ViewChanged(
      subscriptionId: "\(id)", trackId: view.track.map(\.description),
      participantId: owner.map { "\($0.participant)" }, rtpTimestamp: timestamp, reason: reason)
    step.tell(.viewChanged(event), to: session)
  }
}
