// Hashes of whole messages.

internal import COpenSSL

/// One-shot hashes.
public enum Digest {
  /// SHA-1, 20 bytes: for STUN, SRTP and old fingerprints only.
  public static func sha1(_ message: Span<UInt8>) -> InlineArray<20, UInt8> {
    var digest = InlineArray<20, UInt8>(repeating: 0)
    var out = digest.mutableSpan
    message.withUnsafeBytes { bytes in
      out.withUnsafeMutableBufferPointer { out in
        _ = SHA1(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, out.baseAddress)
      }
    }
    return digest
  }

  /// SHA-256, 32 bytes.
  public static func sha256(_ message: Span<UInt8>) -> InlineArray<32, UInt8> {
    var digest = InlineArray<32, UInt8>(repeating: 0)
    var out = digest.mutableSpan
    message.withUnsafeBytes { bytes in
      out.withUnsafeMutableBufferPointer { out in
        _ = SHA256(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, out.baseAddress)
      }
    }
    return digest
  }
}
