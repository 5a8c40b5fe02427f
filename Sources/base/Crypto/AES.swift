// AES in counter mode and in Galois/counter mode, with kept contexts: the key schedule is made once and each
// packet sets a nonce, which costs no allocation.

internal import COpenSSL

/// AES-CTR with one key (128 or 256 bits): SRTP's AES-CM (RFC 3711 §4.1.1, RFC 6188).
public struct AESCTR: ~Copyable {
  private let context: OpaquePointer

  /// A 16- or 32-byte key.
  public init(key: Span<UInt8>) throws(CryptoError) {
    let cipher: OpaquePointer? =
      switch key.count {
      case 16: EVP_aes_128_ctr()
      case 32: EVP_aes_256_ctr()
      default: throw .wrongLength
      }
    context = try makeCipherContext(cipher, key: key, encrypt: true)
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Encrypts or decrypts `range` of `bytes` in place with the key stream that starts at the counter block `iv`.
  public func apply(iv: InlineArray<16, UInt8>, to bytes: inout MutableSpan<UInt8>, in range: Range<Int>)
    throws(CryptoError)
  {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else { throw .wrongLength }
    let done = bytes.withUnsafeMutableBufferPointer { bytes in
      iv.span.withUnsafeBufferPointer { iv in
        guard let base = bytes.baseAddress else { return true }
        return run(iv.baseAddress, UnsafePointer(base + range.lowerBound), base + range.lowerBound, range.count)
      }
    }
    guard done else { throw ErrorQueue.error("AES-CTR") }
  }

  /// Encrypts or decrypts `text`, which stands elsewhere, to `offset` of `bytes`.
  public func apply(
    iv: InlineArray<16, UInt8>, _ text: Span<UInt8>, to bytes: inout MutableSpan<UInt8>, at offset: Int
  ) throws(CryptoError) {
    guard offset >= 0, offset + text.count <= bytes.count else { throw .wrongLength }
    let done = bytes.withUnsafeMutableBufferPointer { bytes in
      iv.span.withUnsafeBufferPointer { iv in
        text.withUnsafeBufferPointer { text in
          guard let base = bytes.baseAddress, let source = text.baseAddress else { return true }
          return run(iv.baseAddress, source, base + offset, text.count)
        }
      }
    }
    guard done else { throw ErrorQueue.error("AES-CTR") }
  }

  private func run(
    _ iv: UnsafePointer<UInt8>?, _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
  ) -> Bool {
    var written: Int32 = 0
    return EVP_EncryptInit_ex(context, nil, nil, nil, iv) == 1
      && EVP_EncryptUpdate(context, target, &written, source, Int32(clamping: count)) == 1
  }
}

/// AES-GCM on OpenSSL.
public struct AESGCM: GCMCipher, ~Copyable {
  /// Bytes of a tag.
  public static let tagLength = 16
  private let context: OpaquePointer
  private let direction: GCMDirection

  /// A 16- or 32-byte key.
  public init(key: Span<UInt8>, direction: GCMDirection) throws(CryptoError) {
    let cipher: OpaquePointer? =
      switch key.count {
      case 16: EVP_aes_128_gcm()
      case 32: EVP_aes_256_gcm()
      default: throw .wrongLength
      }
    let context = try makeCipherContext(cipher, key: key, encrypt: direction == .seal)
    self.context = context
    self.direction = direction
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// As `GCMCipher` says.
  public func seal(
    nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, plaintext: Range<Int>, associated: Range<Int>,
    trailer: Range<Int> = 0..<0
  ) throws(CryptoError) {
    guard direction == .seal,
      fits([plaintext.upperBound + Self.tagLength, associated.upperBound, trailer.upperBound], bytes)
    else { throw .wrongLength }
    let done = bytes.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return false }
      let text = base + plaintext.lowerBound
      return begin(nonce, base, associated, trailer) && run(UnsafePointer(text), text, plaintext.count)
        && end(text + plaintext.count)
    }
    guard done else { throw ErrorQueue.error("AES-GCM seal") }
  }

