// The libopus fence: sound to packets and back (RFC 6716), mono at 48 kHz, 20 ms. An encoder or decoder belongs to the thread
// that uses it; libopus keeps no state between them.

internal import COpus

/// Why libopus refused.
public enum OpusError: Error, Equatable, Sendable {
  /// No encoder or decoder could be made.
  case unavailable
  /// Not 20 ms of sound, or not a packet.
  case malformed
}

/// Samples a second.
public let opusSampleRate = 48_000
/// Samples of a packet.
public let opusFrameLength = 960

/// Sound to packets.
public struct OpusEncoder: ~Copyable {
  private let encoder: OpaquePointer

  /// An encoder for speech at `bitsPerSecond`.
  public init(bitsPerSecond: Int) throws(OpusError) {
    var status: Int32 = 0
    guard let encoder = opus_encoder_create(Int32(opusSampleRate), 1, OPUS_APPLICATION_AUDIO, &status),
      status == OPUS_OK
    else { throw .unavailable }
    self.encoder = encoder
    _ = copus_set_bitrate(encoder, Int32(clamping: bitsPerSecond))
  }

  deinit { opus_encoder_destroy(encoder) }

  /// Encodes `opusFrameLength` samples.
  public mutating func encode(_ samples: [Int16]) throws(OpusError) -> [UInt8] {
    guard samples.count == opusFrameLength else { throw .malformed }
    var packet = [UInt8](repeating: 0, count: 1_275)
    let capacity = Int32(packet.count)
    let length = opus_encode(encoder, samples, Int32(opusFrameLength), &packet, capacity)
    guard length > 0 else { throw .malformed }
    return Array(packet[..<Int(length)])
  }
}

/// Makes a packet longer with padding (RFC 6716 §3.2.5), which decoders skip: its last bytes are then free for others' use.
public func opusPadded(_ packet: [UInt8], to length: Int) throws(OpusError) -> [UInt8] {
  guard length > packet.count else { throw .malformed }
  var padded = packet + Array(repeating: 0, count: length - packet.count)
  guard opus_packet_pad(&padded, Int32(packet.count), Int32(length)) == OPUS_OK else { throw .malformed }
  return padded
}

/// Packets to sound.
public struct OpusDecoder: ~Copyable {
  private let decoder: OpaquePointer

  /// A decoder that has heard nothing.
  public init() throws(OpusError) {
    var status: Int32 = 0
    guard let decoder = opus_decoder_create(Int32(opusSampleRate), 1, &status), status == OPUS_OK else {
      throw .unavailable
    }
    self.decoder = decoder
  }

  deinit { opus_decoder_destroy(decoder) }

  /// The samples of a packet, 120 ms at most.
  public mutating func decode(_ packet: [UInt8]) throws(OpusError) -> [Int16] {
    var samples = [Int16](repeating: 0, count: opusFrameLength * 6)
    let capacity = Int32(samples.count)
    let count = opus_decode(decoder, packet, Int32(clamping: packet.count), &samples, capacity, 0)
    guard count >= 0 else { throw .malformed }
    return Array(samples[..<Int(count)])
  }
}
