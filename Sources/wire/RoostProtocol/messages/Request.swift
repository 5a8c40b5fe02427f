// All requests as one type: a case for each group of methods, and in it a case for each method, with its params.

/// A request of a client, typed. Each group is served in one place, which must know all cases of it.
public indirect enum Request: Hashable, Sendable {
  case session(SessionRequest)
  case userQuery(UserQueryParams)
  case block(BlockRequest)
  case room(RoomRequest)
  case chat(ChatRequest)
  case peerConnection(PeerConnectionRequest)
  case track(TrackRequest)
  case subscription(SubscriptionRequest)
  case view(ViewRequest)
  case call(CallRequest)
}

/// The session itself: `session.…` and `ping`.
public enum SessionRequest: Hashable, Sendable {
  case hello(HelloParams)
  case resume(ResumeParams)
  case token(TokenParams)
  case bye
  case ping
}

/// Whom one does not want to be rung by: `user.block`, `user.unblock` and `user.blocked`.
public enum BlockRequest: Hashable, Sendable {
  case add(BlockParams)
  case remove(BlockParams)
  case list
}

/// Rooms that are not those of calls: `room.…`.
public enum RoomRequest: Hashable, Sendable {
  case join(RoomJoinParams)
  case leave(RoomParams)
  case list(RoomListParams = RoomListParams())
  case info(RoomParams)
  case moderate(ModerateParams)
  case raiseHand(RaiseHandParams)
}

/// What is said in a room: `chat.…`.
public enum ChatRequest: Hashable, Sendable {
  case send(ChatSendParams)
  case history(ChatHistoryParams)
}

/// The two peer connections of a seat: `pc.…`.
public enum PeerConnectionRequest: Hashable, Sendable {
  case offer(PublishOfferParams)
  case answer(SubscribeAnswerParams)
  case restart(RestartParams)
}

/// Tracks that the client publishes: `track.unpublish`, `track.mute` and `track.unmute`.
public enum TrackRequest: Hashable, Sendable {
  case unpublish(TrackParams)
  case mute(TrackParams)
  case unmute(TrackParams)
}

/// Tracks that the client receives: `track.subscribe`, `track.unsubscribe`, `track.update` and `subscription.swap`.
public enum SubscriptionRequest: Hashable, Sendable {
  case subscribe(SubscribeParams)
  case unsubscribe(SubscriptionParams)
  case update(SubscriptionUpdateParams)
  case swap(SwapParams)
}

/// Places whose track the server exchanges: `view.…`.
public enum ViewRequest: Hashable, Sendable {
  case open(ViewOpenParams)
  case show(ViewShowParams)
}

/// Calls: `call.…`.
public enum CallRequest: Hashable, Sendable {
  case start(CallStartParams)
  case ringing(CallParams)
  case accept(CallAcceptParams)
  case reject(CallRejectParams)
  case cancel(CallCancelParams)
  case hangup(CallHangupParams)
  case invite(CallInviteParams)
  case cancelInvite(CallCancelInviteParams)
  case join(CallJoinParams)
  case get(CallParams)
  case current
  case available
  case history(CallHistoryParams)
  case mediaChange(MediaChangeParams)
  case end(CallParams)
}

extension Request {
  /// Decodes the params of a method. Says nothing of bounds: see `validate()`.
  public init(method: Method, params: Params) throws {
    switch method {
    case .sessionHello: self = .session(.hello(try params.decode(HelloParams.self)))
    case .sessionResume: self = .session(.resume(try params.decode(ResumeParams.self)))
    case .sessionToken: self = .session(.token(try params.decode(TokenParams.self)))
    case .sessionBye: self = .session(.bye)
    case .ping: self = .session(.ping)
    case .userQuery: self = .userQuery(try params.decode(UserQueryParams.self))
    case .userBlock: self = .block(.add(try params.decode(BlockParams.self)))
    case .userUnblock: self = .block(.remove(try params.decode(BlockParams.self)))
    case .userBlocked: self = .block(.list)
    case .roomJoin: self = .room(.join(try params.decode(RoomJoinParams.self)))
    case .roomLeave: self = .room(.leave(try params.decode(RoomParams.self)))
    case .roomList: self = .room(.list(try params.decode(RoomListParams.self)))
    case .roomInfo: self = .room(.info(try params.decode(RoomParams.self)))
    case .roomModerate: self = .room(.moderate(try params.decode(ModerateParams.self)))
    case .roomRaiseHand: self = .room(.raiseHand(try params.decode(RaiseHandParams.self)))
    case .chatSend: self = .chat(.send(try params.decode(ChatSendParams.self)))
    case .chatHistory: self = .chat(.history(try params.decode(ChatHistoryParams.self)))
    case .pcOffer: self = .peerConnection(.offer(try params.decode(PublishOfferParams.self)))
    case .pcAnswer: self = .peerConnection(.answer(try params.decode(SubscribeAnswerParams.self)))
    case .pcRestart: self = .peerConnection(.restart(try params.decode(RestartParams.self)))
    case .trackUnpublish: self = .track(.unpublish(try params.decode(TrackParams.self)))
    case .trackMute: self = .track(.mute(try params.decode(TrackParams.self)))
    case .trackUnmute: self = .track(.unmute(try params.decode(TrackParams.self)))
    case .trackSubscribe: self = .subscription(.subscribe(try params.decode(SubscribeParams.self)))
    case .trackUnsubscribe: self = .subscription(.unsubscribe(try params.decode(SubscriptionParams.self)))
    case .trackUpdate: self = .subscription(.update(try params.decode(SubscriptionUpdateParams.self)))
    case .subscriptionSwap: self = .subscription(.swap(try params.decode(SwapParams.self)))
    case .viewOpen: self = .view(.open(try params.decode(ViewOpenParams.self)))
    case .viewShow: self = .view(.show(try params.decode(ViewShowParams.self)))
    case .callStart: self = .call(.start(try params.decode(CallStartParams.self)))
    case .callRinging: self = .call(.ringing(try params.decode(CallParams.self)))
    case .callAccept: self = .call(.accept(try params.decode(CallAcceptParams.self)))
    case .callReject: self = .call(.reject(try params.decode(CallRejectParams.self)))
    case .callCancel: self = .call(.cancel(try params.decode(CallCancelParams.self)))
    case .callHangup: self = .call(.hangup(try params.decode(CallHangupParams.self)))
    case .callInvite: self = .call(.invite(try params.decode(CallInviteParams.self)))
    case .callCancelInvite: self = .call(.cancelInvite(try params.decode(CallCancelInviteParams.self)))
    case .callJoin: self = .call(.join(try params.decode(CallJoinParams.self)))
    case .callGet: self = .call(.get(try params.decode(CallParams.self)))
    case .callCurrent: self = .call(.current)
    case .callAvailable: self = .call(.available)
    case .callHistory: self = .call(.history(try params.decode(CallHistoryParams.self)))
    case .callMediaChange: self = .call(.mediaChange(try params.decode(MediaChangeParams.self)))
    case .callEnd: self = .call(.end(try params.decode(CallParams.self)))
    }
  }
}
