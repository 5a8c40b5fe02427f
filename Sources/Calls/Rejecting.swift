// call.reject, call.cancel, call.cancelInvite and the end of a ring's time: how somebody stops ringing without an answer.

import Basics
import RoostProtocol

extension Switchboard {
  // MARK: - Reject

  /// Does not want to answer: on this device alone, or at all.
  /// - Throws: 3001, 3002, 3007; 3004, 3005 or 3003 with what has become of the ring.
  public mutating func reject(_ params: CallRejectParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.place(params.callId, device)
      guard place.member.isRinging else { return try board.rejectAgain(place) }
      if params.scope == .thisDevice {
        return board.silence(place)
      }
      board.handOn(params.push, place.id)
      board.decline(place, params.reason, params.text)
      board.replyWithCall(place.id)
    }
  }

  /// The others may still answer, and are woken where none of them rings.
  private mutating func silence(_ place: Place) {
    if let name = devices[place.device]?.name { calls[place.id]?[place.user]?.ring?.silence(name) }
    reply(.call(wire(place.call, for: place.user)))
    noteUnheard(place.user, in: place.id)
  }

  private mutating func rejectAgain(_ place: Place) throws(ErrorObject) {
    guard place.member.state == .declined, place.member.actor == place.device else {
      throw outcome(place)
    }
    reply(.call(wire(place.call, for: place.user)))
  }

  mutating func decline(_ place: Place, _ reason: Reason?, _ text: String?) {
    let (id, user) = (place.id, place.user)
    let ring = stopRing(user, in: id, .declined, reason ?? .rejected)
    calls[id]?[user]?.actor = place.device
    calls[id]?[user]?.terms.actorName = devices[place.device]?.name
    tellMember(user, in: id, by: user, text: text) { .memberDeclined($0) }
    let others = (ring?.devices ?? []).filter { $0 != place.device }.sorted()
    tellStopped(others, id, rev: calls[id]?.rev ?? 0, .rejectedElsewhere, by: user)
    cancelPush(user, in: id, ring, .rejectedElsewhere)
    keepRecord(of: user, in: id, .declined, nil, ring)
    hook(.callDeclined, id, user: user, reason: reason ?? .rejected)
    let endsAll = place.call.rejectPolicy == .anyEnds && place.member.terms.isOriginal && !place.call.isAnswered
    if endsAll { end(id, .rejected, by: user) }
  }

  /// Answers with the call as it stands after the step, ended or not.
  mutating func replyWithCall(_ id: CallID) {
    settleTouched()
    let user = actor.flatMap { devices[$0]?.user }
    if let call = calls[id].map({ wire($0, for: user) }) ?? archive.tombstone(id, at: now) { reply(.call(call)) }
  }

  // MARK: - Cancel

  /// The caller has changed his mind before anybody answered.
  /// - Throws: 3001, 3007; 1005 for anybody else; 3003 with who has answered.
  public mutating func cancel(_ params: CallCancelParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      if try board.replyIfEnded(params.callId, device) { return }
      let place = try board.place(params.callId, device)
      guard place.user == place.call.caller else { throw ErrorObject(.forbidden, "Only the caller cancels a call.") }
      guard !place.call.isAnswered else {
        throw ErrorObject(.invalidState, "The call has been answered; hang up instead.") {
          $0.reason = "answered"
          $0.by = place.call.members.first { $0.terms.answeredAt != nil }?.user
        }
      }
      board.handOn(params.push, place.id)
      board.end(place.id, .cancelled, by: place.user)
      board.replyWithCall(place.id)
    }
  }

  /// Asked of a call that is over, this has been done already.
  mutating func replyIfEnded(_ callId: String, _ device: DeviceID) throws(ErrorObject) -> Bool {
    guard calls[CallID(callId)] == nil, let call = ended(callId, of: try user(of: device)) else { return false }
    reply(.call(call))
    return true
  }

  /// Takes invitations back: those users stop ringing. Only who invited them may do that, and the caller.
  /// - Throws: 3001, 3002, 3006 for one who is not joined, 1005 for others' invitees.
  public mutating func cancelInvite(
    _ params: CallCancelInviteParams, from device: DeviceID, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.joinedPlace(params.callId, device)
      let ringing = board.unique(params.users).compactMap { place.call[$0] }.filter(\.isRinging)
      for member in ringing where place.user != place.call.caller && member.ring?.terms.from != place.user {
        throw ErrorObject(.forbidden, "\(member.user) was invited by somebody else.")
      }
      for member in ringing { board.withdraw(member.user, in: place.id, by: place.user) }
      board.reply(.done)
    }
  }

  /// Takes an invitation back.
  mutating func withdraw(_ user: String, in id: CallID, by: String?) {
    let ring = stopRing(user, in: id, .cancelled, .cancelled)
    tellMember(user, in: id, by: by) { .memberRemoved($0) }
    tellStopped(ring?.devices.sorted() ?? [], id, rev: calls[id]?.rev ?? 0, .cancelled, by: by)
    cancelPush(user, in: id, ring, .cancelled)
    miss(user, in: id, .cancelled, ring)
  }

  // MARK: - Time

  /// Nobody answered.
  mutating func ringExpired(_ user: String, in id: CallID) {
    guard calls[id]?[user]?.isRinging == true else { return }
    let ring = stopRing(user, in: id, .noAnswer, .noAnswer)
    tellMember(user, in: id) { .memberNoAnswer($0) }
    tellStopped(ring?.devices.sorted() ?? [], id, rev: calls[id]?.rev ?? 0, .noAnswer)
    cancelPush(user, in: id, ring, .noAnswer)
    miss(user, in: id, .noAnswer, ring)
  }
}
