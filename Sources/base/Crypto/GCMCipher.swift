// What AES-GCM looks like to SRTP, whichever library does it.

/// AES-GCM with one key (128 or 256 bits), 12-byte nonces and 16-byte tags (RFC 7714). One object does one direction and
/// belongs to one thread; making it may allocate, using it must not.
public protocol GCMCipher: ~Copyable {
  /// A 16- or 32-byte key.
  init(key: Span<UInt8>, direction: GCMDirection) throws(CryptoError)

  // None is `mutating`, though a library may keep what it works with behind the key: a switch over ciphers would have to move
  // each in and out for that, packet by packet. Being noncopyable, the object has one owner all the same.

  /// Encrypts `plaintext` in place and writes the tag to the 16 bytes after it. What is authenticated besides is
  /// `associated` followed by `trailer`, both as they stand in `bytes`.
  func seal(
    nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, plaintext: Range<Int>, associated: Range<Int>,
    trailer: Range<Int>
  ) throws(CryptoError)

  /// Encrypts `plaintext`, which stands elsewhere, to where the first `associated` bytes of `bytes` end, and writes the tag
  /// behind. Those first bytes are authenticated besides.
  func seal(
    nonce: InlineArray<12, UInt8>, _ plaintext: Span<UInt8>, to bytes: inout MutableSpan<UInt8>, associated: Int
  ) throws(CryptoError)

  /// Decrypts `ciphertext` in place, whose tag is the 16 bytes after it. False when the tag is wrong: `ciphertext` then
  /// holds bytes that mean nothing and must not be used.
  func open(
    nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, ciphertext: Range<Int>, associated: Range<Int>,
    trailer: Range<Int>
  ) throws(CryptoError) -> Bool

  /// Has the key fetched into the CPU's caches: it is needed soon.
  func prefetch()
}

extension GCMCipher where Self: ~Copyable {
  /// Nothing, where the key's place is the library's secret.
  public func prefetch() {}
}

/// What an AES-GCM object does with its key.
public enum GCMDirection: Sendable {
  case seal
  case open
}
