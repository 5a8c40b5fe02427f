// Payloads from records: an Opus TOC byte (RFC 6716 §3.1) or a VP8 descriptor (RFC 7741 §4.2) with the frame header
// (RFC 6386 §9.1) on a frame's first packet, then the stamp, then filling.

import Basics
import RTP
import RoostProtocol

enum PayloadWriter {
  /// Hybrid mode, full band, 20 ms, mono, one frame.
  private static let opusConfiguration: UInt8 = 15 << 3
  /// Length of VP8's descriptor with a 15-bit picture ID.
  private static let descriptorLength = 4

  /// Writes the payload of `record` at `offset` and returns its length.
  static func write(
    _ record: PacketRecord, kind: TrackKind, layer: VideoLayer?, clip: MediaClip? = nil,
    into packet: inout MutableSpan<UInt8>, at offset: Int
  ) -> Int {
    if let clip, let piece = record.piece { return write(piece, of: clip, record, kind, into: &packet, at: offset) }
    let length = Int(record.stamp.payloadLength)
    let stampOffset: Int
    if kind == .video, let layer {
      writeDescriptor(record, into: &packet, at: offset)
      writeFrameHeader(record, layer, into: &packet, at: offset + descriptorLength)
      stampOffset = offset + PayloadStamp.videoOffset
    } else {
      packet[offset] = opusConfiguration
      stampOffset = offset + PayloadStamp.audioOffset
    }
    record.stamp.write(into: &packet, at: stampOffset)
    let filling = filler(record.stamp)
    var index = stampOffset + PayloadStamp.length
    while index < offset + length {
      packet[index] = filling
      index += 1
    }
    return length
  }

  /// Bytes of the payload that carries a piece: sound has room for its stamp already.
  static func length(_ piece: ClipPiece, kind: TrackKind, isLast: Bool) -> Int {
    kind == .audio ? piece.length : descriptorLength + piece.length + (isLast ? PayloadStamp.length : 0)
  }

  private static func write(
    _ piece: ClipPiece, of clip: MediaClip, _ record: PacketRecord, _ kind: TrackKind,
    into packet: inout MutableSpan<UInt8>, at offset: Int
  ) -> Int {
    let isLast = record.stamp.packet + 1 == record.stamp.packets
    let length = length(piece, kind: kind, isLast: isLast)
    if kind == .video { writeDescriptor(record, into: &packet, at: offset) }
    let frame = clip.frame(piece.frame)
    let start = offset + (kind == .video ? descriptorLength : 0)
    packet.store(frame.span.extracting(piece.start..<(piece.start + piece.length)), at: start)
    if isLast { record.stamp.write(into: &packet, at: offset + length - PayloadStamp.length) }
    return length
  }

  /// What a payload is filled up with; differs among packets, so that mixed-up ends are seen.
  static func filler(_ stamp: PayloadStamp) -> UInt8 {
    UInt8(truncatingIfNeeded: stamp.frame &* 31 &+ UInt32(stamp.packet))
  }

  //  |X|R|N|S|R| PID |  |I|L|T|K| RSV |  |M| picture ID, 15 bits |
  private static func writeDescriptor(_ record: PacketRecord, into packet: inout MutableSpan<UInt8>, at offset: Int) {
    packet[offset] = 0x80 | (record.stamp.packet == 0 ? 0x10 : 0)
    packet[offset + 1] = 0x80
    packet.store(0x8000 | record.picture, at: offset + 2)
  }

  //  |size0|H| VER |P|  size1  size2, keyframes: 9d 01 2a, width, height (little-endian)
  private static func writeFrameHeader(
    _ record: PacketRecord, _ layer: VideoLayer, into packet: inout MutableSpan<UInt8>, at offset: Int
  ) {
    for index in 0..<10 { packet[offset + index] = 0xff }
    guard record.stamp.packet == 0 else { return }
    packet[offset] = record.stamp.isKeyframe ? 0x10 : 0x11
    packet[offset + 1] = 0x02
    packet[offset + 2] = 0x00
    guard record.stamp.isKeyframe else { return }
    for (index, byte) in [UInt8(0x9d), 0x01, 0x2a].enumerated() { packet[offset + 3 + index] = byte }
    packet.store(layer.width.byteSwapped, at: offset + 6)
    packet.store(layer.height.byteSwapped, at: offset + 8)
  }
}
