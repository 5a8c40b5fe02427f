// ws:// and wss:// URLs (RFC 6455 §3), without Foundation.

/// The parts of a WebSocket URL.
public struct WebSocketURL: Sendable, Hashable, CustomStringConvertible {
  /// Whether TLS is used (`wss`).
  public var isSecure: Bool
  /// The host name or address literal, without brackets.
  public var host: String
  /// The port, 80 or 443 when the URL has none.
  public var port: UInt16
  /// The path with the query, beginning with `/`.
  public var path: String

  /// Parses `ws://host[:port][/path][?query]` or the `wss` form. `http` and `https` mean the same here.
  public init(_ text: String) throws(WebSocketError) {
    let schemes: [(String, Bool)] = [("ws://", false), ("wss://", true), ("http://", false), ("https://", true)]
    let lower = text.lowercased()
    guard let (scheme, secure) = schemes.first(where: { lower.hasPrefix($0.0) }),
      text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
    else { throw .badURL(text) }
    let rest = text.dropFirst(scheme.count).prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let tail = rest.dropFirst(authority.count)
    guard let (host, port) = Self.split(authority, defaultPort: secure ? 443 : 80) else { throw .badURL(text) }
    self.isSecure = secure
    self.host = host
    self.port = port
    self.path = tail.hasPrefix("/") ? String(tail) : "/" + tail
  }

  private static func split(_ authority: Substring, defaultPort: UInt16) -> (String, UInt16)? {
    guard !authority.contains("@") else { return nil }
    var host = authority
    var port = defaultPort
    let bracket = authority.lastIndex(of: "]")
    if let colon = authority.lastIndex(of: ":"), bracket.map({ colon > $0 }) ?? true {
      guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else { return nil }
      port = number
      host = authority[..<colon]
    }
    if host.hasPrefix("[") {
      guard host.hasSuffix("]") else { return nil }
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }

  /// What goes into the `Host` header.
  var hostHeader: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The URL as text.
  public var description: String { (isSecure ? "wss://" : "ws://") + hostHeader + path }
}
