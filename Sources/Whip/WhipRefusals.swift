// What operators read of refusals. A client whose SDP cannot work will not work by waiting either, so that is a warning; a full room is
// ordinary. The reason is the one in the answer's body.
import Logging

extension WhipDoor {
  /// Leaves a line about a refusal, `whip_refused` or `whep_refused`: a warning where it is about SDP.
  /// - Parameter who: the field that says whose request it was.
  func note(_ problem: WhipProblem, _ door: String, _ who: (name: String, value: LogValue)) {
    let fields = LogFields([
      who, ("status", LogValue(problem.status.rawValue)), ("why", LogValue(problem.detail)),
    ])
    log.log(problem.isOfSDP ? .warning : .info, "\(door)_refused", fields)
  }
}
