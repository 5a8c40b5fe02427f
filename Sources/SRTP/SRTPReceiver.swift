// Opens SRTP and SRTCP on their way in (RFC 3711), for all SSRCs of one transport.

import Basics

/// The receiving half of a transport's SRTP. Belongs to one thread.
public struct SRTPReceiver: ~Copyable {
  /// Which library does the cryptography.
  public let backend: SRTPBackend
  /// The profile of the key.
  public let profile: SRTPProfile
  private var transform: PacketTransform
  private var streams: StreamTable<ReceiverStream>

  /// A receiver for `key`, on the backend that is cheaper for its profile unless one is named. `maximumStreams` bounds the
  /// SSRCs that an authenticated peer can make us remember (about 150 bytes each).
  public init(key: SRTPMasterKey, backend: SRTPBackend? = nil, maximumStreams: Int = 1_024) throws(SRTPError) {
    let backend = backend ?? .preferred(for: key.profile)
    let transform = try PacketTransform(key, backend: backend, direction: .open)
    self.backend = backend
    self.profile = key.profile
    self.transform = transform
    streams = StreamTable(limit: maximumStreams)
  }

  /// Packets refused because their SSRC would have been one too many.
  public var refusedStreams: Int { streams.refused }
  /// SSRCs known now.
  public var streamCount: Int { streams.count }

  /// Checks and decrypts the SRTP packet in the first `length` bytes in place and returns the length of the RTP packet.
  /// A stream is remembered, and its window moved, only by a packet whose tag is right.
  ///
  /// Throws `malformed`, `replayed`, `tooOld`, `authenticationFailed`, `tooManyStreams`, `keyExhausted` or
  /// `backendFailed`; the bytes then mean nothing.
  public mutating func unprotectRTP(_ packet: inout MutableSpan<UInt8>, length: Int) throws(SRTPError) -> Int {
    guard length >= profile.rtpOverhead, length <= packet.count,
      let bounds = RTPBounds(packet.span.extracting(0..<(length - profile.rtpOverhead)))
    else { throw .malformed }
    let position = try admit(bounds.ssrc)
    var stream = position.map { streams[$0] } ?? ReceiverStream()
    guard let index = stream.rtp.estimate(bounds.sequence) else { throw .keyExhausted }
    try stream.rtp.admit(index)
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
    let trailer = packet.span.bigEndian32(at: profile == .aes128CMSHA1_80 ? length - profile.rtcpOverhead : length - 4)
    guard trailer & SRTCPTrailer.encrypted != 0 else { throw .notEncrypted }
    let index = trailer & SRTCPTrailer.maximumIndex
    let position = try admit(ssrc)
    var stream = position.map { streams[$0] } ?? ReceiverStream()
    try stream.rtcp.admit(UInt64(index))
    let opened = try transform.openRTCP(&packet, ssrc: ssrc, length: length, index: index).get()
    stream.rtcp.insert(UInt64(index))
    remember(stream, at: position, ssrc: ssrc)
    return opened
  }

  /// Forgets a stream that has ended, making room for another. Old packets of it could be replayed after that.
  public mutating func forget(ssrc: UInt32) {
    streams.remove(ssrc)
    transform.removeStream(ssrc: ssrc)
  }

  private mutating func remember(_ stream: ReceiverStream, at position: Int?, ssrc: UInt32) {
    if let position {
      streams[position] = stream
    } else {
      streams.insert(stream, ssrc: ssrc)
    }
  }

  /// Where the stream is; nil for a new one that there is room for.
  private mutating func admit(_ ssrc: UInt32) throws(SRTPError) -> Int? {
    if let position = streams.position(of: ssrc) { return position }
    guard !streams.isFull else {
      streams.countRefusal()
      throw .tooManyStreams
    }
    return nil
  }
}

extension ReplayWindow {
  /// Throws for an index that has been used or is too old to tell.
  func admit(_ index: UInt64) throws(SRTPError) {
    switch check(index) {
    case .fresh: return
    case .replayed: throw .replayed
    case .tooOld: throw .tooOld
    }
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
