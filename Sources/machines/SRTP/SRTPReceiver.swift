// Opens SRTP and SRTCP on their way in (RFC 3711), for all SSRCs of one transport.

import Basics

/// The receiving half of a transport's SRTP. Belongs to one thread.
public struct SRTPReceiver: ~Copyable {
  /// Which library does the cryptography.
  public let backend: SRTPBackend
  /// The profile of the key.
  public let profile: SRTPProfile
  private let transform: PacketTransform
  private var streams: StreamTable<ReceiverStream>
  private var retired = RetiredStreams()
  private var opened: UInt64 = 0

  /// A receiver for `key`, on the backend that is cheaper for its profile unless one is named. Of more than `maximumStreams`
  /// SSRCs (about 150 bytes each) the one unused for longest is put away: of the last 4,096 of those the highest numbers are
  /// kept, so that a peer may use ever new SSRCs for days and still no packet can be replayed.
  public init(key: SRTPMasterKey, backend: SRTPBackend? = nil, maximumStreams: Int = 256) throws(SRTPError) {
    self.backend = backend ?? .preferred(for: key.profile)
    profile = key.profile
    transform = try PacketTransform(key, backend: self.backend, direction: .open)
    streams = StreamTable(limit: maximumStreams, empty: ReceiverStream())
  }

  /// SSRCs in use.
  public var streamCount: Int { streams.count }
  /// SSRCs of which the highest numbers are kept.
  public var retiredCount: Int { retired.count }

  /// Checks and decrypts the SRTP packet in the first `length` bytes in place and returns the length of the RTP packet.
  /// A stream is remembered, and its window moved, only by a packet whose tag is right.
  ///
  /// Throws `malformed`, `replayed`, `tooOld`, `authenticationFailed`, `keyExhausted` or `backendFailed`; the bytes then mean
  /// nothing.
  public mutating func unprotectRTP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(SRTPError) -> Int {
    guard length >= profile.rtpOverhead, length <= packet.count,
      let bounds = RTPBounds(packet.span.extracting(0..<(length - profile.rtpOverhead)))
    else { throw .malformed }
    let position = streams.position(of: bounds.ssrc)
    var stream = position.map { streams[$0] } ?? newcomer(bounds.ssrc)
    let index = try stream.rtp.index(of: bounds.sequence)
    let opened = try transform.openRTP(&packet, bounds, length: length, index: index).get()
    stream.rtp.insert(index)
    remember(stream, at: position, ssrc: bounds.ssrc)
    return opened
  }

  /// Checks and decrypts the SRTCP packet in the first `length` bytes in place and returns the length of the RTCP packet.
  ///
  /// Throws as `unprotectRTP`, and `notEncrypted`.
  public mutating func unprotectRTCP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(SRTPError) -> Int {
    guard length >= profile.rtcpOverhead, length <= packet.count,
      let ssrc = RTCPBounds.ssrc(packet.span.extracting(0..<(length - profile.rtcpOverhead)))
    else { throw .malformed }
    // With AEAD the word is the last of the packet, else the tag follows it.
    let trailer = packet.span.uint32(at: profile == .aes128CMSHA1_80 ? length - profile.rtcpOverhead : length - 4)
    guard trailer & SRTCPTrailer.encrypted != 0 else { throw .notEncrypted }
    let index = trailer & SRTCPTrailer.maximumIndex
    let position = streams.position(of: ssrc)
    var stream = position.map { streams[$0] } ?? newcomer(ssrc)
    try stream.rtcp.admit(UInt64(index))
    let opened = try transform.openRTCP(&packet, ssrc: ssrc, length: length, index: index).get()
    stream.rtcp.insert(UInt64(index))
    remember(stream, at: position, ssrc: ssrc)
    return opened
  }

  // Mutating for the reason that `SRTPSender` tells.

  /// Has what the next RTP packet of `ssrc` needs fetched into the CPU's caches. Changes nothing.
  public mutating func prefetch(ssrc: UInt32) {
    transform.prefetch()
    streams.prefetch(ssrc)
  }

  private func newcomer(_ ssrc: UInt32) -> ReceiverStream { retired.stream(ssrc) ?? ReceiverStream() }

  private mutating func remember(_ stream: ReceiverStream, at position: Int?, ssrc: UInt32) {
    opened &+= 1
    var stream = stream
    stream.lastUse = opened
    if let position { return streams[position] = stream }
    if streams.isFull { retireOldest() }
    retired.remove(ssrc)
    streams.insert(stream, ssrc: ssrc)
  }

  private mutating func retireOldest() {
    guard let oldest = streams.least(\.lastUse) else { return }
    retired.put(oldest.stream, ssrc: oldest.ssrc)
    streams.remove(oldest.ssrc)
    transform.removeStream(ssrc: oldest.ssrc)
  }
}

extension SRTPReceiver {
  /// Lets tests start a stream late in its life.
  mutating func startStream(ssrc: UInt32, newestIndex: UInt64) {
    var stream = ReceiverStream()
    stream.rtp.insert(newestIndex)
    streams.insert(stream, ssrc: ssrc)
  }
}
