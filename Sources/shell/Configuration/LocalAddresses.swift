// Which addresses this machine has, and which of them clients are told.
import Basics
import Glibc

extension SocketAddress {
  /// Whether it stands for every address of its family (0.0.0.0 or ::).
  public var isWildcard: Bool { isIPv4 ? v4 == 0 : high == 0 && low == 0 }
  /// Whether it is valid on one link only (169.254.0.0/16 or fe80::/10); browsers do not offer such addresses.
  public var isLinkLocal: Bool { isIPv4 ? v4 >> 16 == 0xa9fe : high >> 54 == 0x3fa }
}

extension SocketAddress {
  /// Whether no machine can have it: a group, the broadcast address, or of a range that is set aside (0.0.0.0/8 but the
  /// wildcard, 224.0.0.0/4, 240.0.0.0/4, ff00::/8).
  var isNobodys: Bool {
    if isWildcard { return false }
    return isIPv4 ? v4 >> 24 == 0 || v4 >> 28 >= 14 : high >> 56 == 0xff
  }

  /// Whether it says nothing without the name of an interface, which is not taken (fe80::/10).
  var needsZone: Bool { !isIPv4 && isLinkLocal }

  /// Its family, for people.
  var family: String { isIPv4 ? "IPv4" : "IPv6" }
}

/// The addresses of all interfaces that are up, port 0, in the system's order. Reads the system's tables.
public func interfaceAddresses() -> [SocketAddress] {
  var list: UnsafeMutablePointer<ifaddrs>?
  guard getifaddrs(&list) == 0 else { return [] }
  defer { freeifaddrs(list) }
  var addresses: [SocketAddress] = []
  var next = list
  while let entry = next?.pointee {
    next = entry.ifa_next
    guard entry.ifa_flags & UInt32(IFF_UP) != 0, let raw = entry.ifa_addr,
      let address = SocketAddress(raw: raw), !addresses.contains(address)
    else { continue }
    addresses.append(address)
  }
  return addresses
}

extension SocketAddress {
  init?(raw: UnsafeMutablePointer<sockaddr>) {
    switch Int32(raw.pointee.sa_family) {
    case AF_INET:
      let v4 = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in.self)
      self.init(v4: UInt32(bigEndian: v4.sin_addr.s_addr), port: 0)
    case AF_INET6:
      let v6 = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in6.self)
      let halves = withUnsafeBytes(of: v6.sin6_addr) {
        ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      self.init(high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1), port: 0)
    default: return nil
    }
  }
}

extension ServerConfiguration.Media {
  /// The addresses to bind media sockets to, port 0: `addresses` with each wildcard replaced by the machine's own
  /// addresses of its family, link-local ones left out. One socket an address, because an answer must leave from the
  /// address that the client sent to, and a socket on a wildcard leaves that to the routing table.
  public func bindAddresses(interfaces: [SocketAddress]) -> [SocketAddress] {
    var result: [SocketAddress] = []
    for address in addresses {
      let own = interfaces.filter { $0.isIPv4 == address.isIPv4 && !$0.isLinkLocal }
      for candidate in address.isWildcard ? own : [address] where !result.contains(candidate) {
        result.append(candidate)
      }
    }
    return result
  }
}

extension ServerConfiguration.Media {
  /// What each entry of `advertise` stands for: itself, or what `resolve` says of its name, of families that media is bound to. Each name
  /// is looked up once. Nothing, where there is no such address.
  public func advertised(
    interfaces: [SocketAddress], resolve: (String) -> [SocketAddress] = resolve
  ) -> [(entry: Advertised, addresses: [SocketAddress])] {
    let bound = bindAddresses(interfaces: interfaces)
    return advertise.map { entry in
      if let address = entry.address { return (entry, [address]) }
      let found = resolve(entry.host).filter { found in bound.contains { $0.isIPv4 == found.isIPv4 } }
      return (entry, found.map { SocketAddress(high: $0.high, low: $0.low, port: entry.port ?? 0) })
    }
  }
}

extension ServerConfiguration {
  /// The addresses to put into ICE candidates: `media.advertise` where it is given, otherwise the bound ones. Their ports lead to worker
  /// 0; 0 stands for those of the workers. Names stand for what `resolve` says, as far as media is bound to an address of its family.
  /// Loopback is among the bound ones only when the web listener is on loopback too, or when there is nothing else.
  public func advertisedAddresses(
    interfaces: [SocketAddress], resolve: (String) -> [SocketAddress] = resolve
  ) -> [SocketAddress] {
    if !media.advertise.isEmpty {
      return media.advertised(interfaces: interfaces, resolve: resolve).flatMap(\.addresses)
    }
    let bound = media.bindAddresses(interfaces: interfaces)
    let remote = bound.filter { !$0.isLoopback }
    return listen.address.isLoopback || remote.isEmpty ? bound : remote
  }
}
