// A call that an application wants between users: its caller is rung first, and everybody else once the caller has picked up. Then it goes on
// as if the caller had started it on the device that they have answered on.
//
//   arrange ─▶ the caller rings ─▶ accept ─▶ PickUp: the caller is in it, the others ring ─▶ as after call.start
//                    └─▶ reject, no answer, ended from outside ─▶ over, and nobody else has heard of it

import Basics
import RoostProtocol

extension Switchboard {
  /// Calls users for one of them: `caller`, or else the first of `to`.
  /// - Returns: what follows, and the call as it rings.
  /// - Throws: −32602, 5001, 3012, 3014; 3011 where the caller is in a call, is rung by too many, or is called by who is to be called; 3003 where none of
  ///   their devices can be reached; 1006, 5002.
  public mutating func arrange(
    _ params: CallStartParams, of caller: String?, as id: CallID, at now: Now
  ) throws(ErrorObject) -> (effects: [CallEffect], call: Call) {
    let plan = try ArrangedCall(params, of: caller, as: id, tables, at: now)
    let effects = move(now) { tables, step in plan.commit(&tables, &step) }
    guard let call = tables.calls[id] else { throw ErrorObject(.internalError) }
    return (effects, tables.calls.wire(call, at: now))
  }
}

/// A call that its caller has yet to pick up.
private struct ArrangedCall: Plan {
  private let id: CallID
  private let caller: String
  private let arrangement: Arrangement
  private let policies: CallPolicies

  init(
    _ params: CallStartParams, of caller: String?, as id: CallID, _ tables: Tables, at now: Now
  ) throws(ErrorObject) {
    guard let caller = caller ?? params.to.first else { throw ErrorObject(.cannotCallSelf) }
    let callees = try params.callees(of: caller)
    policies = try CallPolicies(params)
    guard !tables.isDraining else { throw ErrorObject(.draining) }
    let limit = tables.rules.seats(params.media)
    guard callees.count < limit else { throw .limit(.tooManyInvitees, limit: limit, count: callees.count + 1) }
    try Self.check(caller, calling: callees, tables)
    let tooOften = try tables.rungTooOften(callees, by: caller, at: now)
    guard tables.calls.count < tables.rules.maxCalls else { throw .full(of: "calls", limit: tables.rules.maxCalls) }
    arrangement = Arrangement(params: params, callees: callees, tooOften: tooOften)
    (self.id, self.caller) = (id, caller)
  }

  /// Whether the caller can be rung. Nobody is asked whom they have blocked: it is they who are to call.
  private static func check(_ caller: String, calling callees: [String], _ tables: Tables) throws(ErrorObject) {
    let own = tables.legs[caller] ?? tables.calls.met(by: caller, calling: callees)?.id
    // Or a server has called them to each other the other way round.
    let crossing = callees.count == 1 ? callees.first.flatMap { tables.calls.met(by: $0, calling: [caller])?.id } : nil
    if let other = own ?? crossing {
      throw ErrorObject(.selfBusy, "The caller is in a call, or is called by who is to be called.") {
        $0.reason = other.text
      }
    }
    switch tables.reaches([caller], from: caller, busy: .reject, except: []).first?.reach {
    case .busy: throw ErrorObject(.selfBusy, "Too many calls ring the caller.")
    case .unreachable, nil:
      throw ErrorObject(.invalidState, "No device of the caller is connected.") { $0.reason = "unreachable" }
    case .ringing, .waiting, .tooOften: break
    }
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let params = arrangement.params
    tables.count(rings: arrangement.callees, by: caller, at: step.now)
    let origin = CallOrigin(
      id: id, number: tables.calls.makeNumber(), caller: caller, extra: params.extra, clientCallId: nil,
      createdAt: step.now.wallMilliseconds)
    var call = LiveCall(
      origin, kind: params.kind, media: params.media, policies: policies, state: .ringing, arrangement)
    call.put(CallMember(callee: caller, of: caller, tables))
    tables.calls.add(call)
    step.touch(id)
    // It shows whom it is about, as if they called.
    let request = RingRequest(params, from: arrangement.callees.first ?? caller, tables.rules)
    let rings = Rings(id, [(caller, .ringing)])
    rings.begin(request, &tables.calls, at: step.now)
    step.count(.started(call.kind))
    tables.hook(.callStarted, id, user: caller, &step)
    rings.deliver(&tables, &step)
  }
}

/// The caller of an arranged call answers: they are in it, and everybody else rings.
struct PickUp: Plan {
  let answer: Answer
  let arrangement: Arrangement

  private var id: CallID { answer.membership.id }
  private var caller: String { answer.membership.user }
  private var device: DeviceID { answer.membership.device }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let rings = enter(&tables, &step)
    // What the caller says to their own phones is not for those who are called now: the application has said that.
    step.setPayload(nil, for: id)
    guard let call = tables.calls[id] else { return }
    let shown = tables.calls.wireAsItStays(call, at: step.now)
    step.emit(.seat(device, id, call.media))
    step.reply(
      answer.isGlare
        ? .started(shown, busy: rings.busy, unreachable: rings.unreachable, glare: true) : .joined(shown))
    step.tell(tables.devices.hearing(of: caller).filter { $0 != device }, .callCreated(CallEvent(call: shown)))
    step.count(.joined)
    tables.hook(.callAccepted, id, user: caller, &step)
    rings.deliver(&tables, &step)
  }

  /// The caller is in it as after `call.start`: their media is waited for once somebody has answered.
  private func enter(_ tables: inout Tables, _ step: inout Step) -> Rings {
    let leg = Leg(caller, in: id)
    leg.leaveOtherCall(&tables, &step)
    let ring = tables.calls.stopRing(caller, in: id, .joined, nil)
    leg.begin(on: device, answer.media, &tables, &step)
    tables.calls.cancel(.connect(id, caller))
    tables.calls.update(id) { $0.pickUp(at: step.now) }
    let reach = tables.reaches(
      arrangement.callees, from: caller, busy: answer.membership.call.policies.busy, except: arrangement.tooOften)
    let rings = Rings(id, reach)
    for user in arrangement.callees { tables.calls.enrol(CallMember(callee: user, of: caller, tables), in: id) }
    rings.begin(RingRequest(arrangement.params, from: caller, tables.rules), &tables.calls, at: step.now)
    _ = tables.calls.bump(id, &step)
    let callee = Callee(caller, in: id)
    callee.tellStopped(ring, .answeredElsewhere, by: caller, except: device, tables, &step)
    callee.cancelPush(ring, .answeredElsewhere, tables, &step)
    return rings
  }
}
