// A room that one is in, with what one can do there. Media stacks hand their session descriptions through it.
import RoostProtocol

/// A room that was joined.
///
///     let room = try await session.join(room: "demo")
///     print(await room.snapshot?.participants.map(\.displayName) ?? [])
///     try await room.chat("hello", to: ["ben"])
///     let answer = try await room.publish(sdp: offer, tracks: [AnnouncedTrack(mid: "0", kind: .audio)])
///     try await room.leave()
public struct RoomSession: Sendable {
  /// The session that joined.
  public let session: RoostSession
  /// The room's name.
  public let name: String
  /// One's own participant.
  public let selfId: String

  /// The room as it is now: the snapshot of the join with every event since. nil once one is not in it. Who was moved goes on in the other room with
  /// the same `RoomSession`, unless `room.switched` says `reconnect`: then `RoostSession.currentRoom` is another participant's.
  public var snapshot: RoomSnapshot? {
    get async { await session.snapshot(of: currentName) }
  }

  /// The room's name, or that of the room that one was moved to.
  public var currentName: String {
    get async {
      let now = await session.currentRoom
      return now?.selfId == selfId ? now?.room ?? name : name
    }
  }

  /// Leaves. Succeeds too when one has left already.
  public func leave() async throws(RoostError) {
    _ = try await session.request(.room(.leave(RoomParams(room: await currentName))))
  }

  /// Sends a message to all, or to some users.
  @discardableResult
  public func chat(_ text: String, to: [String]? = nil, clientMsgId: String? = nil) async throws(RoostError)
    -> ChatSendResult
  {
    let params = ChatSendParams(room: await currentName, text: text, to: to, clientMsgId: clientMsgId)
    guard case .chatSent(let result) = try await session.request(.chat(.send(params))) else {
      throw .unexpectedReply(.chatSend)
    }
    return result
  }

  /// Sends a custom message to all others, or to some users: they hear `.messageReceived`. `topic` is a word of the application's.
  @discardableResult
  public func send(_ topic: String, _ data: RawJSON, to: [String]? = nil) async throws(RoostError) -> MessageSendResult
  {
    let params = MessageSendParams(room: await currentName, to: to, topic: topic, data: data)
    guard case .messageSent(let result) = try await session.request(.message(.send(params))) else {
      throw .unexpectedReply(.messageSend)
    }
    return result
  }

  /// Asks somebody in the room or call, who hears `.messageRequested`, and returns the answer.
  /// - Parameter timeoutMs: how long that may take, 1,000 to 60,000 milliseconds.
  /// - Throws: 1012 where there was no answer, with the `reason` `timeout` or `left`; 3008 for who is not there.
  public func ask(
    _ user: String, _ topic: String, _ data: RawJSON, timeoutMs: Int = 10_000
  ) async throws(RoostError) -> MessageAnswered {
    let params = MessageRequestParams(
      room: await currentName, to: user, topic: topic, data: data, timeoutMs: timeoutMs)
    guard case .messageAnswered(let answer) = try await session.request(.message(.request(params))) else {
      throw .unexpectedReply(.messageRequest)
    }
    return answer
  }

  /// Answers what one was asked, by the `requestId` of `.messageRequested`.
  public func answer(_ requestId: String, _ data: RawJSON) async throws(RoostError) {
    _ = try await session.request(.message(.answer(MessageAnswerParams(requestId: requestId, data: data))))
  }

  /// Messages older than `before`, oldest first.
  public func chatHistory(before: String? = nil, limit: Int? = nil) async throws(RoostError) -> [Message] {
    let params = ChatHistoryParams(room: await currentName, before: before, limit: limit)
    guard case .messages(let result) = try await session.request(.chat(.history(params))) else {
      throw .unexpectedReply(.chatHistory)
    }
    return result.messages
  }

