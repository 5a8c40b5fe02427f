// Protects RTP and RTCP on their way out (RFC 3711), for all SSRCs of one transport.

import Basics

/// The sending half of a transport's SRTP. Belongs to one thread.
public struct SRTPSender: ~Copyable {
  // What sender and receiver share is in `StreamTable`, `ReplayWindow` and `PacketTransform`. The four properties stand in
  // both: in a type around them each packet would cost 40 instructions more.

  /// Which library does the cryptography.
  public let backend: SRTPBackend
  /// The profile of the key.
  public let profile: SRTPProfile
  private let transform: PacketTransform
  private var streams: StreamTable<SenderStream>

  /// A sender for `key`, on the backend that is cheaper for its profile unless one is named. `maximumStreams` bounds the
  /// SSRCs that are known at a time (about 100 bytes each).
  public init(key: SRTPMasterKey, backend: SRTPBackend? = nil, maximumStreams: Int = 4_096) throws(SRTPError) {
    self.backend = backend ?? .preferred(for: key.profile)
    profile = key.profile
    transform = try PacketTransform(key, backend: self.backend, direction: .seal)
    streams = StreamTable(limit: maximumStreams, empty: SenderStream())
  }

  /// Packets refused because their SSRC would have been one too many.
  public var refusedStreams: Int { streams.refused }
  /// SSRCs known now.
  public var streamCount: Int { streams.count }

  /// Protects the RTP packet in the first `length` bytes in place and returns its new length, `profile.rtpOverhead` more;
  /// the span must have room for it.
  ///
  /// Packets may come out of order; the rollover counter follows the sequence numbers. A number that was used before is
  /// refused as `replayed`, because two different packets under one number would give the key stream away, and with GCM
  /// the means to forge. With `resending` the caller vouches that the packet is, header extensions included, byte for byte
  /// the one protected before under this number (a retransmission without RTX), however old within half the number circle
  /// (4,096 packets on libsrtp2).
  ///
  /// Throws `malformed`, `noRoom`, `replayed`, `tooOld`, `tooManyStreams`, `keyExhausted` or `backendFailed`; the packet is
  /// then unusable.
  public mutating func protectRTP(_ packet: inout MutableSpan<UInt8>, length: Int, resending: Bool = false)
    throws(SRTPError) -> Int
  {
    guard length >= 0, length + profile.rtpOverhead <= packet.count else { throw .noRoom }
    guard let bounds = RTPBounds(packet.span.extracting(0..<length)) else { throw .malformed }
    let index = try takeIndex(bounds, mayBeUsed: resending)
    return try transform.sealRTP(&packet, bounds, length: length, index: index).get()
  }

  /// Protects an RTP packet whose header stands in the first `header` bytes of `packet` and whose payload stands elsewhere: it
  /// is read where it is, and goes sealed to where the header ends. `ssrc` and `sequence` are those of the header. Returns the
  /// new length, `profile.rtpOverhead` more than header and payload, for which the span must have room.
  ///
  /// All else is as with a packet in one piece.
  public mutating func protectRTP(
    _ packet: inout MutableSpan<UInt8>, header: Int, payload: Span<UInt8>, ssrc: UInt32, sequence: UInt16
  ) throws(SRTPError) -> Int {
    guard header >= 0, header + payload.count + profile.rtpOverhead <= packet.count else { throw .noRoom }
    let bounds = RTPBounds(headerLength: header, ssrc: ssrc, sequence: sequence)
    let index = try takeIndex(bounds, mayBeUsed: false)
    return try transform.sealRTP(payload, to: &packet, bounds, index: index).get()
  }

  /// The index of the packet that is about to be sealed, which is used from now on.
  @inline(__always)
  private mutating func takeIndex(_ bounds: RTPBounds, mayBeUsed: Bool) throws(SRTPError) -> UInt64 {
    let position = try knownPosition(bounds.ssrc)
    var stream = streams[position]
    let index = try stream.rtp.index(of: bounds.sequence, mayBeUsed: mayBeUsed)
    stream.rtp.insert(index)
    streams[position] = stream
    return index
  }

  /// Protects the compound RTCP packet in the first `length` bytes in place and returns its new length,
  /// `profile.rtcpOverhead` more; the span must have room for it. The stream is that of the first packet's sender SSRC.
  ///
  /// Throws `malformed`, `noRoom`, `tooManyStreams`, `keyExhausted` or `backendFailed`.
  public mutating func protectRTCP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(SRTPError) -> Int {
    guard length >= 0, length + profile.rtcpOverhead <= packet.count else { throw .noRoom }
    guard let ssrc = RTCPBounds.ssrc(packet.span.extracting(0..<length)) else { throw .malformed }
    let position = try knownPosition(ssrc)
    var stream = streams[position]
    let index = stream.nextRTCP
    guard index <= SRTCPTrailer.maximumIndex else { throw .keyExhausted }
    stream.nextRTCP = index + 1
    streams[position] = stream
    return try transform.sealRTCP(&packet, ssrc: ssrc, length: length, index: index).get()
  }

  // Mutating, so that an optional sender does it in place: to borrow what an optional holds, the compiler (6.3) copies it.

  /// Has what the next RTP packet of `ssrc` needs fetched into the CPU's caches. Changes nothing.
  public mutating func prefetch(ssrc: UInt32) {
    transform.prefetch()
    streams.prefetch(ssrc)
  }

  /// Has the place of `ssrc` alone fetched. Changes nothing.
  public mutating func prefetchStream(_ ssrc: UInt32) { streams.prefetch(ssrc) }

  /// Forgets a stream that has ended, making room for another. Its SSRC must never be sent with this key again: its numbers
  /// would start anew and the key stream would repeat.
  public mutating func forget(ssrc: UInt32) {
    streams.remove(ssrc)
    transform.removeStream(ssrc: ssrc)
  }

  /// Where the stream is, which is new if need be.
  @inline(__always)
  private mutating func knownPosition(_ ssrc: UInt32) throws(SRTPError) -> Int {
    if let position = streams.position(of: ssrc) { return position }
    guard !streams.isFull else {
      streams.countRefusal()
      throw .tooManyStreams
    }
    return streams.insert(SenderStream(), ssrc: ssrc)
  }
}

extension SRTPSender {
  /// Lets tests start a stream late in its life.
  mutating func startStream(ssrc: UInt32, newestIndex: UInt64?, nextRTCP: UInt32 = 0) {
    var stream = SenderStream()
    if let newestIndex { stream.rtp.insert(newestIndex) }
    stream.nextRTCP = nextRTCP
    streams.insert(stream, ssrc: ssrc)
  }
}
