// What waits for somebody who does not read: so many bytes and messages, and not one more.
import Basics
import Dispatch
import TestSupport
import Testing

@testable import WebSockets

@Suite struct OutputBoundTests {
  @Test func soManyBytesWaitAndNotOneMore() {
    var queue = OutputQueue(limits: WebSocketLimits())
    let parts = [1 << 19, (1 << 19) - 1, 1].map { queue.append([UInt8](repeating: 1, count: $0)) }
    #expect(parts == [true, true, true] && queue.queuedBytes == 1 << 20)
    let more = queue.append([2])
    #expect(!more && queue.queuedBytes == 1 << 20)
    if let next = queue.next { queue.advance(next.frame) }
    let again = queue.append([2])
    #expect(again, "what is read makes space")
  }

  @Test func soManyMessagesWaitAndNotOneMore() {
    var queue = OutputQueue(limits: WebSocketLimits())
    let taken = (0..<4_096).count { _ in queue.append([1]) }
    #expect(taken == 4_096 && queue.count == 4_096)
    let more = queue.append([2])
    #expect(!more)
    if let next = queue.next { queue.advance(next.frame) }
    let again = queue.append([2])
    #expect(again && queue.count == 4_096)
  }

  /// Where what waits at one address is too much, the one for whom the most waits goes, and the others get on.
  @Test func whatWaitsAtOneAddressIsBounded() async throws {
    let log = EventLog()
    let server = try startEcho(log: log) { $0.maximumQueuedBytesPerAddress = 1 << 20 }
    defer { server.stop() }
    // With buffers as small as these the kernel takes little of what nobody reads.
    let raws = try (0..<4).map { index in
      try RawConnection(port: server.port, receiveBuffer: 4_096, segment: 536, from: index == 3 ? 2 : 1)
    }
    var ids: [WebSocketID] = []
    for raw in raws {
      await raw.upgrade()
      let known = ids
      let new = await log.first { if case .opened(let id, _) = $0, !known.contains(id) { id } else { nil } }
      ids.append(try #require(new))
    }
    func send(_ kilobytes: Int, to index: Int) {
      for _ in 0..<kilobytes / 32 { _ = server.sender.send([UInt8](repeating: 0x61, count: 32 << 10), to: ids[index]) }
    }
    send(960, to: 0)
    send(960, to: 3)
    send(640, to: 1)
    #expect(await log.closure(of: ids[0])?.cause == .slowReader)
    send(32, to: 2)
    #expect(await raws[2].receiveText()?.utf8.count == 32 << 10)
    #expect(await raws[1].receiveText()?.utf8.count == 32 << 10, "nobody else was cut off")
    #expect(await raws[3].receiveText()?.utf8.count == 32 << 10, "nor anybody elsewhere")
    #expect(log.all.count { if case .closed = $0 { true } else { false } } == 1)
  }

  /// What comes in one go may be more than may wait for one that reads: the kernel takes some of it first. Nobody waits for one that does not.
  @Test(arguments: [true, false]) func moreThanMayWaitComesInOneGo(reads: Bool) async throws {
    let log = EventLog()
    var limits = WebSocketLimits.patient()
    limits.maximumQueuedBytes = 64 << 10
    let server = try startEcho(limits: limits, log: log)
    defer { server.stop() }
    let raw = try RawConnection(
      port: server.port, receiveBuffer: reads ? 1 << 20 : 4_096, segment: reads ? nil : 536)
    await raw.upgrade()
    let id = try #require(await log.opened())
    // Meanwhile the thread reads nothing of what is for it.
    let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    server.sender.run(at: .zero) {
      begun.signal()
      end.wait()
    }
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        begun.wait()
        done.resume()
      }
    }
    let (piece, count) = ([UInt8](repeating: 0x61, count: 4 << 10), reads ? 40 : 2_000)
    for _ in 0..<count { _ = server.sender.send(piece, to: id) }
    end.signal()
    guard reads else {
      #expect(await log.closure(of: id)?.cause == .slowReader, "the control")
      return
    }
    for _ in 0..<count { #expect(await raw.receiveText()?.utf8.count == piece.count) }
    #expect(log.closures.isEmpty)
  }

  /// One that is closing counts as long as its bytes wait. Where it makes space then, it is not told of again.
  @Test func whoIsClosingIsReportedClosedOnce() async throws {
    let log = EventLog()
    let server = try startEcho(log: log) { $0.maximumQueuedBytesPerAddress = 1 << 20 }
    defer { server.stop() }
    let raws = try (0..<2).map { _ in try RawConnection(port: server.port, receiveBuffer: 4_096, segment: 536) }
    var ids: [WebSocketID] = []
    for raw in raws {
      await raw.upgrade()
      let known = ids
      let new = await log.first { if case .opened(let id, _) = $0, !known.contains(id) { id } else { nil } }
      ids.append(try #require(new))
    }
    func send(_ kilobytes: Int, to id: WebSocketID) {
      for _ in 0..<kilobytes / 32 { _ = server.sender.send([UInt8](repeating: 0x61, count: 32 << 10), to: id) }
    }
    send(960, to: ids[0])
    server.sender.close(ids[0], code: 1000, reason: "bye")
    #expect(await log.closure(of: ids[0])?.cause == .local)
    send(640, to: ids[1])
    // It is cut off in the middle of what it did not read.
    #expect(await raws[0].readToEnd().utf8.count < 960 << 10)
    #expect(await raws[1].receiveText()?.utf8.count == 32 << 10, "the other was not cut off")
    #expect(log.closures.count == 1 && server.statistics.webSocketsOpen == 1)
  }
}
