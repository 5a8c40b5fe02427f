// Sessions: who is connected, as whom, with what rights, and what was told to them (docs/protocol.md, sessions). They know nothing of
// rooms and calls but what those say of a session: where it has its seat, and whether its leg waits.

import Basics
import Members
import RoostProtocol

/// All of sessions. Their state changes by messages, by time, and when a process begins, and in no other way.
package struct Sessions: Sendable {
  let rules: ConferenceRules
  var table: SessionTable
  /// Tokens that are not believed any more.
  var revocations = RevocationTable()
  /// What operators have left of users' grants.
  var narrowings = NarrowingTable()
  /// What waits until workers have said how silent somebody is.
  var takeovers = Takeovers()
  /// How many lines there are about what was refused.
  var refusalLines: RefusalLines
  var isDraining = false
  /// What other realms have of what there is for all.
  private(set) var others = RealmShare()

  /// Nobody is there.
  package init(_ rules: ConferenceRules) {
    self.rules = rules
    table = SessionTable(replayBytesPerNetwork: rules.replayBytesPerNetwork)
    refusalLines = RefusalLines(rules)
  }

  // MARK: - Messages

  /// Takes a message. What follows is in the step.
  package mutating func apply(_ message: SessionMessage, _ step: inout Step) {
    switch message {
    case .hello(let hello): self.hello(hello, &step)
    case .recognize(let action): recognize(action, &step)
    case .resume(let params, let id, let connection, let network):
      resume(params, id, on: connection, from: network, &step)
    case .bye(let key): bye(key, &step)
    case .closed(let connection, let clean): connectionClosed(connection, clean: clean, &step)
    case .overdue(let connection, let isOverdue): setOverdue(isOverdue, on: connection, &step)
    case .drain(let retryAfter): drain(retryAfter: retryAfter, &step)
    case .others(let others): self.others = others
    case .operate(let action): operate(action, &step)
    case .silence(let asker, let time): silenceTold(to: asker, time, &step)
    case .tell(let event, let session):
      table.send(table.stamped(event, for: session), to: CollectionOfOne(session), &step)
    case .tellAll(let event, let sessions): table.send(event, to: sessions, &step)
    case .tellOfCall(let event, let sessions):
      for session in sessions { table.reconsider(session) }
      table.send(event, to: sessions, &step)
    case .answer(let key, let result): table.finish(key, result, &step)
    case .seated(let session, let place, let left): seated(session, place, left: left, &step)
    case .unseated(let session): unseated(session, &step)
    case .record(let record, let isStored): table.tell(record, isStored: isStored, &step)
    case .stream(let session, let stream, let change):
      if let connection = table[session]?.connection { step.add(.stream(connection, stream, change)) }
    case .reconsider(let sessions): for session in sessions { table.reconsider(session) }
    case .noteRefusal(let key, let method, let room, let error):
      RefusalLog.note(method, in: room, error, of: table[key.session], &refusalLines, &step)
    case .refusalLine(let event, let fields, let identity):
      RefusalLog.leave(event, fields.map { ($0.name, $0.value) }, of: identity, &refusalLines, &step)
    case .begin(let hello, let old): begin(hello, insteadOf: old, &step)
    case .replace(let old, let hasLeg): replace(old, hasLeg: hasLeg, &step)
    case .welcome(let id, let request, let calls): welcome(id, request, calls, &step)
    case .resynced(let id, let request, let connection, let resync):
      resynced(id, request, on: connection, resync, &step)
    case .repeated(let key, let connection, let result):
      step.add(.reply(connection, key.id, result.map { table.stamped($0, for: key.session) }))
    case .renew(let key, let identity): renew(key, identity, &step)
    case .renewed(let key, let rights):
      table.compareGrants(of: key.session, rights)
      table.finish(key, .success(.empty), &step)
    case .limit(let id): limit(id, &step)
    case .charge(let key, let rate, let action): charge(key, rate, then: action, &step)
    case .awaitSilence(let action, let seat): takeovers.hold(action, about: seat, &step)
    case .end(let id, let reason): end(id, reason, &step)
    case .revoked(let id): revoked(id, &step)
    case .forget(let id, let reason, let keeper, let wasSuperseded):
      forget(id, reason, keeper: keeper, wasSuperseded: wasSuperseded, &step)
    case .tellMisinformed: tellMisinformed(&step)
    case .settleWaiting(let sessions): table.settleWaiting(sessions, &step)
    }
  }

  // MARK: - Time

  /// When `poll` has something to do; nil when nothing waits.
  package var nextDeadline: Instant? {
    [table.graces.next, table.proofs.next, table.warnings.next, revocations.nextEnd, narrowings.nextEnd]
      .compactMap(\.self).min()
  }

  /// Carries out what is due first, which is due by now.
  package mutating func poll(_ step: inout Step) {
    let (now, next) = (step.now.instant, nextDeadline)
    if table.graces.next == next, let id = table.takeExpired(at: now) {
      step.subject = table.subject(of: id)
      step.count(.sessionExpired)
      end(id, .lost, &step)
    } else if table.proofs.next == next, let id = table.takeUnproven(at: now) {
      step.subject = table.subject(of: id)
      expired(id, &step)
    } else if table.warnings.next == next, let id = table.takeUnwarned(at: now) {
      step.subject = table.subject(of: id)
      warn(id, &step)
    } else if revocations.nextEnd == next {
      Revoking.endDue(&revocations, &step)
    } else if narrowings.nextEnd == next {
      endNarrowings(&step)
    }
  }

  // MARK: - A start

  /// Takes what an earlier process kept. Nobody is there yet.
  package mutating func restore(
    _ revocations: [KeptRevocation], _ narrowings: [KeptNarrowing], _ step: inout Step
  ) {
    Revoking.restore(revocations, &self.revocations, &step)
    let over = self.narrowings.restore(narrowings, at: step.now)
    step.keep(over.map { .forgetNarrowing($0) })
  }
}
