// Nodes, their store and the wires between them in one virtual time. One seed is one run, however often it is made.

import Basics
import Names
import Ownership

/// Three nodes and a store. It drives the real `Ownership` and the real `StoreTable`, one happening after the other.
final class World {
  static let nodes = 3
  static let names = (0..<5).map { LeaseName.room("room\($0)") }
  /// Where as much happens at one instant, time stands.
  private static let mostAtOnce = 1_000

  let options: Options
  let plan: FaultPlan
  private(set) var now = Instant.zero
  var delays, order, workload: Dice
  private var agenda = Agenda()
  var machines: [Machine] = []
  var wires: [StoreWire] = []
  var store: StoreServer
  var observer: Observer
  var trace = Trace()
  var faults: FaultState
  private var happenings = 0
  private var atOnce = 0

  init(seed: UInt64, _ options: Options, plan: FaultPlan) {
    self.options = options
    self.plan = plan
    delays = Dice(seed, .delays)
    order = Dice(seed, .order)
    workload = Dice(seed, .workload)
    store = StoreServer(flaws: options.store)
    store.keepsHistory = plan.faults.contains { [.storeCrashed, .failover, .storeBack].contains($0.kind) }
    observer = Observer(options.looksAt)
    faults = FaultState()
    var clocks = Dice(seed, .clocks)
    for _ in 0..<options.extraThrows { _ = delays.next() }
    for index in 0..<Self.nodes {
      let most = options.partsPerMillion
      let drift = options.clocksAreExtreme ? (clocks.once(in: 2) ? most : -most) : clocks.below(most * 2 + 1) - most
      let clock = SimClock(offset: clocks.time(.seconds(1), .seconds(1_000)), partsPerMillion: drift)
      machines.append(Machine(index: index, clock: clock, flaws: options.flaws))
      wires.append(StoreWire())
      wake(index)
      add(.want(machine: index), after: claimPause())
    }
    for (index, fault) in plan.faults.enumerated() { add(.begin(fault: index), at: fault.begin) }
  }

  var end: Instant { plan.end + options.calm }

  /// Runs to the end, or to the first thing that must not be.
  func run() {
    while observer.violation == nil, let (at, what) = agenda.next(), at <= end {
      atOnce = at == now ? atOnce + 1 : 0
      now = at
      happenings += 1
      trace.note(at, what)
      if happenings > options.mostHappenings || atOnce > Self.mostAtOnce {
        observer.violate(.endless, "\(what)", at: now)
      }
      carryOut(what)
      observer.lookAtTime(self)
    }
    if observer.violation == nil { observer.lookAtRest(self) }
  }

  func add(_ what: Happening, at: Instant) { agenda.add(what, at: max(at, now), tie: order.next()) }
  func add(_ what: Happening, after delay: TimeDelta) { add(what, at: now + delay) }

  private func carryOut(_ what: Happening) {
    switch what {
    case .deadline(let index, let birth) where machines[index].birth == birth:
      machines[index].deadline = nil
      wake(index)
    case .turn(let index, let birth) where machines[index].birth == birth: turn(index)
    case .deadline, .turn: break
    case .toStore(let letter): arrive(letter)
    case .fromStore(let index, let connection, let answered): arrive(answered, at: index, connection)
    case .connectionUp(let index, let connection): connectionIsUp(index, connection)
    case .begin(let fault): begin(fault)
    case .end(let fault): end(fault)
    case .want(let index): claim(index)
    }
  }
}
