// Numbers and names of errors (docs/protocol.md, errors). The one file that maps codes to what a client sees, at every front door.

/// Why a request was refused. The raw value is `code` on the wire.
public enum ErrorCode: Int, CaseIterable, Hashable, Sendable {
  // JSON-RPC 2.0, section 5.1
  case parseError = -32700
  case invalidRequest = -32600
  case methodNotFound = -32601
  case invalidParams = -32602
  // The session
  case notLoggedIn = 1003
  case authFailed = 1004
  case forbidden = 1005
  case rateLimited = 1006
  case resumeExpired = 1007
  case sessionReplaced = 1008
  case unsupported = 1009
  case tooLarge = 1010
  case refusedByApp = 1011
  case noAnswer = 1012
  // The room
  case roomNotFound = 2001
  case roomFull = 2002
  case nameTaken = 2003
  case alreadyJoined = 2004
  case notJoined = 2005
  case roomClosed = 2006
  case roomLocked = 2007
  case inLobby = 2008
  case banned = 2009
  // The call
  case callNotFound = 3001
  case callEnded = 3002
  case invalidState = 3003
  case answeredElsewhere = 3004
  case rejectedElsewhere = 3005
  case notInCall = 3006
  case notInvited = 3007
  case userNotFound = 3008
  case selfBusy = 3011
  case cannotCallSelf = 3012
  case callFull = 3013
  case tooManyInvitees = 3014
  case mediaChangePending = 3015
  case mediaNotAllowed = 3016
  // Media
  case trackNotFound = 4001
  case notSubscribed = 4002
  case tooManyTracks = 4003
  case noCommonCodec = 4004
  case negotiationFailed = 4005
  case transportFailed = 4006
  case layerUnavailable = 4007
  // The server
  case internalError = 5000
  case draining = 5001
  case overloaded = 5002
}

/// How an error is said at each front door.
public struct ErrorForm: Sendable, Hashable {
  /// `data.name` in JSON-RPC, and `code` in problem details.
  public let name: String
  /// What is said where there is nothing more particular to say.
  public let message: String
  /// Whether the same request may succeed later without anybody's doing.
  public let isRetryable: Bool
  /// The HTTP status of problem details, at WHIP and WHEP. 409 is none: there it means that nothing is to be played yet.
  public let status: Int
  /// The HTTP status that an operator gets.
  public let operatorStatus: Int
  /// Whether it is a session description that cannot work: the same again is refused again.
  public let isOfDescription: Bool
  /// What Flashphoner's SDKs know it by, in `info`; nil where it is the message. Several stand for one of theirs.
  public let flashphoner: String?

  fileprivate init(
    _ name: String, _ message: String, isRetryable: Bool = false, status: Int = 500, operatorStatus: Int = 404,
    isOfDescription: Bool = false, flashphoner: String? = nil
  ) {
    (self.name, self.message, self.isRetryable) = (name, message, isRetryable)
    (self.status, self.operatorStatus) = (status, operatorStatus)
    (self.isOfDescription, self.flashphoner) = (isOfDescription, flashphoner)
  }
}

extension ErrorCode {
  /// `data.name` on the wire.
  public var name: String { form.name }
  /// What is said where there is nothing more particular to say.
  public var message: String { form.message }
  /// Whether the same request may succeed later without anybody's doing.
  public var isRetryable: Bool { form.isRetryable }

