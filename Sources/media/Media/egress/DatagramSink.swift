// Where datagrams go, and what is handed over: runs of equal size, each for one peer.

import Basics
import Forwarding

/// Where sealed datagrams go: the socket in the server, an array in tests.
public protocol DatagramSink: ~Copyable {
  /// Sends `bytes` to `path` as datagrams of `segment` bytes each, the last one may be shorter.
  /// Returns nil, or why nothing was sent.
  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason?

  /// Sends several, in order; `told` hears what became of each, in order. Where one system call can send them all, this
  /// does; without an implementation of its own each is sent by itself.
  mutating func send(_ runs: Span<OutgoingRun>, _ told: (_ run: OutgoingRun, _ failure: DropReason?) -> Void)
}

extension DatagramSink where Self: ~Copyable {
  /// A send for each.
  public mutating func send(_ runs: Span<OutgoingRun>, _ told: (_ run: OutgoingRun, _ failure: DropReason?) -> Void) {
    for index in runs.indices {
      told(runs[index], send(runs[index].bytes, segment: runs[index].segment, to: runs[index].path))
    }
  }
}

/// Datagrams of one size that lie one behind the other and go to one peer.
public struct OutgoingRun {
  /// Where to.
  public let path: Path
  /// What is sent. Valid for as long as the call lasts that it is given to.
  public let bytes: UnsafeRawBufferPointer
  /// Size of the datagrams; the last may be shorter.
  public let segment: Int
  /// How many there are.
  public let count: Int

  /// `count` datagrams of `segment` bytes.
  public init(path: Path, bytes: UnsafeRawBufferPointer, segment: Int, count: Int) {
    self.path = path
    self.bytes = bytes
    self.segment = segment
    self.count = count
  }
}

/// The way to a peer: its address and the local socket that it reaches us on.
public struct Path: Hashable, Sendable {
  /// The peer's address.
  public var remote: SocketAddress
  /// Index of the local socket.
  public var socket: UInt8

  /// Both ends.
  public init(remote: SocketAddress, socket: UInt8) {
    self.remote = remote
    self.socket = socket
  }
}
