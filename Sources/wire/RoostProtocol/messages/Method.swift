// Names of requests and events on the wire, and the id that ties a response to its request.

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

/// `id` of a request: a string or a whole number, chosen by the client, unique in its session.
public enum RequestID: Hashable, Sendable {
  case number(Int64)
  case string(String)
}

extension RequestID {
  /// Strings by their bytes, as their client does.
  public static func == (a: RequestID, b: RequestID) -> Bool {
    switch (a, b) {
    case (.number(let number), .number(let other)): number == other
    case (.string(let text), .string(let other)): text.utf8.elementsEqual(other.utf8)
    case (.number, .string), (.string, .number): false
    }
  }

  /// Over the same.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .number(let number): hasher.combine(number)
    case .string(let text): for byte in text.utf8 { hasher.combine(byte) }
    }
  }
}

extension RequestID: Codable, CustomStringConvertible {
  /// A whole number, or a string of at most `ProtocolLimits.requestIdBytes`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self), text.utf8.count <= ProtocolLimits.requestIdBytes {
      self = .string(text)
    } else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "expected a whole number or a string of at most \(ProtocolLimits.requestIdBytes) bytes")
    }
  }

  /// As it came.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    }
  }

  /// For logs.
  public var description: String {
    switch self {
    case .number(let number): String(number)
    case .string(let text): text
    }
  }
}
