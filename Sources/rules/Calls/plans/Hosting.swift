// The host of a group call: who started it, and after them whoever has been in it longest. What a host may do to the people in the
// call's room is the conference's matter; here is who it is, and what ends with the call or with somebody's part in it.

import Basics
import RoostProtocol

extension LiveCall {
  /// The host. A group has one while anybody is in it; other calls have none.
  var host: CallMember? { members.first(where: \.isHost) }

  /// Gives a group a host, if it has none: this user, if they are in it, else who has been in it longest. Who is not back after a
  /// restart comes last.
  /// - Returns: who is host since then.
  fileprivate mutating func chooseHost(first: String?) -> String? {
    guard isGroup, host == nil else { return nil }
    let present = joined.filter { $0.device != nil }
    let longest = (present.isEmpty ? joined : present).min { ($0.joinedAt ?? .max) < ($1.joinedAt ?? .max) }
    guard let next = (joined.first { $0.user == first } ?? longest)?.user else { return nil }
    update(next) { $0.isHost = true }
    return next
  }
}

extension Tables {
  /// Gives a group that has lost its host, or has just become one, a host. Those in it are told, as a change of its own; where nobody is
  /// there to hear, it is none.
  /// - Parameter caller: who becomes host without a word, where two have become a group and they are in it.
  mutating func chooseHost(
    of id: CallID, unless caller: String? = nil, to listeners: [DeviceID]? = nil, _ step: inout Step
  ) {
    var host: String?
    calls.update(id) { host = $0.chooseHost(first: caller) }
    guard let host, let call = calls[id] else { return }
    if host != caller, !audience(call).isEmpty {
      tellMember(host, in: id, to: listeners, &step) { .memberState($0) }
    }
    step.emit(.setHost(id, host))
  }
}

extension Switchboard {
  /// The host of a group call; nil for any other.
  public func host(of id: CallID) -> String? { tables.calls[id]?.host?.user }

  /// Whether somebody is in a call, back after a restart or not, is rung for it, or may come back to it.
  public func holds(_ user: String, in callId: String) -> Bool {
    tables.calls[CallID(callId)]?[user].map { $0.isJoined || $0.isRinging || $0.mayComeBack } ?? false
  }

  /// Ends a call for everybody, by somebody's wish who may do that.
  /// - Throws: 3001 for a call that is not known, 3002 for one that is over.
  public mutating func end(_ callId: String, by user: String, at now: Now) throws(ErrorObject) -> [CallEffect] {
    let id = try tables.runningCall(callId, at: now).id
    return move(now) { tables, step in CallEnd(id, .stopped, by: user).commit(&tables, &step) }
  }
}
