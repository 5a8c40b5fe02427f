// The ways out of the core: replies, events, log lines, counters.

import Basics
import RoostProtocol

extension ConferenceCore {
  /// Sends an event to a session: at once where it is connected, else with its resume.
  mutating func send(_ event: Event, to session: SessionID) {
    guard let message = sessions[session]?.log.append(event, serverTime: now.wallMilliseconds) else { return }
    if let connection = sessions[session]?.connection { effects.append(.event(connection, message)) }
  }

  /// Sends an event to everybody in a room but one.
  mutating func broadcast(_ event: Event, in room: RoomKey, except seat: SeatID? = nil) {
    for member in rooms[room]?.members ?? [] where member != seat {
      if let session = seats[member]?.session { send(event, to: session) }
    }
  }

  /// Remembers the reply to a request and sends it where the session is connected now.
  mutating func finish(_ key: RequestKey, _ result: Result<Reply, ErrorObject>) {
    sessions[key.session]?.requests.finish(key.id, result)
    if let connection = sessions[key.session]?.connection { effects.append(.reply(connection, key.id, result)) }
  }

  mutating func count(_ counter: Counter) { effects.append(.count(counter)) }

  mutating func log(_ event: String, _ fields: KeyValuePairs<String, String>, level: LogEntry.Level = .info) {
    let fields = fields.map { LogEntry.Field(name: $0.key, value: $0.value) }
    effects.append(.log(LogEntry(level: level, event: event, fields: fields)))
  }
}
