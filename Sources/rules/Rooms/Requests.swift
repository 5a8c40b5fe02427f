// Requests about rooms: one line a case, as rules live with what they are about.

import Basics
import Members
import RoostProtocol

extension Rooms {
  /// Serves a request, and answers it or says why not.
  mutating func serve(_ asked: MemberRequest, _ step: inout Step) {
    do throws(ErrorObject) {
      if let reply = try perform(asked, &step) { step.answer(asked.key, .success(reply)) }
    } catch {
      step.refuse(asked.request, asked.key, error)
    }
  }

  /// The result; nil where the reply comes later, or has gone out already.
  private mutating func perform(_ asked: MemberRequest, _ step: inout Step) throws(ErrorObject) -> Reply? {
    let key = asked.key
    switch asked.request {
    case .room(.join(let params)): return try joinLogged(params, asked, &step)
    case .room(.leave(let params)): return try leave(params, key, &step)
    case .room(.list(let params)): return .rooms(list(params, for: asked.member))
    case .room(.info(let params)): return .roomInfo(try info(params, for: asked.member))
    case .room(.moderate(let params)):
      return try Moderating.perform(params, key, isInCall: asked.isInCall, &self, &step)
    case .room(.raiseHand(let params)): return try Moderating.raiseHand(params, key.session, &self, &step)
    case .chat(.send(let params)): return try sendChat(params, key, &step)
    case .chat(.history(let params)): return .messages(try chatHistory(params, key.session))
    case .message(.send(let params)): return try seating.messages.send(params, key.session, table, &step)
    case .message(.request(let params)):
      try seating.messages.ask(params, key, table, &step)
      return nil
    case .message(.answer(let params)): return try seating.messages.answer(params, key.session, table, &step)
    case .peerConnection(.offer(let params)) where params.pc == .subscribe:
      return try Subscribing.answer(params, key, seating, &step)
    case .peerConnection(.offer(let params)):
      return try seating.publishing.negotiate(params, key, asked.member?.given?.published, seating, &step)
    case .peerConnection(.answer(let params)): return try seating.subscribing.negotiate(params, key, seating, &step)
    case .peerConnection(.restart): return try subscribing.restart(key.session, seating, &step)
    case .track(let request): return try perform(request, key.session, &step)
    case .subscription(let request): return try seating.subscribing.perform(request, key, &seating.media, table, &step)
    case .view(let request): return try Viewing.perform(request, key.session, &seating.media, table, &step)
    case .session, .userQuery, .block, .call:
      assertionFailure("not about rooms")
      return nil
    }
  }

  private mutating func perform(
    _ request: TrackRequest, _ session: SessionID, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let reply = try publishing.perform(request, session, &self, &step)
    // The tracks of a connection that was closed are over: nothing of it is missed any more.
    if case .unpublish = request, let seat = table.currentSeat(of: session), seat.failures[.publish] != nil,
      !seat.misses(.publish, media), seating.mediaFound(.publish, of: seat.id, &step)
    {
      step.send(.mediaLost(session, false))
    }
    return reply
  }
}
