// The search for the most rooms: up by ones, down where the first were too many, and whose fault its end was.

import Testing

@testable import LoadGenerator

@Suite struct RoomSearchTests {
  private func result(_ rooms: Int, held: Bool, generator: [String] = []) -> RoomSearch.Try {
    var result = RoomSearch.Try()
    (result.rooms, result.held, result.generatorReasons) = (rooms, held, generator)
    (result.packetsPerSecond, result.cpuMicrosPerForwardedPacket) = (Double(rooms) * 42_000, 2.5)
    (result.serverCPU, result.lossRatio, result.p99Ms) = (0.99, held ? 0 : 0.02, held ? 2 : 9)
    return result
  }

  /// The search from `first` on where `most` rooms hold; the sizes that it tried.
  private func search(from first: Int, most: Int) -> (RoomSearch, tried: [Int]) {
    var search = RoomSearch()
    var rooms: Int? = first
    while let next = rooms { rooms = search.take(result(next, held: next <= most)) }
    return (search, search.tries.map(\.rooms))
  }

  @Test(arguments: [
    (1, 3, [1, 2, 3, 4]), (3, 3, [3, 4]), (4, 3, [4, 3]), (6, 3, [6, 5, 4, 3]), (2, 0, [2, 1]), (1, 0, [1]),
  ])
  func findsTheMost(_ first: Int, _ most: Int, _ sizes: [Int]) {
    let (search, tried) = search(from: first, most: most)
    #expect(search.most == most && tried == sizes)
    #expect(!search.verdict.isEmpty)
  }

  @Test func theServerIsBlamedOnlyWhereTheGeneratorHadTime() {
    var search = RoomSearch()
    #expect(take(&search, result(2, held: true)) == 3)
    #expect(take(&search, result(3, held: false)) == nil)
    #expect(
      search.verdict == "2 rooms held, 84000 packets a second. 3 did not: loss 2 %, p99 9 ms, server 99 % of a CPU. "
        + "The server was the bottleneck.")
    search = RoomSearch()
    _ = take(&search, result(2, held: true))
    var late = result(3, held: false, generator: ["a media thread used 99 % of a CPU"])
    var both = search
    _ = take(&both, late)
    #expect(
      both.verdict.hasSuffix(" The server was full, and so was the generator (a media thread used 99 % of a CPU)."))
    late.serverCPU = 0.8
    _ = take(&search, late)
    #expect(search.verdict.contains("The generator was the bottleneck (a media thread used 99 % of a CPU)"))
    #expect(search.verdict.hasSuffix("at 2.5 µs a packet a whole CPU is 400000 packets a second."))
  }

  private func take(_ search: inout RoomSearch, _ result: RoomSearch.Try) -> Int? { search.take(result) }

  @Test(arguments: [(0.0, 4.9, true), (0.0011, 1, false), (0, 5.1, false)])
  func holdsWithinItsBounds(_ loss: Double, _ p99: Double, _ held: Bool) {
    var report = Report()
    report.lossRatio = loss
    report.latencyMs = .init(audio: nil, video: Percentiles([p99]))
    #expect(RoomSearch.Try(report).held == held)
  }

  @Test(arguments: [\Report.damaged, \.wrongStream, \.duplicates])
  func whatIsWrongDoesNotHold(_ count: WritableKeyPath<Report, UInt64> & Sendable) {
    var report = Report()
    #expect(RoomSearch.Try(report).held)
    report[keyPath: count] = 1
    #expect(!RoomSearch.Try(report).held)
  }

  @Test func whatParticipantsComplainOfDoesNotHold() {
    var report = Report()
    report.problems = ["one"]
    #expect(!RoomSearch.Try(report).held)
  }
}
