// What waits for somebody who does not read: so many bytes and messages, and not one more.
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
}
