// What an operator may do to a call from outside: end it, put somebody out of it.

import Basics
import RoostProtocol

extension Switchboard {
  /// All running calls, oldest first.
  public func running(at now: Now) -> [Call] { tables.calls.inOrder.map { tables.calls.wire($0, at: now) } }

  /// Ends a call for everybody.
  /// - Returns: what follows, and the call as it ended.
  /// - Throws: 3001 for a call that is not known, 3002 for one that is over.
  public mutating func stop(_ callId: String, at now: Now) throws(ErrorObject) -> (effects: [CallEffect], call: Call) {
    let id = try tables.runningCall(callId, at: now).id
    let effects = move(now) { tables, step in CallEnd(id, .stopped).commit(&tables, &step) }
    guard let call = tables.archive.tombstone(id, at: now) else { throw ErrorObject(.internalError) }
    return (effects, call)
  }

  /// Puts somebody out of a call, who may not join it again unless they are invited. Who rings stops ringing.
  /// - Throws: 3001, 3002; 3008 for one who is neither in it nor rung.
  public mutating func remove(_ user: String, from callId: String, at now: Now) throws(ErrorObject) -> [CallEffect] {
    let call = try tables.runningCall(callId, at: now)
    guard let member = call[user], member.isJoined || member.isRinging else {
      throw ErrorObject(.userNotFound, "This user is neither in the call nor rung for it.")
    }
    return move(now) { tables, step in
      if member.isJoined {
        Leg(user, in: call.id).depart(LegEnd(reason: .removed, outcome: .removed), &tables, &step)
      } else {
        Callee(user, in: call.id).withdraw(by: nil, &tables, &step)
      }
    }
  }
}