  /// Mutes or unmutes one's own track, at the server.
  public func setMuted(_ trackId: String, _ muted: Bool) async throws(RoostError) {
    let params = TrackParams(trackId: trackId)
    _ = try await session.request(muted ? .track(.mute(params)) : .track(.unmute(params)))
  }

  /// Offers one's tracks on the publish connection; the result holds the server's answer.
  public func publish(sdp: String, tracks: [AnnouncedTrack]? = nil) async throws(RoostError) -> PublishResult {
    let params = PublishOfferParams(pc: .publish, sdp: sdp, tracks: tracks)
    guard case .published(let result) = try await session.request(.peerConnection(.offer(params))) else {
      throw .unexpectedReply(.pcOffer)
    }
    return result
  }

  /// Ends one of one's tracks.
  public func unpublish(_ trackId: String) async throws(RoostError) {
    _ = try await session.request(.track(.unpublish(TrackParams(trackId: trackId))))
  }

  /// Answers the server's offer for the subscribe connection, which came as the event `pc.offer`.
  public func answer(offerId: Int, sdp: String) async throws(RoostError) {
    _ = try await session.request(.peerConnection(.answer(SubscribeAnswerParams(offerId: offerId, sdp: sdp))))
  }

  /// Asks for an ICE restart of the subscribe connection.
  public func restartSubscribe() async throws(RoostError) {
    _ = try await session.request(.peerConnection(.restart(RestartParams(pc: .subscribe))))
  }

  /// Subscribes to a track, where the join did not ask for all.
  /// - Returns: the subscription's id.
  public func subscribe(_ params: SubscribeParams) async throws(RoostError) -> String {
    guard case .subscribed(let result) = try await session.request(.subscription(.subscribe(params))) else {
      throw .unexpectedReply(.trackSubscribe)
    }
    return result.subscriptionId
  }

  /// Ends a subscription.
  public func unsubscribe(_ subscriptionId: String) async throws(RoostError) {
    _ = try await session.request(.subscription(.unsubscribe(SubscriptionParams(subscriptionId: subscriptionId))))
  }

  /// Changes layer, pause or priority of a subscription.
  public func update(_ params: SubscriptionUpdateParams) async throws(RoostError) {
    _ = try await session.request(.subscription(.update(params)))
  }

  /// Lets two subscriptions of one kind show each other's track, with no new offer.
  /// - Throws: `.refused` with 4002 NOT_SUBSCRIBED; 3003 INVALID_STATE, retryable, while one of them is being negotiated; 4004
  ///   NO_COMMON_CODEC where a line cannot carry the other's codec.
  public func swap(_ a: String, _ b: String) async throws(RoostError) {
    _ = try await session.request(.subscription(.swap(SwapParams(a: a, b: b))))
  }

  /// Opens views: lines on which the server shows one video after the other without a new offer. The next `pc.offer` has their lines.
  /// - Returns: their subscription ids; `update(_:)` and `unsubscribe(_:)` take them.
  /// - Throws: `.refused` with 3016 MEDIA_NOT_ALLOWED in a room without video, 4003 TOO_MANY_TRACKS beyond 49.
  public func openViews(_ count: Int) async throws(RoostError) -> [String] {
    guard case .views(let result) = try await session.request(.view(.open(ViewOpenParams(count: count)))) else {
      throw .unexpectedReply(.viewOpen)
    }
    return result.views
  }

  /// Lets views show other tracks, whoever speaks, or nothing, all in one step. `view.changed` tells of each with its first picture.
  ///
  ///     let views = try await room.openViews(2)
  ///     try await room.show([ViewWish(subscriptionId: views[0], follow: .activeSpeaker), ViewWish(subscriptionId: views[1])])
  ///
  /// - Throws: `.refused` with 4001 TRACK_NOT_FOUND, 4002 NOT_SUBSCRIBED; 1006 RATE_LIMITED, retryable, when too often.
  public func show(_ views: [ViewWish]) async throws(RoostError) {
    _ = try await session.request(.view(.show(ViewShowParams(views: views))))
  }
}
