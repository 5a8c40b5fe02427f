// What an operator may do to calls from outside: end one, put somebody out of one, see and lift blocks.

import Basics
import RoostProtocol

extension Switchboard {
  /// All running calls, oldest first.
  public func running(at now: Now) -> [Call] { tables.calls.inOrder.map { tables.calls.wire($0, at: now) } }

  /// A call that rings or runs, or that is over and still says what became of it.
  /// - Throws: 3001.
  public func call(_ callId: String, at now: Now) throws(ErrorObject) -> Call {
    let id = CallID(callId)
    guard let call = tables.calls[id].map({ tables.calls.wire($0, at: now) }) ?? tables.archive.tombstone(id, at: now)
    else { throw ErrorObject(.callNotFound) }
    return call
  }

  /// Ends a call for everybody.
  /// - Returns: what follows, and the call as it ended.
  /// - Throws: 3001 for a call that is not known, 3002 for one that is over.
  public mutating func stop(_ callId: String, at now: Now) throws(ErrorObject) -> (effects: [CallEffect], call: Call) {
    let id = try tables.runningCall(callId, at: now).id
    let effects = move(now) { tables, step in CallEnd(id, .stopped).commit(&tables, &step) }
    guard let call = tables.archive.tombstone(id, at: now) else { throw ErrorObject(.internalError) }
    return (effects, call)
  }

  /// Puts somebody out of a call, who may not join it again unless they are invited. Who rings stops ringing. `by` is the host who wants
  /// it: they keep out those who are out as well. Of who only lost a right, `isPutOut` is false: their other devices go on hearing of it.
  /// - Throws: 3001, 3002; 3008 for one who is neither in it nor rung, and of a host's for who is no member or was put out before.
  public mutating func remove(
    _ user: String, from callId: String, by host: String? = nil, isPutOut: Bool = true, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    let call = try tables.runningCall(callId, at: now)
    guard let member = call[user], member.isJoined || member.isRinging || host != nil && member.mayComeBack else {
      throw ErrorObject(.userNotFound, "This user is neither in the call nor rung for it.")
    }
    return move(now) { tables, step in
      if member.isJoined {
        Leg(user, in: call.id).depart(LegEnd(reason: .removed, outcome: .removed, by: host), &tables, &step)
      } else if member.isRinging {
        Callee(user, in: call.id).withdraw(by: host, &tables, &step)
      } else {
        tables.calls.update(user, in: call.id) { ($0.state, $0.reason) = (.removed, .removed) }
        tables.tellMember(user, in: call.id, by: host, &step) { .memberRemoved($0) }
      }
      if isPutOut { tables.calls.update(user, in: call.id) { $0.terms.isPutOut = true } }
    }
  }

  // MARK: - Blocks

  /// How many users each one has blocked, those with the most first, and how many blocks that is in all.
  public var blockCounts: (all: Int, users: [(user: String, count: Int)]) {
    (tables.blocks.count, tables.blocks.byUser)
  }

  /// Whom a user has blocked, in the order of their names.
  public func blocks(of user: String) -> [KeptBlock] {
    tables.blocks.list(of: user).map { KeptBlock(user: user, blocked: $0) }
  }

  /// Lifts what a user has blocked: one of it, or all where none is named.
  /// - Returns: what follows, one effect for each block that is lifted.
  /// - Throws: 3008 where there is none.
  public mutating func lift(_ user: String, blocked other: String?, at now: Now) throws(ErrorObject) -> [CallEffect] {
    let lifted = tables.blocks.list(of: user).filter { other == nil || $0 == other }
    guard !lifted.isEmpty else { throw ErrorObject(.userNotFound, "This user has not blocked them.") }
    return move(now) { tables, step in
      for blocked in lifted {
        guard let removed = tables.blocks.remove(KeptBlock(user: user, blocked: blocked)) else { continue }
        step.emit(.keepBlock(removed, false))
      }
    }
  }
}
