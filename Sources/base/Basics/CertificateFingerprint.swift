// Certificate fingerprints as SDP writes them (RFC 8122 §5). They live here because SDP, DTLS and the OpenSSL fence speak of them.

/// The hash of a certificate, by which the signalling vouches for the peer of a DTLS handshake.
public struct CertificateFingerprint: Hashable, Sendable, CustomStringConvertible {
  /// A hash function by its name in SDP; MD2 and MD5 are forbidden and unknown here.
  public enum Algorithm: String, CaseIterable, Comparable, Sendable {
    case sha1 = "sha-1"
    case sha224 = "sha-224"
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    /// Bytes of a hash.
    public var length: Int {
      switch self {
      case .sha1: 20
      case .sha224: 28
      case .sha256: 32
      case .sha384: 48
      case .sha512: 64
      }
    }

    /// Weaker comes before stronger.
    public static func < (a: Algorithm, b: Algorithm) -> Bool { a.length < b.length }
  }

  /// The hash function.
  public let algorithm: Algorithm
  /// `algorithm.length` bytes.
  public let bytes: [UInt8]

  /// nil unless there are as many bytes as the algorithm makes.
  public init?(algorithm: Algorithm, bytes: [UInt8]) {
    guard bytes.count == algorithm.length else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Parses an algorithm's name and `AB:CD:…`, in either case, as they stand in `a=fingerprint`; nil when they are not
  /// well formed, do not fit each other, or the algorithm is unknown.
  public init?(algorithm name: String, hex: String) {
    guard let algorithm = Algorithm(rawValue: name.lowercased()) else { return nil }
    guard hex.utf8.count == 3 * algorithm.length - 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(algorithm.length)
    var high: UInt8?
    for (position, character) in hex.utf8.enumerated() {
      if position % 3 == 2 {
        guard character == UInt8(ascii: ":") else { return nil }
      } else {
        guard let digit = Self.value(ofDigit: character) else { return nil }
        if let first = high {
          bytes.append(first << 4 | digit)
          high = nil
        } else {
          high = digit
        }
      }
    }
    self.init(algorithm: algorithm, bytes: bytes)
  }

  /// Parses the value of `a=fingerprint`: `sha-256 AB:CD:…`.
  public init?(_ attribute: String) {
    let parts = attribute.split(separator: " ")
    guard parts.count == 2 else { return nil }
    self.init(algorithm: String(parts[0]), hex: String(parts[1]))
  }

  /// `AB:CD:…`
  public var hex: String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(3 * bytes.count)
    for byte in bytes {
      if !text.isEmpty { text.append(UInt8(ascii: ":")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// `sha-256 AB:CD:…`, the value of `a=fingerprint`.
  public var description: String { "\(algorithm.rawValue) \(hex)" }

  private static func value(ofDigit character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
