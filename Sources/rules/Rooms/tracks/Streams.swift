// Streams: media connections that a front door opens beside a seat's first two, where its clients have one for each stream that they
// publish or play, and offer on all of them. What may be published and seen is decided as on the first two.
//
//   publish ─▶ open · negotiate ─▶ publishPrepared ─▶ tracks          play ─▶ open · views · answer ─▶ streamAnswered
//   close, or an offer that is refused ─▶ its tracks and views end ─▶ close

import Members
import RoostProtocol

/// The rules of streams.
enum Streams {
  // MARK: - Requests

  /// Serves one that its session has paid for. `limits`: what is taken of an offer to publish.
  static func serve(
    _ request: StreamRequest, _ key: RequestKey, _ limits: PublishLimits?, _ rooms: inout Seating, _ step: inout Step
  ) {
    do throws(ErrorObject) {
      let seat = try rooms.table.seat(of: key.session)
      if try perform(request, key, limits, seat, &rooms, &step) { step.answer(key, .success(.empty)) }
    } catch {
      step.refuse(request, key, error)
    }
  }

  /// Whether it is done; where not, the reply comes later.
  private static func perform(
    _ request: StreamRequest, _ key: RequestKey, _ limits: PublishLimits?, _ seat: Seat, _ rooms: inout Seating,
    _ step: inout Step
  ) throws(ErrorObject) -> Bool {
    switch request {
    case .publish(let stream, let params):
      try check(stream, seat, rooms)
      open(stream, .publish, seat, &rooms.table, &step)
      do throws(ErrorObject) {
        _ = try rooms.publishing.negotiate(params, key, on: stream, limits, rooms, &step)
      } catch {
        close(stream, of: seat.id, &rooms, &step)
        throw error
      }
      return false
    case .play(let stream, let tracks, let lines, let sdp):
      try check(stream, seat, rooms)
      try play(tracks, on: stream, lines, seat, &rooms, &step)
      step.add(.stream(.answer(key, seat.id, stream, sdp: sdp)))
      return false
    case .show(let stream, let tracks):
      try show(tracks, on: stream, seat, &rooms.media, rooms.table, &step)
      return true
    case .close(let stream):
      close(stream, of: seat.id, &rooms, &step)
      return true
    }
  }

  /// - Throws: 3003 for a name that is in use, 4003 beyond as many as a seat may have.
  private static func check(
    _ stream: MediaConnectionID, _ seat: Seat, _ rooms: Seating
  ) throws(ErrorObject) {
    guard stream.pc == nil, !seat.streams.contains(stream) else {
      throw ErrorObject(.invalidState, "There is a media connection of this name.")
    }
    let limit = rooms.rules.maxStreams
    guard seat.streams.count < limit else {
      throw .limit(.tooManyTracks, limit: limit, count: seat.streams.count + 1)
    }
  }

  private static func open(
    _ stream: MediaConnectionID, _ purpose: PeerConnection, _ seat: Seat, _ table: inout RoomTable,
    _ step: inout Step
  ) {
    table.update(seat.id) { $0.streams.insert(stream) }
    step.add(.stream(.open(seat.id, stream, purpose)))
  }

  // MARK: - Playing

  /// Opens the connection with a view for each line. All is looked at before anything is changed.
  private static func play(
    _ names: [String], on stream: MediaConnectionID, _ lines: [TrackKind], _ seat: Seat,
    _ rooms: inout Seating, _ step: inout Step
  ) throws(ErrorObject) {
    let tracks = try tracks(names, seat, rooms.media, rooms.table)
    guard lines.contains(where: { tracks[$0] != nil }) else { throw ErrorObject(.trackNotFound) }
    let limit = rooms.rules.maxViews
    let views = rooms.media[seat.id].views.count
    guard views + lines.count <= limit else {
      throw .limit(.tooManyTracks, limit: limit, count: views + lines.count)
    }
    open(stream, .subscribe, seat, &rooms.table, &step)
    for kind in lines {
      guard let seat = rooms.table.seats[seat.id] else { return }
      for view in Viewing.open(1, kind, on: seat, connection: stream, &rooms.media, rooms.table, &step) {
        Viewing.show(tracks[kind], on: view, &rooms.media, rooms.table, &step)
      }
    }
  }

