// What a message costs the service thread does not depend on how many are connected.
import Basics
import Foundation
import TestSupport
import Testing

@testable import WebSockets

@Suite(.serialized, .timeLimit(.minutes(5))) struct ScaleTests {
  /// CPU time of the calling thread.
  private static func cpu() -> TimeDelta {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return TimeDelta(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// CPU time of the service thread from one message to the next, with thirty pongs before each, the least of several rounds: what else the machine does only adds.
  /// `walk` is done for each message.
  private func cost(beside idle: Int, walk: @escaping @Sendable (Int) -> Void = { _ in }) async throws -> TimeDelta {
    let marks = Locked<[TimeDelta]>([])
    // Nobody is pinged meanwhile: what that costs goes by the time that passes, and so by what else the machine does.
    var limits = WebSocketLimits(pingInterval: .seconds(600), silenceLimit: .seconds(1200))
    (limits.controlFramesAtOnce, limits.controlFramesPerSecond) = (1 << 20, 1_048_576)
    let configuration = WebServerConfiguration(addresses: [loopback], limits: limits)
    let echo = Locked<WebSocketSender?>(nil)
    let server = try WebServer.start(configuration, routes: []) { sender in
      echo.withLock { $0 = sender }
      return { event in
        guard case .text(let id, let bytes) = event else { return }
        walk(idle)
        marks.withLock { $0.append(Self.cpu()) }
        echo.withLock { $0 }?.send(bytes, to: id)
      }
    }
    defer { server.stop() }
    let silent = try (0..<idle).map { _ in try RawSocket(port: server.port) }
    for socket in silent { socket.upgrade() }
    let asking = try RawConnection(port: server.port)
    await asking.upgrade()
    #expect(await eventually { server.statistics.webSocketsOpen == idle + 1 })
    let pongs = Array(repeatElement(RawConnection.frame(10, Array("alive?".utf8)), count: 30).joined())
    var best = TimeDelta(nanoseconds: .max)
    for _ in 0..<8 {
      marks.withLock { $0 = [] }
      for _ in 0..<50 {
        // In one write, or the kernel holds the second back until the first is acknowledged.
        asking.write(pongs + RawConnection.frame(1, Array("ping".utf8)))
        #expect(await asking.receiveText() == "ping")
      }
      let times = marks.withLock { $0 }
      let (first, last) = (try #require(times.first), try #require(times.last))
      best = min(best, (last - first) / 49)
    }
    withExtendedLifetime(silent) {}
    return best
  }

  @Test func aMessageCostsTheSameBesideThousands() async throws {
    var few = try await cost(beside: 10)
    var many = try await cost(beside: 3_000)
    // A busy machine adds to one of them alone: both are measured again then.
    for _ in 0..<2 where many.nanoseconds * 2 > few.nanoseconds * 3 {
      few = min(few, try await cost(beside: 10))
      many = min(many, try await cost(beside: 3_000))
    }
    #expect(many.nanoseconds * 2 <= few.nanoseconds * 3, "beside 10: \(few), beside 3,000: \(many)")
    // The control: who walks past all of them, as poll() does, does not pass.
    let walked = try await cost(beside: 3_000) { count in
      var watched = (0..<count).map { _ in pollfd(fd: 0, events: 0, revents: 0) }
      poll(&watched, nfds_t(count), 0)
    }
    #expect(walked.nanoseconds * 2 > few.nanoseconds * 3, "beside 10: \(few), with a walk: \(walked)")
  }

  /// What two hundred connections cost whose handshakes wait for their turn, beside so many whose first record does not come.
  private func costOfArrivals(beside silent: Int, walk: (Int) -> Void = { _ in }) throws -> TimeDelta {
    let loop = try #require(EventLoop())
    let arrivals = TLSArrivals(
      loop, patience: .seconds(600), most: 10_000, ofAddress: 10_000,
      begin: { descriptor, _, _ in
        close(descriptor)
        return nil
      }, end: { _ in }, refused: {})
    defer { arrivals.stop() }
    var others: [Int32] = []
    defer { for other in others { close(other) } }
    func connect() throws -> Int32 {
      var pair: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
      others.append(pair[1])
      return pair[0]
    }
    for _ in 0..<silent { arrivals.add(try connect(), nil, nil) }
    let asking = try (0..<200).map { _ in try connect() }
    let record: [UInt8] = [22, 3, 1, 0, 1, 0]
    for other in others.suffix(200) { #expect(write(other, record, record.count) == record.count) }
    let start = Self.cpu()
    for descriptor in asking {
      walk(silent)
      arrivals.add(descriptor, nil, nil)
    }
    let end = Self.cpu()
    #expect(arrivals.count > silent + 100, "they wait")
    return end - start
  }

  @Test func anArrivalCostsTheSameBesideThousands() throws {
    func least(beside silent: Int, walk: (Int) -> Void = { _ in }) throws -> TimeDelta {
      try (0..<4).map { _ in try costOfArrivals(beside: silent, walk: walk) }.reduce(TimeDelta(nanoseconds: .max), min)
    }
    let (few, many) = (try least(beside: 10), try least(beside: 2_000))
    #expect(many.nanoseconds <= few.nanoseconds * 3, "beside 10: \(few), beside 2,000: \(many)")
    // The control: who walks past all of them does not pass.
    let walked = try least(beside: 2_000) { count in
      var watched = (0..<count).map { _ in pollfd(fd: 0, events: 0, revents: 0) }
      poll(&watched, nfds_t(count), 0)
    }
    #expect(walked.nanoseconds > few.nanoseconds * 3, "beside 10: \(few), with a walk: \(walked)")
  }
}
