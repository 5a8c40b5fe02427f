// An IPv4 or IPv6 address with its port, as a plain value that hashes fast.

/// A UDP or TCP end point. IPv4 addresses are kept in their IPv4-mapped IPv6 form (RFC 4291 §2.5.5.2).
public struct SocketAddress: Hashable, Sendable {
  /// The first eight bytes of the address, in network order read as a big-endian number.
  public var high: UInt64
  /// The last eight bytes of the address, likewise.
  public var low: UInt64
  /// The port, in host order.
  public var port: UInt16

  /// An IPv6 address given as two big-endian halves.
  @inlinable public init(high: UInt64, low: UInt64, port: UInt16) {
    self.high = high
    self.low = low
    self.port = port
  }

  /// An IPv4 address, `v4` in host order: 127.0.0.1 is 0x7f000001.
  @inlinable public init(v4: UInt32, port: UInt16) {
    self.init(high: 0, low: 0xffff_0000_0000 | UInt64(v4), port: port)
  }

  /// Whether this is an IPv4 address.
  @inlinable public var isIPv4: Bool { high == 0 && low >> 32 == 0xffff }
  /// The IPv4 address in host order; meaningless unless `isIPv4`.
  @inlinable public var v4: UInt32 { UInt32(truncatingIfNeeded: low) }
}

extension SocketAddress: CustomStringConvertible {
  /// `127.0.0.1:40000` or `[::1]:40000`.
  public var description: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

  /// The address without its port, IPv6 in full hexadecimal groups with the longest run of zeroes left out (RFC 5952).
  public var host: String {
    if isIPv4 {
      return "\(v4 >> 24).\(v4 >> 16 & 255).\(v4 >> 8 & 255).\(v4 & 255)"
    }
    let groups = (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - 16 * ($0 % 4))) }
    guard let run = Self.longestZeroRun(groups) else {
      return groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
    let head = groups[..<run.lowerBound].map { String($0, radix: 16) }.joined(separator: ":")
    let tail = groups[run.upperBound...].map { String($0, radix: 16) }.joined(separator: ":")
    return head + "::" + tail
  }

  private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
    var best: Range<Int>?
    var start = 0
    while start < groups.count {
      guard groups[start] == 0 else {
        start += 1
        continue
      }
      let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
      if end - start > max(1, best?.count ?? 0) { best = start..<end }
      start = end
    }
    return best
  }

  /// Parses an IPv4 or IPv6 literal without brackets, zone or port; nil when it is neither.
  public init?(host: String, port: UInt16) {
    if let v4 = Self.parseIPv4(host[...]) {
      self.init(v4: v4, port: port)
    } else if let (high, low) = Self.parseIPv6(host) {
      self.init(high: high, low: low, port: port)
    } else {
      return nil
    }
  }

  private static func parseIPv4(_ text: Substring) -> UInt32? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var value: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ (48...57).contains($0) }),
        part.utf8.count == 1 || part.utf8.first != 48, let byte = UInt8(part)
      else { return nil }
      value = value << 8 | UInt32(byte)
    }
    return value
  }

  private static func parseIPv6(_ text: String) -> (UInt64, UInt64)? {
    guard text.utf8.count <= 45 else { return nil }
    let halves = text.split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false)
    guard (1...2).contains(halves.count), let head = groups(halves[0]),
      let tail = halves.count == 2 ? groups(halves[1]) : []
    else { return nil }
    let given = head.count + tail.count
    guard halves.count == 2 ? given <= 7 : given == 8 else { return nil }
    let all = head + Array(repeating: 0, count: 8 - given) + tail
    let high = all[..<4].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
    let low = all[4...].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
    return (high, low)
  }

  private static func groups(_ text: Substring) -> [UInt16]? {
    if text.isEmpty { return [] }
    var result: [UInt16] = []
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (position, part) in parts.enumerated() {
      if position == parts.count - 1, part.contains(".") {
        guard let v4 = parseIPv4(part) else { return nil }
        result += [UInt16(v4 >> 16), UInt16(v4 & 0xffff)]
      } else {
        guard (1...4).contains(part.utf8.count), part.utf8.first != 43, part.utf8.first != 45,
          let group = UInt16(part, radix: 16)
        else { return nil }
        result.append(group)
      }
    }
    return result
  }
}

extension SocketAddress {
  /// Whether only this machine reaches it (127.0.0.0/8 or ::1).
  public var isLoopback: Bool { isIPv4 ? v4 >> 24 == 127 : high == 0 && low == 1 }
}
