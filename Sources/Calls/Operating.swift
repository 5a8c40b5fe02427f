// What an operator may do to a call from outside: end it, put somebody out of it.

import Basics
import RoostProtocol

extension Switchboard {
  /// All running calls, oldest first.
  public mutating func running(at now: Now) -> [Call] {
    self.now = now
    return inOrder.map { wire($0) }
  }

  /// Ends a call for everybody.
  /// - Returns: what follows, and the call as it ended.
  /// - Throws: 3001 for a call that is not known, 3002 for one that is over.
  public mutating func stop(_ callId: String, at now: Now) throws(ErrorObject) -> (effects: [CallEffect], call: Call) {
    let id = try runningCall(callId, at: now).id
    let effects = move(now) { $0.end(id, .stopped) }
    guard let call = archive.tombstone(id, at: now) else { throw ErrorObject(.internalError) }
    return (effects, call)
  }

  /// Puts somebody out of a call, who may not join it again unless he is invited. Who rings stops ringing.
  /// - Throws: 3001, 3002; 3008 for one who is neither in it nor rung.
  public mutating func remove(_ user: String, from callId: String, at now: Now) throws(ErrorObject) -> [CallEffect] {
    let call = try runningCall(callId, at: now)
    guard let member = call[user], member.isJoined || member.isRinging else {
      throw ErrorObject(.userNotFound, "This user is neither in the call nor rung for it.")
    }
    return move(now) { board in
      if member.isJoined {
        board.depart(user, from: call.id, LegEnd(reason: .removed, state: .removed))
      } else {
        board.withdraw(user, in: call.id, by: nil)
      }
    }
  }

  private func runningCall(_ callId: String, at now: Now) throws(ErrorObject) -> LiveCall {
    let id = CallID(callId)
    if let call = calls[id] { return call }
    throw archive.tombstone(id, at: now).map { .callEnded($0) } ?? ErrorObject(.callNotFound)
  }
}
