// Faults begin, and end.

import Basics

/// Faults that are going on.
struct FaultState {
  /// Those that have done something, and are not over.
  var atWork: Set<Int> = []
  /// Those during which statements may be late.
  var late = 0
  /// How many trouble each machine, and when the last of them ended.
  var troubles = Array(repeating: 0, count: World.nodes)
  var wellSince = Array(repeating: Instant.zero, count: World.nodes)
}

extension World {
  func begin(_ number: Int) {
    let fault = plan.faults[number]
    let index = fault.machine
    switch fault.kind {
    case .killed: return kill(number)
    case .stopped where fault.isBehindCommit:
      if !machines[index].isDead { machines[index].stopsBehindCommit = number }
      return
    case .stopped, .paused: return stop(number)
    case .cutFromStore, .twoTogether, .oneWay: cut(fault, by: 1)
    case .slow: slow(fault, by: 1)
    case .storeStopped: store.stops += 1
    case .storeBack where fault.way == 2: store.restoreDump(at: now, age: .seconds(8) + fault.age * 30)
    case .storeCrashed, .failover, .storeBack: storeLeaves()
    case .statementLate: faults.late += 1
    }
    takeEffect(number)
  }

  /// A fault that does nothing, as its machine is dead or commits nothing, is none, and does not count.
  private func takeEffect(_ number: Int, counts: Bool = true) {
    let fault = plan.faults[number]
    if counts { observer.counts.faults[fault.kind, default: 0] += 1 }
    faults.atWork.insert(number)
    for one in fault.machines(of: Self.nodes) { faults.troubles[one] += 1 }
    if let length = fault.length { add(.end(fault: number), at: min(now + length, max(plan.end, now))) }
  }

  /// - Returns: whether it was at work.
  private func endTrouble(_ number: Int) -> Bool {
    guard faults.atWork.remove(number) != nil else { return false }
    for one in plan.faults[number].machines(of: Self.nodes) {
      faults.troubles[one] -= 1
      faults.wellSince[one] = now
    }
    return true
  }

  func end(_ number: Int) {
    guard endTrouble(number) else { return }
    let fault = plan.faults[number]
    switch fault.kind {
    case .cutFromStore, .twoTogether, .oneWay: cut(fault, by: -1)
    case .slow: slow(fault, by: -1)
    case .storeStopped:
      store.stops -= 1
      releaseStore()
    case .storeBack where fault.way == 2: break
    case .storeCrashed, .failover, .storeBack: storeComes(fault)
    case .statementLate: faults.late -= 1
    case .killed: start(fault.machine)
    case .stopped, .paused: goOn(number)
    }
  }

  /// The store is there again, and is not what it was.
  private func storeComes(_ fault: Fault) {
    store.absences -= 1
    let left = now - (fault.length ?? .zero)
    switch fault.kind {
    case .storeCrashed: store.crash(at: left, losing: fault.age * 6 / 10)
    case .failover: store.failOver(at: left, lag: fault.age * 3)
    case .storeBack where fault.way == 1: store.failOver(at: left, lag: .seconds(8) + fault.age * 30)
    default: store.empty(at: now)
    }
  }

  private func cut(_ fault: Fault, by number: Int) {
    for index in fault.machines(of: Self.nodes) {
      if fault.kind != .oneWay || fault.isOut { wires[index].out.cuts += number }
      if fault.kind != .oneWay || !fault.isOut { wires[index].back.cuts += number }
      if number < 0 { release(index) } else if fault.resets { reset(index) }
    }
  }

  private func slow(_ fault: Fault, by number: Int) {
    if fault.isOut { wires[fault.machine].out.slows += number } else { wires[fault.machine].back.slows += number }
  }

  // MARK: - Processes

  /// A process is stopped, or its machine is paused. Its sockets stay open.
  func stop(_ number: Int) {
    let index = plan.faults[number].machine
    guard !machines[index].isDead else { return }
    takeEffect(number)
    machines[index].stops += 1
    machines[index].isTurnDue = false
    let isPaused = plan.faults[number].kind == .paused
    if isPaused || options.world.contains(.clockOfMonotonic) { machines[index].clock.stand(at: now) }
    guard isPaused else { return }
    machines[index].wasPaused = true
    observer.paused(index, until: .distantFuture)
  }

  private func goOn(_ number: Int) {
    let index = plan.faults[number].machine
    machines[index].stops -= 1
    guard machines[index].isRunning else { return }
    if machines[index].wasPaused { observer.paused(index, until: now + Observer.pausedIsExcused) }
    machines[index].wasPaused = false
    machines[index].clock.goOn(at: now)
    machines[index].deadline = nil
    wake(index)
  }

  /// Kills the process, or keeps a dead one from being started.
  private func kill(_ number: Int) {
    let index = plan.faults[number].machine
    machines[index].kills += 1
    takeEffect(number, counts: !machines[index].isDead)
    guard !machines[index].isDead else { return }
    for stop in faults.atWork where plan.faults[stop].machine == index && plan.faults[stop].kind.stops {
      _ = endTrouble(stop)
    }
    observer.died(index, self)
    observer.paused(index, until: now)
    wires[index].close()
    machines[index].die()
  }

  private func start(_ index: Int) {
    machines[index].kills -= 1
    guard machines[index].kills == 0 else { return }
    machines[index].start(at: now, flaws: options.flaws)
    wake(index)
  }
}
