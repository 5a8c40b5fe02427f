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
  /// The same login may be another client's, or one's own that is not given up yet: both are another who has the name.
  static let loginTaken = "Somebody in the room has this login"
  /// Warnings: everything else goes on.
  static let stopping = "The server is stopping: connect again"
  static let notRecorded = "Recording is not supported yet: it is planned"

  /// What is said of an error: as the table has it, but for what clients are told more of.
  static func text(_ error: ErrorObject) -> String {
    if error.code == .forbidden, error.data.reason == "publishers" { return nameInUse }
    if error.code == .transportFailed, let step = error.data.step { return text(step) }
    return error.code.form.flashphoner ?? error.message
  }

  /// What is said of media that failed.
  static func text(_ step: MediaStep) -> String { step == .dtls ? noDTLS : noICE }
}
