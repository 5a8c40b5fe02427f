// call.mediaChange: audio to video and back, one transaction at a time. Two must agree; in a group one decides.

import Basics
import RoostProtocol

extension Switchboard {
  /// Asks for another class of media, or answers or withdraws such a wish.
  /// - Throws: 3001, 3002, 3006; 3015 while one waits; 3013 when too many are in it for video; 3003 with nothing to answer.
  public mutating func mediaChange(_ params: MediaChangeParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      let user = try board.user(of: device)
      guard let callId = params.callId ?? board.legs[user]?.text else { throw ErrorObject(.notInCall) }
      let place = try board.joinedPlace(callId, device)
      switch params.action {
      case .request: try board.requestMedia(params.media, place)
      case .accept, .reject: try board.answerMedia(params.action == .accept, place)
      case .cancel: try board.cancelMedia(place)
      }
      board.reply(.done)
    }
  }

  private mutating func requestMedia(_ media: MediaClass?, _ place: Place) throws(ErrorObject) {
    guard let media else { throw .parameter("media", expected: "audio or video") }
    guard place.call.mediaRequest == nil else { throw ErrorObject(.mediaChangePending) }
    guard place.call.state == .active else { throw ErrorObject(.invalidState, "The call is not active yet.") }
    guard media != place.call.media else { return }
    try checkSeats(place.call, more: 0, media: media)
    calls[place.id]?.mediaRequest = MediaRequest(by: place.user, media: media)
    if place.call.isGroup { return finishMedia(place.id, .accepted) }
    deadlines.set(.mediaChange(place.id), at: now.instant + rules.mediaChangeTimeout)
    let change = CallMediaChange(callId: place.id.text, rev: bump(place.id), by: place.user, media: media)
    tell(audience(place.call), .callMediaChangeRequested(change))
  }

  private mutating func answerMedia(_ isAccepted: Bool, _ place: Place) throws(ErrorObject) {
    guard let pending = place.call.mediaRequest, pending.by != place.user else {
      throw ErrorObject(.invalidState, "Nobody else asks for a change.")
    }
    if isAccepted { try checkSeats(place.call, more: 0, media: pending.media) }
    finishMedia(place.id, isAccepted ? .accepted : .rejected)
  }

  private mutating func cancelMedia(_ place: Place) throws(ErrorObject) {
    guard place.call.mediaRequest?.by == place.user else {
      throw ErrorObject(.invalidState, "You have not asked for a change.")
    }
    finishMedia(place.id, .cancelled)
  }

  /// Ends the transaction, whatever came of it.
  mutating func finishMedia(_ id: CallID, _ result: MediaChangeResult) {
    guard let pending = calls[id]?.mediaRequest else { return }
    calls[id]?.mediaRequest = nil
    deadlines.cancel(.mediaChange(id))
    if result == .accepted { carry(pending.media, id) }
    let rev = bump(id)
    guard let call = calls[id] else { return }
    let change = CallMediaChange(callId: id.text, rev: rev, by: pending.by, media: pending.media, result: result)
    tell(audience(call), .callMediaChanged(change))
  }

  private mutating func carry(_ media: MediaClass, _ id: CallID) {
    calls[id]?.media = media
    for member in calls[id]?.joined ?? [] { calls[id]?[member.user]?.media = media }
    effects.append(.setMedia(id, media))
  }

  /// Whoever asked, or the call as it was, is no longer there.
  mutating func dropMediaChange(_ id: CallID) { finishMedia(id, .cancelled) }
}
