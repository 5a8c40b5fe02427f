// A participant's line: a bottleneck with a queue, delay and loss, both ways, between its socket and the rest of it. The line itself is
// the emulator's (`NetworkEmulator`); here datagrams wait for their time.
//
//   socket ─▶ down: loss ─▶ bottleneck and queue ─▶ delay ─▶ SecureTransport
//   socket ◀─ delay ◀─ bottleneck and queue ◀─ loss :up ◀─ outbox

import Basics
import NetworkEmulator

/// What a participant's line carries. Each of its two peer connections has such a line of its own.
public struct LineShape: Sendable, Hashable {
  /// Bits per second toward the participant; nil for no bottleneck.
  public var down: Int?
  /// Bits per second from it; nil for no bottleneck.
  public var up: Int?
  /// Each way, without the queue.
  public var delay = TimeDelta.zero
  /// Share of datagrams lost each way, 0 … 1.
  public var loss = 0.0
  /// What the queue before a bottleneck holds, as the time in which it empties.
  public var queue = TimeDelta.milliseconds(300)

  /// A line that does nothing.
  public init() {}

  /// Bytes of IPv4 and UDP headers around a datagram.
  static let overhead = 28
  /// Stands for no bottleneck.
  private static let unlimited = 10e9

  func profile(_ rate: Int?) -> LineProfile {
    var profile = LineProfile(capacity: Schedule(rate.map(Double.init) ?? Self.unlimited), delay: delay.seconds * 1_000)
    profile.loss = Schedule(loss)
    profile.queue = Schedule(queue.seconds * 1_000)
    return profile
  }
}

/// A line at work.
struct AccessLine {
  /// What a datagram that arrives or leaves comes to.
  enum Fate: Equatable {
    case lost
    case due(Instant)
  }

  let shape: LineShape
  private var down: Line
  private var up: Line
  private var waiting: [(due: Instant, bytes: [UInt8], from: SocketAddress)] = []
  private var taken = 0

  init(_ shape: LineShape, seed: UInt64) {
    self.shape = shape
    down = Line(shape.profile(shape.down), seed: seed)
    up = Line(shape.profile(shape.up), seed: ~seed)
  }

  /// When the next datagram has come through; `distantFuture` when none is under way.
  var nextDue: Instant { taken < waiting.count ? waiting[taken].due : .distantFuture }

  /// A datagram came to the socket.
  mutating func receive(_ datagram: Span<UInt8>, from source: SocketAddress, at now: Instant) {
    guard case .due(let due) = Self.fate(down.send(datagram.count + LineShape.overhead, at: now)) else { return }
    waiting.append((due, datagram.withUnsafeBufferPointer { Array($0) }, source))
  }

  /// The next datagram that has come through. The order is that of the socket.
  mutating func take(at now: Instant) -> (due: Instant, bytes: [UInt8], from: SocketAddress)? {
    guard nextDue <= now else { return nil }
    let next = waiting[taken]
    taken += 1
    if taken == waiting.count || taken > 1_024 {
      waiting.removeFirst(taken)
      taken = 0
    }
    return next
  }

  /// A datagram of `bytes` bytes leaves: when the socket may have it.
  mutating func send(_ bytes: Int, at now: Instant) -> Fate {
    Self.fate(up.send(bytes + LineShape.overhead, at: now))
  }

  private static func fate(_ delivery: Delivery) -> Fate {
    switch delivery {
    case .lost, .dropped: .lost
    case .arrives(let due, _): .due(due)
    }
  }
}
