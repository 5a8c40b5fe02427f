// Lines of the log about what may happen for each message.

import Basics
import Testing

@testable import Server

@Suite struct RareLinesTests {
  /// One kind of event is not taken and others are: the log says so once a minute.
  @Test func someThatFailAmongOthersAreTwoLinesAMinute() {
    var lines = FailureLines()
    var said: [FailureLines.Line] = []
    for step in 0..<1200 {
      let now = Instant.zero + .milliseconds(step * 100)
      said += [lines.note(isTaken: false, at: now), lines.note(isTaken: true, at: now)].compactMap { $0 }
    }
    #expect(said == [.failing(attempts: 1), .recovered, .failing(attempts: 600), .recovered])
  }

  /// A server that is down is said to be down once, however long it is, and to be back at once.
  @Test func aRealChangeIsSaidAtOnce() {
    var lines = FailureLines()
    #expect(lines.note(isTaken: true, at: .zero) == nil)
    #expect(lines.note(isTaken: false, at: .zero) == .failing(attempts: 1))
    for minute in 0..<60 { #expect(lines.note(isTaken: false, at: .zero + .seconds(minute * 60)) == nil) }
    #expect(lines.note(isTaken: true, at: .zero + .seconds(3600)) == .recovered)
    #expect(lines.note(isTaken: true, at: .zero + .seconds(3600)) == nil)
    #expect(lines.note(isTaken: false, at: .zero + .seconds(3601)) == .failing(attempts: 61))
  }

  @Test func whatIsLeftOutIsCounted() {
    #expect(RareLine.pause == .seconds(60))
    var line = RareLine()
    #expect(line.take(at: .zero) == nil && line.deadline == nil)
    line.add(3)
    #expect(line.take(at: .zero) == 3 && line.deadline == nil)
    line.add()
    line.add()
    let next = Instant.zero + .seconds(60)
    #expect(line.take(at: next - .milliseconds(1)) == nil && line.deadline == next)
    #expect(line.take(at: next) == 2 && line.take(at: next) == nil)
  }
}
