// How much of the disk's time a realm may take by asking for its events again.

import Basics
import Names

/// Counts, by realm, the questions that are being answered. Each reads a megabyte at most, which takes the disk's thread some milliseconds.
struct ReplayShare: Sendable {
  /// So many of one realm at a time.
  static let most = 2

  private final class Counts: Sendable { let value = Locked<[Realm: Int]>([:]) }

  private let counts = Counts()

  /// False where the realm has its share already.
  func begin(_ realm: Realm) -> Bool {
    counts.value.withLock { counts in
      guard counts[realm, default: 0] < Self.most else { return false }
      counts[realm, default: 0] += 1
      return true
    }
  }

  /// One is answered.
  func end(_ realm: Realm) {
    counts.value.withLock { $0[realm] = $0[realm].flatMap { $0 > 1 ? $0 - 1 : nil } }
  }
}
