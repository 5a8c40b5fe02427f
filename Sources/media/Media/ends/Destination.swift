// Where a track comes from, and where a subscription's packets go. What depends on the kind of end is asked of `Ends`.

import Basics

/// Where what a track brings comes in. Decided when the track is added, and the same for as long as it lives.
enum Source: Hashable, Sendable {
  /// A peer connection of this worker.
  case transport(TransportID)
  /// A pipe from the worker that has the peer connection; `Publisher.key` says whose it is.
  case pipe(PipeID, publisher: UInt64)
}

/// Decided when the consumer is added, and the same for as long as it lives. Taps and pipes are none: what they are given is copied as it
/// came, before any consumer decides. A row of `Encodings` says which it goes to.
enum Destination: Hashable, Sendable {
  /// A peer connection of this worker: packets are sealed for it and leave by UDP.
  case transport(TransportID)
}
