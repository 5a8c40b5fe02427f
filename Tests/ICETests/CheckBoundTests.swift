// Authentic checks of one peer: so many at once, so many a second, and nobody else can use them up.

import Basics
import STUN
import Testing

@testable import ICE

@Suite final class CheckBoundTests {
  private var agent = ICELiteAgent.atServer()

  /// A check of its own transaction.
  private func check(_ number: Int, password: String = server.password) -> Check {
    Check(username: "serv:clnt", password: password, id: TransactionID(high: 7, low: UInt64(number + 1_000)))
  }

  private func answers(
    _ numbers: Range<Int>, from source: SocketAddress = home, at now: Instant
  ) throws -> Int {
    var count = 0
    for number in numbers {
      let answer = try agent.take(check(number), from: source, at: now)
      if answer.isSuccess { count += 1 } else { #expect(answer.action == .ignored(.overRate)) }
    }
    return count
  }

  /// The path is known by its first check, which counts by itself.
  private func begin() throws {
    var first = check(-1)
    first.nominates = true
    _ = try agent.take(first, from: home, at: seconds(1))
  }

  @Test func aHundredAreLookedAtAtOnceAndNotOneMore() throws {
    try begin()
    #expect(try answers(0..<100, at: seconds(1)) == 100)
    #expect(try answers(100..<101, at: seconds(1)) == 0)
    #expect(try answers(101..<105, at: seconds(1.04)) == 0)
    #expect(try answers(105..<110, at: seconds(1.051)) == 1, "twenty a second")
    #expect(try answers(110..<400, at: seconds(11)) == 100, "and no more for a long silence")
  }

  /// The control: where nothing is bounded all are answered.
  @Test func withoutABoundAllAreLookedAt() throws {
    agent = ICELiteAgent(local: server, checksPerSecond: nil)
    try begin()
    #expect(try answers(0..<1_000, at: seconds(1)) == 1_000)
  }

  /// A check that is refused has cost as much.
  @Test(arguments: [Check(hasUnknownAttribute: true), Check(controlling: nil, controlled: 1)])
  func whatIsRefusedCountsAsWell(_ wrong: Check) throws {
    try begin()
    var refused = 0
    for number in 0..<101 {
      var other = wrong
      other.id = TransactionID(high: 8, low: UInt64(number) + 1)
      if try agent.take(other, from: home, at: seconds(1)).errorCode != nil { refused += 1 }
    }
    #expect(refused == 100)
    // Such a path never becomes a known one: it has the bound of new ones.
    for number in 0..<102 {
      var other = wrong
      other.id = TransactionID(high: 8, low: UInt64(number) + 1_000)
      if try agent.take(other, from: away, at: seconds(1)).errorCode != nil { refused += 1 }
    }
    #expect(refused == 199, "one of these hundred was that which made home known")
  }

  @Test func whatIsForgedTakesNothing() throws {
    try begin()
    for number in 0..<10_000 {
      let answer = try agent.take(check(number, password: "guess"), from: home, at: seconds(1))
      #expect(answer.errorCode == 401)
    }
    #expect(try answers(0..<101, at: seconds(1)) == 100)
  }

  @Test func theFirstCheckOfANewPathIsLookedAt() throws {
    try begin()
    _ = try answers(0..<1_000, at: seconds(1))
    #expect(try answers(1_000..<1_001, from: away, at: seconds(1)) == 1)
    #expect(try answers(1_001..<1_002, from: away, at: seconds(1)) == 0, "and now it is known")
    // A copy of one from elsewhere counts as much there.
    #expect(try answers(99..<100, from: six, at: seconds(1)) == 1)
  }

  /// More addresses than are remembered are new each time.
  @Test func newPathsAreBoundedAsWell() throws {
    var answered = 0
    for number in 0..<5_000 {
      let port = SocketAddress(v4: 0x0b00_0001, port: UInt16(1_000 + number % 40))
      answered += try answers(number..<(number + 1), from: port, at: seconds(1))
    }
    #expect((100...200).contains(answered), "a hundred on new paths, and a hundred on those that are remembered")
    #expect(try answers(9_000..<9_001, from: away, at: seconds(1.06)) == 1)
  }

  /// Somebody has seen a check pass, and sends it again and again from the peer's address and from everywhere.
  @Test func copiesLeaveRoomForOthers() throws {
    try begin()
    let copies = (0..<ICELiteAgent.checksPerSecond).map { $0 }
    for number in copies { _ = try answers(number..<(number + 1), at: seconds(1)) }
    var answered = 0
    for turn in 0..<10_000 {
      let number = copies[turn % copies.count]
      let source = turn % 2 == 0 ? home : SocketAddress(v4: 0x0b00_0000 + UInt32(turn), port: 9)
      answered += try answers(number..<(number + 1), from: source, at: seconds(10))
    }
    #expect(answered == 200, "a hundred of each kind of path")
    #expect(try answers(100..<200, at: seconds(10)) == 100)
    #expect(try answers(200..<201, from: away, at: seconds(10)) == 1)
  }

  /// A copy of one that is longer ago counts as a new one.
  @Test func copiesAreKnownByTheLastThousand() throws {
    try begin()
    var (time, sent) = (0.0, 0)
    // As many as there is room for each time, and a rest in which there is room again.
    func send(_ count: Int) throws {
      let until = sent + count
      while sent < until {
        time += 6
        let end = min(sent + 100, until)
        #expect(try answers(sent..<end, at: seconds(time)) == end - sent)
        sent = end
      }
    }
    try send(1_024)
    for (copied, room) in [(0, 100), (1, 99)] {
      time += 6
      #expect(try answers(copied..<(copied + 1), at: seconds(time)) == 1)
      #expect(try answers(10_000 * (copied + 1)..<(10_000 * (copied + 1) + 200), at: seconds(time)) == room)
    }
  }

  /// Old credentials are no reason to miss the new ones.
  @Test func theFirstCheckAfterARestartIsLookedAt() throws {
    try begin()
    _ = try answers(0..<1_000, at: seconds(1))
    let next = ICECredentials(ufrag: "serv2", password: "2222222222222222222222")
    agent.restart(local: next)
    #expect(try answers(1_000..<1_001, at: seconds(1)) == 0, "a restart alone gives nothing back")
    for number in 0..<101 {
      let id = TransactionID(high: 9, low: UInt64(number) + 1)
      let check = Check(username: "serv2:clnt2", password: next.password, id: id)
      #expect(try agent.take(check, from: home, at: seconds(1)).isSuccess == (number < 100))
    }
  }
}
