// Custom messages: what applications tell each other in a room or call. They are handed on in the order of all other events, and nobody keeps
// them: no history, no record, no webhook.

import Basics
import Members
import RoostProtocol

/// Sends custom messages, and holds each user to a budget for them alone: with all their sessions together.
struct DataMessages: Sendable {
  /// Bytes that count as one message. Lower it and what is told stays below what listeners' queues hold, in a room where many write at once.
  static let bytesEach = 2048

  private var users: KeyedBuckets<ClaimedUser>
  var questions = OpenQuestions()

  init(_ rules: ConferenceRules) {
    users = KeyedBuckets(burst: rules.dataBurst, perSecond: rules.dataPerSecond, most: 4 * rules.maxSessions)
  }

  /// Sends a message to all others in the room, or to some.
  /// - Throws: 2005 and 2006 outside the room, 3006 outside the call, 1005 for who may not write there, 1006 for one too many.
  mutating func send(
    _ params: MessageSendParams, _ session: SessionID, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try Self.writer(session, params.room, params.callId, table)
    try take((params.to ?? []).reduce(params.data.encodedSize) { $0 + $1.utf8.count }, of: seat, &step)
    let from = (user: seat.user, displayName: seat.displayName)
    return .messageSent(Self.deliver(params, from: from, in: seat.room, except: seat.id, table, &step))
  }

  /// Sends what an application says by the server's API: `from` is empty, as no user's name is. It has no budget, and a chat that moderators
  /// have closed is open to it.
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
    return deliver(params, from: ("", name), in: room, except: nil, table, &step)
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

  /// Takes so many bytes from the budget of a seat's user: one message for each 2 KiB.
  /// - Throws: 1006 with the time to wait.
  mutating func take(_ bytes: Int, of seat: Seat, _ step: inout Step) throws(ErrorObject) {
    let count = max(1, (bytes + Self.bytesEach - 1) / Self.bytesEach)
    if let wait = users.take(ClaimedUser(seat.member.identity), count, at: step.now.instant) {
      throw .tooOften("sending messages", wait)
    }
  }

  /// The name of a seat's room, or its call.
  static func place(of seat: Seat, _ table: RoomTable) -> (room: String?, callId: String?) {
    place(table.name(of: seat.room))
  }

  private static func place(_ room: String) -> (room: String?, callId: String?) {
    CallRoom.isName(room) ? (nil, CallRoom.callId(room)) : (room, nil)
  }

  private static func deliver(
    _ params: MessageSendParams, from: (user: String, displayName: String?), in room: RoomKey, except sender: SeatID?,
    _ table: RoomTable, _ step: inout Step
  ) -> MessageSendResult {
    let place = place(table.name(of: room))
    let event = MessageReceived(
      room: place.room, callId: place.callId, from: from.user, displayName: from.displayName, topic: params.topic,
      data: params.data)
    let to = params.to.flatMap { $0.isEmpty ? nil : Set($0) }
    let receivers = table.members(of: room).filter { $0.id != sender && to?.contains($0.user) ?? true }
    step.tell(.messageReceived(event), to: receivers.map(\.session))
    step.count(.dataMessage)
    return MessageSendResult(delivered: receivers.count(where: \.member.presence.isConnected))
  }
}
