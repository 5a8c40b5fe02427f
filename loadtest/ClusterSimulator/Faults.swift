// What goes wrong, planned before a run begins: the plan alone says it, so that taking one fault away moves no other.

import Basics

/// Kinds of faults.
public enum FaultKind: Int, CaseIterable, Sendable {
  /// A node does not reach the store, nor the store it.
  case cutFromStore
  /// The same for two nodes at once.
  case twoTogether
  /// Only one direction is cut.
  case oneWay
  /// A process is stopped; its clock and its sockets are not.
  case stopped
  /// A process is killed, and started again.
  case killed
  /// A machine is stopped with its clock. Nothing covers that, so it is excused for a while (docs/decisions/0029-ownership.md).
  case paused
  /// One direction is 0.1 to 5 s late.
  case slow
  /// The store's process is stopped: what is asked waits.
  case storeStopped
  /// The store's process dies, and comes back without the last beats: they are flushed a little later than the rest.
  case storeCrashed
  /// A replica that lags takes over.
  case failover
  /// The store is emptied, a backup is started, or a dump is restored into the running server.
  case storeBack
  /// What was asked on a connection that is over is carried out up to 10 s later.
  case statementLate

  /// How long it lasts.
  var length: (least: TimeDelta, most: TimeDelta) {
    switch self {
    case .cutFromStore, .twoTogether, .oneWay, .paused, .slow: (.seconds(1), .seconds(20))
    case .stopped: (.milliseconds(500), .seconds(15))
    case .killed: (.milliseconds(50), .seconds(20))
    case .storeStopped: (.seconds(1), .seconds(60))
    case .storeCrashed, .failover, .storeBack: (.milliseconds(200), .seconds(5))
    case .statementLate: (.seconds(10), .seconds(60))
    }
  }

  /// Whether it is over where the process is.
  var stops: Bool { self == .stopped || self == .paused }

  /// Whether it may last for good, and the other nodes have to do without.
  var mayLast: Bool { [.cutFromStore, .oneWay, .stopped, .killed].contains(self) }
}

/// One fault.
public struct Fault: Sendable {
  /// Its kind.
  public let kind: FaultKind
  /// Whom it is about; of no meaning where it is the store.
  public let machine: Int
  /// Whether it is the way to the store, where it is one direction.
  let isOut: Bool
  /// Whether connections that are cut are reset at once.
  let resets: Bool
  /// Whether a process is stopped between a commit and its effects.
  let isBehindCommit: Bool
  /// Which of several ways it goes.
  let way: Int
  /// How far the store goes back, where the kind leaves that open.
  let age: TimeDelta
  /// When it begins.
  public let begin: Instant
  /// How long it lasts; nil for good.
  public let length: TimeDelta?

  /// Which machines it is about.
  func machines(of count: Int) -> [Int] {
    switch kind {
    case .storeStopped, .storeCrashed, .failover, .storeBack, .statementLate: Array(0..<count)
    case .twoTogether: [machine, (machine + 1) % count]
    default: [machine]
    }
  }

  /// A line for people.
  public var text: String {
    let until = length.map { "\($0.seconds) s" } ?? "for good"
    return (["\(begin.nanoseconds / 1_000_000) ms", "\(kind)"] + details + [until]).joined(separator: " ")
  }

  /// What tells it from others of its kind.
  private var details: [String] {
    switch kind {
    case .cutFromStore: ["n\(machine)"] + (resets ? ["reset"] : [])
    case .twoTogether: ["n\(machine) and the next"] + (resets ? ["reset"] : [])
    case .oneWay: ["n\(machine)", isOut ? "out" : "back"] + (resets ? ["reset"] : [])
    case .slow: ["n\(machine)", isOut ? "out" : "back"]
    case .stopped: ["n\(machine)"] + (isBehindCommit ? ["behind a commit"] : [])
    case .killed, .paused: ["n\(machine)"]
    case .storeCrashed, .failover: ["age \(age.seconds) s"]
    case .storeBack: ["\(["emptied", "backup", "dump"][way])", "age \(age.seconds) s"]
    case .storeStopped, .statementLate: []
    }
  }
}

/// All faults of a run.
public struct FaultPlan: Sendable {
  /// In order of their beginnings.
  public let faults: [Fault]
  /// When all is healed that is.
  public let end: Instant

  /// One to five kinds, two to twelve faults; in one seed of four one of them lasts, and in one of eight nodes are killed and nothing else fails.
  public init(seed: UInt64, _ options: Options) {
    var dice = Dice(seed, .plan)
    let span = dice.time(options.span.lowerBound, options.span.upperBound)
    var kinds = options.kinds
    // Whether what a dead node held is taken can be looked at only where the others are well.
    if options.isSwarm, kinds.contains(.killed), dice.once(in: 8) { kinds = [.killed] }
    while options.isSwarm, kinds.count > 1, kinds.count > 5 || !dice.once(in: 4) {
      kinds.remove(at: dice.below(kinds.count))
    }
    var faults = (0..<options.leastFaults + dice.below(options.mostFaults - options.leastFaults + 1)).map { _ in
      Self.fault(kinds, within: span, options, &dice)
    }
    if kinds.isEmpty { faults = [] }
    if options.stopsAroundFailovers { faults = faults.map { $0.aroundAFailover(faults) } }
    let lasting = dice.once(in: 4) ? faults.lastIndex { $0.kind.mayLast } : nil
    if let lasting { faults[lasting] = faults[lasting].forGood }
    self.faults = faults.sorted { $0.begin < $1.begin }
    end = .zero + span
  }

  init(_ faults: [Fault], end: Instant) { (self.faults, self.end) = (faults, end) }

  private static func fault(_ kinds: [FaultKind], within span: TimeDelta, _ options: Options, _ dice: inout Dice)
    -> Fault
  {
    let kind = kinds.isEmpty ? .stopped : kinds[dice.below(kinds.count)]
    let begin = dice.time(options.firstFault, span - .seconds(1))
    let cut = kind == .cutFromStore ? options.cutLength : nil
    let length = dice.time(cut?.lowerBound ?? kind.length.least, cut?.upperBound ?? kind.length.most)
    return Fault(
      kind: kind, machine: dice.below(3), isOut: dice.once(in: 2), resets: dice.once(in: 3),
      isBehindCommit: dice.once(in: 2), way: dice.below(3), age: dice.time(.zero, .seconds(1)), begin: .zero + begin,
      length: min(length, span - begin))
  }
}

extension Fault {
  fileprivate var forGood: Fault { from(begin, for: nil) }

  /// Begins as long before a failover as it takes others to put the node out, and ends when the store is about to be back.
  fileprivate func aroundAFailover(_ faults: [Fault]) -> Fault {
    let next = faults.filter { $0.kind == .failover && $0.begin > .zero + .seconds(16) }.min { $0.begin < $1.begin }
    guard kind == .stopped, let next, let length = next.length else { return self }
    let early = TimeDelta.seconds(7) + age * 2
    return from(next.begin - early, for: early + length - .milliseconds(300))
  }

  private func from(_ begin: Instant, for length: TimeDelta?) -> Fault {
    Fault(
      kind: kind, machine: machine, isOut: isOut, resets: resets, isBehindCommit: false, way: way, age: age,
      begin: begin,
      length: length)
  }
}
