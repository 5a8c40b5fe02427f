// What a refusal of the core is called for Flashphoner's SDKs: a word that they know, or the core's own sentence.

import RoostProtocol
import Testing

@testable import Flashphoner

@Suite struct InfoTests {
  /// The table has their words as the door has them, to the letter: SDKs compare them.
  @Test func everyWordOfTheTableIsOneTheyKnow() {
    let words = [
      Info.notFound, Info.noICE, Info.noCodecs, Info.noSession, Info.restricted, Info.roomFull, Info.loginTaken,
    ]
    #expect(Set(ErrorCode.allCases.compactMap(\.form.flashphoner)) == Set(words))
    #expect(ErrorCode.allCases.count { $0.form.flashphoner != nil } == 14)
  }

  @Test func whereMoreIsKnownMoreIsSaid() {
    func text(_ code: ErrorCode, _ fill: (inout ErrorData) -> Void = { _ in }) -> String {
      Info.text(ErrorObject(code, "In the core's words.", fill))
    }
    #expect(text(.forbidden) == Info.restricted && text(.forbidden) { $0.reason = "publishers" } == Info.nameInUse)
    #expect(text(.transportFailed) == Info.noICE && text(.transportFailed) { $0.step = .dtls } == Info.noDTLS)
    #expect(text(.banned) == "In the core's words.", "the control: they know no word for it")
  }
}
