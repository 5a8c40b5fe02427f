// By which names a server lets itself be called (RFC 9110 §7.2, RFC 9112 §3.2), against DNS rebinding. Pure.
import Basics

/// Which values of `Host` a server answers to.
///
/// A page of `evil.example` whose name suddenly stands for 127.0.0.1 is, to the browser, on one origin with a server there, and so
/// passes every check of `Origin`. What gives it away is the name in `Host`. So a request that arrives at a loopback address must
/// name one, or a name that is configured. Elsewhere every name will do until some are configured: a server cannot know its own.
public struct HostPolicy: Sendable, Hashable {
  /// The server's names and addresses, without ports; `*` stands for any. Empty: any, but at a loopback address.
  public var names: [String]
  /// Names that do as well, without asking for a name elsewhere: hosts of origins that are let in.
  public var besides: [String]

  /// Any name, but at a loopback address; with `names` these everywhere.
  public init(names: [String] = [], besides: [String] = []) {
    self.names = names
    self.besides = besides
  }

  enum Verdict: Equatable {
    case known
    /// No `Host`, several, or one that is none.
    case malformed
    /// The name that was asked for, fit to be shown.
    case foreign(String)
  }

  func judge(_ hosts: [String], isOld: Bool, reachedAt local: SocketAddress?) -> Verdict {
    // No browser sends a request without a name, so nobody can be led to: HTTP/1.0 has none (RFC 9112 §3.2).
    if hosts.isEmpty, isOld { return .known }
    guard hosts.count == 1, let name = Self.name(of: hosts[0]) else { return .malformed }
    if names.contains("*") || Self.isOwnMachine(name) { return .known }
    if (names + besides).contains(where: { Self.name(of: $0) == name }) { return .known }
    // A socket that cannot say where it was reached is gone.
    let isLoopback = local?.isLoopback ?? true
    if !isLoopback, names.isEmpty || Self.address(name) != nil { return .known }
    return .foreign(name)
  }

  /// `localhost` and what browsers take for it (RFC 6761 §6.3), and loopback addresses.
  private static func isOwnMachine(_ name: String) -> Bool {
    name == "localhost" || name.hasSuffix(".localhost") || address(name)?.isLoopback == true
  }

  private static func address(_ name: String) -> SocketAddress? { SocketAddress(host: name, port: 0) }

  /// The name or address of `name`, `name:port`, `[address]` or `[address]:port`, in small letters; nil when it is none of these.
  static func name(of host: String) -> String? {
    var rest = Substring(host.lowercased())
    guard rest.utf8.count <= 261 else { return nil }
    var name: Substring
    if rest.hasPrefix("[") {
      guard let end = rest.firstIndex(of: "]") else { return address(String(rest)).map(\.host) }
      name = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
      guard name.contains(":"), let address = address(String(name)) else { return nil }
      return isPort(rest) ? address.host : nil
    }
    // An address of IPv6 as the configuration has it.
    if let address = address(String(rest)), !address.isIPv4 { return address.host }
    name = rest.prefix { $0 != ":" }
    rest = rest[name.endIndex...]
    if name.hasSuffix(".") { name = name.dropLast() }
    let isName = name.utf8.allSatisfy { $0.isNameByte }
    return !name.isEmpty && isName && isPort(rest) ? String(name) : nil
  }

  /// Nothing, or a colon and digits, which may be none.
  private static func isPort(_ text: Substring) -> Bool {
    guard text.first == ":" else { return text.isEmpty }
    let digits = text.dropFirst()
    return digits.isEmpty || digits.utf8.count <= 5 && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}

extension UInt8 {
  fileprivate var isNameByte: Bool {
    switch self {
    case 0x30...0x39, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }
}
