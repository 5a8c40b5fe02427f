// What has happened: the last of it to read, and all of it as one number.

import Basics
import Ownership

/// The steps of a run.
struct Trace {
  private static let kept = 300

  /// Two runs with one number have gone the same way (FNV-1a).
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private var last: [(at: Instant, what: Happening)] = []
  private var place = 0

  mutating func note(_ at: Instant, _ what: Happening) {
    mix(UInt64(bitPattern: at.nanoseconds))
    mix(what.code)
    if last.count < Self.kept { last.append((at, what)) } else { last[place] = (at, what) }
    place = (place + 1) % Self.kept
  }

  mutating func mix(_ word: UInt64) { hash = (hash ^ word) &* 0x100_0000_01B3 }

  /// The last steps, a line each.
  var lines: [String] {
    let inOrder = last.count < Self.kept ? last : Array(last[place...] + last[..<place])
    return inOrder.map { "\($0.at.nanoseconds / 1_000) µs \($0.what)" }
  }
}

extension Happening {
  /// What tells it from others, as far as a number can.
  fileprivate var code: UInt64 {
    switch self {
    case .deadline(let machine, let birth): Self.code(1, machine, birth)
    case .turn(let machine, let birth): Self.code(2, machine, birth)
    case .toStore(let letter):
      Self.code(3, letter.machine, letter.connection) ^ letter.question.rawValue << 24 ^ letter.statement.code << 20
    case .fromStore(let machine, let connection, let answered):
      Self.code(4, machine, connection) ^ answered.question.rawValue << 24 ^ answered.answer.code << 20
    case .connectionUp(let machine, let connection): Self.code(5, machine, connection)
    case .begin(let fault): Self.code(6, fault, 0)
    case .end(let fault): Self.code(7, fault, 0)
    case .want(let machine): Self.code(8, machine, 0)
    }
  }

  private static func code(_ kind: UInt64, _ one: Int, _ other: Int) -> UInt64 {
    kind | UInt64(one) << 4 | UInt64(other) << 8
  }
}

extension StoreStatement {
  fileprivate var code: UInt64 {
    switch self {
    case .enter: 1
    case .beat: 2
    case .fence(let node, _, _, _): 3 ^ UInt64(node.rawValue) << 32
    case .acquire(let name, _, _): 4 ^ name.code << 32
    case .giveBack(let name, let epoch, _, _): 5 ^ (name.code ^ epoch.rawValue << 8) << 32
    case .held: 6
    case .holder(let name): 7 ^ name.code << 32
    }
  }
}

extension StoreAnswer {
  fileprivate var code: UInt64 {
    switch self {
    case .entered(let row, _, _): 1 ^ UInt64(row.epoch.rawValue) << 32
    case .beaten(let rows): 2 ^ UInt64(rows.count) << 32
    case .fenced: 3
    case .lease(let lease): 4 ^ lease.epoch.rawValue << 32
    case .leases(let leases): 5 ^ UInt64(leases.count) << 32
    case .done: 6
    case .refused: 7
    }
  }
}

extension LeaseName {
  /// The last byte of its name: the names of a run differ in it.
  fileprivate var code: UInt64 { UInt64(name.utf8.last ?? 0) }
}
