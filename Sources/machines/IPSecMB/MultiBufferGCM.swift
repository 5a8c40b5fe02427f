// IPSecMB: the one target that calls libipsec-mb, for AES-GCM. x86-64 only; elsewhere it compiles to "not available".
//
// Threads: the functions keep no state of their own but an error number that nobody reads, and work on what an object
// owns, so objects on different threads do not meet. The table of functions is made once and never changes.

import Basics
import Crypto

#if arch(x86_64)
  internal import CIPSecMB

  /// AES-GCM through libipsec-mb's direct calls: the key is expanded once, a call allocates nothing.
  public struct MultiBufferGCM: GCMCipher, ~Copyable {
    private static let tagLength = 16
    private static let functions: cipsecmb_functions? = {
      var functions = cipsecmb_functions()
      return cipsecmb_load(&functions) == 1 ? functions : nil
    }()

    /// Whether this CPU can be used. The first look takes a few milliseconds: the library tests itself.
    public static var isAvailable: Bool { functions != nil }

    /// The instructions that the library uses here, for people; nil when it cannot be used.
    public static var instructions: String? {
      switch functions?.architecture {
      case nil: nil
      case 2: "SSE"
      case 3: "AVX"
      case 4: "AVX2"
      default: "AVX-512"
      }
    }

    private let expandedKey: UnsafeMutableRawBufferPointer
    private let function: aes_gcm_enc_dec_t
    private let direction: GCMDirection

    /// A 16- or 32-byte key. Throws where the library cannot be used, or for another length.
    public init(key: Span<UInt8>, direction: GCMDirection) throws(CryptoError) {
      guard let functions = Self.functions else { throw .unavailable("libipsec-mb cannot use this CPU") }
      guard key.count == 16 || key.count == 32 else { throw .wrongLength }
      var chosen = key.count == 16 ? functions.gcm128 : functions.gcm256
      guard let function = direction == .seal ? chosen.encrypt : chosen.decrypt else {
        throw .unavailable("libipsec-mb has no AES-GCM")
      }
      self.function = function
      self.direction = direction
      expandedKey = .allocate(byteCount: cipsecmb_gcm_key_size(), alignment: 64)
      expandedKey.initializeMemory(as: UInt8.self, repeating: 0)
      let base = expandedKey.baseAddress
      key.withUnsafeBufferPointer { cipsecmb_gcm_prepare(&chosen, $0.baseAddress, base) }
    }

    deinit {
      imb_clear_mem(expandedKey.baseAddress, expandedKey.count)
      expandedKey.deallocate()
    }

    /// As `GCMCipher` says.
    public func seal(
      nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, plaintext: Range<Int>, associated: Range<Int>,
      trailer: Range<Int> = 0..<0
    ) throws(CryptoError) {
      guard direction == .seal, Self.fits(bytes.count, plaintext, associated, trailer) else { throw .wrongLength }
      bytes.withUnsafeMutableBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return }
        run(nonce, base, plaintext, associated, trailer, tag: base + plaintext.upperBound)
      }
    }

    /// As `GCMCipher` says.
    public func seal(
      nonce: InlineArray<12, UInt8>, _ plaintext: Span<UInt8>, to bytes: inout MutableSpan<UInt8>, associated: Int
    ) throws(CryptoError) {
      guard direction == .seal, associated >= 0, associated + plaintext.count + Self.tagLength <= bytes.count else {
        throw .wrongLength
      }
      bytes.withUnsafeMutableBufferPointer { bytes in
        plaintext.withUnsafeBufferPointer { plaintext in
          nonce.span.withUnsafeBufferPointer { nonce in
            guard let base = bytes.baseAddress else { return }
            let text = base + associated
            cipsecmb_gcm_run(
              function, expandedKey.baseAddress, plaintext.baseAddress ?? UnsafePointer(text), text, plaintext.count,
              nonce.baseAddress, base, associated, text + plaintext.count)
          }
        }
      }
    }

    /// As `GCMCipher` says.
    public func open(
      nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, ciphertext: Range<Int>, associated: Range<Int>,
      trailer: Range<Int> = 0..<0
    ) throws(CryptoError) -> Bool {
      guard direction == .open, Self.fits(bytes.count, ciphertext, associated, trailer) else { throw .wrongLength }
      var tag = InlineArray<16, UInt8>(repeating: 0)
      var tagBytes = tag.mutableSpan
      bytes.withUnsafeMutableBufferPointer { bytes in
        tagBytes.withUnsafeMutableBufferPointer { tag in
          guard let base = bytes.baseAddress, let tag = tag.baseAddress else { return }
          run(nonce, base, ciphertext, associated, trailer, tag: tag)
        }
      }
      let end = ciphertext.upperBound
      return constantTimeEquals(tag.span, bytes.span.extracting(end..<(end + Self.tagLength)))
    }

    /// As `GCMCipher` says: about a kilobyte.
    public func prefetch() {
      if let base = expandedKey.baseAddress { Basics.prefetch(base, bytes: expandedKey.count) }
    }

    /// Every range lies within `count` bytes, with room for a tag behind the text; a trailer is at most 4 bytes behind 8
    /// of associated data (RFC 7714 §9.2).
    private static func fits(_ count: Int, _ text: Range<Int>, _ associated: Range<Int>, _ trailer: Range<Int>) -> Bool
    {
      text.lowerBound >= 0 && text.upperBound + tagLength <= count && associated.lowerBound >= 0
        && associated.upperBound <= count && trailer.lowerBound >= 0 && trailer.upperBound <= count
        && (trailer.isEmpty || (trailer.count == 4 && associated.count == 8))
    }

    @inline(__always)
    private func run(
      _ nonce: InlineArray<12, UInt8>, _ base: UnsafeMutablePointer<UInt8>, _ text: Range<Int>,
      _ associated: Range<Int>, _ trailer: Range<Int>, tag: UnsafeMutablePointer<UInt8>
    ) {
      // The associated data must be one run of bytes, which that of SRTCP is not.
      var joined = InlineArray<12, UInt8>(repeating: 0)
      var joinedBytes = joined.mutableSpan
      if !trailer.isEmpty {
        for index in 0..<8 { joinedBytes[index] = base[associated.lowerBound + index] }
        for index in 0..<4 { joinedBytes[8 + index] = base[trailer.lowerBound + index] }
      }
      nonce.span.withUnsafeBufferPointer { nonce in
        joinedBytes.withUnsafeMutableBufferPointer { joined in
          let plain = UnsafePointer(base + associated.lowerBound)
          cipsecmb_gcm_run(
            function, expandedKey.baseAddress, base + text.lowerBound, base + text.lowerBound, text.count,
            nonce.baseAddress,
            trailer.isEmpty ? plain : joined.baseAddress.map { UnsafePointer($0) },
            trailer.isEmpty ? associated.count : joined.count, tag)
        }
      }
    }
  }
