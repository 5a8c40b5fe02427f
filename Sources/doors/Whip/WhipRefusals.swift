// What operators read of refusals. A client whose SDP cannot work will not work by waiting either, so that is a warning; a full room is
// ordinary. The reason is the one in the answer's body.
import Basics
import DoorKit
import Logging
import Members

extension WhipDoor {
  /// Leaves a line about a refusal, of the door `whip` or `whep`: a warning where it is about SDP.
  /// - Parameters:
  ///   - who: the field that says whose request it was.
  ///   - subject: whose it was, for the bounds of lines.
  func note(
    _ problem: WhipProblem, _ door: String, _ who: (name: String, value: LogValue), of subject: LineSubject
  ) {
    lines.write(problem.isOfSDP ? .warning : .info, .refused, of: subject, door: door) {
      LogFields([who, ("status", LogValue(problem.status.rawValue)), ("why", LogValue(problem.detail))])
    }
  }

  /// The same of what a session has asked for.
  func note(_ problem: WhipProblem, _ entry: Entry?, _ connection: ConnectionID) {
    guard let entry else { return }
    note(problem, entry.kind.name, ("connection", LogValue(connection)), of: entry.subject)
  }
}
