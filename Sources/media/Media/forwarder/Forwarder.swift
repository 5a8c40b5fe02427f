// Who is sent what of the tracks on a worker.
//
//   Tracks ─▶ deliver ─▶ forward ─▶ each consumer decides ─▶ Egress                (Forwarder+Forward)
//   commands ─▶ add, change, remove                                               (Forwarder+Subscriptions)
//   time, keyframe requests ─▶ which layer each consumer is to be sent            (Forwarder+Layers)

import Basics
import Forwarding
import RTP

/// Owns the subscriptions. Ends and egress are the worker's: they are handed in where packets are delivered. What is decided (layers,
/// keyframes) is returned. Sans-IO.
struct Forwarder: ~Copyable {
  var consumers = Consumers(minimumCapacity: 256)

  /// Prefetches what deciding for the first consumers needs; `forward` does so for the others.
  @inline(__always)
  func prefetchConsumers(of producer: ProducerID, _ tracks: borrowing Tracks) {
    for index in 0..<min(3, tracks.producers[producer].consumers.count) {
      consumers.prefetch(tracks.producers[producer].consumers[index], bytes: ConsumerSlot.front)
    }
  }

  /// What an encoding brings has numbers and a clock of its own from now on, and so has what receivers are sent of it.
  mutating func changeStream(of encoding: EncodingID, _ tracks: borrowing Tracks) {
    let producer = tracks.encodings[encoding].producer
    let layer = Int8(truncatingIfNeeded: tracks.encodings[encoding].encoding.index)
    for consumer in tracks.producers[producer].consumers where consumers[consumer].consumer.currentLayer == layer {
      let target = consumers[consumer].consumer.target
      consumers[consumer].consumer.changeStream(target: target)
    }
  }

  /// Streams go on without a gap in their numbers when their track is heard again.
  mutating func interrupt(all ids: [ConsumerID]) {
    for id in ids { consumers[id].consumer.interrupt() }
  }
}
