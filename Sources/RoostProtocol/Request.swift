// All requests as one type: a case for each method, with its params.

/// A request of a client, typed.
public indirect enum Request: Hashable, Sendable {
  case hello(HelloParams)
  case resume(ResumeParams)
  case bye
  case ping
  case userQuery(UserQueryParams)
  case roomJoin(RoomJoinParams)
  case roomLeave(RoomParams)
  case roomList
  case roomInfo(RoomParams)
  case chatSend(ChatSendParams)
  case chatHistory(ChatHistoryParams)
  case pcOffer(PublishOfferParams)
  case pcAnswer(SubscribeAnswerParams)
  case pcRestart(RestartParams)
  case trackUnpublish(TrackParams)
  case trackMute(TrackParams)
  case trackUnmute(TrackParams)
  case trackSubscribe(SubscribeParams)
  case trackUnsubscribe(SubscriptionParams)
  case trackUpdate(SubscriptionUpdateParams)
  case subscriptionSwap(SwapParams)
  case callStart(CallStartParams)
  case callRinging(CallParams)
  case callAccept(CallAcceptParams)
  case callReject(CallRejectParams)
  case callCancel(CallCancelParams)
  case callHangup(CallHangupParams)
  case callInvite(CallInviteParams)
  case callCancelInvite(CallCancelInviteParams)
  case callJoin(CallJoinParams)
  case callGet(CallParams)
  case callCurrent
  case callAvailable
  case callHistory(CallHistoryParams)
  case callMediaChange(MediaChangeParams)
  case callEnd(CallParams)
}

extension Request {
  /// The method's name on the wire.
  public var method: Method {
    switch self {
    case .hello: .sessionHello
    case .resume: .sessionResume
    case .bye: .sessionBye
    case .ping: .ping
    case .userQuery: .userQuery
    case .roomJoin: .roomJoin
    case .roomLeave: .roomLeave
    case .roomList: .roomList
    case .roomInfo: .roomInfo
    case .chatSend: .chatSend
    case .chatHistory: .chatHistory
    case .pcOffer: .pcOffer
    case .pcAnswer: .pcAnswer
    case .pcRestart: .pcRestart
    case .trackUnpublish: .trackUnpublish
    case .trackMute: .trackMute
    case .trackUnmute: .trackUnmute
    case .trackSubscribe: .trackSubscribe
    case .trackUnsubscribe: .trackUnsubscribe
    case .trackUpdate: .trackUpdate
    case .subscriptionSwap: .subscriptionSwap
    case .callStart: .callStart
    case .callRinging: .callRinging
    case .callAccept: .callAccept
    case .callReject: .callReject
    case .callCancel: .callCancel
    case .callHangup: .callHangup
    case .callInvite: .callInvite
    case .callCancelInvite: .callCancelInvite
    case .callJoin: .callJoin
    case .callGet: .callGet
    case .callCurrent: .callCurrent
    case .callAvailable: .callAvailable
    case .callHistory: .callHistory
    case .callMediaChange: .callMediaChange
    case .callEnd: .callEnd
    }
  }

  /// Decodes the params of a method. Says nothing of bounds: see `validate()`.
  public init(method: Method, params: Params) throws {
    switch method {
    case .sessionHello: self = .hello(try params.decode(HelloParams.self))
    case .sessionResume: self = .resume(try params.decode(ResumeParams.self))
    case .sessionBye: self = .bye
    case .ping: self = .ping
    case .userQuery: self = .userQuery(try params.decode(UserQueryParams.self))
    case .roomJoin: self = .roomJoin(try params.decode(RoomJoinParams.self))
    case .roomLeave: self = .roomLeave(try params.decode(RoomParams.self))
    case .roomList: self = .roomList
    case .roomInfo: self = .roomInfo(try params.decode(RoomParams.self))
    case .chatSend: self = .chatSend(try params.decode(ChatSendParams.self))
    case .chatHistory: self = .chatHistory(try params.decode(ChatHistoryParams.self))
    case .pcOffer: self = .pcOffer(try params.decode(PublishOfferParams.self))
    case .pcAnswer: self = .pcAnswer(try params.decode(SubscribeAnswerParams.self))
    case .pcRestart: self = .pcRestart(try params.decode(RestartParams.self))
    case .trackUnpublish: self = .trackUnpublish(try params.decode(TrackParams.self))
    case .trackMute: self = .trackMute(try params.decode(TrackParams.self))
    case .trackUnmute: self = .trackUnmute(try params.decode(TrackParams.self))
    case .trackSubscribe: self = .trackSubscribe(try params.decode(SubscribeParams.self))
    case .trackUnsubscribe: self = .trackUnsubscribe(try params.decode(SubscriptionParams.self))
    case .trackUpdate: self = .trackUpdate(try params.decode(SubscriptionUpdateParams.self))
    case .subscriptionSwap: self = .subscriptionSwap(try params.decode(SwapParams.self))
    case .callStart: self = .callStart(try params.decode(CallStartParams.self))
    case .callRinging: self = .callRinging(try params.decode(CallParams.self))
    case .callAccept: self = .callAccept(try params.decode(CallAcceptParams.self))
    case .callReject: self = .callReject(try params.decode(CallRejectParams.self))
    case .callCancel: self = .callCancel(try params.decode(CallCancelParams.self))
    case .callHangup: self = .callHangup(try params.decode(CallHangupParams.self))
    case .callInvite: self = .callInvite(try params.decode(CallInviteParams.self))
    case .callCancelInvite: self = .callCancelInvite(try params.decode(CallCancelInviteParams.self))
    case .callJoin: self = .callJoin(try params.decode(CallJoinParams.self))
    case .callGet: self = .callGet(try params.decode(CallParams.self))
    case .callCurrent: self = .callCurrent
    case .callAvailable: self = .callAvailable
    case .callHistory: self = .callHistory(try params.decode(CallHistoryParams.self))
    case .callMediaChange: self = .callMediaChange(try params.decode(MediaChangeParams.self))
    case .callEnd: self = .callEnd(try params.decode(CallParams.self))
    }
  }

  /// The params, to be encoded; nil for a method that has none.
  public var params: (any Encodable & Sendable)? {
    switch self {
    case .bye, .ping, .roomList, .callCurrent, .callAvailable: nil
    case .hello(let params): params
    case .resume(let params): params
    case .userQuery(let params): params
    case .roomJoin(let params): params
    case .roomLeave(let params): params
    case .roomInfo(let params): params
    case .chatSend(let params): params
    case .chatHistory(let params): params
    case .pcOffer(let params): params
    case .pcAnswer(let params): params
    case .pcRestart(let params): params
    case .trackUnpublish(let params): params
    case .trackMute(let params): params
    case .trackUnmute(let params): params
    case .trackSubscribe(let params): params
    case .trackUnsubscribe(let params): params
    case .trackUpdate(let params): params
    case .subscriptionSwap(let params): params
    case .callStart(let params): params
    case .callRinging(let params): params
    case .callAccept(let params): params
    case .callReject(let params): params
    case .callCancel(let params): params
    case .callHangup(let params): params
    case .callInvite(let params): params
    case .callCancelInvite(let params): params
    case .callJoin(let params): params
    case .callGet(let params): params
    case .callHistory(let params): params
    case .callMediaChange(let params): params
    case .callEnd(let params): params
    }
  }
}
