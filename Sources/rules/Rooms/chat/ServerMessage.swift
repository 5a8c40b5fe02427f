// What an application writes in a room's chat: `from` is empty, as no user's name is.

import Members
import RoostProtocol

/// A message of the server's own. A chat that moderators have closed is open to it, and nobody waits for the disk.
struct ServerMessage {
  let message: Message
  private let number: UInt64

  /// - Throws: 1010 for one that has more than `most` bytes.
  init(
    _ text: String, as name: String, in room: String, to: [String]?, most: Int, _ step: inout Step
  ) throws(ErrorObject) {
    guard text.utf8.count <= most else { throw .tooLarge("text", limit: most, count: text.utf8.count) }
    number = step.makeMessageNumber()
    message = Message(
      msgId: ChatLog.name(number), room: room, ts: step.now.wallMilliseconds, from: "", displayName: name,
      to: to.flatMap { $0.isEmpty ? nil : $0 }, text: text)
    step.count(.chatMessage)
  }

  /// Takes it into the room's log, and has it kept where that is kept.
  func enter(_ log: inout ChatLog, delivered: Int, _ step: inout Step) -> ChatSendResult {
    let forgotten = log.append(message, number: number)
    if log.keepsMessages {
      let stored = StoredMessage(number: number, message: message, clientMsgId: nil, delivered: delivered)
      step.keep([.message(stored, forgetting: forgotten)])
    }
    return ChatSendResult(msgId: message.msgId, ts: message.ts, delivered: delivered, stored: false)
  }
}
