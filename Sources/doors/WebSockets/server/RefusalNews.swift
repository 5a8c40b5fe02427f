// What the owner of a server is told of refusals: seldom, as strangers can cause any number of them. On the service thread alone.
import Basics
import Threads

/// Tells of refusals.
final class RefusalNews {
  private let configuration: WebServerConfiguration
  private let clock: () -> Instant
  /// Names that were refused and told of.
  private var names: Set<String> = []
  /// When it was told last of a request that came through a proxy, and of a proxy that did not say whom it brings.
  private var toldOfProxy: Instant?
  private var toldOfMissingHeader: Instant?
  private var toldOfMissingAddress: Instant?

  /// `clock` says what time it is.
  init(_ configuration: WebServerConfiguration, clock: @escaping () -> Instant = MonotonicClock.now) {
    self.configuration = configuration
    self.clock = clock
  }

  /// Once for each name, and of so many names as a server may have: a stranger can ask for any.
  func refused(name: String, of client: SocketAddress?) {
    guard names.count < 64, names.insert(name).inserted else { return }
    configuration.hostRefused(name, client)
  }

  /// Once a minute: a proxy sends many requests.
  func refused(proxyHeader: String, of client: SocketAddress?) {
    if isTime(&toldOfProxy) { configuration.proxyRefused(proxyHeader, client) }
  }

  /// Likewise: one that is not configured for it connects again and again.
  func missedProxyHeader(of peer: SocketAddress?) {
    if isTime(&toldOfMissingHeader) { configuration.proxyHeaderMissing(peer) }
  }

  /// Once an hour: what looks whether the server is alive may say nothing all day.
  func missedForwardedFor(of proxy: SocketAddress) {
    if isTime(&toldOfMissingAddress, .seconds(3600)) { configuration.forwardedForMissing(proxy) }
  }

  private func isTime(_ last: inout Instant?, _ interval: TimeDelta = .seconds(60)) -> Bool {
    let now = clock()
    if let last, now - last < interval { return false }
    last = now
    return true
  }
}
