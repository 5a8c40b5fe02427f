// A room with sound and pictures, as room.js has it in JavaScript: takes a seat, keeps its media alive, and comes back.
import RoostClient
import RoostProtocol

/// What an app may want to show of a room's media.
public enum RoomMediaEvent: Sendable {
  /// How one of the two connections fares.
  case state(PeerConnection, MediaState)
  /// What comes now, and whose it is: all of it, after each offer.
  case tracks([OfferedTrack])
  /// One of the two connections is over for good. Leave the room and join it again.
  case failed(MediaEvent)
  /// Something was refused that nobody waits for, such as a restart of ICE.
  case problem(any Error)
  /// The seat is gone: somebody put one out, the room was closed, or the session has ended.
  case over
}

/// A room that one sits in, with its media.
///
///     let media = RoomMedia(session, engine) { event in print(event) }
///     try await media.join(RoomJoinParams(room: "demo"))
///     try await media.publish(.audio)
///     try await media.setMuted(.audio, true)
///     await media.leave()
public actor RoomMedia {
  /// Takes a seat, such as by joining a room or answering a call.
  public typealias Entrance = @Sendable (RoostSession) async throws -> RoomSession
  /// Takes the seat in the room of this name again, in a new session.
  public typealias Return = @Sendable (RoostSession, _ room: String) async throws -> RoomSession

  /// The room; nil while one has no seat.
  public private(set) var room: RoomSession?
  private let session: RoostSession
  private let engine: any MediaEngine
  private let tell: @Sendable (RoomMediaEvent) -> Void
  private var seat: SeatMedia?
  private var published: [TrackKind] = []
  private var muted: Set<TrackKind> = []
  private var goBack: Return?
  private var reader: Task<Void, Never>?

  /// Media of the rooms that are entered with it, one at a time. `tell` is called in the order of what happens, from any thread.
  public init(
    _ session: RoostSession, _ engine: any MediaEngine, tell: @escaping @Sendable (RoomMediaEvent) -> Void
  ) {
    (self.session, self.engine, self.tell) = (session, engine, tell)
  }

  deinit { reader?.cancel() }

  // MARK: Coming and going

  /// Joins a room by name, and leaves the one of before.
  /// - Throws: `RoostError`: 2002 ROOM_FULL and so on.
  @discardableResult
  public func join(_ params: RoomJoinParams) async throws -> RoomSession {
    try await enter {
      try await $0.join(params)
    } again: { session, _ in
      try await session.join(params)
    }
  }

  /// Takes a seat, and leaves the one of before. It receives from now on; `publish` sends.
  /// - Parameter again: takes the seat anew when the server has forgotten the session.
  @discardableResult
  public func enter(by entrance: Entrance, again: @escaping Return) async throws -> RoomSession {
    await leave()
    (published, muted) = ([], [])
    // Before there is a seat: the server's first offer comes right behind it.
    let events = await session.events()
    let room = try await entrance(session)
    goBack = again
    await sit(in: room)
    reader = Task { [weak self] in
      for await event in events {
        guard let self else { return }
        await self.take(event)
      }
    }
    return room
  }

  /// Leaves the room; in a call that is to hang up.
  public func leave() async {
    guard let room else { return }
    async let left: Void? = try? await room.leave()
    await close()
    _ = await left
  }

  /// Ends the media of a seat that is given up elsewhere.
  public func close() async {
    let seat = self.seat
    reader?.cancel()
    (reader, self.seat, room) = (nil, nil, nil)
    await seat?.close()
  }

  private func sit(in room: RoomSession) async {
    self.room = room
    seat = SeatMedia(room, engine, await session.hello.iceServers, muted: muted, tell: tell)
  }

  // MARK: Sending

  /// Opens the microphone or the camera, and publishes it.
  /// - Throws: the engine's errors (no device, not allowed); `RoostError`: 3016 MEDIA_NOT_ALLOWED for pictures in an audio room, 4003, 4004.
  public func publish(_ kind: TrackKind) async throws {
    guard let seat else { throw RoostError.refused(ErrorObject(.notJoined)) }
    guard !published.contains(kind) else { return }
    published.append(kind)
    do {
      try await seat.publish(kind)
    } catch {
      // The session was lost meanwhile: the next one publishes it.
      if error.isGone { return }
      published.removeAll { $0 == kind }
      throw error
    }
  }

  /// Mutes or unmutes what is published, or will be.
  /// - Throws: `RoostError`: 1005 where a moderator does not let one speak. It stays muted then.
  public func setMuted(_ kind: TrackKind, _ isMuted: Bool) async throws {
    if isMuted { muted.insert(kind) } else { muted.remove(kind) }
    do {
      try await seat?.setMuted(kind, isMuted)
    } catch {
      // The next session publishes it so.
      if error.isGone { return }
      if !isMuted { try? await setMuted(kind, true) }
      throw error
    }
  }

  // MARK: What the session tells

  private func take(_ event: SessionEvent) async {
    switch event {
    case .event(let message): await take(message.event)
    // The socket was away, perhaps with the network that media took.
    case .resumed: await restart()
    case .resynced(let resync): if resync.room?.room == room?.name { await restart() } else { await end() }
    case .restarted: await comeBack()
    case .ended: await end()
    case .reconnecting: break
    }
  }

  private func take(_ event: Event) async {
    switch event {
    case .pcOffer(let offer): await seat?.take(offer)
    case .mediaFailed(let failure):
      switch failure.step {
      case .dtls: tell(.failed(failure))
      // The connection is up, and what is sent on it finds no track: another path mends nothing.
      case .route:
        tell(.problem(RoostError.refused(ErrorObject(.transportFailed, failure.reason ?? "") { $0.step = .route })))
      default: await seat?.restart(failure.pc)
      }
    case .roomClosed(let closed): if closed.room == room?.name { await end() }
    default: break
    }
  }

  private func restart() async {
    for side in PeerConnection.allCases { await seat?.restart(side) }
  }

  /// The server has forgotten the session, and its seat with it.
  private func comeBack() async {
    guard let name = room?.name, let goBack else { return }
    await seat?.close()
    do {
      let room = try await insist { [session] in try await goBack(session, name) }
      // It was left meanwhile.
      if Task.isCancelled { return try await room.leave() }
      await sit(in: room)
      for kind in published { try await seat?.publish(kind) }
    } catch {
      // Lost once more: what the session tells next says how it goes on.
      if error.isGone { return }
      tell(.problem(error))
      if await session.snapshot(of: name) == nil { await end() }
    }
  }

  private func end() async {
    guard room != nil else { return }
    await close()
    tell(.over)
  }
}
