// What is served for operators, to whom, and where.
import Basics

extension ServerConfiguration {
  /// `/metrics` and `/admin`; `/healthz` and `/readyz` are open to everybody.
  public struct Admin: Hashable, Sendable {
    /// Who may read something.
    public enum Audience: String, CaseIterable, Hashable, Sendable {
      /// Clients on this machine.
      case local
      /// Everybody who reaches the port.
      case everyone
      /// Nobody: 404.
      case nobody
    }
    /// The TCP port where they are, and nowhere else; nil: the port of `listen`.
    public var port: UInt16?
    /// The address to listen on there, port 0.
    public var address = SocketAddress(v4: 0x7f00_0001, port: 0)
    /// Certificate and key for that port; nil: it speaks plain HTTP.
    public var tls: TLSFiles?
    /// Who may read `/metrics`.
    public var metrics = Audience.local
    /// What an operator shows at `/admin`, 16 to 1,000 characters, 2,000 bytes at most; nil: nobody may change anything from
    /// outside.
    public var token: String?

    /// Metrics for this machine only, and no operators.
    public init() {}

    /// Where they listen by themselves, with the port; nil: at the port of `listen`.
    public var ownAddress: SocketAddress? {
      port.map { SocketAddress(high: address.high, low: address.low, port: $0) }
    }
  }
}

extension ServerConfiguration.Admin {
  /// `others`: the ports of the other listeners by their keys.
  mutating func read(_ keys: inout Section, besides others: [(key: String, port: UInt16)]) {
    port = keys.value("port", .integer(1...65_535)).map { UInt16(truncatingIfNeeded: $0) }
    if let taken = others.first(where: { $0.port == port }) {
      keys.complain("port", "\(taken.port) is \(taken.key); the listener for operators needs one of its own")
    }
    keys.read("address", .boundAddress, &address)
    let hasTLS = keys.mark(of: "tls") != nil
    keys.section("tls") { tls = ServerConfiguration.TLSFiles(&$0, isGiven: hasTLS) }
    keys.read("metrics", .choice, &metrics)
    keys.read("token", .secret(1000, atLeast: 16), &token)
    // Programs do not agree on how a header says other characters, and blanks at its ends are not its own.
    if let token, !token.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) || token.hasPrefix(" ") || token.hasSuffix(" ")
    {
      keys.complain("token", "has letters, digits and signs of ASCII alone, and no blank at either end")
    }
    if hasTLS, keys.mark(of: "port") == nil {
      keys.complain("tls", "is for a port of its own, which it needs beside it; else that of listen.tls counts")
    }
  }
}
