// What clients are told to send media to: an address of this machine's outside, or a name that stands for it, and the port there.
import Basics
import Glibc

/// One entry of `media.advertise`.
public struct Advertised: Hashable, Sendable {
  /// A name, or an IPv4 or IPv6 address.
  public var host: String
  /// The port that leads to worker 0, the next to worker 1, and so on; nil: those of the workers themselves.
  public var port: UInt16?

  /// A name or address, and a port where it is another one.
  public init(host: String, port: UInt16? = nil) { (self.host, self.port) = (host, port) }

  /// An address, with its workers' ports.
  public init(_ address: SocketAddress) { self.init(host: address.host) }

  /// `203.0.113.7`, `2001:db8::7`, `[2001:db8::7]:50000`, `media.example.org` or `media.example.org:50000`; nil for anything else.
  init?(text: String) {
    if let address = SocketAddress(host: text, port: 0) {
      self.init(address)
      return
    }
    var (host, port): (Substring, UInt16?) = (text[...], nil)
    if let colon = text.lastIndex(of: ":") {
      let digits = text[text.index(after: colon)...]
      guard let number = UInt16(digits), number > 0, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      (host, port) = (text[..<colon], number)
    }
    if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
      host = host.dropFirst().dropLast()
      guard let address = SocketAddress(host: String(host), port: 0), !address.isIPv4 else { return nil }
    } else {
      guard SocketAddress(host: String(host), port: 0)?.isIPv4 ?? Self.isName(host) else { return nil }
    }
    self.init(host: String(host), port: port)
  }

  /// Letters, digits and hyphens between dots, and no digits alone at its end: those are an address that is wrong.
  private static func isName(_ text: Substring) -> Bool {
    let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 253, let last = labels.last, !last.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return false
    }
    return labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
        && label.allSatisfy { byte in
          switch byte {
          case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
          default: false
          }
        }
    }
  }

  /// The address, where it is one; with the port to tell, 0 for those of the workers.
  public var address: SocketAddress? { SocketAddress(host: host, port: port ?? 0) }

  /// As in the file.
  public var described: String {
    guard let port else { return host }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// The addresses that a name stands for now, port 0. Asks the system, and waits for it.
public func resolve(_ name: String) -> [SocketAddress] {
  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
  var list: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
  defer { freeaddrinfo(list) }
  var addresses: [SocketAddress] = []
  var next = list
  while let entry = next?.pointee {
    next = entry.ai_next
    guard let raw = entry.ai_addr, let address = SocketAddress(raw: raw), !addresses.contains(address) else { continue }
    addresses.append(address)
  }
  return addresses
}
