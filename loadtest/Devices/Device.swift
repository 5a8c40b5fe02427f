// One device: a WebSocket with a session on it, and its part in a call, if it has one.

import Basics
import TLSClient

/// What is known of a device. Thousands stand in one array, so it is small.
struct Device {
  /// How far its connection is.
  enum Phase {
    /// Has none, and waits until it may try.
    case away
    case connecting, securing, upgrading
    /// Has asked for its session.
    case greeting
    /// Can be called.
    case ready
  }

  /// What the newest request was, whose reply is awaited.
  enum Request { case resume, hello, start, ringing, reject }

  /// Its part in a call; the other's index.
  enum Role: Equatable {
    case none
    case caller(Int)
    case callee(Int)
  }

  var phase = Phase.away
  var socket: Int32 = -1
  var watchesWrites = false
  var tls: TLSClientStream?
  /// What came and is no whole frame yet.
  var input: [UInt8] = []
  /// What the socket has not taken yet.
  var output: [UInt8] = []
  /// Fragments of a message whose end has not come.
  var fragments: [UInt8] = []
  /// Resumes its session.
  var token: String?
  var lastSeq = 0
  var nextId = 1
  var awaited: (id: Int, request: Request)?
  var role = Role.none
  /// The call that rings here; of a callee.
  var callId: String?
  /// When its call was sent; of a caller.
  var calledAt = Instant.zero
  /// Counts the calls it was in, so that a deadline knows its own.
  var calls = 0
  /// Whether it is done with the call that it has a part in.
  var isDone = false

  /// The other in its call.
  var peer: Int? {
    switch role {
    case .none: nil
    case .caller(let other), .callee(let other): other
    }
  }

  /// Whether the connection is on its way.
  var isOpening: Bool {
    switch phase {
    case .away, .ready: false
    case .connecting, .securing, .upgrading, .greeting: true
    }
  }

  /// The id of its next request, and remembers what that is.
  mutating func id(for request: Request) -> Int {
    defer { nextId += 1 }
    awaited = (nextId, request)
    return nextId
  }
}