  /// The one table of how errors are said. No front door has another, and none leaves one out.
  public var form: ErrorForm {
    switch self {
    case .parseError: .init("PARSE_ERROR", "This is not JSON.", operatorStatus: 400)
    case .invalidRequest: .init("INVALID_REQUEST", "This is not a request.")
    case .methodNotFound: .init("METHOD_NOT_FOUND", "There is no such method.")
    case .invalidParams: .init("INVALID_PARAMS", "A parameter is missing or wrong.", status: 400, operatorStatus: 400)
    case .notLoggedIn: .init("NOT_LOGGED_IN", "Say session.hello first.", flashphoner: "Session does not exist")
    case .authFailed: .init("AUTH_FAILED", "The token was not accepted.", status: 401, flashphoner: "Restricted access")
    case .forbidden:
      .init("FORBIDDEN", "This is not allowed.", status: 403, operatorStatus: 403, flashphoner: "Restricted access")
    case .rateLimited:
      .init("RATE_LIMITED", "Too many requests; slow down.", isRetryable: true, status: 429, operatorStatus: 429)
    case .resumeExpired:
      .init("RESUME_EXPIRED", "The session is over; say session.hello.", flashphoner: "Session does not exist")
    case .sessionReplaced:
      .init(
        "SESSION_REPLACED", "The session was replaced by a newer one of the same device.", status: 403,
        flashphoner: "Session does not exist")
    case .unsupported: .init("UNSUPPORTED", "The server does not do this.")
    case .tooLarge: .init("TOO_LARGE", "Too large.", status: 413, operatorStatus: 409)
    // What the client is told is the application's own reason, at each door.
    case .refusedByApp: .init("REFUSED_BY_APP", "The application does not allow this.", status: 403)
    case .noAnswer: .init("NO_ANSWER", "There was no answer.")
    case .roomNotFound: .init("ROOM_NOT_FOUND", "There is no such room.", status: 404, flashphoner: "Stream not found")
    case .roomFull:
      .init("ROOM_FULL", "The room is full.", status: 503, operatorStatus: 409, flashphoner: "Room is full")
    case .nameTaken:
      .init(
        "NAME_TAKEN", "Somebody in the room has this name.", status: 403,
        flashphoner: "Somebody in the room has this login")
    case .alreadyJoined:
      .init(
        "ALREADY_JOINED", "Another of your devices is in the room.", status: 403,
        flashphoner: "Somebody in the room has this login")
    case .notJoined: .init("NOT_JOINED", "You are not in this room.", flashphoner: "Session does not exist")
    case .roomClosed: .init("ROOM_CLOSED", "The room was closed.", status: 403, flashphoner: "Session does not exist")
    case .roomLocked: .init("ROOM_LOCKED", "The room is locked.", status: 403)
    case .inLobby: .init("IN_LOBBY", "Wait until somebody lets you in.", status: 403)
    case .banned: .init("BANNED", "You are not let into this room.", status: 403)
    case .callNotFound: .init("CALL_NOT_FOUND", "There is no such call.")
    case .callEnded: .init("CALL_ENDED", "The call is over.")
    case .invalidState: .init("INVALID_STATE", "This is not possible now.", operatorStatus: 409)
    case .answeredElsewhere: .init("ANSWERED_ELSEWHERE", "The call was answered on another device.")
    case .rejectedElsewhere: .init("REJECTED_ELSEWHERE", "The call was rejected on another device.")
    case .notInCall: .init("NOT_IN_CALL", "You are not in this call.")
    case .notInvited: .init("NOT_INVITED", "You were not invited to this call.")
    case .userNotFound: .init("USER_NOT_FOUND", "There is no such user.")
    case .selfBusy: .init("SELF_BUSY", "You are in a call.", operatorStatus: 409)
    case .cannotCallSelf: .init("CANNOT_CALL_SELF", "You cannot call yourself.", operatorStatus: 409)
    case .callFull: .init("CALL_FULL", "The call is full.", operatorStatus: 409)
    case .tooManyInvitees: .init("TOO_MANY_INVITEES", "Too many people for this call.", operatorStatus: 409)
    case .mediaChangePending: .init("MEDIA_CHANGE_PENDING", "Another change of media waits for its answer.")
    case .mediaNotAllowed:
      .init("MEDIA_NOT_ALLOWED", "Video is not possible here.", status: 422, operatorStatus: 409, isOfDescription: true)
    case .trackNotFound:
      .init("TRACK_NOT_FOUND", "There is no such track in the room.", flashphoner: "Stream not found")
    case .notSubscribed: .init("NOT_SUBSCRIBED", "There is no such subscription.")
    case .tooManyTracks: .init("TOO_MANY_TRACKS", "Too many tracks.", status: 422, isOfDescription: true)
    case .noCommonCodec:
      .init(
        "NO_COMMON_CODEC", "No codec that both ends know.", status: 422, isOfDescription: true,
        flashphoner: "No common codecs")
    case .negotiationFailed:
      .init("NEGOTIATION_FAILED", "The offer or answer cannot be used.", status: 400, isOfDescription: true)
    case .transportFailed:
      .init("TRANSPORT_FAILED", "The media connection failed.", isRetryable: true, flashphoner: "Failed by ICE timeout")
    case .layerUnavailable: .init("LAYER_UNAVAILABLE", "The track has no such layer.")
    case .internalError: .init("INTERNAL", "The server made a mistake.", operatorStatus: 500)
    case .draining:
      .init(
        "DRAINING", "The server is about to stop; connect again in a moment.", isRetryable: true, status: 503,
        operatorStatus: 503)
    case .overloaded:
      .init(
        "OVERLOADED", "The server has no room for more; try again later.", isRetryable: true, status: 503,
        operatorStatus: 503)
    }
  }
}
