// call.reject, call.cancel, call.cancelInvite and the end of a ring's time: how a user stops ringing without an answer.

import Basics
import RoostProtocol

extension Switchboard {
  /// Does not want to answer: on this device alone, or at all.
  /// - Throws: 3001, 3002, 3007; 3004, 3005 or 3003 with what has become of the ring.
  public mutating func reject(_ params: CallRejectParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    serve(try Rejection(params, from: device, tables, at: now), from: device, at: now)
  }

  /// The caller gives up before anybody has answered.
  /// - Throws: 3001, 3007; 1005 for anybody else; 3003 with who has answered.
  public mutating func cancel(_ params: CallCancelParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    // Asked of a call that is over, this has been done already.
    if let call = try tables.endedBefore(params.callId, device, at: now) {
      return serve(Answered(reply: .call(call)), from: device, at: now)
    }
    return serve(try Cancellation(params, from: device, tables, at: now), from: device, at: now)
  }

  /// Takes invitations back: those users stop ringing. Only who invited them may do that, and the caller.
  /// - Throws: 3001, 3002, 3006 for one who is not joined, 1005 for others' invitees.
  public mutating func cancelInvite(
    _ params: CallCancelInviteParams, from device: DeviceID, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    serve(try Withdrawal(params, from: device, tables, at: now), from: device, at: now)
  }
}

// MARK: - Reject

/// `call.reject`.
private struct Rejection: Plan {
  private enum Kind { case again, onThisDevice, everywhere }

  private let membership: Membership
  private let kind: Kind
  private let params: CallRejectParams

  init(_ params: CallRejectParams, from device: DeviceID, _ tables: Tables, at now: Now) throws(ErrorObject) {
    let membership = try tables.membership(params.callId, device, at: now)
    if membership.member.isRinging {
      kind = params.scope == .thisDevice ? .onThisDevice : .everywhere
    } else {
      guard membership.member.state == .declined, membership.member.actor == device else { throw membership.outcome }
      kind = .again
    }
    (self.membership, self.params) = (membership, params)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    switch kind {
    case .again: reply(tables.calls, &step)
    case .onThisDevice: silence(&tables, &step)
    case .everywhere:
      step.setPayload(params.push, for: membership.id)
      Decline(membership: membership, reason: params.reason, text: params.text).commit(&tables, &step)
      tables.replyWithCall(membership.id, &step)
    }
  }

  /// The user's other devices may still answer, and phones are woken where none of them rings.
  private func silence(_ tables: inout Tables, _ step: inout Step) {
    if let name = tables.devices[membership.device]?.name {
      tables.calls.update(membership.user, in: membership.id) { $0.ring?.silence(name) }
    }
    reply(tables.calls, &step)
    Callee(membership.user, in: membership.id).noteUnheard(&tables, &step)
  }

  private func reply(_ calls: CallTable, _ step: inout Step) {
    step.reply(.call(calls.wire(membership.call, for: membership.user, at: step.now)))
  }
}

/// A callee does not want to answer, on any device.
struct Decline: Plan {
  let membership: Membership
  let reason: Reason?
  let text: String?

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let (id, user, device) = (membership.id, membership.user, membership.device)
    let callee = Callee(user, in: id)
    let ring = tables.calls.stopRing(user, in: id, .declined, reason ?? .rejected)
    let name = tables.devices[device]?.name
    tables.calls.update(user, in: id) { $0.setActor(device, name) }
    tables.tellMember(user, in: id, by: user, text: text, &step) { .memberDeclined($0) }
    callee.tellStopped(ring, .rejectedElsewhere, by: user, except: device, tables, &step)
    callee.cancelPush(ring, .rejectedElsewhere, tables, &step)
    tables.keepRecord(of: user, in: id, .declined, nil, ring, &step)
    tables.hook(.callDeclined, id, user: user, reason: reason ?? .rejected, &step)
    if endsCall { CallEnd(id, .rejected, by: user).commit(&tables, &step) }
  }

  private var endsCall: Bool {
    membership.call.policies.reject == .anyEnds && membership.member.terms.isOriginal && !membership.call.isAnswered
  }
}

