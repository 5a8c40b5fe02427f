/// Whose connections and requests are counted together: an IPv4 address, or the half of an IPv6 address that names a network, since
/// a host can take any address in it.
public struct PeerNetwork: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64

  /// The network of a peer; those without an address are one.
  public init(_ peer: SocketAddress?) {
    high = peer?.high ?? 0
    low = peer.map { $0.isIPv4 ? $0.low : 0 } ?? 0
  }

  /// Its addresses; nil for those without one, and for the network that `::1` is in: these are one network here.
  public var range: AddressRange? {
    guard high != 0 || low != 0 else { return nil }
    return AddressRange(first: SocketAddress(high: high, low: low, port: 0), bits: high == 0 ? 32 : Self.bits)
  }

  /// As many bits of an IPv6 address name a network.
  public static let bits = 64
}