#else
  /// libipsec-mb does not exist for this architecture: no object of this type can be made.
  public struct MultiBufferGCM: GCMCipher, ~Copyable {
    /// False.
    public static var isAvailable: Bool { false }
    /// nil.
    public static var instructions: String? { nil }

    /// A 16- or 32-byte key. Throws where the library cannot be used, or for another length.
    public init(key: Span<UInt8>, direction: GCMDirection) throws(CryptoError) {
      throw .unavailable("libipsec-mb is for x86-64")
    }

    /// As `GCMCipher` says.
    public func seal(
      nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, plaintext: Range<Int>, associated: Range<Int>,
      trailer: Range<Int>
    ) throws(CryptoError) { throw .wrongLength }

    /// As `GCMCipher` says.
    public func seal(
      nonce: InlineArray<12, UInt8>, _ plaintext: Span<UInt8>, to bytes: inout MutableSpan<UInt8>, associated: Int
    ) throws(CryptoError) { throw .wrongLength }

    /// As `GCMCipher` says.
    public func open(
      nonce: InlineArray<12, UInt8>, _ bytes: inout MutableSpan<UInt8>, ciphertext: Range<Int>, associated: Range<Int>,
      trailer: Range<Int>
    ) throws(CryptoError) -> Bool { throw .wrongLength }
  }
#endif
