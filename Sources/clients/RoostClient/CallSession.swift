// One call, with what one can do with it. Media goes through its room, as in a room that was joined by name.
import RoostProtocol

/// A call that one has started, that rings here, or that one was ever in.
///
///     for await ring in await session.incomingCalls() {
///       try await ring.call.ringing()
///       let room = try await ring.call.accept(media: .audio)
///       for await update in await ring.call.updates() { print(update.call.state, update.call.members) }
///     }
///
/// The commands succeed when what they want is so already: hanging up twice, cancelling a call that is over.
public struct CallSession: Sendable {
  /// The session it belongs to.
  public let session: RoostSession
  /// Names the call.
  public let callId: String

  /// The call as it is now: state, kind, media, members, `rev`. Kept by every event, right again after a reconnect, and
  /// still there after the end. nil when nothing of it was ever heard: see `refresh`.
  public var state: Call? {
    get async { await session.knownCall(callId) }
  }

  /// Whether it rings on this device.
  public var isRinging: Bool {
    get async { await session.isRinging(callId) }
  }

  /// The room of the call while one is in it: mute, chat, tracks and session descriptions.
  public var room: RoomSession? {
    get async {
      let name = "call:\(callId)"
      guard let snapshot = await session.snapshot(of: name) else { return nil }
      return RoomSession(session: session, name: name, selfId: snapshot.selfId)
    }
  }

  /// A new stream of the call's changes from now on; it ends with the call. One who reads too slowly misses the oldest,
  /// and each update has the whole call.
  public func updates() async -> AsyncStream<CallUpdate> { await session.updates(of: callId) }

  // MARK: Being called

  /// Tells the caller that this device rings.
  public func ringing() async throws(RoostError) {
    _ = try await session.request(.call(.ringing(CallParams(callId: callId))))
  }

  /// Answers. One who is in another call leaves it in the same step.
  /// - Parameters:
  ///   - media: `.audio` to answer a video call with the voice alone.
  ///   - metadata: what to tell the others of oneself, as in `RoomJoinParams`.
  ///   - autoSubscribe: false to receive only what one subscribes to.
  /// - Throws: `.refused` with what became of it instead: 3002 CALL_ENDED, 3004 ANSWERED_ELSEWHERE …
  @discardableResult
  public func accept(
    media: MediaClass? = nil, push: RawJSON? = nil, metadata: RawJSON? = nil, autoSubscribe: Bool? = nil
  ) async throws(RoostError) -> RoomSession {
    try await enter(
      .call(
        .accept(
          CallAcceptParams(
            callId: callId, media: media, push: push, metadata: metadata, autoSubscribe: autoSubscribe))))
  }

  /// Declines, on all of one's devices; or (`.thisDevice`) stops ringing here, and tells nobody.
  @discardableResult
  public func reject(
    reason: Reason? = nil, text: String? = nil, scope: RejectScope? = nil, push: RawJSON? = nil
  ) async throws(RoostError) -> Call {
    let call = try await changed(
      .call(.reject(CallRejectParams(callId: callId, reason: reason, text: text, scope: scope, push: push))))
    if scope == .thisDevice { await session.silence(callId) }
    return call
  }

  // MARK: Calling

  /// Gives up a call that nobody has answered.
  @discardableResult
  public func cancel(push: RawJSON? = nil) async throws(RoostError) -> Call {
    try await changed(.call(.cancel(CallCancelParams(callId: callId, push: push))))
  }

  // MARK: In the call

  /// Hangs up: a call between two ends, a group goes on.
  @discardableResult
  public func hangup(reason: Reason? = nil, text: String? = nil, push: RawJSON? = nil) async throws(RoostError)
    -> Call
  {
    try await changed(.call(.hangup(CallHangupParams(callId: callId, reason: reason, text: text, push: push))))
  }

