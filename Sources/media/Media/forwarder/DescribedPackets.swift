// Packets of AV1 with a dependency descriptor. They have a way of their own, so that all others do not look for one.

import Basics
import Forwarding
import RTP

enum DescribedPackets {
  /// What is known of a payload that cannot be read, as one that is encrypted from end to end: that its descriptor will say it. Nil where
  /// there is none.
  @inline(never)
  static func unread(_ codec: CodecProfile, _ extensions: ParsedExtensions) -> PayloadInfo? {
    codec == .av1 && extensions.dependencyDescriptor != nil ? PayloadInfo() : nil
  }

  /// Stores a packet of `size` bytes with its descriptor and lets it be forwarded. One whose frame number fits to nothing is dropped.
  @inline(never)
  static func accept(
    _ plain: StoredPacket, _ body: UnsafeBufferPointer<UInt8>, _ descriptor: UnsafeBufferPointer<UInt8>, size: Int,
    _ encoding: EncodingID, of producer: ProducerID, _ forwarder: inout Forwarder, _ ends: inout Ends,
    _ egress: inout Egress, _ turn: inout Turn
  ) {
    var packet = plain
    guard forwarder.encodings[encoding].encoding.describe(&packet, descriptor.span) else {
      return Misplaced.drop(of: encoding, &forwarder)
    }
    forwarder.encodings[encoding].encoding.cache.insert(
      packet, payload: UnsafeRawBufferPointer(body), descriptor: UnsafeRawBufferPointer(descriptor))
    forwarder.deliver(
      packet, size: size, encoding: encoding, producer: producer, &ends, &egress, &turn)
  }
}
