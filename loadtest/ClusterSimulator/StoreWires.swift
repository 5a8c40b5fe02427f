// Statements and answers on their way. No answer tells nothing: the statement may have been carried out, or may be yet.

import Basics
import Ownership

extension World {
  func send(_ statement: StoreStatement, _ question: QuestionID, from index: Int) {
    let letter = Letter(
      machine: index, connection: wires[index].connection, birth: machines[index].birth, question: question,
      statement: statement, sent: now)
    if wires[index].out.cuts > 0 { wires[index].out.held.append(letter) } else { post(letter) }
  }

  private func post(_ letter: Letter) {
    add(.toStore(letter), at: wires[letter.machine].out.arrival(at: now, &delays))
  }

  private func post(_ answered: QuestionAnswered, to index: Int) {
    let connection = wires[index].connection
    add(
      .fromStore(machine: index, connection: connection, answered),
      at: wires[index].back.arrival(at: now, &delays))
  }

  private func isOpen(_ letter: Letter) -> Bool {
    wires[letter.machine].isOpen && wires[letter.machine].connection == letter.connection
  }

  func arrive(_ letter: Letter) {
    var letter = letter
    if !isOpen(letter), !letter.isLate {
      // Where statements may be late, what was sent before its connection ended is carried out at some time.
      guard faults.late > 0 else { return }
      letter.isLate = true
      observer.counts.late += 1
      return add(.toStore(letter), after: delays.time(.zero, options.mostLate))
    }
    if store.absences > 0 { return observer.unknown() }
    if store.stops > 0 { store.waiting.append(letter) } else { execute(letter) }
  }

  private func execute(_ letter: Letter) {
    observer.willCarryOut(letter.statement, store.table)
    let answer = store.apply(letter.statement, at: now)
    observer.carriedOut(letter, answer)
    observer.lookAtSize(of: store.table, at: now)
    guard isOpen(letter) else { return observer.unknown() }
    let answered = QuestionAnswered(question: letter.question, answer: answer)
    if wires[letter.machine].back.cuts > 0 {
      wires[letter.machine].back.held.append(answered)
    } else {
      post(answered, to: letter.machine)
    }
  }

  func arrive(_ answered: QuestionAnswered, at index: Int, _ connection: Int) {
    guard wires[index].isOpen, wires[index].connection == connection, !machines[index].isDead else {
      return observer.unknown()
    }
    hear(.ownership(.answered(answered.question, answered.answer)), at: index)
  }

  func dial(_ index: Int) {
    wires[index].dial()
    if store.absences > 0, !wires[index].isCut { return refuse(index) }
    guard !wires[index].isCut else { return }
    let back = wires[index].out.arrival(at: now, &delays) - now
    add(
      .connectionUp(machine: index, connection: wires[index].connection),
      at: wires[index].back.arrival(at: now + back, &delays))
  }

  /// Nobody listens: the node hears so at once.
  private func refuse(_ index: Int) { hear(.ownership(.broken), at: index) }

  /// A store that is stopped does not greet; the node gives up and tries again.
  func connectionIsUp(_ index: Int, _ connection: Int) {
    guard wires[index].connection == connection, !wires[index].isCut, store.answers, !machines[index].isDead else {
      return
    }
    wires[index].isOpen = true
    hear(.ownership(.connected), at: index)
  }

  /// The connection is reset, and the node hears of it.
  func reset(_ index: Int) {
    guard wires[index].isOpen else { return }
    wires[index].close()
    hear(.ownership(.broken), at: index)
  }

  /// What was held is repeated, in order.
  func release(_ index: Int) {
    if wires[index].out.cuts == 0 {
      let held = wires[index].out.held
      wires[index].out.held = []
      held.forEach(post)
    }
    if wires[index].back.cuts == 0 {
      let held = wires[index].back.held
      wires[index].back.held = []
      for answered in held { post(answered, to: index) }
    }
  }

  /// The store's process ends, and with it all connections and whatever waits.
  func storeLeaves() {
    store.absences += 1
    store.waiting = []
    for index in wires.indices { reset(index) }
  }

  func releaseStore() {
    guard store.answers else { return }
    let waiting = store.waiting
    store.waiting = []
    waiting.forEach(execute)
  }
}
