// What packets come from and go to: the ends of a worker's ways, by their kind.
//
// This is the one place for what depends on the kind of end: can it be sent to, where do packets wait for it, what does it need when it
// can be sent to again, who finds the consumer when it answers, what ends with a stream. Beside it stand a `switch` in `Egress+Flush`, which
// seals what waits, and one in `RTCPWriter.sendBye(_:to:_:_:)`. Taps and pipes are given copies and are no destinations: `Ends+Taps` and
// `Ends+Pipes` have what is theirs.

import Basics
import RTP

/// Owns the ends. Whoever delivers or flushes is handed them; who decides gets values and returns values.
struct Ends: ~Copyable {
  /// Peer connections.
  var transports = SlotMap<Transport>(minimumCapacity: 64)
  /// What copies of tracks are given to, as they came.
  var taps = SlotMap<Tap>(minimumCapacity: 1)
  /// What carries tracks to other workers, and from them.
  var pipes = SlotMap<Pipe>(minimumCapacity: 1)

  /// What waits for a destination, if something may.
  enum Queue {
    /// The destination is there no more.
    case gone
    /// It is there, and cannot be sent to now.
    case closed
    /// Packets may join. The address holds until a destination of this kind is added or removed.
    case open(UnsafeMutablePointer<SendChain>)
  }

  // MARK: what waits

  /// The queue that a packet would join now.
  @inline(__always)
  mutating func queue(of destination: Destination) -> Queue {
    switch destination {
    case .transport(let id):
      guard let transport = transports.pointer(to: id) else { return .gone }
      guard transport.pointee.canSend else { return .closed }
      return .open(transport.chain)
    }
  }

  /// What waits, whether or not more may join; nil when the destination is there no more.
  @inline(__always)
  mutating func chain(of destination: Destination) -> UnsafeMutablePointer<SendChain>? {
    switch destination {
    case .transport(let id): transports.pointer(to: id)?.chain
    }
  }

  // MARK: what deciding asks

  /// Whether what it is sent arrives, so that it is worth asking a publisher for a keyframe.
  func canBeSentTo(_ destination: Destination) -> Bool {
    switch destination {
    case .transport(let id): transports.contains(id) && transports[id].canSend
    }
  }

  /// Takes one of the keyframes that its client may cost publishers; false when there is none left.
  mutating func mayCostKeyframe(_ destination: Destination, at now: Instant) -> Bool {
    switch destination {
    case .transport(let id): transports.contains(id) && transports[id].keyframeAllowance.take(at: now) == nil
    }
  }

  /// Whether the way there has shown a limit.
  mutating func isLimited(_ destination: Destination) -> Bool {
    switch destination {
    case .transport(let id): transports.contains(id) && transports[id].downlink?.isUnlimited == false
    }
  }

  /// How many earlier packets go along with each packet of sound that is sent there so.
  mutating func redundancy(of parameters: SendParameters, to destination: Destination) -> Int {
    switch destination {
    case .transport(let id): transports[id].expectRedundancy(parameters)
    }
  }

  /// The share of sound that does not arrive there, in spite of what goes along; nil where it is not known.
  mutating func lossBehindRedundancy(to destination: Destination) -> Double? {
    switch destination {
    case .transport(let id): transports.contains(id) ? transports[id].remainingLoss : 0
    }
  }

  // MARK: prefetching

  /// Starts to load what `queue` looks at into the CPU's caches.
  @inline(__always)
  func prefetchQueue(of destination: Destination) {
    switch destination {
    case .transport(let id): transports.prefetch(id, bytes: Transport.queued)
    }
  }

  /// Starts to load what a flush looks at for each packet.
  @inline(__always)
  func prefetchFlush(to destination: Destination) {
    switch destination {
    case .transport(let id): transports.prefetch(id, bytes: Transport.sent)
    }
  }

  /// Starts to load what sealing a packet of the stream `ssrc` needs.
  @inline(__always)
  mutating func prefetchSealing(of ssrc: UInt32, to destination: Destination) {
    switch destination {
    case .transport(let id): transports.pointer(to: id)?.pointee.security.prefetch(ssrc: ssrc)
    }
  }

  // MARK: sources

  /// The clock of who publishes there; nil where it is gone.
  func clock(of source: Source) -> PublisherClock? {
    switch source {
    case .transport(let id): transports.contains(id) ? transports[id].reporting.clock : nil
    case .pipe(let id, let publisher): pipes.contains(id) ? pipes[id].clock(of: publisher) : nil
    }
  }

  // MARK: streams

  /// The streams that it is sent.
  func streams(to destination: Destination) -> [OutgoingRoute] {
    switch destination {
    case .transport(let id): transports[id].routes.outgoing
    }
  }

  /// What comes back about these streams is the consumer's from now on.
  mutating func attach(_ consumer: ConsumerID, _ parameters: SendParameters, to destination: Destination) {
    switch destination {
    case .transport(let id): transports[id].routes.addConsumer(consumer, parameters)
    }
  }

  /// Nothing that comes back leads to the consumer any more.
  mutating func detach(_ consumer: ConsumerID, from destination: Destination) {
    switch destination {
    case .transport(let id): transports[id].routes.removeConsumer(consumer)
    }
  }

  /// Streams that have ended for good need no state any more.
  mutating func forget(_ ssrcs: [UInt32], at destination: Destination) {
    switch destination {
    case .transport(let id): transports[id].forget(ssrcs)
    }
  }
}

extension UnsafeMutablePointer<Transport> {
  /// What waits for the transport. It lies in the table's memory, so the address holds as long as the table is not changed.
  @inline(__always)
  fileprivate var chain: UnsafeMutablePointer<SendChain> { withUnsafeMutablePointer(to: &pointee.chain) { $0 } }
}
