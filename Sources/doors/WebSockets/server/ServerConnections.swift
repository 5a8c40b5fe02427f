// The TCP connections of a server: how many there may be, and as whose each of them counts. On the service thread alone.
import Basics

/// A connection of any kind, WebSockets included.
struct ServerConnection {
  let descriptor: Int32
  /// The other end, or whom its PROXY header named; nil where that is unknown.
  let peer: SocketAddress?
  /// Whom its PROXY header named; nil where it began with none.
  let source: ProxyHeader.Source?
  /// Among whose it counts: nobody's while it is a trusted proxy's that has not asked for anything yet.
  fileprivate(set) var network: PeerNetwork?
  /// Of whose beginnings it has taken one: of a trusted proxy's, where it brought its first request, and where it becomes a WebSocket.
  fileprivate var beginner: PeerNetwork?
  /// What the credentials of its requests have come to; nothing of a trusted proxy's.
  fileprivate var tries = TurnTries()

  /// Whether its PROXY header named somebody else than the proxy.
  var namesAnother: Bool {
    switch source {
    case nil, .proxy: false
    case .unknown, .client: true
    }
  }

  /// Whether a request is the proxy's own, as its checks are: its PROXY header says so (LOCAL), and nothing that it brings anybody.
  func isOfTheProxy(_ head: RequestHead) -> Bool {
    guard case .proxy = source else { return false }
    return head.proxyHeader == nil && head.values("x-forwarded-for").isEmpty
  }
}

/// All of them.
final class ServerConnections {
  private let configuration: WebServerConfiguration
  private var all: [OpaquePointer: ServerConnection] = [:]
  /// How many of them each network has.
  private var byNetwork: [PeerNetwork: Int] = [:]

  /// Credentials of each network that failed where trusted proxies brought it: so many, and what it shows next comes after all others'.
  private var failuresByProxies = NetworkBuckets(burst: TurnTries.mostFailed, perSecond: 0.2)
  /// Connections that begin of each network.
  private var beginnings: NetworkBuckets
  /// Requests of each network.
  private var requests: NetworkBuckets

  init(_ configuration: WebServerConfiguration) {
    self.configuration = configuration
    let most = max(configuration.maximumConnectionsPerAddress, WebServerConfiguration.leastConnections)
    beginnings = NetworkBuckets(
      burst: most,
      perSecond: configuration.connectionsPerSecondPerAddress ?? Double(most)
        / WebServerConfiguration.secondsForAllConnections)
    requests = NetworkBuckets(
      burst: configuration.maximumRequestsPerAddress, perSecond: configuration.requestsPerSecondPerAddress)
  }

  // MARK: How many

  /// Whether there may be one more beside all of these and `others`.
  func hasSpace(besides others: Int) -> Bool { all.count + others < configuration.maximumConnections }

  /// Whether there may be one more of this peer.
  func hasSpace(for peer: SocketAddress?, besides others: Int) -> Bool {
    network(of: peer).map { !isFull($0, besides: others) } ?? true
  }

  /// Whether one more of this peer may begin now, which it then does. Those of trusted proxies always may: their clients are counted.
  func mayBegin(_ peer: SocketAddress?, at now: Instant) -> Bool {
    network(of: peer).map { beginnings.take($0, at: now) == nil } ?? true
  }

  /// How many milliseconds a client has to wait for its next request; nil where it may be served.
  func wait(of client: SocketAddress?, at now: Instant) -> Int64? { requests.take(PeerNetwork(client), at: now) }

  /// There is one more.
  func add(_ wsi: OpaquePointer, _ descriptor: Int32, _ peer: SocketAddress?, _ source: ProxyHeader.Source?) {
    let network = network(of: peer)
    all[wsi] = ServerConnection(descriptor: descriptor, peer: peer, source: source, network: network)
    if let network { byNetwork[network, default: 0] += 1 }
  }

  /// One is closed.
  func remove(_ wsi: OpaquePointer) -> ServerConnection? {
    let connection = all.removeValue(forKey: wsi)
    uncount(connection?.network)
    return connection
  }

