// The ways out of the core: replies, events, log lines, counters.

import Basics
import RoostProtocol

extension ConferenceCore {
  /// Sends an event to a session: at once where it is connected, else with its resume.
  mutating func send(_ event: Event, to session: SessionID) { send(event, to: CollectionOfOne(session)) }

  /// Sends one event to several sessions.
  mutating func send(_ event: Event, to listeners: some Collection<SessionID>) {
    let serverTime = now.wallMilliseconds
    var receivers: [EventReceiver] = []
    receivers.reserveCapacity(listeners.count)
    for listener in listeners {
      guard let seq = sessions[listener]?.log.append(event, serverTime: serverTime) else { continue }
      if let connection = sessions[listener]?.connection { receivers.append(EventReceiver(connection, seq: seq)) }
    }
    if receivers.count > 1 {
      effects.append(.client(.broadcast(receivers, serverTime: serverTime, event)))
    } else if let only = receivers.first {
      effects.append(
        .client(.event(only.connection, EventMessage(seq: only.seq, serverTime: serverTime, event: event))))
    }
  }

  /// Sends an event to everybody in a room but one.
  mutating func broadcast(_ event: Event, in room: RoomKey, except seat: SeatID? = nil) {
    let others = (rooms[room]?.members ?? []).filter { $0 != seat }
    send(event, to: others.compactMap { seats[$0]?.session })
  }

  /// Remembers the outcome of a request and sends the reply where the session is connected now.
  mutating func finish(_ key: RequestKey, _ result: Result<Reply, ErrorObject>) {
    let outcome = RequestWindow.Outcome(result, seat: sessions[key.session]?.seat)
    sessions[key.session]?.requests.finish(key.id, outcome)
    if let connection = sessions[key.session]?.connection {
      effects.append(.client(.reply(connection, key.id, result)))
    }
  }

  mutating func count(_ counter: Counter) { effects.append(.operation(.count(counter))) }

  mutating func log(_ event: String, _ fields: KeyValuePairs<String, String>, level: LogEntry.Level = .info) {
    log(event, fields.map { ($0.key, $0.value) }, level: level)
  }

  mutating func log(_ event: String, _ fields: [(String, String)], level: LogEntry.Level = .info) {
    let fields = fields.map { LogEntry.Field(name: $0.0, value: $0.1) }
    effects.append(.operation(.log(LogEntry(level: level, event: event, fields: fields))))
  }
}
