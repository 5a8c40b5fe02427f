// HMAC-SHA1 and HMAC-SHA256 (RFC 2104) over kept hash states: keying hashes the pads once, and each message starts from
// a copied struct, so a tag costs no allocation.

internal import COpenSSL

/// HMAC-SHA1 with one key, for many messages. STUN's MESSAGE-INTEGRITY (RFC 8489 §14.5) and SRTP's tag are made with it.
public struct HMACSHA1: ~Copyable {
  /// A whole tag.
  public typealias Tag = InlineArray<20, UInt8>
  private var states: KeyedHash<SHA_CTX>

  /// Keys of any length; above 64 bytes a key is hashed first.
  public init(key: Span<UInt8>) { states = KeyedHash(key: key) }

  /// Starts a new message, forgetting an unfinished one.
  public mutating func reset() { states.reset() }

  /// Appends bytes to the message.
  public mutating func update(_ bytes: Span<UInt8>) { states.update(bytes) }

  /// The message's tag; the next message starts.
  public mutating func finish() -> Tag {
    var tag = Tag(repeating: 0)
    var span = tag.mutableSpan
    states.finish(into: &span)
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
  private var states: KeyedHash<SHA256_CTX>

  /// Keys of any length; above 64 bytes a key is hashed first.
  public init(key: Span<UInt8>) { states = KeyedHash(key: key) }

  /// Starts a new message, forgetting an unfinished one.
  public mutating func reset() { states.reset() }

  /// Appends bytes to the message.
  public mutating func update(_ bytes: Span<UInt8>) { states.update(bytes) }

  /// The message's tag; the next message starts.
  public mutating func finish() -> Tag {
    var tag = Tag(repeating: 0)
    var span = tag.mutableSpan
    states.finish(into: &span)
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

/// A hash under way, with blocks of 64 bytes.
private protocol HashState {
  static var digestBytes: Int { get }
  init()
  mutating func begin()
  mutating func append(_ bytes: UnsafeRawBufferPointer)
  /// Writes the digest to the first `digestBytes` bytes.
  mutating func end(_ digest: UnsafeMutablePointer<UInt8>?)
}

extension SHA_CTX: HashState {
  fileprivate static var digestBytes: Int { 20 }
  fileprivate mutating func begin() { SHA1_Init(&self) }
  fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer) {
    SHA1_Update(&self, bytes.baseAddress, bytes.count)
  }
  fileprivate mutating func end(_ digest: UnsafeMutablePointer<UInt8>?) { SHA1_Final(digest, &self) }
}

extension SHA256_CTX: HashState {
  fileprivate static var digestBytes: Int { 32 }
  fileprivate mutating func begin() { SHA256_Init(&self) }
  fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer) {
    SHA256_Update(&self, bytes.baseAddress, bytes.count)
  }
  fileprivate mutating func end(_ digest: UnsafeMutablePointer<UInt8>?) { SHA256_Final(digest, &self) }
}

/// The machine of RFC 2104 over any such hash.
private struct KeyedHash<State: HashState>: ~Copyable {
  /// Hash states: [0] after the inner pad, [1] after the outer pad, [2] at work.
  private let states: UnsafeMutablePointer<State>

  init(key: Span<UInt8>) {
    states = .allocate(capacity: 3)
    states.initialize(repeating: State(), count: 3)
    var block = InlineArray<64, UInt8>(repeating: 0)
    if key.count > 64 {
      states[2].begin()
      key.withUnsafeBytes { states[2].append($0) }
      var span = block.mutableSpan
      span.withUnsafeMutableBufferPointer { states[2].end($0.baseAddress) }
    } else {
      for index in key.indices { block[index] = key[index] }
    }
    for (state, pad) in [(0, UInt8(0x36)), (1, UInt8(0x5c))] {
      var padded = block
      for index in padded.indices { padded[index] ^= pad }
      states[state].begin()
      padded.span.withUnsafeBytes { states[state].append($0) }
    }
    reset()
  }

  deinit {
    OPENSSL_cleanse(states, 3 * MemoryLayout<State>.stride)
    states.deallocate()
  }

  mutating func reset() { states[2] = states[0] }

  mutating func update(_ bytes: Span<UInt8>) { bytes.withUnsafeBytes { states[2].append($0) } }

  /// `tag` has `digestBytes` bytes. The next message starts.
  mutating func finish(into tag: inout MutableSpan<UInt8>) {
    tag.withUnsafeMutableBufferPointer { tag in
      states[2].end(tag.baseAddress)
      states[2] = states[1]
      states[2].append(UnsafeRawBufferPointer(start: tag.baseAddress, count: State.digestBytes))
      states[2].end(tag.baseAddress)
    }
    reset()
  }
}