  /// A trusted proxy's connection counts as that of the client whose request it brings, until it brings another's. It begins once, however
  /// many clients share it one after the other; as a WebSocket it is one client's alone.
  /// - Returns: false where that client has too many, or has begun too many.
  func count(_ wsi: OpaquePointer, as client: SocketAddress?, isUpgrade: Bool, at now: Instant) -> Bool {
    guard let connection = all[wsi], configuration.proxies.trusts(connection.peer) else { return true }
    let network = PeerNetwork(client)
    guard connection.network == network || !isFull(network, besides: 0) else { return false }
    if connection.beginner == nil || isUpgrade && connection.beginner != network {
      guard beginnings.take(network, at: now) == nil else { return false }
      all[wsi]?.beginner = network
    }
    guard connection.network != network else { return true }
    uncount(connection.network)
    byNetwork[network, default: 0] += 1
    all[wsi]?.network = network
    return true
  }

  private func network(of peer: SocketAddress?) -> PeerNetwork? {
    configuration.proxies.trusts(peer) ? nil : PeerNetwork(peer)
  }

  private func isFull(_ network: PeerNetwork, besides others: Int) -> Bool {
    byNetwork[network, default: 0] + others >= configuration.maximumConnectionsPerAddress
  }

  private func uncount(_ network: PeerNetwork?) {
    guard let network else { return }
    byNetwork[network, default: 1] -= 1
    if byNetwork[network] == 0 { byNetwork[network] = nil }
  }

  // MARK: Credentials

  /// What earlier requests of a connection came to; where a trusted proxy brings `client`, what those of its network have come to.
  func rank(_ wsi: OpaquePointer, of client: SocketAddress?, at now: Instant) -> TurnRank {
    guard let connection = all[wsi] else { return TurnRank() }
    guard configuration.proxies.trusts(connection.peer) else { return connection.tries.rank }
    return TurnRank(failures: failuresByProxies.wait(of: PeerNetwork(client), at: now) == nil ? 0 : 1)
  }

  /// A request is answered. Connections of trusted proxies are those of many clients, and say nothing of any.
  /// - Returns: whether the connection is to end.
  func note(_ credentials: Credentials, _ wsi: OpaquePointer, at now: Instant) -> Bool {
    guard let connection = all[wsi] else { return false }
    guard !configuration.proxies.trusts(connection.peer) else {
      if credentials == .failed, let network = connection.network { _ = failuresByProxies.take(network, at: now) }
      return false
    }
    switch credentials {
    case .unseen, .sentAway: return false
    case .accepted:
      all[wsi]?.tries.succeed()
      return false
    case .failed: return all[wsi]?.tries.fail() ?? false
    }
  }

  // MARK: Whose

  /// Among whose a connection counts; nil while it is a trusted proxy's that has brought nobody.
  func network(_ wsi: OpaquePointer) -> PeerNetwork? { all[wsi]?.network }

  /// Whose request it is.
  func client(_ wsi: OpaquePointer, _ head: RequestHead?) -> SocketAddress? {
    guard let connection = all[wsi], let peer = connection.peer else { return nil }
    guard let head, !connection.isOfTheProxy(head) else { return peer }
    return configuration.proxies.client(of: peer, head)
  }

  /// The peer, where it is a trusted proxy that has not said whom it brings.
  func forgetfulProxy(_ wsi: OpaquePointer, _ head: RequestHead) -> SocketAddress? {
    guard let connection = all[wsi], let peer = connection.peer, !connection.isOfTheProxy(head) else { return nil }
    return configuration.proxies.forgets(peer, head) ? peer : nil
  }

  /// Whether the client of a request came by TLS, to here or to a proxy that is believed.
  func isSecure(_ wsi: OpaquePointer, _ head: RequestHead) -> Bool {
    configuration.tls != nil || configuration.proxies.sayIsSecure(all[wsi]?.peer, head)
  }

  /// Whether somebody is brought to a server that is for its own machine alone: by a proxy that is not believed, or from elsewhere.
  func isBroughtFromElsewhere(_ wsi: OpaquePointer, _ head: RequestHead, _ client: SocketAddress?) -> Bool {
    guard let connection = all[wsi] else { return true }
    let isTrusted = configuration.proxies.trusts(connection.peer)
    guard connection.namesAnother || isTrusted || head.proxyHeader != nil else { return false }
    let isBelieved = head.proxyHeader == nil || isTrusted
    return !isBelieved || client?.isLoopback != true
  }
}
