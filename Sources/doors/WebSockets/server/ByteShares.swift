// Bytes that are kept for the sockets of one address, all together. Pure.
import Basics

/// What sockets keep, by the network that they are of.
struct ByteShares {
  private struct Share {
    var bytes = 0
    var ids: Set<WebSocketID> = []
  }

  private let limit: Int
  private var shares: [PeerNetwork: Share] = [:]

  /// As many bytes as `limit` for each network.
  init(limit: Int) { self.limit = limit }

  /// So many bytes are kept for a socket from now on, where there were `before`.
  /// - Returns: those of its network for whom anything is kept, where that is too much.
  mutating func keep(
    _ bytes: Int, insteadOf before: Int, for id: WebSocketID, of network: PeerNetwork
  ) -> Set<WebSocketID>? {
    guard bytes != before else { return nil }
    shares[network, default: Share()].bytes += bytes - before
    if bytes > 0 { shares[network]?.ids.insert(id) } else { shares[network]?.ids.remove(id) }
    guard let share = shares[network] else { return nil }
    if share.ids.isEmpty { shares[network] = nil }
    return share.bytes > limit ? share.ids : nil
  }

  /// Bytes that are kept of a network's.
  func bytes(of network: PeerNetwork) -> Int { shares[network]?.bytes ?? 0 }
}
