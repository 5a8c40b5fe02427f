// The calls of a phone: one session, the system's call screen, and push messages that wake the app.
import RoostClient
import RoostProtocol

/// The system's screen for calls: `CXProvider` of CallKit.
public protocol CallScreen: Sendable {
  /// Rings. It comes again for a call that rings already: a push message and the server may both tell of it.
  func ring(_ callId: String, from: String, isVideo: Bool) async
  /// Both talk.
  func connected(_ callId: String) async
  /// It is over, or rings here no more. It may come for a call that is not on the screen.
  func ended(_ callId: String, _ reason: Reason?) async
}

/// What an app does about calls. One lives as long as the app.
public actor PhoneCalls {
  private let url: String
  private let hello: HelloParams
  private let engine: any MediaEngine
  private let screen: any CallScreen
  private let options: SessionOptions
  private let tell: @Sendable (RoomMediaEvent) -> Void
  private var connecting: Task<RoostSession, any Error>?
  private var followed: Set<String> = []
  /// The call that one is in.
  private var current: (callId: String, media: RoomMedia)?

  /// It connects when it is told to, or when there is a call. `tell` hears of the media of the call that one is in. Where the server asks
  /// for tokens, `options.token` gets one for each session and the next in time; one in `hello` would be over some day.
  public init(
    _ url: String, _ hello: HelloParams, _ engine: any MediaEngine, _ screen: any CallScreen,
    options: SessionOptions = SessionOptions(), tell: @escaping @Sendable (RoomMediaEvent) -> Void = { _ in }
  ) {
    (self.url, self.hello, self.engine, self.screen) = (url, hello, engine, screen)
    (self.options, self.tell) = (options, tell)
  }

  /// The session, which is begun once: while it lives, calls ring by its socket.
  /// - Throws: `RoostError.unreachable`, or `.refused`.
  @discardableResult
  public func connect() async throws -> RoostSession {
    if let connecting { return try await connecting.value }
    let task = Task<RoostSession, any Error> {
      let session = try await RoostSession.connect(to: url, hello: hello, options: options)
      await listen(to: session)
      return session
    }
    connecting = task
    do {
      return try await task.value
    } catch {
      connecting = nil
      throw error
    }
  }

  // MARK: What the system tells

  /// A push message of type `ring` (docs/webhooks.md). iOS ends an app that takes one and shows no call, so the screen comes first.
  public func pushed(_ callId: String, from: String, isVideo: Bool) async {
    await screen.ring(callId, from: from, isVideo: isVideo)
    do {
      let call = try await connect().call(callId)
      let now = try await call.refresh()
      if await call.isRinging || current?.callId == callId { return await follow(call) }
      await screen.ended(callId, now.state == .ended ? now.reason : .answeredElsewhere)
    } catch {
      await screen.ended(callId, .disconnected)
    }
  }

  /// The user answers: `CXAnswerCallAction`.
  /// - Throws: `RoostError` with what became of the call instead; the engine's error where there is no microphone.
  public func answer(_ callId: String) async throws {
    let session = try await connect()
    let media = await session.call(callId).state?.media ?? .audio
    _ = try await enter(media) { try await $0.call(callId).accept() }
  }

  /// The user calls somebody: `CXStartCallAction`. The callId.
  /// - Throws: as `answer`.
  public func start(_ user: String, _ media: MediaClass) async throws -> String {
    try await enter(media) {
      try await $0.startCall(CallStartParams(to: [user], kind: .oneToOne, media: media)).room
    }
  }

  /// The user declines, gives up or hangs up: `CXEndCallAction`.
  public func end(_ callId: String) async throws {
    let call = try await connect().call(callId)
    if await call.isRinging {
      try await call.reject()
    } else if await call.state?.state == .ringing {
      try await call.cancel()
    } else {
      try await call.hangup()
    }
  }

  /// The user mutes: `CXSetMutedCallAction`.
  public func setMuted(_ callId: String, _ isMuted: Bool) async throws {
    if let current, current.callId == callId { try await current.media.setMuted(.audio, isMuted) }
  }

  // MARK: What the server tells

  private func listen(to session: RoostSession) async {
    let rings = await session.incomingCalls()
    Task { [weak self] in
      for await ring in rings { await self?.take(ring) }
      await self?.disconnected()
    }
  }

  /// The session has ended; the next call begins another one.
  private func disconnected() { connecting = nil }

  private func take(_ ring: IncomingCall) async {
    await screen.ring(ring.call.callId, from: ring.from, isVideo: ring.snapshot.media == .video)
    await follow(ring.call)
    try? await ring.call.ringing()
  }

  private func follow(_ call: CallSession) async {
    guard followed.insert(call.callId).inserted else { return }
    let updates = await call.updates()
    Task { [weak self] in
      var reason: Reason?
      for await update in updates {
        if case .callActive = update.event { await self?.screen.connected(call.callId) }
        // It rings on elsewhere, or not at all; or another device goes on with it.
        guard case .callStopped(let stopped) = update.event else { continue }
        reason = stopped.reason
        break
      }
      await self?.over(call, reason)
    }
  }

  private func over(_ call: CallSession, _ reason: Reason?) async {
    followed.remove(call.callId)
    if current?.callId == call.callId { await letGo() }
    var why = reason
    if why == nil { why = await call.state?.reason }
    await screen.ended(call.callId, why)
  }

  // MARK: Media

  private func enter(_ media: MediaClass, by entrance: RoomMedia.Entrance) async throws -> String {
    await current?.media.leave()
    let session = try await connect()
    let room = RoomMedia(session, engine) { [weak self, tell] event in
      tell(event)
      if case .failed = event { Task { await self?.fail() } }
    }
    let seat = try await room.enter(by: entrance) { try await $0.call(idOfCall(in: $1)).join() }
    let callId = idOfCall(in: seat.name)
    current = (callId, room)
    await follow(session.call(callId))
    do {
      try await room.publish(.audio)
    } catch {
      try? await end(callId)
      throw error
    }
    // Without a camera one talks all the same.
    do { if media == .video { try await room.publish(.video) } } catch { tell(.problem(error)) }
    return callId
  }

  private func letGo() async {
    let media = current?.media
    current = nil
    await media?.close()
  }

  /// Without media there is no call.
  private func fail() async {
    if let callId = current?.callId { try? await end(callId) }
  }
}

/// A call's room is called `call:` and its id.
private func idOfCall(in room: String) -> String { String(room.dropFirst("call:".count)) }
