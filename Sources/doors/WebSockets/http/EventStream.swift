// Server-sent events as routes see them (HTML Living Standard, section 9.2): an answer that goes on until one of the two ends it.
import Basics

/// One event of a stream.
public struct ServerSentEvent: Sendable, Equatable {
  /// What a reader listens for; nil for `message`.
  public var name: String?
  /// The text, of as many lines as it has.
  public var data: String
  /// What a reader names in `Last-Event-ID` when it comes back; nil leaves the last one as it is.
  public var id: String?

  /// An event.
  public init(_ name: String? = nil, data: String, id: String? = nil) {
    (self.name, self.data, self.id) = (name, data, id)
  }

  /// As it stands on the wire. A line break ends a field, so in name and identifier it is left out, and data are cut there.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    if let name { Self.append("event", name.utf8.filter { $0 != 10 && $0 != 13 }, to: &bytes) }
    // A NUL would have the reader pass the identifier over.
    if let id { Self.append("id", id.utf8.filter { $0 != 10 && $0 != 13 && $0 != 0 }, to: &bytes) }
    for line in Self.lines(data) { Self.append("data", line, to: &bytes) }
    bytes.append(10)
    return bytes
  }

  /// What keeps a connection alive and is no event.
  static let comment = Array(":\n\n".utf8)

  private static func append(_ field: String, _ value: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    bytes += field.utf8
    bytes += [UInt8(ascii: ":"), UInt8(ascii: " ")]
    bytes += value
    bytes.append(10)
  }

  /// CR LF, LF and CR each end a line.
  private static func lines(_ text: String) -> [[UInt8]] {
    var lines: [[UInt8]] = [[]]
    var wasReturn = false
    for byte in text.utf8 {
      switch byte {
      case 10 where wasReturn: break
      case 10, 13: lines.append([])
      default: lines[lines.count - 1].append(byte)
      }
      wasReturn = byte == 13
    }
    return lines
  }
}

/// Sends events to one reader, from any thread. A value; copies are the same stream.
public struct EventStream: Sendable {
  let id: HTTPRequestID
  let mailbox: SocketMailbox

  /// Queues an event. What is for a stream that has ended vanishes. Who reads too slowly is cut off (`maximumStreamBytes`).
  /// - Returns: false when too many commands wait for the service thread; the event is lost then.
  @discardableResult
  public func send(_ event: ServerSentEvent) -> Bool { mailbox.post(.event(id, event)) }

  /// Whether both are the same stream.
  public func isSame(as other: EventStream) -> Bool { id == other.id }

  /// Sends what is queued, and ends the answer.
  public func end() { mailbox.post(.endStream(id)) }
}

/// Who is told of a stream. Called on the service thread, so it must be quick.
public final class EventStreamOwner: Sendable, Equatable {
  let opened: @Sendable (EventStream) -> Void
  let ended: @Sendable () -> Void

  /// `opened` is called when events can be sent, `ended` once after that, for whatever reason there is no reader any more.
  public init(opened: @escaping @Sendable (EventStream) -> Void, ended: @escaping @Sendable () -> Void) {
    (self.opened, self.ended) = (opened, ended)
  }

  /// Whether it is the same one.
  public static func == (left: EventStreamOwner, right: EventStreamOwner) -> Bool { left === right }
}

extension HTTPResponse {
  /// An answer that goes on: 200 and events. It is the last on its connection; there are at most `maximumEventStreams` at once, and a
  /// further one is refused with 503.
  public static func events(headers: [Header] = [], _ owner: EventStreamOwner) -> HTTPResponse {
    // `x-accel-buffering` has nginx pass events on as they come.
    let own = [Header("cache-control", "no-store"), Header("x-accel-buffering", "no")]
    var response = HTTPResponse(contentType: "text/event-stream", headers: own + headers, body: [])
    response.stream = owner
    return response
  }
}
