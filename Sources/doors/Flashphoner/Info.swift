// What a refusal of the core becomes in `info`. Words that their SDKs know stand in front of all others.
import RoostProtocol

/// Words of `info` that clients know.
enum Info {
  static let notFound = "Stream not found"
  static let nameInUse = "Stream name is already in use"
  static let publisherStopped = "Stopped by publisher stop"
  static let noICE = "Failed by ICE timeout"
  static let noDTLS = "Failed by DTLS error"
  static let noCodecs = "No common codecs"
  static let noSession = "Session does not exist"
  static let restricted = "Restricted access"
  static let tokenWaits = "A token of this connection waits to be looked at"
  static let roomFull = "Room is full"
  /// Warnings: everything else goes on.
  static let stopping = "The server is stopping: connect again"
  static let notRecorded = "Recording is not supported yet: it is planned"

  /// What is said of an error.
  static func text(_ error: ErrorObject) -> String {
    switch error.code {
    case .roomFull: roomFull
    case .forbidden where error.data.reason == "publishers": nameInUse
    case .forbidden, .authFailed: restricted
    case .trackNotFound, .roomNotFound: notFound
    case .noCommonCodec: noCodecs
    case .notJoined, .roomClosed, .notLoggedIn, .sessionReplaced, .resumeExpired: noSession
    case .transportFailed: text(error.data.step ?? .ice)
    // The same login may be another client's, or one's own that is not given up yet: both are another who has the name.
    case .alreadyJoined, .nameTaken: "Somebody in the room has this login"
    case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .rateLimited, .unsupported, .tooLarge,
      .roomLocked, .inLobby, .banned, .callNotFound, .callEnded, .invalidState, .answeredElsewhere, .rejectedElsewhere,
      .notInCall,
      .notInvited, .userNotFound, .selfBusy, .cannotCallSelf, .callFull, .tooManyInvitees, .mediaChangePending,
      .mediaNotAllowed, .notSubscribed, .tooManyTracks, .negotiationFailed, .layerUnavailable, .internalError,
      .draining, .overloaded:
      error.message
    }
  }

  /// What is said of media that failed.
  static func text(_ step: MediaStep) -> String {
    switch step {
    case .dtls: noDTLS
    default: noICE
    }
  }
}
