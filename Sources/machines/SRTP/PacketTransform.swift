// The seam between sessions (streams, indices, replay) and whoever does the cryptography. A further backend is one more
// case here: it gets a packet with its bounds and its index, and changes it in place.

import Basics
import Crypto
import IPSecMB
import SRTPLibrary

/// The last word of an SRTCP packet: the E flag and the index (RFC 3711 §3.4).
enum SRTCPTrailer {
  static let encrypted: UInt32 = 0x8000_0000
  static let maximumIndex: UInt32 = 0x7fff_ffff
}

/// The cryptography of one direction. Callers guarantee that the bounds are those of the packet and that there is room for
/// what sealing adds; the result is the packet's new length.
enum PacketTransform: ~Copyable {
  case counterMode(AESCMTransform)
  case galoisCounterMode(GCMTransform<AESGCM>)
  case multiBuffer(GCMTransform<MultiBufferGCM>)
  case library(LibSRTPSession)

  init(_ key: SRTPMasterKey, backend: SRTPBackend, direction: GCMDirection) throws(SRTPError) {
    do {
      switch (backend, key.profile) {
      // One packet at a time HMAC-SHA1 is slower in libipsec-mb than in OpenSSL: docs/decisions/0004-srtp-backends.md.
      case (.openSSL, .aes128CMSHA1_80), (.ipsecMB, .aes128CMSHA1_80): self = .counterMode(try AESCMTransform(key))
      case (.openSSL, _): self = .galoisCounterMode(try GCMTransform(key, direction))
      case (.ipsecMB, _): self = .multiBuffer(try GCMTransform(key, direction))
      case (.libSRTP, _):
        self = .library(try LibSRTPSession(key: key, direction: direction == .seal ? .outbound : .inbound))
      }
    } catch {
      throw .backendFailed
    }
  }

  /// Has the key for RTP fetched into the CPU's caches, where its place is known.
  func prefetch() {
    switch self {
    case .counterMode: break
    case .library: break
    case .galoisCounterMode(let transform): transform.prefetch()
    case .multiBuffer(let transform): transform.prefetch()
    }
  }

  func sealRTP(_ packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, length: Int, index: UInt64)
    -> Result<Int, SRTPError>
  {
    switch self {
    case .counterMode(let transform): transform.sealRTP(&packet, bounds, length: length, index: index)
    case .galoisCounterMode(let transform): transform.sealRTP(&packet, bounds, length: length, index: index)
    case .multiBuffer(let transform): transform.sealRTP(&packet, bounds, length: length, index: index)
    case .library(let session):
      librarySays { () throws(LibSRTPError) in try session.protectRTP(&packet, length: length) }
    }
  }

  /// The same for a payload that stands elsewhere: it goes sealed to where the header ends.
  @inline(__always)
  func sealRTP(_ payload: Span<UInt8>, to packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, index: UInt64)
    -> Result<Int, SRTPError>
  {
    switch self {
    case .counterMode(let transform): return transform.sealRTP(payload, to: &packet, bounds, index: index)
    case .galoisCounterMode(let transform): return transform.sealRTP(payload, to: &packet, bounds, index: index)
    case .multiBuffer(let transform): return transform.sealRTP(payload, to: &packet, bounds, index: index)
    case .library(let session):
      // It works in place alone.
      packet.store(payload, at: bounds.headerLength)
      return librarySays { () throws(LibSRTPError) in
        try session.protectRTP(&packet, length: bounds.headerLength + payload.count)
      }
    }
  }

  func openRTP(_ packet: inout MutableSpan<UInt8>, _ bounds: RTPBounds, length: Int, index: UInt64)
    -> Result<Int, SRTPError>
  {
    switch self {
    case .counterMode(let transform): transform.openRTP(&packet, bounds, length: length, index: index)
    case .galoisCounterMode(let transform): transform.openRTP(&packet, bounds, length: length, index: index)
    case .multiBuffer(let transform): transform.openRTP(&packet, bounds, length: length, index: index)
    case .library(let session):
      librarySays { () throws(LibSRTPError) in try session.unprotectRTP(&packet, length: length) }
    }
  }

  func sealRTCP(_ packet: inout MutableSpan<UInt8>, ssrc: UInt32, length: Int, index: UInt32)
    -> Result<Int, SRTPError>
  {
    switch self {
    case .counterMode(let transform): transform.sealRTCP(&packet, ssrc: ssrc, length: length, index: index)
    case .galoisCounterMode(let transform): transform.sealRTCP(&packet, ssrc: ssrc, length: length, index: index)
    case .multiBuffer(let transform): transform.sealRTCP(&packet, ssrc: ssrc, length: length, index: index)
    case .library(let session):
      librarySays { () throws(LibSRTPError) in try session.protectRTCP(&packet, length: length) }
    }
  }

  func openRTCP(_ packet: inout MutableSpan<UInt8>, ssrc: UInt32, length: Int, index: UInt32)
    -> Result<Int, SRTPError>
  {
    switch self {
    case .counterMode(let transform): transform.openRTCP(&packet, ssrc: ssrc, length: length, index: index)
    case .galoisCounterMode(let transform): transform.openRTCP(&packet, ssrc: ssrc, length: length, index: index)
    case .multiBuffer(let transform): transform.openRTCP(&packet, ssrc: ssrc, length: length, index: index)
    case .library(let session):
      librarySays { () throws(LibSRTPError) in try session.unprotectRTCP(&packet, length: length) }
    }
  }

  /// Forgets what the backend itself knows of a stream.
  func removeStream(ssrc: UInt32) {
    switch self {
    case .counterMode: break
    case .galoisCounterMode: break
    case .multiBuffer: break
    case .library(let session): session.removeStream(ssrc: ssrc)
    }
  }
}

private func librarySays(_ body: () throws(LibSRTPError) -> Int) -> Result<Int, SRTPError> {
  do throws(LibSRTPError) {
    return .success(try body())
  } catch {
    return .failure(SRTPError(error))
  }
}
