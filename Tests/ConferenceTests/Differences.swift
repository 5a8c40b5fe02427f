// What differs between two values, by reflection: a stored property that is added later is compared without anybody's
// thinking of it.

/// Compares two states of the core.
enum Differences {
  /// What a refused request may change: that it came, how fast requests come, the random numbers drawn for it, and the time
  /// that the switchboard has last seen.
  private static let ignored: Set<String> = [
    "requests", "userRates", "messageRates", "answerRates", "networkRates", "unprovenBlocks", "offerRate", "showRate",
    "moderations",
    "chats",
    "knocks", "refusalLines",
    "random", "now",
  ]

  /// Where two values of one type differ, as paths of stored properties; empty when they do not.
  static func between(_ a: Any, _ b: Any, at path: String = "core") -> [String] {
    if let a = a as? any Equatable { return isEqual(a, b) ? [] : [path] }
    let (one, other) = (Swift.Mirror(reflecting: a), Swift.Mirror(reflecting: b))
    if one.displayStyle == .dictionary {
      // A dictionary is one reference: one that nobody has written to is the same in memory, and most are that.
      if reference(a) == reference(b) { return [] }
      if let a = a as? [AnyHashable: Any], let b = b as? [AnyHashable: Any] {
        return betweenDictionaries(a, b, at: path)
      }
    }
    let (mine, theirs) = (Array(one.children), Array(other.children))
    if mine.isEmpty && theirs.isEmpty { return String(describing: a) == String(describing: b) ? [] : [path] }
    guard mine.count == theirs.count, zip(mine, theirs).allSatisfy({ $0.label == $1.label }) else { return [path] }
    return zip(mine, theirs).enumerated().flatMap { index, pair in
      let label = pair.0.label ?? "\(index)"
      return ignored.contains(label) ? [] : between(pair.0.value, pair.1.value, at: "\(path).\(label)")
    }
  }

  private static func reference(_ dictionary: Any) -> UInt {
    withUnsafeBytes(of: dictionary) { $0.load(as: UInt.self) }
  }

  private static func betweenDictionaries(
    _ a: [AnyHashable: Any], _ b: [AnyHashable: Any], at path: String
  ) -> [String] {
    let keys = Set(a.keys).union(b.keys)
    return keys.flatMap { key -> [String] in
      guard let mine = a[key], let theirs = b[key] else { return ["\(path)[\(key)]"] }
      return between(mine, theirs, at: "\(path)[\(key)]")
    }
  }

  private static func isEqual<T: Equatable>(_ a: T, _ b: Any) -> Bool { a == b as? T }
}
