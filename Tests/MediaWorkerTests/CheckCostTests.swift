// What checks cost a worker's loop over real sockets: good ones above their bound no more than forged ones.

import Basics
import ICE
import Testing

@testable import Media
@testable import MediaWorker

struct CheckCostTests {
  private static let server = ICECredentials(ufrag: "serv", password: "serverserverserverserver")
  private static let client = ICECredentials(ufrag: "clnt", password: "clientclientclientclient")
  /// Checks of a round: fewer than the kernel's buffer holds.
  private static let round = 200

  private static func check(_ number: Int, password: String) throws -> [UInt8] {
    var agent = ICEClientAgent(
      local: client, remote: ICECredentials(ufrag: server.ufrag, password: password),
      candidates: [SocketAddress(v4: 0x7f00_0001, port: 9)], tieBreaker: 1, seed: UInt64(number))
    var bytes = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
    var span = bytes.mutableSpan
    guard case .send(let length, _) = agent.poll(at: .zero, request: &span) else { throw NoCheck() }
    return Array(bytes[..<length])
  }

  private struct NoCheck: Error {}

  /// How many times as long a good check takes as a forged one, each where nothing else had the processor: at its least.
  private static func ratio(checksPerSecond: Int?) throws -> Double {
    var settings = WorkerState.Settings()
    settings.checksPerSecond = checksPerSecond
    var bench = try Bench(settings)
    bench.loop.state.apply(
      .openTransport(TransportKey(1), room: RoomKey(1), credentials: server, loudest: nil), at: .zero)
    let good = try (0..<round).map { try check($0, password: server.password) }
    let forged = try (0..<round).map { try check($0, password: "guess") }
    var least = [UInt64](repeating: .max, count: 2)
    for turn in 0..<40 {
      let before = bench.loop.counters.busyNanoseconds
      let seen = bench.loop.datagrams
      for check in turn % 2 == 0 ? good : forged {
        let isSent = bench.send(check, segment: check.count)
        #expect(isSent)
      }
      while bench.loop.datagrams < seen + UInt64(round) { bench.loop.turn() }
      // The first of each make the path and empty the bound.
      if turn > 3 { least[turn % 2] = min(least[turn % 2], bench.loop.counters.busyNanoseconds - before) }
    }
    let dropped = bench.loop.state.counters.drops[.tooManyChecks]
    #expect(checksPerSecond == nil ? dropped == 0 : dropped > 3_000)
    return Double(least[0]) / Double(least[1])
  }

  @Test func aGoodCheckAboveTheBoundCostsNoMoreThanAForgedOne() throws {
    let ratio = try Self.ratio(checksPerSecond: ICELiteAgent.checksPerSecond)
    #expect(ratio < 1.5)
  }

  /// The control.
  @Test func withoutABoundItCostsMore() throws {
    let ratio = try Self.ratio(checksPerSecond: nil)
    #expect(ratio > 1.5)
  }
}