  /// Rings more people. A call between two becomes a group when the first of them joins. Who is in another call rings beside it, unless
  /// `busyPolicy` is `reject`.
  /// - Throws: `.refused` with 3013 CALL_FULL when not all of them have a seat: nobody is rung then.
  @discardableResult
  public func invite(
    _ users: [String], extra: RawJSON? = nil, push: RawJSON? = nil, ringTimeout: Duration? = nil,
    busyPolicy: BusyPolicy? = nil
  ) async throws(RoostError) -> CallInviteResult {
    let params = CallInviteParams(
      callId: callId, users: users, extra: extra, push: push, ringTimeoutMs: ringTimeout?.wholeMilliseconds,
      busyPolicy: busyPolicy)
    guard case .callInvited(let result) = try await session.request(.call(.invite(params))) else {
      throw .unexpectedReply(.callInvite)
    }
    return result
  }

  /// Stops ringing people.
  public func cancelInvite(_ users: [String]) async throws(RoostError) {
    _ = try await session.request(.call(.cancelInvite(CallCancelInviteParams(callId: callId, users: users))))
  }

  /// Joins a running group, or comes back to it. `metadata` and `autoSubscribe` are those of `accept`.
  /// - Throws: `.refused` with 3013 CALL_FULL, 3002 CALL_ENDED, 3007 NOT_INVITED, 2004 ALREADY_JOINED on another device …
  @discardableResult
  public func join(
    media: MediaClass? = nil, metadata: RawJSON? = nil, autoSubscribe: Bool? = nil
  ) async throws(RoostError) -> RoomSession {
    try await enter(
      .call(.join(CallJoinParams(callId: callId, media: media, metadata: metadata, autoSubscribe: autoSubscribe))))
  }

  /// Goes on with the call on this device: takes the seat that another of one's devices has, and the others notice nothing.
  /// - Parameter resumeToken: that device's, where the server does not authenticate users.
  @discardableResult
  public func takeOver(
    media: MediaClass? = nil, resumeToken: String? = nil, metadata: RawJSON? = nil, autoSubscribe: Bool? = nil
  ) async throws(RoostError) -> RoomSession {
    try await enter(
      .call(
        .join(
          CallJoinParams(
            callId: callId, media: media, takeover: true, resumeToken: resumeToken, metadata: metadata,
            autoSubscribe: autoSubscribe))))
  }

  /// Ends the call for everybody. Who started it may, and the host of a group; for him it is the same as hanging up where two talk.
  /// - Throws: `.refused` with 1005 FORBIDDEN for anybody else.
  @discardableResult
  public func end() async throws(RoostError) -> Call {
    try await changed(.call(.end(CallParams(callId: callId))))
  }

  /// Asks to switch between audio and video. In a call between two the other decides; see `answerMediaChange`.
  public func requestMediaChange(to media: MediaClass) async throws(RoostError) {
    try await change(.request, media)
  }

  /// Answers the other's request, which came as `call.mediaChangeRequested` and stands in `state` as `mediaRequest` until then.
  public func answerMediaChange(_ accept: Bool) async throws(RoostError) {
    try await change(accept ? .accept : .reject, nil)
  }

  /// Withdraws one's own request.
  public func cancelMediaChange() async throws(RoostError) { try await change(.cancel, nil) }

  /// Asks the server how the call stands; it knows for a day what became of one that is over.
  @discardableResult
  public func refresh() async throws(RoostError) -> Call {
    try await changed(.call(.get(CallParams(callId: callId))))
  }

  private func enter(_ request: Request) async throws(RoostError) -> RoomSession {
    guard case .callRoom(let result) = try await session.request(request) else {
      throw .unexpectedReply(request.method)
    }
    return RoomSession(session: session, name: result.room.room, selfId: result.room.selfId)
  }

  private func changed(_ request: Request) async throws(RoostError) -> Call {
    guard case .call(let result) = try await session.request(request) else { throw .unexpectedReply(request.method) }
    return result.call
  }

  private func change(_ action: MediaChangeAction, _ media: MediaClass?) async throws(RoostError) {
    _ = try await session.request(.call(.mediaChange(MediaChangeParams(callId: callId, action: action, media: media))))
  }
}

extension Duration {
  /// Rounded down.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000_000_000
  }
}
