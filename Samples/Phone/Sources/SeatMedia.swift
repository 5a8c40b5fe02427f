// The two peer connections of a seat, as peers.js has them in JavaScript: the client offers on the one that it publishes on, the server
// on the one that it subscribes on (docs/protocol.md, "Media").
import RoostClient
import RoostProtocol

/// Sound and pictures of one seat. The next seat has new connections.
actor SeatMedia {
  private let room: RoomSession
  private let engine: any MediaEngine
  private let servers: [ICEServer]
  private let tell: @Sendable (RoomMediaEvent) -> Void
  private var publishing: (any MediaConnection)?
  private var subscribing: (any MediaConnection)?
  private var trackIds: [TrackKind: String] = [:]
  private var muted: Set<TrackKind>
  private var latest: Task<Void, any Error>?
  private var restarting: Set<PeerConnection> = []
  private var isClosed = false

  init(
    _ room: RoomSession, _ engine: any MediaEngine, _ servers: [ICEServer], muted: Set<TrackKind>,
    tell: @escaping @Sendable (RoomMediaEvent) -> Void
  ) {
    (self.room, self.engine, self.servers, self.muted, self.tell) = (room, engine, servers, muted, tell)
  }

  /// Ends both connections.
  func close() async {
    isClosed = true
    await publishing?.close()
    await subscribing?.close()
  }

  private func connect(_ side: PeerConnection) throws -> any MediaConnection {
    try engine.makeConnection(servers) { [weak self, tell] state in
      tell(.state(side, state))
      if state == .disconnected || state == .failed { Task { await self?.restart(side) } }
    }
  }

  // MARK: Publishing

  func publish(_ kind: TrackKind) async throws {
    try await inTurn { seat in
      let connection = try seat.publishing ?? seat.connect(.publish)
      seat.publishing = connection
      do {
        try await connection.send(kind)
        await connection.setSending(kind, !seat.muted.contains(kind))
        try await seat.negotiate()
      } catch {
        // With a line that was refused every later offer would be refused.
        await connection.drop(kind)
        throw error
      }
    }
  }

  /// Here at once, and then at the server, which forwards nothing of a muted track whatever comes.
  func setMuted(_ kind: TrackKind, _ isMuted: Bool) async throws {
    if isMuted { muted.insert(kind) } else { muted.remove(kind) }
    await publishing?.setSending(kind, !isMuted)
    try await inTurn { seat in
      // What is not published yet says it in its offer.
      guard let trackId = seat.trackIds[kind] else { return }
      try await seat.ask { [room = seat.room] in try await room.setMuted(trackId, isMuted) }
    }
  }

  private func negotiate(restartingICE: Bool = false) async throws {
    guard let publishing else { return }
    let (sdp, lines) = try await publishing.offer(restartingICE: restartingICE)
    let tracks = lines.map { announcement($0) }
    let result = try await ask { [room] in try await room.publish(sdp: sdp, tracks: tracks) }
    try await publishing.take(answer: result.sdp)
    for line in lines { trackIds[line.kind] = result.tracks.first { $0.mid == line.mid }?.trackId }
    if let declined = result.refused.first { throw RoostError.refused(declined.error) }
  }

  private func announcement(_ line: SentLine) -> AnnouncedTrack {
    let source: TrackSource = line.kind == .audio ? .microphone : .camera
    return AnnouncedTrack(
      mid: line.mid, kind: line.kind, label: source.rawValue, source: source, muted: muted.contains(line.kind))
  }

  /// One after the other: the server takes the next offer when it has answered this one.
  private func inTurn(_ job: @escaping @Sendable (isolated SeatMedia) async throws -> Void) async throws {
    let before = latest
    let task = Task {
      _ = await before?.result
      if isClosed { throw RoostError.cancelled }
      try await job(self)
    }
    latest = task
    try await task.value
  }

  // MARK: Subscribing

  /// Answers the server's offer. It makes no other one before that, so these come one after the other.
  func take(_ offer: SubscribeOffer) async {
    guard !isClosed else { return }
    do {
      let connection = try subscribing ?? connect(.subscribe)
      subscribing = connection
      let sdp = try await connection.answer(offer.sdp)
      await connection.show(offer.tracks)
      tell(.tracks(offer.tracks))
      try await ask { [room] in try await room.answer(offerId: offer.offerId, sdp: sdp) }
    } catch let error as RoostError where error.refusal?.code == .invalidState {
      // An answer that seemed lost had been taken.
    } catch {
      report(error)
    }
  }

  // MARK: Another network

  /// Restarts ICE on one of the two, once at a time. What flows goes on meanwhile.
  func restart(_ side: PeerConnection) async {
    let connection = side == .publish ? publishing : subscribing
    guard !isClosed, connection != nil, restarting.insert(side).inserted else { return }
    defer { restarting.remove(side) }
    do {
      switch side {
      case .publish: try await inTurn { try await $0.negotiate(restartingICE: true) }
      case .subscribe: try await ask { [room] in try await room.restartSubscribe() }
      }
    } catch {
      report(error)
    }
  }

  // MARK: Requests

  /// Insists while the seat is there. In the next one these requests would mean another connection.
  private func ask<T: Sendable>(_ request: @Sendable () async throws -> T) async throws -> T {
    try await insist {
      if await isClosed { throw RoostError.cancelled }
      return try await request()
    }
  }

  /// Tells what nobody waits for.
  private func report(_ error: any Error) {
    if !isClosed, !error.isGone { tell(.problem(error)) }
  }
}

/// Asks again as long as that may help: the server is busy, or no reply came in time.
func insist<T: Sendable>(_ request: @Sendable () async throws -> T) async throws -> T {
  while true {
    do {
      return try await request()
    } catch let error as RoostError where error.isForNow {
      try await Task.sleep(for: .milliseconds(error.refusal?.data.retryAfterMs ?? 500))
    }
  }
}

extension Error {
  /// Whether there is no such seat or session any more, which is told by itself.
  var isGone: Bool {
    guard let error = self as? RoostError else { return false }
    return switch error {
    case .closed, .cancelled: true
    case .refused, .timedOut, .unreachable, .unexpectedReply: false
    }
  }
}

extension RoostError {
  /// Whether the same request may succeed later. Where a connection has failed for good (4006) it does not, whatever is said.
  fileprivate var isForNow: Bool {
    switch self {
    case .refused(let error): error.data.retryable && error.code != .transportFailed
    case .timedOut: true
    case .unreachable, .closed, .cancelled, .unexpectedReply: false
    }
  }
}
