// What a refusal of the core is called in HTTP.

import RoostProtocol
import Testing

@testable import Whip

@Suite struct ProblemTests {
  /// A status that the door does not know would be answered as a mistake of the server.
  @Test(arguments: ErrorCode.allCases) func theDoorKnowsTheStatusOfEveryError(code: ErrorCode) {
    let problem = WhipProblem(ErrorObject(code))
    #expect(problem.status.rawValue == code.form.status && problem.code == code.name)
    #expect(problem.status != .conflict, "that is what a player hears where nothing is published yet")
    #expect(problem.isOfSDP == code.form.isOfDescription)
    #expect(code.form.operatorStatus >= 400 && code.form.operatorStatus < 600)
  }
}
