// What one may ask without changing anything: calls, lists, who is busy.

import Basics
import RoostProtocol

extension Switchboard {
  /// A call that the user is or was a member of, running or over.
  /// - Throws: 3001, 3007.
  public mutating func get(_ params: CallParams, from device: DeviceID, at now: Now) throws(ErrorObject) -> Call {
    self.now = now
    let user = try user(of: device)
    if let call = ended(params.callId, of: user) { return call }
    let place = try place(params.callId, device)
    return wire(place.call, for: user)
  }

  /// The call that a user is in.
  public mutating func current(of user: String, at now: Now) -> Call? {
    self.now = now
    return legs[user].flatMap { calls[$0] }.map { wire($0, for: user) }
  }

  /// Calls that ring for a user on one of his devices, by what its client calls it: all but those it was silenced for.
  public mutating func ringing(for user: String, on name: String, at now: Now) -> [Call] {
    self.now = now
    return ringingCalls(of: user).filter { $0[user]?.ring?.silenced.contains(name) == false }
      .map { wire($0, for: user) }
  }

  /// Running group calls that a user was ever in or invited to, oldest first.
  public mutating func available(to user: String, at now: Now) -> [Call] {
    self.now = now
    let running = (memberships[user] ?? []).compactMap { calls[$0] }.sorted { $0.number < $1.number }
    return running.filter { call in
      guard call.isGroup, let member = call[user] else { return false }
      return !member.isGone || member.mayComeBack
    }.map { wire($0, for: user) }
  }

  /// A page of a user's calls, newest first. Looking at the first page makes missed calls seen.
  public mutating func history(_ params: CallHistoryParams, from device: DeviceID) -> CallHistoryResult {
    let (user, name) = devices[device].map { ($0.user, $0.name) } ?? ("", "")
    let limit = min(params.limit ?? ProtocolLimits.defaultPage, ProtocolLimits.page)
    let page = archive.page(of: user, before: params.before, limit: limit)
    if params.before == nil { archive.see(user) }
    return CallHistoryResult(
      records: page.records.map { $0.seen(from: name) }, next: page.isLast ? nil : page.records.last?.record.callId)
  }

  /// Missed calls that a user has not looked at.
  public func missed(_ user: String) -> Int { archive.missed(user) }

  /// Whether a user is in a call.
  public func isBusy(_ user: String) -> Bool { legs[user] != nil }

  /// Whether a device of a user has his leg.
  public func hasLeg(_ device: DeviceID) -> Bool { call(onLegOf: device) != nil }

  /// Whether a seat in a call is a user's already: he is in it, on whatever device or not back after a restart, or it is held
  /// while it rings.
  public func hasSeat(_ callId: String, _ device: DeviceID) -> Bool {
    guard let user = devices[device]?.user, let member = calls[CallID(callId)]?[user] else { return false }
    return member.isJoined || member.isRinging
  }

  /// Whether a call runs that a user started under this name of his.
  public func isRunning(named clientCallId: String?, by device: DeviceID) -> Bool {
    guard let user = devices[device]?.user else { return false }
    return call(named: clientCallId, by: user).map(isRunning) ?? false
  }

  /// Whether a call is not over.
  public func isRunning(_ id: CallID) -> Bool { calls[id] != nil }

  /// How many calls run.
  public var count: Int { calls.count }
}
