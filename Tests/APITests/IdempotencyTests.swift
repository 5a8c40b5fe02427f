// What comes again with the same Idempotency-Key is not done again.
import Basics
import Testing
import WebSockets

@testable import API

@Suite struct IdempotencyTests {
  private let done = HTTPResponse(status: 200, body: [1])
  private func name(_ text: String) -> IdempotencyWindow.Name { .init(key: "shop", text: text) }
  private let start = Instant(nanoseconds: 1)

  @Test func anAnswerComesAgainAndNothingIsDoneTwice() {
    var window = IdempotencyWindow()
    #expect(window.begin(name("a"), print: [1], at: start) == .new)
    #expect(window.begin(name("a"), print: [1], at: start) == .inFlight)
    #expect(window.begin(name("a"), print: [2], at: start) == .other)
    #expect(window.begin(.init(key: "other", text: "a"), print: [1], at: start) == .new, "another's key")
    window.finish(name("a"), print: [1], done)
    #expect(window.begin(name("a"), print: [1], at: start) == .answered(done))
    #expect(window.begin(name("a"), print: [2], at: start) == .other)
    // The control: after its time it is done again.
    #expect(window.begin(name("a"), print: [2], at: start + IdempotencyWindow.time + .seconds(1)) == .new)
  }

  @Test(arguments: [(200, true), (404, false), (409, false), (429, false), (500, false), (503, false)])
  func whatMayBeAnotherTheNextTimeIsNotKept(_ status: Int, _ isKept: Bool) {
    var window = IdempotencyWindow()
    _ = window.begin(name("a"), print: [1], at: start)
    window.finish(name("a"), print: [1], HTTPResponse(status: status))
    let again = window.begin(name("a"), print: [1], at: start)
    #expect(again == (isKept ? .answered(HTTPResponse(status: status)) : .new))
  }

  @Test func oneKeyHasAThousandAndTheOldestGoes() {
    var window = IdempotencyWindow()
    for number in 0...IdempotencyWindow.most {
      #expect(window.begin(name("\(number)"), print: [1], at: start) == .new)
      window.finish(name("\(number)"), print: [1], done)
    }
    #expect(window.begin(name("\(IdempotencyWindow.most)"), print: [1], at: start) == .answered(done))
    #expect(window.begin(name("0"), print: [1], at: start) == .new)
  }

  /// What is being done is never forgotten, nor is what comes again.
  @Test func onlyAnswersGo() {
    var window = IdempotencyWindow()
    for number in 0..<IdempotencyWindow.most { _ = window.begin(name("\(number)"), print: [1], at: start) }
    #expect(window.begin(name("more"), print: [1], at: start) == .full)
    #expect(window.begin(name("0"), print: [1], at: start) == .inFlight)
    window.finish(name("5"), print: [1], done)
    #expect(window.begin(name("5"), print: [1], at: start) == .answered(done), "it comes again, and stays")
    #expect(window.begin(name("more"), print: [1], at: start) == .new)
    #expect(window.begin(name("5"), print: [1], at: start) == .full, "it has made space")
  }
}
