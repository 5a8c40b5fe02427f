// Why a call, a ring or a membership ended, with its number (docs/protocol.md, reasons).

/// A reason in `call.ended`, `call.stopped`, `member.*` and records. The raw value is its name on the wire.
public enum Reason: String, WireName {
  case hangup
  case rejected
  case busy
  case noAnswer = "no_answer"
  case cancelled
  case answeredElsewhere = "answered_elsewhere"
  case answeredByOther = "answered_by_other"
  case rejectedElsewhere = "rejected_elsewhere"
  case rejectedByOther = "rejected_by_other"
  case unreachable
  case connectFailed = "connect_failed"
  case disconnected
  case stopped
  case removed
  case replaced
  case switchedCall = "switched_call"
  case callerLost = "caller_lost"
  case networkChanged = "network_changed"
  case background
  case callEnded = "call_ended"

  /// Those that a client may give for declining or hanging up; all others are the server's findings.
  public static let said: [Reason] = [.hangup, .rejected, .busy, .networkChanged, .background]

  /// Why somebody who is in a call leaves it by his own wish: what is said of a ring means nothing there.
  public var asDeparture: Reason { [.networkChanged, .background].contains(self) ? self : .hangup }

  /// `code` on the wire; two reasons that differ only in whose device it was share one.
  public var code: Int {
    switch self {
    case .hangup: 6000
    case .rejected: 6001
    case .busy: 6002
    case .noAnswer: 6003
    case .cancelled: 6004
    case .answeredElsewhere, .answeredByOther: 6005
    case .rejectedElsewhere, .rejectedByOther: 6006
    case .unreachable: 6007
    case .connectFailed: 6008
    case .disconnected: 6009
    case .stopped: 6010
    case .removed: 6011
    case .replaced, .switchedCall: 6012
    case .callerLost: 6013
    case .networkChanged: 6014
    case .background: 6015
    case .callEnded: 6016
    }
  }
}
