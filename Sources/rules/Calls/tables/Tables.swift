// The state of all calls, by owner. Each table keeps its own invariants; here is what takes several of them to answer.
//
//   CallTable    running calls, their members, names and timers
//   Legs         which call each busy user is in
//   DeviceTable  the devices that are there
//   CallArchive  ended calls and records
//   RingPace     who may ring whom how often
//   BlockTable   whom users do not want to hear from

import Basics
import RoostProtocol

/// All state of the switchboard. Two that are equal behave alike from here on.
struct Tables: Equatable, Sendable {
  /// The rules that all of them follow.
  let rules: CallRules
  var calls = CallTable()
  var legs = Legs()
  var devices = DeviceTable()
  var archive: CallArchive
  var pace: RingPace
  var blocks = BlockTable()
  /// Whether the process is about to stop: no call begins, and nobody comes into one.
  var isDraining = false

  /// No calls and no devices.
  init(rules: CallRules) {
    self.rules = rules
    archive = CallArchive(rules)
    pace = RingPace(rules)
  }

  // MARK: - Where a device stands

  /// The call that this device has its user's leg in.
  func call(onLegOf device: DeviceID) -> CallID? {
    guard let user = devices[device]?.user, let id = legs[user], calls[id]?[user]?.device == device else { return nil }
    return id
  }

  /// The member of a call that a device's user is.
  /// - Throws: 3001 for a call that is not known, 3002 for one that is over, `stranger` for one that is not the user's.
  func membership(
    _ callId: String, _ device: DeviceID, at now: Now, stranger: ErrorCode = .notInvited
  ) throws(ErrorObject) -> Membership {
    let user = try devices.user(of: device)
    let id = CallID(callId)
    if let call = calls[id] {
      guard let member = call[user] else { throw ErrorObject(stranger) }
      return Membership(call: call, member: member, device: device, predecessor: devices[device]?.predecessor)
    }
    guard let ended = ended(callId, of: user, at: now) else { throw ErrorObject(.callNotFound) }
    throw .callEnded(ended)
  }

  /// The membership of a user who is joined on this very device.
  /// - Throws: 3006 otherwise, 3001, 3002.
  func joinedMembership(_ callId: String, _ device: DeviceID, at now: Now) throws(ErrorObject) -> Membership {
    let membership = try membership(callId, device, at: now, stranger: .notInCall)
    guard membership.member.isJoined, membership.member.device == device else { throw ErrorObject(.notInCall) }
    return membership
  }

  /// The call that a request is about: the named one, or else the one that the device's user is in.
  /// - Throws: 3006 without either.
  func callMeant(_ callId: String?, by device: DeviceID) throws(ErrorObject) -> String {
    let user = try devices.user(of: device)
    guard let callId = callId ?? legs[user]?.text else { throw ErrorObject(.notInCall) }
    return callId
  }

  // MARK: - Who is rung

  /// Who of these may not be rung now, as others do it too often.
  /// - Throws: 1006, 3014 where nobody is rung: see `RingPace.check`.
  func rungTooOften(_ users: [String], by caller: String, at now: Now) throws(ErrorObject) -> Set<String> {
    try pace.check(caller, rings: users, isHidden: { blocks.has($0, blocked: caller) }, at: now)
  }

  /// Counts attempts to ring.
  mutating func count(rings users: [String], by caller: String, at now: Now) {
    pace.spend(caller, rings: users, isHidden: { blocks.has($0, blocked: caller) }, at: now)
  }

  // MARK: - Calls by name

  /// An ended call that this user was a member of.
  func ended(_ callId: String, of user: String, at now: Now) -> Call? {
    guard let call = archive.tombstone(CallID(callId), at: now), call.members.contains(where: { $0.user == user })
    else { return nil }
    return call
  }

  /// The call, for a request that has nothing left to do where the call is over.
  func endedBefore(_ callId: String, _ device: DeviceID, at now: Now) throws(ErrorObject) -> Call? {
    let user = try devices.user(of: device)
    return calls[CallID(callId)] == nil ? ended(callId, of: user, at: now) : nil
  }

  /// The call that a user has given this name, if it runs or still says what became of it. Otherwise the name is free.
  func call(named name: String?, by user: String, at now: Now) -> CallID? {
    guard let id = name.flatMap({ calls.named(ClientCall(user: user, clientCallId: $0)) }) else { return nil }
    return calls[id] != nil || archive.tombstone(id, at: now) != nil ? id : nil
  }

  /// A running call, no matter whose.
  /// - Throws: 3001 for a call that is not known, 3002 for one that is over.
  func runningCall(_ callId: String, at now: Now) throws(ErrorObject) -> LiveCall {
    let id = CallID(callId)
    if let call = calls[id] { return call }
    throw archive.tombstone(id, at: now).map { .callEnded($0) } ?? ErrorObject(.callNotFound)
  }

  // MARK: - The end of a call

  /// Remembers an ended call. Names of calls that are forgotten now are free, but for one that a later call has by now.
  mutating func bury(_ final: Call, names: [ClientCall], at now: Now) {
    for (id, names) in archive.bury(final, names: names, at: now) { calls.release(names, of: id) }
  }
}

/// A call and the member that this device's user is in it.
struct Membership {
  let call: LiveCall
  let member: CallMember
  let device: DeviceID
  let predecessor: DeviceID?
  var id: CallID { call.id }
  var user: String { member.user }
  /// Whether the leg is that of the session before, and waits for this one.
  var isSuccession: Bool { predecessor != nil && member.device == predecessor }
  /// Whether a server has called its user to call the others, and they have yet to pick up.
  var hasToPickUp: Bool { member.isRinging && call.arrangement != nil }
  /// Whether another device has the user's leg.
  var isElsewhere: Bool { member.isJoined && member.device != nil && member.device != device && !isSuccession }

  /// Why the device cannot do what it asks for: what has become of the ring or the leg.
  var outcome: ErrorObject {
    let isElsewhere = member.actor.map { $0 != device } ?? true
    let code: ErrorCode =
      if member.state == .answeredByOther || (member.isJoined && isElsewhere) {
        .answeredElsewhere
      } else if member.state == .declined, isElsewhere {
        .rejectedElsewhere
      } else {
        .invalidState
      }
    return ErrorObject(code) {
      $0.reason = (member.reason?.rawValue ?? member.state.rawValue)
      guard code == .answeredElsewhere else { return }
      // The same user on another device, or another callee who was quicker.
      $0.by = member.isJoined ? member.user : call.answerer
    }
  }
}

extension ErrorObject {
  /// 3002 with what became of the call.
  public static func callEnded(_ call: Call) -> ErrorObject {
    ErrorObject(.callEnded) {
      $0.reason = call.reason?.rawValue
      $0.by = call.by
      $0.endedAt = call.endedAt
    }
  }
}
