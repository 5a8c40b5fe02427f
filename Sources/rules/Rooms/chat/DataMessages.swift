// Custom messages: what applications tell each other in a room or call. They are handed on in the order of all other events, and nobody keeps
// them: no history, no record, no webhook.

import Basics
import Members
import RoostProtocol

/// Sends custom messages, and holds each room to what it may be told. (The budget of users is in `Budgets`.)
struct DataMessages: Sendable {
  /// What rooms may still be told.
  var paces: RoomPaces
  var questions: OpenQuestions

  init(_ rules: ConferenceRules) { (paces, questions) = (RoomPaces(rules), OpenQuestions(rules)) }

  /// Sends a message to all others in the room, or to some.
  /// - Throws: 2005 and 2006 outside the room, 3006 outside the call, 1005 for who may not write there, 1006 where the room is told too much.
  mutating func send(
    _ params: MessageSendParams, _ session: SessionID, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try Self.writer(session, params.room, params.callId, table)
    let receivers = Self.receivers(params.to, in: seat.room, except: seat.id, table)
    let event = Self.event(params, from: (seat.user, seat.displayName), in: seat.room, table)
    let user = ClaimedUser(seat.member.identity)
    try paces.take(event.weight, times: receivers.count, of: user, in: seat.room, at: step.now.instant)
    return .messageSent(Self.deliver(event, to: receivers, &step))
  }

  /// Sends what an application says by the server's API: `from` is empty, as no user's name is. It has no budget, takes nothing from its
  /// room's, and a chat that moderators have closed is open to it.
  /// - Throws: 2001, 3001.
  static func send(
    _ params: MessageSendParams, as name: String?, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> MessageSendResult {
    let room: RoomKey
    if let call = params.callId {
      guard let key = table[named: CallRoom.name(call)] else { throw ErrorObject(.callNotFound) }
      room = key
    } else {
      room = try table.listedRoom(params.room ?? "")
    }
    let receivers = receivers(params.to, in: room, except: nil, table)
    return deliver(event(params, from: ("", name), in: room, table), to: receivers, &step)
  }

  /// The seat in the room or call of somebody who may write there.
  /// - Throws: 2005 and 2006 outside the room, 3006 outside the call, 1005 for who may not.
  static func writer(
    _ session: SessionID, _ room: String?, _ callId: String?, _ table: RoomTable
  ) throws(ErrorObject) -> Seat {
    let seat = try seat(of: session, room, callId, table)
    try Access.checkChat(seat, table)
    try Access.checkChatOpen(seat, table)
    return seat
  }

  private static func seat(
    of session: SessionID, _ room: String?, _ callId: String?, _ table: RoomTable
  ) throws(ErrorObject) -> Seat {
    guard let callId else { return try table.seat(of: session, inRoom: room ?? "") }
    guard let seat = table.currentSeat(of: session), table.name(of: seat.room) == CallRoom.name(callId) else {
      throw ErrorObject(.notInCall)
    }
    return seat
  }

  /// The name of a seat's room, or its call.
  static func place(of seat: Seat, _ table: RoomTable) -> (room: String?, callId: String?) {
    place(table.name(of: seat.room))
  }

  private static func place(_ room: String) -> (room: String?, callId: String?) {
    CallRoom.isName(room) ? (nil, CallRoom.callId(room)) : (room, nil)
  }

  private static func event(
    _ params: MessageSendParams, from: (user: String, displayName: String?), in room: RoomKey, _ table: RoomTable
  ) -> MessageReceived {
    let place = place(table.name(of: room))
    return MessageReceived(
      room: place.room, callId: place.callId, from: from.user, displayName: from.displayName, topic: params.topic,
      data: params.data)
  }

  private static func receivers(
    _ to: [String]?, in room: RoomKey, except sender: SeatID?, _ table: RoomTable
  ) -> [Seat] {
    let to = to.flatMap { $0.isEmpty ? nil : Set($0) }
    return table.members(of: room).filter { $0.id != sender && to?.contains($0.user) ?? true }
  }

  private static func deliver(
    _ event: MessageReceived, to receivers: [Seat], _ step: inout Step
  ) -> MessageSendResult {
    step.tell(.messageReceived(event), to: receivers.map(\.session))
    step.count(.dataMessage)
    return MessageSendResult(delivered: receivers.count(where: \.member.presence.isConnected))
  }
}

extension MessageReceived {
  /// As how many messages it counts for its room.
  fileprivate var weight: Int { MessageWeight.of([room ?? callId, from, displayName, topic], data) }
}
