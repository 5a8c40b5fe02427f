// call.mediaChange: audio to video and back, one transaction at a time. Two must agree; in a group one decides.

import Basics
import RoostProtocol

extension Switchboard {
  /// Asks for another class of media, or answers or withdraws such a request.
  /// - Throws: 3001, 3002, 3006; 3015 while one waits; 3013 when too many are in it for video; 3003 with nothing to answer.
  public mutating func mediaChange(_ params: MediaChangeParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    let callId = try tables.callMeant(params.callId, by: device)
    let membership = try tables.joinedMembership(callId, device, at: now)
    return serve(try MediaChange(params, membership, tables.rules), from: device, at: now)
  }
}

/// `call.mediaChange`.
private struct MediaChange: Plan {
  private enum Action {
    /// The call carries this already.
    case keep
    case ask(MediaClass)
    case finish(MediaChangeResult)
  }

  private let membership: Membership
  private let action: Action

  init(_ params: MediaChangeParams, _ membership: Membership, _ rules: CallRules) throws(ErrorObject) {
    self.membership = membership
    action =
      switch params.action {
      case .request: try Self.request(params.media, membership.call, rules)
      case .accept: try Self.answer(.accepted, membership, rules)
      case .reject: try Self.answer(.rejected, membership, rules)
      case .cancel: try Self.cancel(membership)
      }
  }

  private static func request(
    _ media: MediaClass?, _ call: LiveCall, _ rules: CallRules
  ) throws(ErrorObject) -> Action {
    guard let media else { throw .parameter("media", expected: "audio or video") }
    guard call.mediaRequest == nil else { throw ErrorObject(.mediaChangePending) }
    guard call.state == .active else { throw ErrorObject(.invalidState, "The call is not active yet.") }
    guard media != call.media else { return .keep }
    try call.checkSeats(rules, more: 0, media: media)
    return .ask(media)
  }

  private static func answer(
    _ result: MediaChangeResult, _ membership: Membership, _ rules: CallRules
  ) throws(ErrorObject) -> Action {
    guard let pending = membership.call.mediaRequest, pending.by != membership.user else {
      throw ErrorObject(.invalidState, "Nobody else asks for a change.")
    }
    if result == .accepted { try membership.call.checkSeats(rules, more: 0, media: pending.media) }
    return .finish(result)
  }

  private static func cancel(_ membership: Membership) throws(ErrorObject) -> Action {
    guard membership.call.mediaRequest?.by == membership.user else {
      throw ErrorObject(.invalidState, "You have not asked for a change.")
    }
    return .finish(.cancelled)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    switch action {
    case .keep: break
    case .ask(let media): ask(media, &tables, &step)
    case .finish(let result): tables.finishMedia(membership.id, result, &step)
    }
    step.reply(.done)
  }

  private func ask(_ media: MediaClass, _ tables: inout Tables, _ step: inout Step) {
    tables.calls.update(membership.id) { $0.mediaRequest = MediaRequest(by: membership.user, media: media) }
    if membership.call.isGroup { return tables.finishMedia(membership.id, .accepted, &step) }
    tables.calls.set(.mediaChange(membership.id), at: step.now.instant + tables.rules.mediaChangeTimeout)
    let rev = tables.calls.bump(membership.id, &step)
    let change = CallMediaChange(callId: membership.id.text, rev: rev, by: membership.user, media: media)
    step.tell(tables.audience(membership.call), .callMediaChangeRequested(change))
  }
}

extension Tables {
  /// Ends the transaction, whatever came of it: also where whoever asked, or the call as it was, is no longer there.
  mutating func finishMedia(_ id: CallID, _ result: MediaChangeResult, _ step: inout Step) {
    guard let pending = calls[id]?.mediaRequest else { return }
    calls.update(id) { $0.mediaRequest = nil }
    calls.cancel(.mediaChange(id))
    if result == .accepted {
      calls.update(id) { $0.carry(pending.media) }
      step.emit(.setMedia(id, pending.media))
    }
    let rev = calls.bump(id, &step)
    guard let call = calls[id] else { return }
    let change = CallMediaChange(callId: id.text, rev: rev, by: pending.by, media: pending.media, result: result)
    step.tell(audience(call), .callMediaChanged(change))
  }
}
