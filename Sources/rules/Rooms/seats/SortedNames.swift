// Names in order, for lists that are read page by page.

import Members

/// A set of names that is kept in order: a page costs what is on it, however many names there are.
struct SortedNames: Sendable {
  /// All of them.
  private(set) var all: [String] = []

  /// Adds a name; nothing where it is there.
  mutating func insert(_ name: String) {
    let place = place(of: name)
    if place < all.count, all[place] == name { return }
    all.insert(name, at: place)
  }

  /// Takes a name out; nothing where it is not there.
  mutating func remove(_ name: String) {
    let place = place(of: name)
    if place < all.count, all[place] == name { all.remove(at: place) }
  }

  /// The first `limit` names behind `after`, which need not be there any more; `next` is the last of them where more follow. With
  /// `condition` only names that meet it count, and a page costs what all names do.
  func page(
    after: String?, limit: Int, where condition: ((String) -> Bool)? = nil
  ) -> (names: ArraySlice<String>, next: String?) {
    var first = 0
    if let after {
      first = place(of: after)
      if first < all.count, all[first] == after { first += 1 }
    }
    if let condition {
      let found = all[first...].filter(condition)
      let names = found.prefix(max(0, limit))
      return (names, names.count < found.count ? names.last : nil)
    }
    let end = min(first + max(0, limit), all.count)
    return (all[first..<end], end < all.count ? all[first..<end].last : nil)
  }

  /// Where a name stands, or would.
  private func place(of name: String) -> Int {
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle] < name { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
