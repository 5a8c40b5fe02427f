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
    mix(what.content)
    if last.count < Self.kept { last.append((at, what)) } else { last[place] = (at, what) }
    place = (place + 1) % Self.kept
  }

  mutating func mix(_ word: UInt64) { hash = (hash ^ word) &* 0x100_0000_01B3 }

  /// The last steps, a line each.
  var lines: [String] {
    let inOrder = last.count < Self.kept ? last : Array(last[place...] + last[..<place])
    return inOrder.map { "\($0.at.nanoseconds / 1_000) µs \($0.what.text)" }
  }
}

extension Trace {
  /// What a node has told the process around it.
  mutating func note(_ effect: OwnershipEffect) {
    switch effect {
    case .ask(let question, let statement):
      mix(1 ^ question.rawValue << 8)
      mix(statement.code)
    case .connect: mix(2)
    case .disconnect: mix(3)
    case .holds(let lease): mix(4 ^ lease.code << 8)
    case .elsewhere(let name, let holder): mix(5 ^ name.code << 8 ^ UInt64(holder?.rawValue ?? 0) << 16)
    case .lost(let name): mix(6 ^ name.code << 8)
    case .frozen: mix(7)
    case .thawed: mix(8)
    case .beginAnew: mix(9)
    }
  }

  /// What was shown, or thrown away.
  mutating func note(_ permit: Permit, isShown: Bool) {
    mix((isShown ? 10 : 11) ^ permit.name.code << 8 ^ permit.epoch.rawValue << 16 ^ UInt64(permit.node.rawValue) << 40)
  }
}

extension Happening {
  /// A line for people.
  fileprivate var text: String {
    switch self {
    case .deadline(let machine, _): "n\(machine) wakes"
    case .turn(let machine, _): "n\(machine) goes on"
    case .toStore(let letter):
      "n\(letter.machine) \(letter.question.rawValue)\(letter.isLate ? " late" : ""): \(letter.statement.text)"
    case .fromStore(let machine, _, let answered):
      "n\(machine) \(answered.question.rawValue) is answered: \(answered.answer.text)"
    case .connectionUp(let machine, _): "n\(machine) is connected"
    case .begin(let fault): "fault \(fault) begins"
    case .end(let fault): "fault \(fault) ends"
    case .want(let machine): "n\(machine) is asked"
    }
  }

  /// What is asked or answered.
  fileprivate var content: UInt64 {
    switch self {
    case .toStore(let letter): letter.statement.code
    case .fromStore(_, _, let answered): answered.answer.code
    case .deadline, .turn, .connectionUp, .begin, .end, .want: 0
    }
  }

  /// What tells it from others, as far as a number can.
  fileprivate var code: UInt64 {
    switch self {
    case .deadline(let machine, let birth): Self.code(1, machine, birth)
    case .turn(let machine, let birth): Self.code(2, machine, birth)
    case .toStore(let letter):
      Self.code(3, letter.machine, letter.connection) ^ letter.question.rawValue << 24
    case .fromStore(let machine, let connection, let answered):
      Self.code(4, machine, connection) ^ answered.question.rawValue << 24
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

extension Lease {
  fileprivate var code: UInt64 { name.code ^ epoch.rawValue << 8 ^ UInt64(holder?.rawValue ?? 0) << 32 }
  fileprivate var text: String { "\(name.name) e\(epoch.rawValue) of \(holder.map { "\($0.rawValue)" } ?? "nobody")" }
}

extension StoreStatement {
  fileprivate var text: String {
    switch self {
    case .enter(_, _, _, let above): "enter above \(above.rawValue)"
    case .beat(let by, _): "beat of \(by.node.rawValue) behind \(by.beat)"
    case .fence(let node, let beat, let by): "fence \(node.rawValue) at \(beat) by \(by.node.rawValue)"
    case .acquire(let name, let by): "acquire \(name.name) by \(by.node.rawValue)"
    case .giveBack(let name, let epoch, let by): "give back \(name.name) e\(epoch.rawValue) by \(by.node.rawValue)"
    case .register(let name, let seen, let above, _, let by):
      "register \(name.name) seen e\(seen.rawValue) above e\(above.rawValue) by \(by.node.rawValue)"
    case .held(let by): "held by \(by.node.rawValue)"
    case .holder(let name): "holder of \(name.name)"
    }
  }

  fileprivate var code: UInt64 {
    switch self {
    case .enter: 1
    case .beat: 2
    case .fence(let node, _, _): 3 ^ UInt64(node.rawValue) << 32
    case .acquire(let name, _): 4 ^ name.code << 32
    case .register(let name, let seen, _, _, _): 8 ^ (name.code ^ seen.rawValue << 8) << 32
    case .giveBack(let name, let epoch, _): 5 ^ (name.code ^ epoch.rawValue << 8) << 32
    case .held: 6
    case .holder(let name): 7 ^ name.code << 32
    }
  }
}

extension StoreAnswer {
  fileprivate var text: String {
    switch self {
    case .entered(let row, let rows, _): "entered as \(row.epoch.rawValue) of \(rows.count)"
    case .beaten(let rows): "beaten " + rows.map { "\($0.epoch.rawValue):\($0.beat)" }.joined(separator: " ")
    case .fenced(let node): "fenced \(node.rawValue)"
    case .lease(let lease): lease.text
    case .leases(let leases): leases.map(\.text).joined(separator: ", ")
    case .done: "done"
    case .refused(.held(let lease)): "held: \(lease.text)"
    case .refused(let refusal): "\(refusal)"
    }
  }

  fileprivate var code: UInt64 {
    switch self {
    case .entered(let row, _, _): 1 ^ UInt64(row.epoch.rawValue) << 32
    case .beaten(let rows):
      rows.reduce(2) { $0 &* 31 &+ (UInt64($1.epoch.rawValue) << 32 ^ $1.beat << 8 ^ $1.changes) }
    case .fenced(let node): 3 ^ UInt64(node.rawValue) << 32
    case .lease(let lease): 4 &+ lease.code &* 31
    case .leases(let leases): leases.reduce(5) { $0 &* 31 &+ $1.code }
    case .done: 6
    case .refused(let refusal): 7 &+ refusal.code &* 31
    }
  }
}

extension StoreRefusal {
  fileprivate var code: UInt64 {
    switch self {
    case .mark(let mark): 1 ^ UInt64(mark.timeline) << 8 ^ mark.incarnation << 16
    case .notActive: 2
    case .gone: 3
    case .wentBack: 4
    case .beatMoved: 5
    case .held(let lease): 9 &+ lease.code &* 31
    case .moved(let lease): 10 &+ (lease?.code ?? 0) &* 31
    case .noneLeft: 8
    }
  }
}

extension LeaseName {
  /// The last byte of its name: the names of a run differ in it.
  fileprivate var code: UInt64 { UInt64(name.utf8.last ?? 0) }
}
