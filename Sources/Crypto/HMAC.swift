// HMAC-SHA1 and HMAC-SHA256 (RFC 2104) over kept hash states: keying hashes the pads once, and each message starts from
// a copied struct, so a tag costs no allocation.

internal import COpenSSL

/// HMAC-SHA1 with one key, for many messages. STUN's MESSAGE-INTEGRITY (RFC 8489 §14.5) and SRTP's tag are made with it.
public struct HMACSHA1: ~Copyable {
  /// A whole tag.
  public typealias Tag = InlineArray<20, UInt8>
  /// Hash states: [0] after the inner pad, [1] after the outer pad, [2] at work.
  private let states: UnsafeMutablePointer<SHA_CTX>

  /// Keys of any length; above 64 bytes a key is hashed first.
  public init(key: Span<UInt8>) {
    states = .allocate(capacity: 3)
    states.initialize(repeating: SHA_CTX(), count: 3)
    var block = InlineArray<64, UInt8>(repeating: 0)
    if key.count > 64 {
      let digest = Digest.sha1(key)
      for index in digest.indices { block[index] = digest[index] }
    } else {
      for index in key.indices { block[index] = key[index] }
    }
    for (state, pad) in [(0, UInt8(0x36)), (1, UInt8(0x5c))] {
      var padded = block
      for index in padded.indices { padded[index] ^= pad }
      SHA1_Init(states + state)
      _ = padded.span.withUnsafeBytes { SHA1_Update(states + state, $0.baseAddress, $0.count) }
    }
    reset()
  }

  deinit {
    OPENSSL_cleanse(states, 3 * MemoryLayout<SHA_CTX>.stride)
    states.deallocate()
  }

  /// Starts a new message, forgetting an unfinished one.
  public mutating func reset() { states[2] = states[0] }

  /// Appends bytes to the message.
  public mutating func update(_ bytes: Span<UInt8>) {
    _ = bytes.withUnsafeBytes { SHA1_Update(states + 2, $0.baseAddress, $0.count) }
  }

  /// The message's tag; the next message starts.
  public mutating func finish() -> Tag {
    var tag = Tag(repeating: 0)
    var span = tag.mutableSpan
    span.withUnsafeMutableBufferPointer { tag in
      SHA1_Final(tag.baseAddress, states + 2)
      states[2] = states[1]
      SHA1_Update(states + 2, tag.baseAddress, tag.count)
      SHA1_Final(tag.baseAddress, states + 2)
    }
    reset()
    return tag
  }

  /// The tag of a whole message.
  public mutating func authenticate(_ message: Span<UInt8>) -> Tag {
    reset()
    update(message)
    return finish()
  }

  /// One tag with a key that is not used again.
  public static func authenticate(_ message: Span<UInt8>, key: Span<UInt8>) -> Tag {
    var hmac = HMACSHA1(key: key)
    return hmac.authenticate(message)
  }
}

/// HMAC-SHA256 with one key, for many messages.
public struct HMACSHA256: ~Copyable {
  /// A whole tag.
  public typealias Tag = InlineArray<32, UInt8>
  /// Hash states: [0] after the inner pad, [1] after the outer pad, [2] at work.
  private let states: UnsafeMutablePointer<SHA256_CTX>

  /// Keys of any length; above 64 bytes a key is hashed first.
  public init(key: Span<UInt8>) {
    states = .allocate(capacity: 3)
    states.initialize(repeating: SHA256_CTX(), count: 3)
    var block = InlineArray<64, UInt8>(repeating: 0)
    if key.count > 64 {
      let digest = Digest.sha256(key)
      for index in digest.indices { block[index] = digest[index] }
    } else {
      for index in key.indices { block[index] = key[index] }
    }
    for (state, pad) in [(0, UInt8(0x36)), (1, UInt8(0x5c))] {
      var padded = block
      for index in padded.indices { padded[index] ^= pad }
      SHA256_Init(states + state)
      _ = padded.span.withUnsafeBytes { SHA256_Update(states + state, $0.baseAddress, $0.count) }
    }
    reset()
  }

  deinit {
    OPENSSL_cleanse(states, 3 * MemoryLayout<SHA256_CTX>.stride)
    states.deallocate()
  }

  /// Starts a new message, forgetting an unfinished one.
  public mutating func reset() { states[2] = states[0] }

  /// Appends bytes to the message.
  public mutating func update(_ bytes: Span<UInt8>) {
    _ = bytes.withUnsafeBytes { SHA256_Update(states + 2, $0.baseAddress, $0.count) }
  }

  /// The message's tag; the next message starts.
  public mutating func finish() -> Tag {
    var tag = Tag(repeating: 0)
    var span = tag.mutableSpan
    span.withUnsafeMutableBufferPointer { tag in
      SHA256_Final(tag.baseAddress, states + 2)
      states[2] = states[1]
      SHA256_Update(states + 2, tag.baseAddress, tag.count)
      SHA256_Final(tag.baseAddress, states + 2)
    }
    reset()
    return tag
  }

  /// The tag of a whole message.
  public mutating func authenticate(_ message: Span<UInt8>) -> Tag {
    reset()
    update(message)
    return finish()
  }

  /// One tag with a key that is not used again.
  public static func authenticate(_ message: Span<UInt8>, key: Span<UInt8>) -> Tag {
    var hmac = HMACSHA256(key: key)
    return hmac.authenticate(message)
  }
}
