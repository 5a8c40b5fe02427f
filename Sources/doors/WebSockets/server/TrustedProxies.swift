// Whose request it is that came through proxies: by `X-Forwarded-For`, from proxies that are believed alone. Pure.
//
// There is no RFC for that header, and each proxy adds to what it was given: so the last address is the nearest proxy's word, and those
// before it may be the client's own.
import Basics

/// The proxies that are believed whom they bring.
public struct TrustedProxies: Sendable, Hashable {
  /// Proxies that a request may have come through. Beyond them its client is nobody that is known.
  package static let mostHops = 16
  /// Bytes of an address with its port, and some to spare.
  private static let addressBytes = 64

  private let ranges: [AddressRange]

  /// Those of these addresses; with none, nobody is believed.
  public init(_ ranges: [AddressRange] = []) { self.ranges = ranges }

  /// Whether an address is that of such a proxy.
  package func trusts(_ address: SocketAddress?) -> Bool {
    guard let address else { return false }
    return ranges.contains { $0.contains(address) }
  }

  /// Who asks: the peer, or where that is such a proxy, the last one in the header that is none. Where all of them are, the first. Nil
  /// where the proxies do not say, or say what is no address: that is nobody's then, and never local. A proxy on another machine that says
  /// nothing at all is taken for itself.
  package func client(of peer: SocketAddress?, _ head: RequestHead) -> SocketAddress? {
    guard let peer, trusts(peer) else { return peer }
    let lists = head.values("x-forwarded-for")
    // A program on the proxy's machine, or a proxy that forgets the header. To be local would be worth something to whom it brings.
    if lists.isEmpty { return head.proxyHeader == nil && !peer.isLoopback ? peer : nil }
    var nearest = peer
    var hops = 0
    for list in lists.reversed() {
      // By bytes: a Character may hold a comma and what comes before it.
      for entry in list.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).reversed() {
        hops += 1
        guard hops <= Self.mostHops, let address = Self.address(entry), believes(nearest, naming: address) else {
          return nil
        }
        if !trusts(address) { return address }
        nearest = address
      }
    }
    return nearest
  }

  /// Whether a peer should have said whom it brings, and has not.
  func forgets(_ peer: SocketAddress?, _ head: RequestHead) -> Bool {
    trusts(peer) && head.values("x-forwarded-for").isEmpty
  }

  /// Whether somebody may say this of who came to them. What is local to another machine is not local here.
  package func believes(_ proxy: SocketAddress, naming client: SocketAddress) -> Bool {
    proxy.isLoopback || !client.isLoopback
  }

  /// Whether the client came by TLS, as such a proxy says (`X-Forwarded-Proto`).
  func sayIsSecure(_ peer: SocketAddress?, _ head: RequestHead) -> Bool {
    guard trusts(peer), let word = head.values("x-forwarded-proto").last?.utf8.split(separator: UInt8(ascii: ",")).last
    else {
      return false
    }
    return String(decoding: word, as: UTF8.self).filter { $0 != " " && $0 != "\t" }.lowercased() == "https"
  }

  /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`, with blanks around it.
  private static func address(_ entry: Substring.UTF8View) -> SocketAddress? {
    guard entry.allSatisfy({ $0 < 0x80 }) else { return nil }
    let text = Substring(entry).drop { $0 == " " || $0 == "\t" }
    guard text.utf8.count <= addressBytes else { return nil }
    let word = text.prefix { $0 != " " && $0 != "\t" }
    guard text[word.endIndex...].allSatisfy({ $0 == " " || $0 == "\t" }) else { return nil }
    if let address = SocketAddress(host: String(word), port: 0) { return address }
    let isBracketed = word.first == "["
    guard let end = word.firstIndex(of: isBracketed ? "]" : ":") else { return nil }
    let host = isBracketed ? word[..<end].dropFirst() : word[..<end]
    let rest = isBracketed ? word[word.index(after: end)...] : word[end...]
    guard let address = SocketAddress(host: String(host), port: 0), isBracketed == host.contains(":") else {
      return nil
    }
    if rest.isEmpty { return address }
    guard rest.first == ":", let port = ProxyHeader.port(rest.dropFirst()) else { return nil }
    return SocketAddress(high: address.high, low: address.low, port: port)
  }
}
