// Where a subscription's packets go.
//
// This is the one place for what depends on the kind of destination: can it be sent to, where do packets wait for it, what does it
// need when it can be sent to again, who finds the consumer when it answers, what ends with a stream. The rest is a `switch` in
// `Egress.flush(_:budget:…)`, which seals what waits, and one in `WorkerState.sendBye(_:to:)`.
//
// A pipe to another worker and a tap that records are to come. Each of them is a case more, with a table like `Transports` behind
// it that is handed in beside it. The compiler then names each question that has to be answered for it.

import Basics
import RTP

typealias Transports = SlotMap<Transport>

/// Decided when the consumer is added, and the same for as long as it lives.
enum Destination: Hashable, Sendable {
  /// A peer connection of this worker: packets are sealed for it and leave by UDP.
  case transport(TransportID)

  /// What waits for a destination, if something may.
  enum Queue {
    /// The destination is there no more.
    case gone
    /// It is there, and cannot be sent to now.
    case closed
    /// Packets may join. The address holds until a destination of this kind is added or removed.
    case open(UnsafeMutablePointer<SendChain>)
  }

  /// The queue that a packet would join now.
  @inline(__always)
  func queue(_ transports: inout Transports) -> Queue {
    switch self {
    case .transport(let id):
      guard let transport = transports.pointer(to: id) else { return .gone }
      guard transport.pointee.canSend else { return .closed }
      return .open(transport.chain)
    }
  }

  /// What waits, whether or not more may join; nil when the destination is there no more.
  @inline(__always)
  func chain(_ transports: inout Transports) -> UnsafeMutablePointer<SendChain>? {
    switch self {
    case .transport(let id): transports.pointer(to: id)?.chain
    }
  }

  /// Whether what it is sent arrives, so that it is worth asking a publisher for a keyframe.
  func canBeSentTo(_ transports: inout Transports) -> Bool {
    switch self {
    case .transport(let id): transports.contains(id) && transports[id].canSend
    }
  }

  /// Takes one of the keyframes that its client may cost publishers; false when there is none left.
  func mayCostKeyframe(_ transports: inout Transports, at now: Instant) -> Bool {
    switch self {
    case .transport(let id): transports.contains(id) && transports[id].keyframeAllowance.take(at: now) == nil
    }
  }

  /// Whether the way there has shown a limit.
  func isLimited(_ transports: inout Transports) -> Bool {
    switch self {
    case .transport(let id): transports.contains(id) && transports[id].downlink?.isUnlimited == false
    }
  }

  /// How many earlier packets go along with each packet of sound that is sent there so.
  func redundancy(of parameters: SendParameters, _ transports: inout Transports) -> Int {
    switch self {
    case .transport(let id): transports[id].expectRedundancy(parameters)
    }
  }

  /// The share of sound that does not arrive there, in spite of what goes along; nil where it is not known.
  func lossBehindRedundancy(_ transports: inout Transports) -> Double? {
    switch self {
    case .transport(let id): transports.contains(id) ? transports[id].remainingLoss : 0
    }
  }

  /// Starts to load what `queue` looks at into the CPU's caches.
  @inline(__always)
  func prefetchQueue(_ transports: inout Transports) {
    switch self {
    case .transport(let id): transports.prefetch(id, bytes: Transport.queued)
    }
  }

  /// Starts to load what a flush looks at for each packet.
  @inline(__always)
  func prefetchFlush(_ transports: inout Transports) {
    switch self {
    case .transport(let id): transports.prefetch(id, bytes: Transport.sent)
    }
  }

  /// Starts to load what sealing a packet of the stream `ssrc` needs.
  @inline(__always)
  func prefetchSealing(of ssrc: UInt32, _ transports: inout Transports) {
    switch self {
    case .transport(let id): transports.pointer(to: id)?.pointee.security.prefetch(ssrc: ssrc)
    }
  }

  /// The streams that it is sent.
  func streams(_ transports: inout Transports) -> [OutgoingRoute] {
    switch self {
    case .transport(let id): transports[id].routes.outgoing
    }
  }

  /// What comes back about these streams is the consumer's from now on.
  func attach(_ consumer: ConsumerID, _ parameters: SendParameters, _ transports: inout Transports) {
    switch self {
    case .transport(let id): transports[id].routes.addConsumer(consumer, parameters)
    }
  }

  /// Nothing that comes back leads to the consumer any more.
  func detach(_ consumer: ConsumerID, _ transports: inout Transports) {
    switch self {
    case .transport(let id): transports[id].routes.removeConsumer(consumer)
    }
  }

  /// Streams that have ended for good need no state any more.
  func forget(_ ssrcs: [UInt32], _ transports: inout Transports) {
    switch self {
    case .transport(let id): transports[id].forget(ssrcs)
    }
  }
}

extension UnsafeMutablePointer<Transport> {
  /// What waits for the transport. It lies in the table's memory, so the address holds as long as the table is not changed.
  @inline(__always)
  fileprivate var chain: UnsafeMutablePointer<SendChain> { withUnsafeMutablePointer(to: &pointee.chain) { $0 } }
}
