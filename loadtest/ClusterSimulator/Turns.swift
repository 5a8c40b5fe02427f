// What a process does between two sleeps. It may be stopped between a commit and its effects, which are two happenings.

import Basics
import Ownership

extension World {
  /// The process has something to do. One that is stopped finds it when it goes on.
  func wake(_ index: Int) {
    guard machines[index].isRunning, !machines[index].isTurnDue else { return }
    machines[index].isTurnDue = true
    add(.turn(machine: index, birth: machines[index].birth), after: order.time(.zero, .microseconds(50)))
  }

  func hear(_ input: Input, at index: Int) {
    guard !machines[index].isDead else { return }
    machines[index].inbox.append(input)
    wake(index)
  }

  func turn(_ index: Int) {
    machines[index].isTurnDue = false
    guard machines[index].isRunning else { return }
    if let commit = machines[index].committed { show(commit, index) } else { take(index) }
    observer.lookAtLeases(self)
    observer.lookAtSize(of: index, self)
  }

  func verdict(of index: Int, on name: LeaseName) -> Verdict {
    machines[index].ownership.verdict(on: name, at: clock(index))
  }
  func decides(_ index: Int, about name: LeaseName) -> Bool {
    if case .decides = verdict(of: index, on: name) { true } else { false }
  }

  private func clock(_ index: Int) -> Instant { machines[index].clock.reading(at: now) }

  /// The second half: what was committed is shown, if the node still decides.
  private func show(_ commit: Commit, _ index: Int) {
    machines[index].committed = nil
    let looked = options.world.contains(.clockOnceATurn) ? commit.turnBegan : clock(index)
    let isShown = machines[index].ownership.holds(commit.permit, at: looked)
    trace.note(commit.permit, isShown: isShown)
    if isShown {
      observer.shown(commit.permit, by: index, at: now)
    } else {
      observer.counts.thrownAway += 1
      apply(.threwAway(commit.permit), index)
    }
    take(index)
  }

  /// Takes what has come, up to the next commit.
  private func take(_ index: Int) {
    let began = machines[index].turnBegan ?? clock(index)
    machines[index].turnBegan = began
    let inputs = machines[index].inbox
    for (place, input) in inputs.enumerated() {
      switch input {
      case .ownership(let input): apply(input, index)
      case .decide(let name):
        guard let permit = machines[index].ownership.permit(for: name, at: clock(index)) else { continue }
        machines[index].inbox.removeFirst(place + 1)
        return commit(Commit(permit: permit, turnBegan: began), index)
      }
    }
    machines[index].inbox = []
    machines[index].turnBegan = nil
    carryOut(machines[index].ownership.poll(at: clock(index)), index)
    arm(index)
  }

  private func commit(_ commit: Commit, _ index: Int) {
    machines[index].committed = commit
    if let fault = machines[index].stopsBehindCommit {
      machines[index].stopsBehindCommit = nil
      if now < plan.end {
        observer.counts.stoppedInside += 1
        stop(fault)
      }
    }
    wake(index)
  }

  func apply(_ input: OwnershipInput, _ index: Int) {
    carryOut(machines[index].ownership.apply(input, at: clock(index)), index)
  }

  private func carryOut(_ effects: [OwnershipEffect], _ index: Int) {
    for effect in effects {
      trace.note(effect)
      switch effect {
      case .ask(let question, let statement): send(statement, question, from: index)
      case .connect: dial(index)
      case .disconnect: wires[index].close()
      case .thawed: observer.counts.thawed += machines[index].hasBeenFrozen ? 1 : 0
      case .frozen: machines[index].hasBeenFrozen = true
      case .beginAnew:
        machines[index].hasBeenFrozen = false
        observer.counts.begunAnew += 1
      case .holds, .elsewhere, .lost: break
      }
    }
  }

  /// Sees to it that the process wakes when its node wants to, by its own clock.
  func arm(_ index: Int) {
    guard let wanted = machines[index].ownership.nextDeadline, !machines[index].clock.stands else { return }
    let at = max(machines[index].clock.trueTime(of: wanted), now)
    if let armed = machines[index].deadline, armed <= at { return }
    machines[index].deadline = at
    add(.deadline(machine: index, birth: machines[index].birth), at: at)
  }
}
