// What waits beside media until the next flush.

import Basics
import Testing

@testable import Media

@Suite struct ControlQueueTests {
  private let paths = (1...3).map { Path(remote: SocketAddress(v4: 0x7f00_0001, port: $0), socket: 0) }

  @Test func eachKeepsItsBytesAndItsWay() {
    var queue = ControlQueue()
    #expect(queue.isEmpty)
    let sent: [[UInt8]] = [[1], Array(repeating: 2, count: 1_200), [3, 4, 5]]
    for (path, bytes) in zip(paths, sent) { queue.append(bytes, to: path) }
    #expect(!queue.isEmpty && queue.datagrams.map(\.path) == paths)
    #expect(queue.datagrams.map { Array(queue.bytes[$0.range]) } == sent)
    queue.removeAll()
    #expect(queue.isEmpty && queue.bytes.isEmpty)
  }

  @Test func whatDoesNotFitIsLostAndCounted() {
    var queue = ControlQueue()
    for number in 0..<(ControlQueue.capacity + 2) {
      queue.append([UInt8(truncatingIfNeeded: number), 7], to: paths[0])
    }
    #expect(queue.datagrams.count == ControlQueue.capacity && queue.lost == 2)
    #expect(queue.bytes.count == ControlQueue.capacity * 2)
    #expect(queue.datagrams.last.map { Array(queue.bytes[$0.range]) } == [255, 7])
    queue.removeAll()
    #expect(queue.lost == 0)
    queue.append([9], to: paths[1])
    #expect(queue.datagrams.map { Array(queue.bytes[$0.range]) } == [[9]])
  }

  @Test func spaceForARushIsGivenBack() {
    var queue = ControlQueue()
    for _ in 0..<1_000 { queue.append([UInt8](repeating: 1, count: 1_200), to: paths[0]) }
    queue.removeAll()
    #expect(queue.bytes.capacity < 100_000)
  }
}
