// Numbers and names of errors (docs/protocol.md, errors). This is the one file that maps codes to what a client sees.

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

extension ErrorCode {
  /// `data.name` on the wire.
  public var name: String { text.name }
  /// What is said where there is nothing more particular to say.
  public var message: String { text.message }

  /// Whether the same request may succeed later without anybody's doing.
  public var isRetryable: Bool {
    switch self {
    case .rateLimited, .transportFailed, .draining, .overloaded: true
    case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .notLoggedIn, .authFailed, .forbidden,
      .resumeExpired, .sessionReplaced, .unsupported, .tooLarge, .roomNotFound, .roomFull, .nameTaken, .alreadyJoined,
      .notJoined, .roomClosed, .roomLocked, .inLobby, .banned, .callNotFound, .callEnded, .invalidState,
      .answeredElsewhere,
      .rejectedElsewhere, .notInCall, .notInvited, .userNotFound, .selfBusy, .cannotCallSelf, .callFull,
      .tooManyInvitees, .mediaChangePending, .mediaNotAllowed, .trackNotFound, .notSubscribed, .tooManyTracks,
      .noCommonCodec, .negotiationFailed, .layerUnavailable, .internalError:
      false
    }
  }

  private var text: (name: String, message: String) {
    switch self {
    case .parseError: ("PARSE_ERROR", "This is not JSON.")
    case .invalidRequest: ("INVALID_REQUEST", "This is not a request.")
    case .methodNotFound: ("METHOD_NOT_FOUND", "There is no such method.")
    case .invalidParams: ("INVALID_PARAMS", "A parameter is missing or wrong.")
    case .notLoggedIn: ("NOT_LOGGED_IN", "Say session.hello first.")
    case .authFailed: ("AUTH_FAILED", "The token was not accepted.")
    case .forbidden: ("FORBIDDEN", "This is not allowed.")
    case .rateLimited: ("RATE_LIMITED", "Too many requests; slow down.")
    case .resumeExpired: ("RESUME_EXPIRED", "The session is over; say session.hello.")
    case .sessionReplaced: ("SESSION_REPLACED", "The session was replaced by a newer one of the same device.")
    case .unsupported: ("UNSUPPORTED", "The server does not do this.")
    case .tooLarge: ("TOO_LARGE", "Too large.")
    case .roomNotFound: ("ROOM_NOT_FOUND", "There is no such room.")
    case .roomFull: ("ROOM_FULL", "The room is full.")
    case .nameTaken: ("NAME_TAKEN", "Somebody in the room has this name.")
    case .alreadyJoined: ("ALREADY_JOINED", "Another of your devices is in the room.")
    case .notJoined: ("NOT_JOINED", "You are not in this room.")
    case .roomClosed: ("ROOM_CLOSED", "The room was closed.")
    case .roomLocked: ("ROOM_LOCKED", "The room is locked.")
    case .inLobby: ("IN_LOBBY", "Wait until somebody lets you in.")
    case .banned: ("BANNED", "You are not let into this room.")
    case .callNotFound: ("CALL_NOT_FOUND", "There is no such call.")
    case .callEnded: ("CALL_ENDED", "The call is over.")
    case .invalidState: ("INVALID_STATE", "This is not possible now.")
    case .answeredElsewhere: ("ANSWERED_ELSEWHERE", "The call was answered on another device.")
    case .rejectedElsewhere: ("REJECTED_ELSEWHERE", "The call was rejected on another device.")
    case .notInCall: ("NOT_IN_CALL", "You are not in this call.")
    case .notInvited: ("NOT_INVITED", "You were not invited to this call.")
    case .userNotFound: ("USER_NOT_FOUND", "There is no such user.")
    case .selfBusy: ("SELF_BUSY", "You are in a call.")
    case .cannotCallSelf: ("CANNOT_CALL_SELF", "You cannot call yourself.")
    case .callFull: ("CALL_FULL", "The call is full.")
    case .tooManyInvitees: ("TOO_MANY_INVITEES", "Too many people for this call.")
    case .mediaChangePending: ("MEDIA_CHANGE_PENDING", "Another change of media waits for its answer.")
    case .mediaNotAllowed: ("MEDIA_NOT_ALLOWED", "Video is not possible here.")
    case .trackNotFound: ("TRACK_NOT_FOUND", "There is no such track in the room.")
    case .notSubscribed: ("NOT_SUBSCRIBED", "There is no such subscription.")
    case .tooManyTracks: ("TOO_MANY_TRACKS", "Too many tracks.")
    case .noCommonCodec: ("NO_COMMON_CODEC", "No codec that both ends know.")
    case .negotiationFailed: ("NEGOTIATION_FAILED", "The offer or answer cannot be used.")
    case .transportFailed: ("TRANSPORT_FAILED", "The media connection failed.")
    case .layerUnavailable: ("LAYER_UNAVAILABLE", "The track has no such layer.")
    case .internalError: ("INTERNAL", "The server made a mistake.")
    case .draining: ("DRAINING", "The server is about to stop; connect again in a moment.")
    case .overloaded: ("OVERLOADED", "The server has no room for more; try again later.")
    }
  }
}