  /// Lets a connection carry other tracks.
  private static func show(
    _ names: [String], on stream: MediaConnectionID, _ seat: Seat, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) throws(ErrorObject) {
    let tracks = try tracks(names, seat, media, table)
    let views = views(on: stream, of: seat, media)
    guard !views.isEmpty else { throw ErrorObject(.notSubscribed) }
    for view in views {
      guard let kind = view.view?.kind else { continue }
      Viewing.show(tracks[kind], on: view.id, &media, table, &step)
    }
  }

  /// - Throws: 4001 for a track that is not in the room, 1005 for one's own, or without the right to receive.
  private static func tracks(
    _ names: [String], _ seat: Seat, _ media: TrackTable, _ table: RoomTable
  ) throws(ErrorObject) -> [TrackKind: TrackID] {
    var tracks: [TrackKind: TrackID] = [:]
    for name in names {
      let track = try media.track(named: name, visibleFrom: seat)
      try Access.checkSubscribe(seat, to: track, table)
      tracks[track.wire.kind] = track.id
    }
    return tracks
  }

  static func views(
    on stream: MediaConnectionID, of seat: Seat, _ media: TrackTable
  ) -> [Subscription] {
    media[seat.id].views.compactMap { media.subscriptions[$0] }.filter { $0.connection == stream }
  }

  /// Replies with the server's answer. Where the client can decode none of what it wanted, there is no stream.
  static func answered(
    _ key: RequestKey, _ id: SeatID, _ stream: MediaConnectionID, _ result: Result<String, ErrorObject>,
    _ rooms: inout Seating, _ step: inout Step
  ) {
    do throws(ErrorObject) {
      let sdp = try result.get()
      guard let seat = rooms.table.seats[id], seat.streams.contains(stream) else { throw ErrorObject(.notJoined) }
      guard views(on: stream, of: seat, rooms.media).contains(where: { $0.track != nil }) else {
        throw ErrorObject(.noCommonCodec)
      }
      step.answer(key, .success(.published(PublishResult(sdp: sdp, tracks: []))))
    } catch {
      // One that was ended in the meantime was not refused.
      let isThere = rooms.table.seats[id]?.streams.contains(stream) == true
      step.warn(ifRefused: Result<Void, ErrorObject>.failure(error), of: isThere ? id : nil, rooms.table)
      close(stream, of: id, &rooms, &step)
      step.answer(key, .failure(error))
    }
  }

  // MARK: - The end

  /// Ends a connection with what it publishes and plays.
  static func close(
    _ stream: MediaConnectionID, of id: SeatID, _ rooms: inout Seating, _ step: inout Step
  ) {
    guard let seat = rooms.table.seats[id], seat.streams.contains(stream) else { return }
    for view in views(on: stream, of: seat, rooms.media) { Subscribing.remove(view.id, &rooms.media, &step) }
    let tracks = rooms.media.tracks(of: id).filter { $0.connection == stream }.map(\.id)
    for track in tracks { Publishing.end(track, &rooms.media, rooms.table, &step) }
    rooms.table.update(id) { $0.streams.remove(stream) }
    step.add(.stream(.close(id, stream)))
    rooms.mediaChanged(.ended, stream, of: id, &step)
    for track in tracks { Publishing.announceEnd(of: track, seat: id, rooms.table, &step) }
  }

  /// Tells the front door what has become of a connection that only it has a name for.
  static func tell(
    _ change: MediaChange, _ stream: MediaConnectionID, of id: SeatID, _ rooms: Seating, _ step: inout Step
  ) {
    guard stream.pc == nil, let session = rooms.table.seats[id]?.session else { return }
    step.tell(change, of: stream, to: session)
  }
}
