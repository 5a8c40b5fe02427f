// Faults begin, and end.

import Basics

/// Faults that are going on.
struct FaultState {
  /// The process that each of them has hit.
  var births: [Int: Int] = [:]
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
    observer.counts.faults[fault.kind, default: 0] += 1
    for one in fault.machines(of: Self.nodes) { faults.troubles[one] += 1 }
    faults.births[number] = machines[index].birth
    switch fault.kind {
    case .cutFromStore, .twoTogether, .oneWay: cut(fault, by: 1)
    case .slow: slow(fault, by: 1)
    case .storeStopped: store.stops += 1
    case .storeBack where fault.way == 2: store.restoreDump(at: now, age: .seconds(8) + fault.age * 30)
    case .storeCrashed, .failover, .storeBack: storeLeaves()
    case .statementLate: faults.late += 1
    case .killed: kill(index)
    case .stopped where fault.isBehindCommit:
      machines[index].stopsBehindCommit = number
      return
    case .stopped, .paused: return stop(index, by: number)
    }
    endLater(number)
  }

  private func endLater(_ number: Int) {
    if let length = plan.faults[number].length { add(.end(fault: number), at: min(now + length, max(plan.end, now))) }
  }

  func end(_ number: Int) {
    let fault = plan.faults[number]
    let index = fault.machine
    for one in fault.machines(of: Self.nodes) {
      faults.troubles[one] -= 1
      faults.wellSince[one] = now
    }
    switch fault.kind {
    case .cutFromStore, .twoTogether, .oneWay: cut(fault, by: -1)
    case .slow: slow(fault, by: -1)
    case .storeStopped:
      store.stops -= 1
      releaseStore()
    case .storeBack where fault.way == 2: break
    case .storeCrashed, .failover, .storeBack: storeComes(fault)
    case .statementLate: faults.late -= 1
    case .killed: start(index)
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
  func stop(_ index: Int, by number: Int) {
    faults.births[number] = machines[index].birth
    endLater(number)
    guard !machines[index].isDead else { return }
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
    machines[index].stopsBehindCommit = nil
    guard faults.births[number] == machines[index].birth, machines[index].stops > 0 else { return }
    machines[index].stops -= 1
    guard machines[index].isRunning else { return }
    if machines[index].wasPaused { observer.paused(index, until: now + Observer.pausedIsExcused) }
    machines[index].wasPaused = false
    machines[index].clock.goOn(at: now)
    machines[index].deadline = nil
    wake(index)
  }

  private func kill(_ index: Int) {
    guard !machines[index].isDead else { return }
    observer.died(index, self)
    observer.paused(index, until: now)
    wires[index].close()
    machines[index].die()
  }

  private func start(_ index: Int) {
    guard machines[index].isDead else { return }
    machines[index].start(at: now, flaws: options.flaws)
    wake(index)
  }
}