// MARK: - Cancel

/// `call.cancel` of a call that is not over.
private struct Cancellation: Plan {
  private let membership: Membership
  private let push: RawJSON?

  init(_ params: CallCancelParams, from device: DeviceID, _ tables: Tables, at now: Now) throws(ErrorObject) {
    let membership = try tables.membership(params.callId, device, at: now)
    guard membership.user == membership.call.caller else {
      throw ErrorObject(.forbidden, "Only the caller cancels a call.")
    }
    guard !membership.call.isAnswered else {
      throw ErrorObject(.invalidState, "The call has been answered; hang up instead.") {
        $0.reason = "answered"
        $0.by = membership.call.answerer
      }
    }
    (self.membership, push) = (membership, params.push)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    step.setPayload(push, for: membership.id)
    if membership.hasToPickUp {
      // A server has called them, and they do not want it: they have missed nothing.
      Decline(membership: membership, reason: nil, text: nil).commit(&tables, &step)
    } else {
      CallEnd(membership.id, .cancelled, by: membership.user).commit(&tables, &step)
    }
    tables.replyWithCall(membership.id, &step)
  }
}

/// `call.cancelInvite`.
private struct Withdrawal: Plan {
  private let membership: Membership
  private let ringing: [CallMember]

  init(_ params: CallCancelInviteParams, from device: DeviceID, _ tables: Tables, at now: Now) throws(ErrorObject) {
    let membership = try tables.joinedMembership(params.callId, device, at: now)
    let ringing = params.users.unique().compactMap { membership.call[$0] }.filter(\.isRinging)
    for member in ringing where membership.user != membership.call.caller && member.ring?.terms.from != membership.user
    {
      throw ErrorObject(.forbidden, "\(member.user) was invited by somebody else.")
    }
    (self.membership, self.ringing) = (membership, ringing)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    for member in ringing { Callee(member.user, in: membership.id).withdraw(by: membership.user, &tables, &step) }
    step.reply(.done)
  }
}

// MARK: - Without an answer

extension Callee {
  /// Takes the invitation back.
  func withdraw(by: String?, _ tables: inout Tables, _ step: inout Step) {
    let ring = tables.calls.stopRing(user, in: id, .cancelled, .cancelled)
    tables.tellMember(user, in: id, by: by, &step) { .memberRemoved($0) }
    tellStopped(ring, .cancelled, by: by, tables, &step)
    cancelPush(ring, .cancelled, tables, &step)
    miss(.cancelled, ring, &tables, &step)
  }

  /// Nobody answered in time.
  func ringExpired(_ tables: inout Tables, _ step: inout Step) {
    guard ring(tables) != nil else { return }
    stopUnanswered(.noAnswer, &tables, &step)
  }

  /// A ring dies with the process; the call does not, so that the user may still join. Told as the process stops, or when
  /// the next one finds a ring that nobody had time to stop.
  func stopWithProcess(_ tables: inout Tables, _ step: inout Step) { stopUnanswered(.stopped, &tables, &step) }

  private func stopUnanswered(_ reason: Reason, _ tables: inout Tables, _ step: inout Step) {
    let ring = tables.calls.stopRing(user, in: id, .noAnswer, reason)
    tables.tellMember(user, in: id, &step) { .memberNoAnswer($0) }
    tellStopped(ring, reason, tables, &step)
    cancelPush(ring, reason, tables, &step)
    miss(.noAnswer, ring, &tables, &step)
  }
}

extension [String] {
  /// The first of each, in order.
  func unique(except: String? = nil) -> [String] {
    var seen = Set([except].compactMap(\.self))
    return filter { seen.insert($0).inserted }
  }
}
