// Datagrams waiting for the socket: bytes in one growing array, so that a packet costs no allocation in the long run.

import Basics

struct Outbox {
  private(set) var bytes: [UInt8] = []
  private(set) var entries: [(range: Range<Int>, to: SocketAddress)] = []

  var isEmpty: Bool { entries.isEmpty }

  mutating func append(_ datagram: Span<UInt8>, to address: SocketAddress) {
    let start = bytes.count
    datagram.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    entries.append((start..<bytes.count, address))
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
  }
}

/// Room to build one packet in. It is taken out while it is used: a span into a property would lock its owner.
struct Scratch {
  /// Header, payload and tag of any packet made here.
  static let capacity = 2_048
  private var bytes = [UInt8](repeating: 0, count: capacity)

  mutating func take() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &bytes)
    return taken
  }

  mutating func putBack(_ taken: consuming [UInt8]) { bytes = taken }
}
