// The kinds of values that are URLs: of web servers, of origins, of STUN and TURN servers.
import Basics

extension ValueKind where Value == String {
  /// A URL that requests can be posted to.
  static var httpURL: Self {
    Self { node, context in
      if let text = node.text, isHTTPURL(text) { return text }
      context.complain(node, expected: "a URL such as https://app.example.org/roost")
      return nil
    }
  }

  /// A scheme, host and optional port, as browsers send it in Origin, or `*`. Apps made of web pages have schemes of their own
  /// (`capacitor://localhost`), pages of files and of sandboxes have `null`, and `https://*.example.org` is for all names below one.
  static var origin: Self {
    let written = Self { node, context in
      if let text = node.text, text == "*" || text == "null" || isOrigin(text) { return text }
      context.complain(
        node,
        expected:
          "an origin such as https://example.org, https://*.example.org or capacitor://localhost, \"null\", or \"*\"")
      return nil
    }
    return written.unless { origin in
      guard let port = ["https:": ":443", "http:": ":80"].first(where: { origin.begins(with: $0.key) })?.value else {
        return nil
      }
      return origin.hasSuffix(port) ? "browsers leave \(port) out; expected \(origin.dropLast(port.count))" : nil
    }
  }

  /// A name or an address without a port, or `*`.
  static var hostName: Self {
    Self { node, context in
      if let text = node.text, text == "*" || SocketAddress(host: text, port: 0) != nil { return text }
      if let text = node.text, text.utf8.count <= 253, !text.contains(":"), isHostAndPort(Substring(text)) {
        return text
      }
      context.complain(node, expected: "a name such as conf.example.org or an address, without a port, or \"*\"")
      return nil
    }
  }

  /// A STUN or TURN URL (RFC 7064, RFC 7065).
  static var iceURL: Self {
    Self { node, context in
      if let text = node.text, isICEURL(text) { return text }
      let examples = "stun:stun.example.org or turn:turn.example.org:3478?transport=udp"
      context.complain(node, expected: "a URL such as \(examples)")
      return nil
    }
  }
}

/// Whether a client needs a user name and a password for this URL.
func isTURN(_ url: String) -> Bool { url.hasPrefix("turn:") || url.hasPrefix("turns:") }

private func isHTTPURL(_ text: String) -> Bool {
  for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
    let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    return isPrintable(text, 2000) && !text.contains(" ") && isHostAndPort(place)
  }
  return false
}

private func isOrigin(_ text: String) -> Bool {
  guard isPrintable(text, 300), let colon = text.firstIndex(of: ":"), text[colon...].begins(with: "://") else {
    return false
  }
  let (scheme, rest) = (text[..<colon], text[colon...].dropFirst(3))
  // RFC 3986 §3.1; in small letters, as browsers write it.
  let isScheme =
    scheme.utf8.first.map { (0x61...0x7a).contains($0) } ?? false
    && scheme.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
  guard rest.begins(with: "*.") else { return isScheme && isHostAndPort(rest) }
  // All names below one that somebody has: not below a whole top-level domain.
  let name = rest.dropFirst(2)
  return isScheme && name.contains(".") && !name.begins(with: ".")
    && name.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
    && isHostAndPort(name)
}

/// `?transport=` is TURN's alone, and browsers refuse what they do not know: the whole list then, and with it the call.
private func isICEURL(_ text: String) -> Bool {
  guard isPrintable(text, 500), let colon = text.firstIndex(of: ":"),
    ["stun", "stuns", "turn", "turns"].contains(text[..<colon])
  else { return false }
  let rest = text[text.index(after: colon)...]
  guard let question = rest.firstIndex(of: "?") else { return isHostAndPort(rest) }
  let isKnown = ["?transport=udp", "?transport=tcp"].contains(rest[question...])
  return isKnown && isTURN(text) && isHostAndPort(rest[..<question])
}

/// `example.org`, `192.0.2.1:8443` or `[2001:db8::1]:8443`.
private func isHostAndPort(_ text: Substring) -> Bool {
  var host = text
  if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
    let digits = text[text.index(after: colon)...]
    guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
      let port = Int(digits), (1...65_535).contains(port)
    else { return false }
    host = text[..<colon]
  }
  if host.first == "[", host.last == "]" { return isIPv6(host.dropFirst().dropLast()) }
  return !host.isEmpty && !host.contains { "/ ?#@*[]:\\".contains($0) }
}

private func isIPv6(_ text: Substring) -> Bool {
  SocketAddress(host: String(text), port: 0).map { !$0.isIPv4 || text.contains(":") } ?? false
}
