// An event as it goes out to many: encoded once, with each session's number put in (docs/protocol.md, envelope).

/// The text frame of an event but for its `seq`. Whoever hears the event gets the same bytes around another number.
///
///     let text = try EventText(event, serverTime: now)
///     for receiver in receivers { send(text.frame(seq: receiver.seq), to: receiver) }
public struct EventText: Sendable {
  private let head: [UInt8]
  private let tail: [UInt8]

  /// Encodes the event's own fields; what `ServerFrame.event` gives for any number is made of this.
  public init(_ event: Event, serverTime: Int64) throws {
    var json = JSONWriter()
    Self.writeHead(of: event, to: &json)
    head = json.bytes
    json = JSONWriter()
    try Self.writeTail(of: event, serverTime, to: &json)
    tail = json.bytes
  }

  /// The frame for the session whose `seq`-th event this is.
  public func frame(seq: Int) -> [UInt8] {
    let digits = String(seq).utf8
    var frame: [UInt8] = []
    frame.reserveCapacity(head.count + digits.count + tail.count)
    frame += head
    frame += digits
    frame += tail
    return frame
  }

  /// The frame of an event that only one session gets.
  static func frame(of message: EventMessage) throws -> [UInt8] {
    var json = JSONWriter()
    writeHead(of: message.event, to: &json)
    json.number(Int64(message.seq))
    try writeTail(of: message.event, message.serverTime, to: &json)
    return json.bytes
  }

  private static func writeHead(of event: Event, to json: inout JSONWriter) {
    json.raw(#"{"jsonrpc":"2.0","method":""#)
    json.plain(event.name.rawValue)
    json.raw(#"","params":{"seq":"#)
  }

  private static func writeTail(of event: Event, _ serverTime: Int64, to json: inout JSONWriter) throws {
    json.goOn()
    json.field("serverTime", serverTime)
    try event.writeFields(to: &json)
    json.raw("}}")
  }
}
