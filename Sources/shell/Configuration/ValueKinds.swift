// The kinds of values a configuration has: numbers, durations, sizes, bitrates, addresses, choices, texts and lists.
import Basics
import Glibc

extension YAMLNode {
  /// The text of a scalar, however it is quoted.
  package var text: String? {
    guard case .scalar(let text, _) = content else { return nil }
    return text
  }
  /// The text of a scalar without quotes, which may be a number, a boolean or a quantity.
  package var plain: String? {
    guard case .scalar(let text, true) = content else { return nil }
    return text
  }
}

extension ValueKind where Value == Bool {
  package static var boolean: Self {
    Self { node, context in
      switch node.plain {
      case "true": return true
      case "false": return false
      default:
        context.complain(node, expected: "true or false")
        return nil
      }
    }
  }
}

extension ValueKind where Value == Int {
  /// A whole number in decimal digits.
  package static func integer(_ range: ClosedRange<Int>) -> Self {
    Self { node, context in
      if let value = node.plain.flatMap(wholeNumber), range.contains(value) { return value }
      context.complain(node, expected: "a number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
  }

  /// A number of bytes: `65536`, `256KiB`, `4MiB`.
  package static func bytes(_ range: ClosedRange<Int>) -> Self {
    quantity(range, "a size such as \(sizeText(range.lowerBound)) or \(sizeText(range.upperBound))") { text in
      scaled(text, [("KiB", 1_024), ("MiB", 1_048_576), ("GiB", 1_073_741_824), ("B", 1), ("", 1)])
    }
  }

  /// Bits per second: `300kbps`, `2.5Mbps`.
  package static func bitrate(_ range: ClosedRange<Int>) -> Self {
    quantity(range, "a bitrate from \(rateText(range.lowerBound)) to \(rateText(range.upperBound))") { text in
      scaled(text, [("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("bps", 1)])
    }
  }

  private static func rateText(_ bitsPerSecond: Int) -> String {
    bitsPerSecond < 1_000_000 ? "\(bitsPerSecond / 1000)kbps" : "\(bitsPerSecond / 1_000_000)Mbps"
  }

  private static func quantity(_ range: ClosedRange<Int>, _ expected: String, _ parse: @escaping (String) -> Double?)
    -> Self
  {
    Self { node, context in
      if let value = node.plain.flatMap(parse), value == value.rounded(), let whole = Int(exactly: value),
        range.contains(whole)
      {
        return whole
      }
      context.complain(node, expected: expected)
      return nil
    }
  }
}

extension ValueKind where Value == TimeDelta {
  /// `500ms`, `15s`, `1.5s`, `5m`, `24h`, and a bare `0` where the range takes it.
  package static func duration(_ range: ClosedRange<TimeDelta>) -> Self {
    Self { node, context in
      if let value = node.plain.flatMap(durationValue), range.contains(value) { return value }
      let bounds = "\(durationText(range.lowerBound)) to \(durationText(range.upperBound))"
      context.complain(node, expected: "a duration such as 500ms, 15s, 5m or 24h, from \(bounds)")
      return nil
    }
  }
}

extension ValueKind where Value == String {
  /// A text of `minimum` to `maximum` characters without control characters, and of `maximumBytes` where that matters.
  package static func text(_ maximum: Int = 1000, atLeast minimum: Int = 1, bytes maximumBytes: Int? = nil) -> Self {
    Self { node, context in
      if let text = node.text, isPrintable(text, maximum), text.count >= minimum,
        text.utf8.count <= maximumBytes ?? .max
      {
        return text
      }
      let bytes = maximumBytes.map { ", \($0) bytes at most" } ?? ""
      context.complain(node, expected: "a text of \(minimum) to \(maximum) characters" + bytes)
      return nil
    }
  }

  /// A text as `text` takes it that must not be shown to anybody: what is wrong with it is said without it.
  package static func secret(_ maximum: Int = 1000, atLeast minimum: Int) -> Self {
    Self { node, context in
      if let text = node.text, isPrintable(text, maximum), text.count >= minimum { return text }
      let found = node.text.map { "one of \($0.count) characters, \($0.utf8.count) bytes" } ?? node.described
      context.complain(node, "expected a text of \(minimum) to \(maximum) printable characters, found \(found)")
      return nil
    }
  }

  /// The path of a file; a relative one starts at the configuration file's directory, and one that begins with
  /// `$CREDENTIALS_DIRECTORY/` names a credential. It must be readable when the report looks at a machine.
  static var readableFile: Self {
    Self { node, context in
      guard let written = text(4000).read(node, context) else { return nil }
      let isOfMachine = context.report.interfaces != nil
      guard let whole = withCredentials(written, in: isOfMachine ? credentialsDirectory : "/run/credentials") else {
        context.complain(
          node,
          "\(written) is a credential, and this process has none: run it as a service with LoadCredential, or set CREDENTIALS_DIRECTORY"
        )
        return nil
      }
      let path = resolve(whole, besides: context.report.file)
      guard context.report.interfaces != nil, let problem = problemReading(path) else { return path }
      context.complain(node, "\(path) \(problem)")
      return nil
    }
  }
}

extension ValueKind where Value == Advertised {
  /// What clients can be told: a name, or an address that is no wildcard and of a family that some socket of `bound` has.
  static func advertised(bound: [SocketAddress]) -> Self {
    Self { node, context in
      guard let text = node.text, let entry = Advertised(text: text) else {
        context.complain(
          node, expected: "an address or a name such as 192.0.2.1, \"2001:db8::1\" or media.example.org:50000")
        return nil
      }
      guard let address = entry.address else { return entry }
      if let problem = ValueKind<SocketAddress>.problemTelling(address, bound: bound) {
        context.complain(node, problem)
        return nil
      }
      return entry
    }
  }
}

extension ValueKind where Value == SocketAddress {
  /// An IPv4 or IPv6 address without a port; the result has port 0.
  static var address: Self {
    Self { node, context in
      if let address = node.text.flatMap({ SocketAddress(host: $0, port: 0) }) { return address }
      context.complain(node, expected: "an IPv4 or IPv6 address such as 192.0.2.1 or \"2001:db8::1\"")
      return nil
    }
  }

  /// An address that a socket can be bound to: a machine's own, or a wildcard.
  static var boundAddress: Self { address.unless { unusable($0) } }

  /// Why clients cannot be told this address; nil where they can.
  fileprivate static func problemTelling(_ address: SocketAddress, bound: [SocketAddress]) -> String? {
    if address.isWildcard {
      return "\(address.host) stands for all addresses; clients need one that they can send to"
    }
    if let problem = unusable(address) { return problem }
    if bound.contains(where: { $0.isIPv4 == address.isIPv4 }) { return nil }
    return "media is bound to no \(address.family) address; expected one of the family of media.addresses"
  }

  private static func unusable(_ address: SocketAddress) -> String? {
    if address.isNobodys { return "\(address.host) is no machine's own address; expected one such as 192.0.2.1" }
    if address.needsZone { return "\(address.host) is valid on one link only; expected an address that is routed" }
    return nil
  }
}

extension ValueKind where Value == AddressRange {
  /// An address, or a network such as 10.0.0.0/8; not all addresses at once.
  static var addressRange: Self {
    Self { node, context in
      if let range = node.text.flatMap({ AddressRange($0) }) { return range }
      context.complain(
        node, expected: "an address or a network such as 192.0.2.1, 10.0.0.0/8 or \"2001:db8::/32\", no bits behind it")
      return nil
    }
  }
}

extension ValueKind {
  /// The same kind without the values that something is wrong with: `problem` says what.
  package func unless(_ problem: @escaping (Value) -> String?) -> Self {
    Self { node, context in
      guard let value = read(node, context) else { return nil }
      guard let words = problem(value) else { return value }
      context.complain(node, words)
      return nil
    }
  }
}

extension ValueKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of the words of an enumeration.
  package static var choice: Self {
    Self { node, context in
      if let value = node.text.flatMap(Value.init) { return value }
      let words = Value.allCases.map(\.rawValue)
      let hint = node.text.flatMap { nearest($0, words) }.map { "; did you mean \($0)?" } ?? ""
      context.complain(node, "expected one of \(words.joined(separator: ", ")), found \(node.described)\(hint)")
      return nil
    }
  }
}

extension ValueKind where Value == String? {
  /// The path of a file that the server makes and writes; a relative one starts at the configuration file's directory.
  /// `none` is no file.
  static var fileToWrite: Self {
    Self { node, context in
      guard let written = ValueKind<String>.text(4000).read(node, context) else { return nil }
      guard written != "none" else { return .some(nil) }
      let path = resolve(written, besides: context.report.file)
      guard context.report.interfaces != nil, let problem = problemMaking(path) else { return path }
      context.complain(node, "\(path) \(problem)")
      return nil
    }
  }
}

extension ValueKind {
  /// A list of 0 to `maximum` different values. One wrong element does not hide the next.
  package static func list<Element: Equatable>(
    of element: ValueKind<Element>, atLeast minimum: Int = 0, atMost maximum: Int = 64
  )
    -> Self where Value == [Element]
  {
    Self { node, context in
      guard case .sequence(let nodes) = node.content, (minimum...maximum).contains(nodes.count) else {
        context.complain(node, expected: "a list of \(minimum) to \(maximum) values")
        return nil
      }
      var values: [Element] = []
      for (index, node) in nodes.enumerated() {
        guard let value = element.read(node, context.element(index + 1)) else { continue }
        if values.contains(value) { context.element(index + 1).complain(node, "\(node.described) stands here twice") }
        values.append(value)
      }
      return values
    }
  }
}

extension ValueKind where Value == [String] {
  /// One secret, or a list of up to so many while they are being changed; what is wrong with one is said without it.
  static func secrets(atMost maximum: Int, atLeast minimum: Int) -> Self {
    let one = ValueKind<String>.secret(atLeast: minimum)
    return Self { node, context in
      guard case .sequence(let nodes) = node.content else { return one.read(node, context).map { [$0] } }
      guard (1...maximum).contains(nodes.count) else {
        context.complain(node, "expected a secret or a list of 1 to \(maximum) of them, found \(nodes.count)")
        return nil
      }
      var secrets: [String] = []
      for (index, node) in nodes.enumerated() {
        guard let secret = one.read(node, context.element(index + 1)) else { return nil }
        if secrets.contains(where: { $0.isExactly(secret) }) {
          context.element(index + 1).complain(node, "the same stands before it")
        }
        secrets.append(secret)
      }
      return secrets
    }
  }
}

// MARK: - Text to quantities

private func wholeNumber(_ text: String) -> Int? {
  guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
  return Int(text)
}

/// `12` or `2.5` followed by exactly one of the units.
private func scaled(_ text: String, _ units: [(String, Double)]) -> Double? {
  let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
  let suffix = text[digits.endIndex...]
  guard (1...18).contains(digits.utf8.count), digits.first != ".", digits.last != ".", let number = Double(digits),
    let unit = units.first(where: { $0.0 == suffix })
  else { return nil }
  return number * unit.1
}

/// The duration that a text says, as the file would; nil for any other text.
package func durationValue(_ text: String) -> TimeDelta? {
  if text == "0" { return .zero }
  let seconds = scaled(text, [("ms", 0.001), ("s", 1), ("m", 60), ("min", 60), ("h", 3_600), ("d", 86_400)])
  guard let seconds, seconds <= 1e9 else { return nil }
  return TimeDelta(nanoseconds: Int64((seconds * 1e6).rounded()) * 1_000)
}

/// A duration as the file would say it: `15s`, `500ms`, `24h`.
public func durationText(_ delta: TimeDelta) -> String {
  let units: [(String, Int64)] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
  let milliseconds = delta.milliseconds
  if milliseconds == 0 { return "0" }
  for (suffix, factor) in units where milliseconds % factor == 0 { return "\(milliseconds / factor)\(suffix)" }
  return "\(milliseconds)ms"
}

/// A size as the file would say it: `256KiB`, `4MiB`.
public func sizeText(_ bytes: Int) -> String {
  if bytes > 0, bytes % (1 << 20) == 0 { return "\(bytes >> 20)MiB" }
  return bytes > 0 && bytes % (1 << 10) == 0 ? "\(bytes >> 10)KiB" : "\(bytes)"
}

func isPrintable(_ text: String, _ maximum: Int) -> Bool {
  !text.isEmpty && text.count <= maximum && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
}

// MARK: - Files

/// A relative path starts at the directory of `file`.
func resolve(_ path: String, besides file: String) -> String {
  guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
  return file[...slash] + path
}

private func problemReading(_ path: String) -> String? {
  let fd = open(path, O_RDONLY | O_CLOEXEC)
  guard fd >= 0 else { return "cannot be read: " + String(cString: strerror(errno)) }
  defer { close(fd) }
  var facts = stat()
  return fstat(fd, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG ? nil : "is not a file"
}

/// Why no file can be at a path, whoever asks. Whether this process may write it is not asked: another user may serve.
private func problemMaking(_ path: String) -> String? {
  var facts = stat()
  if stat(path, &facts) == 0 {
    return facts.st_mode & S_IFMT == S_IFDIR ? "is a directory; expected the path of a file" : nil
  }
  let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  guard stat(directory, &facts) != 0, errno == ENOENT || errno == ENOTDIR else { return nil }
  return "cannot be made: \(directory) is no directory; expected a file in one that exists"
}
