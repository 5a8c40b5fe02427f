// Datagrams leave when their time has come, and not one is lost or kept.

import Basics
import Testing

@testable import SyntheticParticipant

@Suite struct JitterQueueTests {
  private let address = SocketAddress(v4: 0x7f00_0001, port: 9)

  @Test func datagramsLeaveInTheOrderOfTheirTimes() {
    var queue = JitterQueue()
    #expect(queue.nextDue == .distantFuture)
    let delays = [30, 10, 20, 10, 0]
    for (number, delay) in delays.enumerated() {
      queue.add([UInt8(number)].span, to: address, due: .zero + .milliseconds(delay))
    }
    var left: [[UInt8]] = []
    for time in 0...29 { while let one = take(&queue, time) { left.append(one) } }
    #expect(left == [[4], [1], [3], [2]])
    #expect(queue.nextDue == .zero + .milliseconds(30))
    #expect(take(&queue, 30) == [0] && take(&queue, 1_000) == nil && queue.nextDue == .distantFuture)
  }

  private func take(_ queue: inout JitterQueue, _ time: Int) -> [UInt8]? {
    queue.take(at: .zero + .milliseconds(time))?.bytes
  }
}
