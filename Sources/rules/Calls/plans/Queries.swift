// What one may ask without changing anything: calls, lists, who is busy.

import Basics
import RoostProtocol

extension Switchboard {
  /// A call that the user is or was a member of, running or over.
  /// - Throws: 3001, 3007.
  public func get(_ params: CallParams, from device: DeviceID, at now: Now) throws(ErrorObject) -> Call {
    let user = try tables.devices.user(of: device)
    if let call = tables.ended(params.callId, of: user, at: now) { return call }
    let membership = try tables.membership(params.callId, device, at: now)
    return tables.calls.wire(membership.call, for: user, at: now)
  }

  /// The call that a user is in.
  public func current(of user: String, at now: Now) -> Call? {
    tables.legs[user].flatMap { tables.calls[$0] }.map { tables.calls.wire($0, for: user, at: now) }
  }

  /// Calls that ring for a user on one of their devices, by what its client calls it: all but those it was silenced for.
  public func ringing(for user: String, on name: String, at now: Now) -> [Call] {
    tables.calls.ringing(user).filter { $0[user]?.ring?.silenced.contains(name) == false }
      .map { tables.calls.wire($0, for: user, at: now) }
  }

  /// Running group calls that a user was ever in or invited to, oldest first.
  public func available(to user: String, at now: Now) -> [Call] {
    let open = tables.calls.all(of: user).filter { call in
      guard call.isGroup, let member = call[user], member.isAware else { return false }
      return !member.isGone || member.mayComeBack
    }
    return open.map { tables.calls.wire($0, for: user, at: now) }
  }

  /// A page of a user's calls, newest first. Looking at the first page makes missed calls seen.
  public mutating func history(_ params: CallHistoryParams, from device: DeviceID) -> CallHistoryResult {
    let (user, name) = tables.devices[device].map { ($0.user, $0.name) } ?? ("", "")
    let limit = min(params.limit ?? ProtocolLimits.defaultPage, ProtocolLimits.page)
    let page = tables.archive.page(of: user, before: params.before, limit: limit)
    if params.before == nil { tables.archive.see(user) }
    return CallHistoryResult(
      records: page.records.map { $0.seen(from: name) }, next: page.isLast ? nil : page.records.last?.record.callId)
  }

  /// The same for an application: it has looked at nothing for them.
  public func history(of user: String, before: String?) -> CallHistoryResult {
    let page = tables.archive.page(of: user, before: before, limit: ProtocolLimits.page)
    return CallHistoryResult(
      records: page.records.map(\.record), next: page.isLast ? nil : page.records.last?.record.callId)
  }

  /// A user has looked at what they have missed.
  public mutating func see(_ user: String) { tables.archive.see(user) }

  /// Missed calls that a user has not looked at.
  public func missed(_ user: String) -> Int { tables.archive.missed(user) }

  /// Whether a user is in a call.
  public func isBusy(_ user: String) -> Bool { tables.legs.isBusy(user) }

  /// Whether a device has its user's leg.
  public func hasLeg(_ device: DeviceID) -> Bool { tables.call(onLegOf: device) != nil }

  /// Whether a call runs or rings on a device.
  public func concerns(_ device: DeviceID) -> Bool {
    guard let known = tables.devices[device] else { return false }
    return hasLeg(device)
      || tables.calls.ringing(known.user).contains { $0[known.user]?.ring?.silenced.contains(known.name) == false }
  }

  /// Whether a seat in a call is a user's already: they are in it, on whatever device or not back after a restart, or it is
  /// held while it rings.
  public func hasSeat(_ callId: String, _ device: DeviceID) -> Bool {
    guard let user = tables.devices[device]?.user, let member = tables.calls[CallID(callId)]?[user] else {
      return false
    }
    return member.isJoined || member.isRinging
  }

  /// Whether accepting is joining: it takes the leg of another device of the user, or one that is nobody's since a restart, or it comes
  /// back to a group without being rung.
  public func wouldJoin(_ params: CallAcceptParams, _ device: DeviceID, at now: Now) -> Bool {
    guard let membership = try? tables.membership(params.callId, device, at: now) else { return false }
    guard membership.member.isJoined else { return membership.call.isGroup && membership.member.mayComeBack }
    return membership.member.device != device && (!membership.isElsewhere || params.takeover == true)
  }

  /// Whether nobody has been in a call yet: a server has arranged it, and its caller rings.
  public func opensRoom(_ callId: String) -> Bool {
    tables.calls[CallID(callId)]?.arrangement != nil
  }

  /// Whether accepting or joining might bring a device into a call: it rings for its user, or they would join. Who is in it on this device
  /// is not brought there.
  public func mightEnter(_ params: CallAcceptParams, _ device: DeviceID, at now: Now) -> Bool {
    guard let membership = try? tables.membership(params.callId, device, at: now) else { return false }
    return membership.member.isRinging || wouldJoin(params, device, at: now)
  }

  /// Whether a call runs that a device's user has given this name.
  public func isRunning(named clientCallId: String?, by device: DeviceID) -> Bool {
    guard let user = tables.devices[device]?.user, let clientCallId else { return false }
    return tables.calls.named(ClientCall(user: user, clientCallId: clientCallId)).map(isRunning) ?? false
  }

  /// Whether a call is not over.
  public func isRunning(_ id: CallID) -> Bool { tables.calls[id] != nil }

  /// How many calls run.
  public var count: Int { tables.calls.count }
}
