// Random bytes; comparison and wiping of secrets.

internal import COpenSSL

/// Fills `bytes` from OpenSSL's cryptographic generator. Traps if the generator fails, since nothing that follows could
/// be secret (it fails only when the operating system has no entropy source).
public func fillRandom(_ bytes: inout MutableSpan<UInt8>) {
  let done = bytes.withUnsafeMutableBufferPointer { RAND_bytes($0.baseAddress, Int32(clamping: $0.count)) }
  precondition(done == 1, "the random generator failed")
}

/// `count` bytes from OpenSSL's cryptographic generator.
public func randomBytes(_ count: Int) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  var span = bytes.mutableSpan
  fillRandom(&span)
  return bytes
}

/// OpenSSL's cryptographic generator behind the standard library's protocol.
public struct SecureRandomGenerator: RandomNumberGenerator, Sendable {
  /// A generator; all share the thread's state in OpenSSL.
  public init() {}

  /// Eight random bytes.
  public mutating func next() -> UInt64 {
    var value: UInt64 = 0
    let done = withUnsafeMutableBytes(of: &value) {
      RAND_bytes($0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(clamping: $0.count))
    }
    precondition(done == 1, "the random generator failed")
    return value
  }
}

/// Whether both hold the same bytes; the time taken depends on the lengths alone.
public func constantTimeEquals(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
  guard a.count == b.count else { return false }
  return a.withUnsafeBytes { a in
    b.withUnsafeBytes { b in
      guard let first = a.baseAddress, let second = b.baseAddress else { return true }
      return CRYPTO_memcmp(first, second, a.count) == 0
    }
  }
}

/// Overwrites a secret with zeroes, in a way that the compiler does not leave out. Other copies of the array keep theirs.
public func wipe(_ secret: inout [UInt8]) {
  secret.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
}
