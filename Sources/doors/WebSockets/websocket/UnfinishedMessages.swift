// Messages to the server that have begun and are not whole: for how long each may be so, and how much those of one address may be
// together. Pure: a heap of moments, and a count for each network, so that nothing is ever looked for among all.
import Basics

/// How long a message may take, and how much of unfinished ones is kept. A *message* is all its frames together, with the control frames
/// between them; a control frame that comes alone is held to the same.
public struct MessageBounds: Sendable, Hashable {
  /// From its first byte to its last.
  public var patience = TimeDelta.seconds(10)
  /// The same of one whose frames announce more than `longBytes`. Less, and somebody at the end of a thin line cannot send an offer.
  public var longPatience = TimeDelta.seconds(30)
  /// See `longPatience`.
  public var longBytes = 64 << 10
  /// Bytes of unfinished messages from one IPv4 address or one IPv6 network of 64 bits. Where they are too many, the oldest of these
  /// messages gives way. Raise it, and one address can have so much more memory.
  public var bytesPerAddress = 4 << 20

  /// The bounds of docs/security.md.
  public init() {}
}

/// What a socket's unfinished message goes by.
struct MessageState {
  /// The message under way, or the control frame.
  private struct Current {
    let number: UInt64
    let since: Instant
    /// What the thread had missed when it began.
    let missedBefore: TimeDelta
    var isLong: Bool
  }

  /// Whose it is.
  let network: PeerNetwork
  private var current: Current?
  /// Bytes of it that are kept.
  fileprivate(set) var kept = 0
  /// When it is looked at next; another entry for it is an old one.
  fileprivate var nextLook = Instant.distantFuture

  init(network: PeerNetwork) { self.network = network }

  /// When its first byte came; nil where nothing is unfinished.
  var since: Instant? { current?.since }

  /// Whether something new has begun.
  fileprivate mutating func take(
    _ unfinished: FrameHeads.Unfinished?, _ bounds: MessageBounds, at now: Instant, _ missed: TimeDelta
  ) -> Bool {
    guard let unfinished else {
      current = nil
      return false
    }
    let isLong = unfinished.bytes > UInt64(bounds.longBytes)
    guard current?.number != unfinished.number else {
      current?.isLong = isLong
      return false
    }
    current = Current(number: unfinished.number, since: now, missedBefore: missed, isLong: isLong)
    return true
  }

  /// When it is too late.
  fileprivate func end(_ bounds: MessageBounds, _ missed: TimeDelta) -> Instant? {
    current.map { $0.since + (missed - $0.missedBefore) + ($0.isLong ? bounds.longPatience : bounds.patience) }
  }
}

/// The unfinished messages of all sockets of a thread.
struct UnfinishedMessages {
  /// Who looks by so much later than it meant to has been kept from it.
  static let stall = TimeDelta.milliseconds(20)

  private let bounds: MessageBounds
  private var queue = DeadlineQueue<WebSocketID>()
  private var shares: ByteShares
  /// For how long the thread could not look, in all: nothing could be read then. A stalled machine is no slow peer.
  private var missed = TimeDelta.zero

  init(_ bounds: MessageBounds) {
    self.bounds = bounds
    shares = ByteShares(limit: bounds.bytesPerAddress)
  }

  /// When somebody is to be looked at; `.distantFuture` for nobody.
  var next: Instant { queue.next }
  /// Entries, old ones included; a handful for a socket at most.
  var count: Int { queue.count }

  /// What is unfinished of a socket behind the bytes that came now.
  mutating func saw(
    _ unfinished: FrameHeads.Unfinished?, of id: WebSocketID, _ state: inout MessageState, at now: Instant
  ) {
    guard state.take(unfinished, bounds, at: now, missed) else { return }
    plan(&state, id)
  }

  /// A look that was meant for `due` comes at `now`.
  mutating func woke(due: Instant, at now: Instant) { if now - due > Self.stall { missed = missed + (now - due) } }

  /// Who is due at `now`, and at which moment; nil when nobody is any more. To be given to `isLate`.
  mutating func nextDue(at now: Instant) -> (id: WebSocketID, moment: Instant)? {
    guard let first = queue.first, let id = queue.pop(at: now) else { return nil }
    return (id, first.deadline)
  }

  /// Whether a socket of which `nextDue` has told has had its time.
  mutating func isLate(_ id: WebSocketID, _ state: inout MessageState, _ moment: Instant, at now: Instant) -> Bool {
    guard moment == state.nextLook else { return false }
    state.nextLook = .distantFuture
    guard let end = state.end(bounds, missed) else { return false }
    if end <= now { return true }
    plan(&state, id)
    return false
  }

  private mutating func plan(_ state: inout MessageState, _ id: WebSocketID) {
    guard let end = state.end(bounds, missed), end < state.nextLook else { return }
    state.nextLook = end
    queue.push(end, id)
  }

  // MARK: - Bytes

  /// So many bytes of a socket's message are kept from now on.
  /// - Returns: those of its network with anything kept, where that is too much.
  mutating func keep(_ bytes: Int, of id: WebSocketID, _ state: inout MessageState) -> Set<WebSocketID>? {
    defer { state.kept = bytes }
    return shares.keep(bytes, insteadOf: state.kept, for: id, of: state.network)
  }

  /// Bytes that are kept of a network's.
  func bytes(of network: PeerNetwork) -> Int { shares.bytes(of: network) }
}