  /// As `GCMCipher` says.
  public func seal(
    nonce: InlineArray<12, UInt8>, _ plaintext: Span<UInt8>, to bytes: inout MutableSpan<UInt8>, associated: Int
  ) throws(CryptoError) {
    guard direction == .seal, associated >= 0, associated + plaintext.count + Self.tagLength <= bytes.count else {
      throw .wrongLength
    }
    let done = bytes.withUnsafeMutableBufferPointer { bytes in
      plaintext.withUnsafeBufferPointer { plaintext in
        guard let base = bytes.baseAddress else { return false }
        let text = base + associated
        return begin(nonce, base, 0..<associated, 0..<0)
          && run(plaintext.baseAddress ?? UnsafePointer(text), text, plaintext.count) && end(text + plaintext.count)
      }
    }
    guard done else { throw ErrorQueue.error("AES-GCM seal") }
  }

  /// As `GCMCipher` says.
  public func open(
    nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, ciphertext: Range<Int>, associated: Range<Int>,
    trailer: Range<Int> = 0..<0
  ) throws(CryptoError) -> Bool {
    guard direction == .open,
      fits([ciphertext.upperBound + Self.tagLength, associated.upperBound, trailer.upperBound], bytes)
    else { throw .wrongLength }
    let result: Bool? = bytes.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return nil }
      let text = base + ciphertext.lowerBound
      guard begin(nonce, base, associated, trailer), run(UnsafePointer(text), text, ciphertext.count),
        EVP_CIPHER_CTX_ctrl(
          context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), base + ciphertext.upperBound) == 1
      else { return nil }
      var written: Int32 = 0
      return EVP_DecryptFinal_ex(context, base + ciphertext.upperBound, &written) == 1
    }
    guard let result else { throw ErrorQueue.error("AES-GCM open") }
    return result
  }

  private func fits(_ ends: InlineArray<3, Int>, _ bytes: borrowing MutableSpan<UInt8>) -> Bool {
    ends[0] <= bytes.count && ends[1] <= bytes.count && ends[2] <= bytes.count
  }

  /// Nonce and associated data; EVP_CipherUpdate goes either way as the context was keyed.
  private func begin(
    _ nonce: InlineArray<12, UInt8>, _ base: UnsafeMutablePointer<UInt8>, _ associated: Range<Int>,
    _ trailer: Range<Int>
  ) -> Bool {
    let started = nonce.span.withUnsafeBufferPointer {
      EVP_CipherInit_ex(context, nil, nil, nil, $0.baseAddress, direction == .seal ? 1 : 0) == 1
    }
    var written: Int32 = 0
    return started
      && EVP_CipherUpdate(context, nil, &written, base + associated.lowerBound, Int32(clamping: associated.count)) == 1
      && (trailer.isEmpty
        || EVP_CipherUpdate(context, nil, &written, base + trailer.lowerBound, Int32(clamping: trailer.count)) == 1)
  }

  private func run(
    _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
  ) -> Bool {
    var written: Int32 = 0
    return count == 0 || EVP_CipherUpdate(context, target, &written, source, Int32(clamping: count)) == 1
  }

  private func end(_ tag: UnsafeMutablePointer<UInt8>) -> Bool {
    var written: Int32 = 0
    return EVP_EncryptFinal_ex(context, tag, &written) == 1
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), tag) == 1
  }
}

private func makeCipherContext(_ cipher: OpaquePointer?, key: Span<UInt8>, encrypt: Bool) throws(CryptoError)
  -> OpaquePointer
{
  ErrorQueue.clear()
  guard let context = EVP_CIPHER_CTX_new() else { throw ErrorQueue.error("EVP_CIPHER_CTX_new") }
  let keyed = key.withUnsafeBufferPointer {
    EVP_CipherInit_ex(context, cipher, nil, $0.baseAddress, nil, encrypt ? 1 : 0) == 1
  }
  guard keyed else {
    let error = ErrorQueue.error("EVP_CipherInit_ex")
    EVP_CIPHER_CTX_free(context)
    throw error
  }
  return context
}
