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
}
