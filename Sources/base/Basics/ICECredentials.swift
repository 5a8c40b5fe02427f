// User name fragment and password of one end of an ICE connection (RFC 8445 §5.3), which SDP tells and agents check with.

/// What a peer needs to check connectivity with an agent.
public struct ICECredentials: Hashable, Sendable {
  /// 4 … 256 ice-chars.
  public var ufrag: String
  /// 22 … 256 ice-chars.
  public var password: String

  /// Given ones, as from SDP.
  public init(ufrag: String, password: String) {
    self.ufrag = ufrag
    self.password = password
  }

  /// New ones: 48 random bits of user name fragment (24 are asked for), 144 of password (128 are asked for). The generator
  /// must be a cryptographic one.
  public static func random(using generator: inout some RandomNumberGenerator) -> ICECredentials {
    ICECredentials(ufrag: text(8, &generator), password: text(24, &generator))
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static func text(_ count: Int, _ generator: inout some RandomNumberGenerator) -> String {
    var (text, bits) = ([UInt8](), UInt64(0))
    for place in 0..<count {
      // A cryptographic generator's numbers cost more than all else here: each is ten characters of six bits.
      bits = place % 10 == 0 ? generator.next() : bits >> 6
      text.append(alphabet[Int(bits & 63)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
