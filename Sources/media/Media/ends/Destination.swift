// Where a track comes from, and where a subscription's packets go. What depends on the kind of end is asked of `Ends`.

import Basics

/// Where what a track brings comes in. Decided when the track is added, and the same for as long as it lives.
enum Source: Hashable, Sendable {
  /// A peer connection of this worker.
  case transport(TransportID)

  /// The peer connection that it is.
  var transport: TransportID {
    switch self {
    case .transport(let id): id
    }
  }
}

/// Decided when the consumer is added, and the same for as long as it lives.
enum Destination: Hashable, Sendable {
  /// A peer connection of this worker: packets are sealed for it and leave by UDP.
  case transport(TransportID)
}
