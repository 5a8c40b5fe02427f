// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

extension Reply {
  /// Writes the result object.
  func write(to json: inout JSONWriter) throws {
    switch self {
    case .empty: json.raw("{}")
    case .hello(let result): try json.value(result)
    case .resumed(let result): try json.value(result)
    case .users(let result): try json.value(result)
    case .blocked(let result): try json.value(result)
    case .room(let result): try json.value(result)
    case .rooms(let result): try json.value(result)
    case .roomInfo(let result): try json.value(result)
    case .chatSent(let result): try json.value(result)
    case .messages(let result): try json.value(result)
    case .messageSent(let result): try json.value(result)
    case .messageAnswered(let result): try json.value(result)
    case .published(let result): try json.value(result)
    case .muted(let result): try json.value(result)
    case .subscribed(let result): try json.value(result)
    case .views(let result): try json.value(result)
    case .callStarted(let result): try json.value(result)
    case .callRoom(let result): try json.value(result)
    case .call(let result): try json.value(result)
    case .callInvited(let result): try json.value(result)
    case .callCurrent(let result): try json.value(result)
    case .calls(let result): try json.value(result)
    case .records(let result): try json.value(result)
    }
  }

  /// Decodes the result of a method.
  public init(method: Method, from decoder: any Decoder) throws {
    switch method {
    case .sessionToken, .sessionBye, .ping, .userBlock, .userUnblock, .roomLeave, .roomModerate, .roomRaiseHand,
      .messageAnswer, .pcAnswer, .pcRestart, .trackUnpublish, .trackUnsubscribe, .trackUpdate, .subscriptionSwap,
      .viewShow, .callRinging, .callCancelInvite, .callMediaChange: self = .empty
    case .sessionHello: self = .hello(try HelloResult(from: decoder))
    case .sessionResume: self = .resumed(try ResumeResult(from: decoder))
    case .userQuery: self = .users(try UserQueryResult(from: decoder))
    case .userBlocked: self = .blocked(try BlockedResult(from: decoder))
    case .roomJoin: self = .room(try RoomSnapshot(from: decoder))
    case .roomList: self = .rooms(try RoomListResult(from: decoder))
    case .roomInfo: self = .roomInfo(try RoomInfo(from: decoder))
    case .chatSend: self = .chatSent(try ChatSendResult(from: decoder))
    case .chatHistory: self = .messages(try ChatHistoryResult(from: decoder))
    case .messageSend: self = .messageSent(try MessageSendResult(from: decoder))
    case .messageRequest: self = .messageAnswered(try MessageAnswered(from: decoder))
    case .pcOffer: self = .published(try PublishResult(from: decoder))
    case .trackMute, .trackUnmute: self = .muted(try MuteResult(from: decoder))
    case .trackSubscribe: self = .subscribed(try SubscribeResult(from: decoder))
    case .viewOpen: self = .views(try ViewOpenResult(from: decoder))
    case .callStart: self = .callStarted(try CallStartResult(from: decoder))
    case .callAccept, .callJoin: self = .callRoom(try CallRoomResult(from: decoder))
    case .callReject, .callCancel, .callHangup, .callGet, .callEnd: self = .call(try CallResultObject(from: decoder))
    case .callInvite: self = .callInvited(try CallInviteResult(from: decoder))
    case .callCurrent: self = .callCurrent(try CallCurrentResult(from: decoder))
    case .callAvailable: self = .calls(try CallListResult(from: decoder))
    case .callHistory: self = .records(try CallHistoryResult(from: decoder))
    }
  }

  /// Whether its request only reads: where that comes again it is served anew.
  public var isOfReading: Bool {
    switch self {
    case .users, .blocked, .rooms, .roomInfo, .messages, .callCurrent, .calls, .records: true
    case .empty, .hello, .resumed, .room, .chatSent, .messageSent, .messageAnswered, .published, .muted, .subscribed,
      .views, .callStarted, .callRoom, .call, .callInvited: false
    }
  }

  /// The same, where each room stands at this event of the session that it is for.
  public func stamped(seq: Int) -> Reply {
    switch self {
    case .room(var value):
      value.seq = seq
      return .room(value)
    case .callStarted(var value):
      value.room.seq = seq
      return .callStarted(value)
    case .callRoom(var value):
      value.room.seq = seq
      return .callRoom(value)
    case .empty, .hello, .resumed, .users, .blocked, .rooms, .roomInfo, .chatSent, .messages, .messageSent,
      .messageAnswered, .published, .muted, .subscribed, .views, .call, .callInvited, .callCurrent, .calls, .records: return self
    }
  }
}
