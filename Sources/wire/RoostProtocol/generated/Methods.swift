// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

/// `method` of a request.
public enum Method: String, CaseIterable, Hashable, Sendable {
  case sessionHello = "session.hello"
  case sessionResume = "session.resume"
  case sessionToken = "session.token"
  case sessionBye = "session.bye"
  case ping
  case userQuery = "user.query"
  case userBlock = "user.block"
  case userUnblock = "user.unblock"
  case userBlocked = "user.blocked"
  case roomJoin = "room.join"
  case roomLeave = "room.leave"
  case roomList = "room.list"
  case roomInfo = "room.info"
  case roomModerate = "room.moderate"
  case roomRaiseHand = "room.raiseHand"
  case chatSend = "chat.send"
  case chatHistory = "chat.history"
  case messageSend = "message.send"
  case messageRequest = "message.request"
  case messageAnswer = "message.answer"
  case pcOffer = "pc.offer"
  case pcAnswer = "pc.answer"
  case pcRestart = "pc.restart"
  case trackUnpublish = "track.unpublish"
  case trackMute = "track.mute"
  case trackUnmute = "track.unmute"
  case trackSubscribe = "track.subscribe"
  case trackUnsubscribe = "track.unsubscribe"
  case trackUpdate = "track.update"
  case subscriptionSwap = "subscription.swap"
  case viewOpen = "view.open"
  case viewShow = "view.show"
  case callStart = "call.start"
  case callRinging = "call.ringing"
  case callAccept = "call.accept"
  case callReject = "call.reject"
  case callCancel = "call.cancel"
  case callHangup = "call.hangup"
  case callInvite = "call.invite"
  case callCancelInvite = "call.cancelInvite"
  case callJoin = "call.join"
  case callGet = "call.get"
  case callCurrent = "call.current"
  case callAvailable = "call.available"
  case callHistory = "call.history"
  case callMediaChange = "call.mediaChange"
  case callEnd = "call.end"
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
    case .messageSend: self = .message(.send(try params.decode(MessageSendParams.self)))
    case .messageRequest: self = .message(.request(try params.decode(MessageRequestParams.self)))
    case .messageAnswer: self = .message(.answer(try params.decode(MessageAnswerParams.self)))
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

  /// The method's name on the wire.
  public var method: Method {
    switch self {
    case .session(.hello): .sessionHello
    case .session(.resume): .sessionResume
    case .session(.token): .sessionToken
    case .session(.bye): .sessionBye
    case .session(.ping): .ping
    case .userQuery: .userQuery
    case .block(.add): .userBlock
    case .block(.remove): .userUnblock
    case .block(.list): .userBlocked
    case .room(.join): .roomJoin
    case .room(.leave): .roomLeave
    case .room(.list): .roomList
    case .room(.info): .roomInfo
    case .room(.moderate): .roomModerate
    case .room(.raiseHand): .roomRaiseHand
    case .chat(.send): .chatSend
    case .chat(.history): .chatHistory
    case .message(.send): .messageSend
    case .message(.request): .messageRequest
    case .message(.answer): .messageAnswer
    case .peerConnection(.offer): .pcOffer
    case .peerConnection(.answer): .pcAnswer
    case .peerConnection(.restart): .pcRestart
    case .track(.unpublish): .trackUnpublish
    case .track(.mute): .trackMute
    case .track(.unmute): .trackUnmute
    case .subscription(.subscribe): .trackSubscribe
    case .subscription(.unsubscribe): .trackUnsubscribe
    case .subscription(.update): .trackUpdate
    case .subscription(.swap): .subscriptionSwap
    case .view(.open): .viewOpen
    case .view(.show): .viewShow
    case .call(.start): .callStart
    case .call(.ringing): .callRinging
    case .call(.accept): .callAccept
    case .call(.reject): .callReject
    case .call(.cancel): .callCancel
    case .call(.hangup): .callHangup
    case .call(.invite): .callInvite
    case .call(.cancelInvite): .callCancelInvite
    case .call(.join): .callJoin
    case .call(.get): .callGet
    case .call(.current): .callCurrent
    case .call(.available): .callAvailable
    case .call(.history): .callHistory
    case .call(.mediaChange): .callMediaChange
    case .call(.end): .callEnd
    }
  }

  /// The params, to be written; nil for a method that has none.
  public var params: (any JSONWritable & Sendable)? {
    switch self {
    case .session(.hello(let params)): params
    case .session(.resume(let params)): params
    case .session(.token(let params)): params
    case .userQuery(let params): params
    case .block(.add(let params)): params
    case .block(.remove(let params)): params
    case .room(.join(let params)): params
    case .room(.leave(let params)): params
    case .room(.list(let params)): params
    case .room(.info(let params)): params
    case .room(.moderate(let params)): params
    case .room(.raiseHand(let params)): params
    case .chat(.send(let params)): params
    case .chat(.history(let params)): params
    case .message(.send(let params)): params
    case .message(.request(let params)): params
    case .message(.answer(let params)): params
    case .peerConnection(.offer(let params)): params
    case .peerConnection(.answer(let params)): params
    case .peerConnection(.restart(let params)): params
    case .track(.unpublish(let params)): params
    case .track(.mute(let params)): params
    case .track(.unmute(let params)): params
    case .subscription(.subscribe(let params)): params
    case .subscription(.unsubscribe(let params)): params
    case .subscription(.update(let params)): params
    case .subscription(.swap(let params)): params
    case .view(.open(let params)): params
    case .view(.show(let params)): params
    case .call(.start(let params)): params
    case .call(.ringing(let params)): params
    case .call(.accept(let params)): params
    case .call(.reject(let params)): params
    case .call(.cancel(let params)): params
    case .call(.hangup(let params)): params
    case .call(.invite(let params)): params
    case .call(.cancelInvite(let params)): params
    case .call(.join(let params)): params
    case .call(.get(let params)): params
    case .call(.history(let params)): params
    case .call(.mediaChange(let params)): params
    case .call(.end(let params)): params
    case .session(.bye), .session(.ping), .block(.list), .call(.current), .call(.available): nil
    }
  }
}
