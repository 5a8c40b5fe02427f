// All results as one type. Several methods share a shape, so that a reply is decoded by the method it answers.

/// The result of a request, typed.
public indirect enum Reply: Hashable, Sendable {
  /// `{}`.
  case empty
  case hello(HelloResult)
  case resumed(ResumeResult)
  case users(UserQueryResult)
  case blocked(BlockedResult)
  case room(RoomSnapshot)
  case rooms(RoomListResult)
  case roomInfo(RoomInfo)
  case chatSent(ChatSendResult)
  case messages(ChatHistoryResult)
  case published(PublishResult)
  case muted(MuteResult)
  case subscribed(SubscribeResult)
  case views(ViewOpenResult)
  case callStarted(CallStartResult)
  case callRoom(CallRoomResult)
  case call(CallResultObject)
  case callInvited(CallInviteResult)
  case callCurrent(CallCurrentResult)
  case calls(CallListResult)
  case records(CallHistoryResult)
}

extension Reply: Encodable {
  /// The result object.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .empty: _ = encoder.container(keyedBy: NoKey.self)
    case .hello(let result): try result.encode(to: encoder)
    case .resumed(let result): try result.encode(to: encoder)
    case .users(let result): try result.encode(to: encoder)
    case .blocked(let result): try result.encode(to: encoder)
    case .room(let result): try result.encode(to: encoder)
    case .rooms(let result): try result.encode(to: encoder)
    case .roomInfo(let result): try result.encode(to: encoder)
    case .chatSent(let result): try result.encode(to: encoder)
    case .messages(let result): try result.encode(to: encoder)
    case .published(let result): try result.encode(to: encoder)
    case .muted(let result): try result.encode(to: encoder)
    case .subscribed(let result): try result.encode(to: encoder)
    case .views(let result): try result.encode(to: encoder)
    case .callStarted(let result): try result.encode(to: encoder)
    case .callRoom(let result): try result.encode(to: encoder)
    case .call(let result): try result.encode(to: encoder)
    case .callInvited(let result): try result.encode(to: encoder)
    case .callCurrent(let result): try result.encode(to: encoder)
    case .calls(let result): try result.encode(to: encoder)
    case .records(let result): try result.encode(to: encoder)
    }
  }

  /// Writes the result object. Those of calls are written most.
  func write(to json: inout JSONWriter) throws {
    switch self {
    case .empty: json.raw("{}")
    case .room(let result): try json.value(result)
    case .callStarted(let result): try json.value(result)
    case .callRoom(let result): try json.value(result)
    case .call(let result): try json.value(result)
    case .hello, .resumed, .users, .blocked, .rooms, .roomInfo, .chatSent, .messages, .published, .muted, .subscribed,
      .views,
      .callInvited, .callCurrent, .calls, .records:
      try json.value(self)
    }
  }

  private enum NoKey: CodingKey {}

  /// Decodes the result of a method.
  public init(method: Method, from decoder: any Decoder) throws {
    switch method {
    case .sessionToken, .sessionBye, .ping, .userBlock, .userUnblock, .roomLeave, .roomModerate, .roomRaiseHand,
      .pcAnswer, .pcRestart,
      .trackUnpublish, .trackUnsubscribe,
      .trackUpdate,
      .subscriptionSwap, .viewShow, .callRinging, .callCancelInvite, .callMediaChange:
      self = .empty
    case .sessionHello:
      self = .hello(try HelloResult(from: decoder))
    case .sessionResume:
      self = .resumed(try ResumeResult(from: decoder))
    case .userQuery:
      self = .users(try UserQueryResult(from: decoder))
    case .userBlocked:
      self = .blocked(try BlockedResult(from: decoder))
    case .roomJoin:
      self = .room(try RoomSnapshot(from: decoder))
    case .roomList:
      self = .rooms(try RoomListResult(from: decoder))
    case .roomInfo:
      self = .roomInfo(try RoomInfo(from: decoder))
    case .chatSend:
      self = .chatSent(try ChatSendResult(from: decoder))
    case .chatHistory:
      self = .messages(try ChatHistoryResult(from: decoder))
    case .pcOffer:
      self = .published(try PublishResult(from: decoder))
    case .trackMute, .trackUnmute:
      self = .muted(try MuteResult(from: decoder))
    case .trackSubscribe:
      self = .subscribed(try SubscribeResult(from: decoder))
    case .viewOpen:
      self = .views(try ViewOpenResult(from: decoder))
    case .callStart:
      self = .callStarted(try CallStartResult(from: decoder))
    case .callAccept, .callJoin:
      self = .callRoom(try CallRoomResult(from: decoder))
    case .callReject, .callCancel, .callHangup, .callGet, .callEnd:
      self = .call(try CallResultObject(from: decoder))
    case .callInvite:
      self = .callInvited(try CallInviteResult(from: decoder))
    case .callCurrent:
      self = .callCurrent(try CallCurrentResult(from: decoder))
    case .callAvailable:
      self = .calls(try CallListResult(from: decoder))
    case .callHistory:
      self = .records(try CallHistoryResult(from: decoder))
    }
  }
}
