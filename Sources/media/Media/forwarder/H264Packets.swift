// Packets of H264 in which something begins. They have a way of their own: what a stream can begin with is known only when the
// picture is here, and parameter sets may have to go before it.

import Basics
import Forwarding
import RTP

enum H264Packets {
  /// Stores a packet of `size` bytes, and parameter sets before it where they are wanted, and lets them be forwarded.
  @inline(never)
  static func accept(
    _ plain: StoredPacket, _ body: UnsafeBufferPointer<UInt8>, size: Int, _ encoding: EncodingID,
    of producer: ProducerID, _ forwarder: inout Forwarder, _ ends: inout Ends, _ egress: inout Egress,
    _ turn: inout Turn
  ) {
    var (packet, beginning) = (plain, Int64?.none)
    switch forwarder.encodings[encoding].encoding.beginning(&packet, body.span) {
    case .none: break
    case .at(let first):
      beginning = first
      forwarder.encodings[encoding].encoding.begin(at: first)
    case .sets(let count):
      for number in forwarder.encodings[encoding].encoding.putSets(before: &packet, count: count) {
        guard let set = forwarder.encodings[encoding].encoding.cache.find(number) else { continue }
        forwarder.deliver(
          set, size: 0, encoding: encoding, producer: producer, isPutIn: true, &ends, &egress, &turn)
      }
    }
    forwarder.encodings[encoding].encoding.cache.insert(packet, payload: UnsafeRawBufferPointer(body))
    forwarder.deliver(
      packet, size: size, encoding: encoding, producer: producer, beginning: beginning, &ends, &egress,
      &turn)
  }
}
