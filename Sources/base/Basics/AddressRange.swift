// A range of addresses that begin alike (RFC 4632 §3.1, RFC 4291 §2.3).

/// One address, or a network of them. IPv4 and IPv6 have nothing in common here.
public struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  /// Its first address, port 0.
  public let first: SocketAddress
  /// How many of an address's bits are those of `first`: 1 to 32 of IPv4, 1 to 128 of IPv6.
  public let bits: Int

  /// The range of this first address. Its bits behind `bits` are zero.
  init(first: SocketAddress, bits: Int) { (self.first, self.bits) = (first, bits) }

  /// `address`, `address/bits`; nil where that is neither, where an address has bits behind the range's, and for all addresses at once.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first.flatMap({ SocketAddress(host: String($0), port: 0) }) else { return nil }
    let width = address.isIPv4 ? 32 : 128
    var bits = width
    if parts.count == 2 {
      guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        parts[1].first != "0", let given = Int(parts[1]), given <= width
      else { return nil }
      bits = given
    }
    self.init(first: address, bits: bits)
    let mask = Self.mask(128 - width + bits)
    guard address.high & ~mask.high == 0, address.low & ~mask.low == 0 else { return nil }
  }

  /// Whether an address is in it.
  public func contains(_ address: SocketAddress) -> Bool {
    guard address.isIPv4 == first.isIPv4 else { return false }
    let mask = Self.mask(first.isIPv4 ? 96 + bits : bits)
    return (address.high ^ first.high) & mask.high == 0 && (address.low ^ first.low) & mask.low == 0
  }

  /// Whether an address is in both.
  public func overlaps(_ other: AddressRange) -> Bool { contains(other.first) || other.contains(first) }

  /// The network of so many bits that this range is in; the range itself where it has no more than that.
  public func network(bits most: Int) -> AddressRange {
    let bits = min(bits, max(most, 1))
    let mask = Self.mask(first.isIPv4 ? 96 + bits : bits)
    return AddressRange(
      first: SocketAddress(high: first.high & mask.high, low: first.low & mask.low, port: 0), bits: bits)
  }

  /// `10.0.0.0/8`, or the address alone.
  public var description: String {
    bits == (first.isIPv4 ? 32 : 128) ? first.host : "\(first.host)/\(bits)"
  }

  /// So many bits that are set, from the front.
  private static func mask(_ bits: Int) -> (high: UInt64, low: UInt64) {
    // A shift by 64 or more leaves nothing.
    (~(UInt64.max >> UInt64(min(bits, 64))), ~(UInt64.max >> UInt64(max(bits - 64, 0))))
  }
}
