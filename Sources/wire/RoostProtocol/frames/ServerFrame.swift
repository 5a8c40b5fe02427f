// Frames from server to client (JSON-RPC 2.0, section 5): a response to one request, or an event as a notification.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A text frame that a server sends.
public enum ServerFrame: Hashable, Sendable {
  /// A result.
  case reply(RequestID, Reply)
  /// An error; `id` is nil (`null` on the wire) where the request's could not be read.
  case failure(RequestID?, ErrorObject)
  /// An event.
  case event(EventMessage)
  /// An event that this version does not know: its name, and its number, so that nothing is missed in counting.
  case unknownEvent(name: String, seq: Int)

  /// The text frame. An unknown event has none and throws.
  public func encode() throws -> [UInt8] {
    switch self {
    case .event(let message): return try EventText.frame(of: message)
    case .reply(let id, let reply):
      var json = JSONWriter()
      json.begin(id)
      json.raw(#","result":"#)
      try reply.write(to: &json)
      json.raw("}")
      return json.bytes
    case .failure(let id, let error):
      var json = JSONWriter()
      json.begin(id)
      json.raw(#","error":"#)
      try json.value(error)
      json.raw("}")
      return json.bytes
    case .unknownEvent(let name, _): throw ErrorObject(.internalError, "\(name) cannot be encoded.")
    }
  }

  /// Decodes a frame. `pending` names the method that an id belongs to; a reply to an unknown id throws.
  /// - Throws: `ErrorObject`, as the cause is always the other end.
  public static func decode(_ bytes: [UInt8], pending: (RequestID) -> Method?) throws(ErrorObject) -> ServerFrame {
    guard MessageShape(bytes).depth <= ProtocolLimits.serverMessageDepth else {
      throw ErrorObject(.tooLarge, "Too deeply nested.")
    }
    do {
      let data = Data(try RawJSON.lift(bytes, hasPush: false))
      let head = try JSONDecoder().decode(FrameHead.self, from: data)
      if let name = head.method {
        guard let known = EventName(rawValue: name) else {
          return .unknownEvent(name: name, seq: head.params?.seq ?? 0)
        }
        let decoder = JSONDecoder()
        decoder.userInfo[.eventName] = known
        let hasData = known == .messageReceived || known == .messageRequested
        let whole = hasData ? Data(try RawJSON.lift(bytes, hasPush: false, hasData: true)) : data
        return .event(try decoder.decode(EventFrame.self, from: whole).message)
      }
      if let error = head.error { return .failure(head.id, error) }
      guard let id = head.id, let method = pending(id) else {
        throw ErrorObject(.invalidRequest, "A reply to nothing.")
      }
      let decoder = JSONDecoder()
      decoder.userInfo[.method] = method
      let whole = method == .messageRequest ? Data(try RawJSON.lift(bytes, hasPush: false, hasData: true)) : data
      return .reply(id, try decoder.decode(ReplyFrame.self, from: whole).reply)
    } catch {
      throw ErrorObject(decoding: error)
    }
  }
}

extension JSONWriter {
  /// How a frame with an id begins.
  mutating func begin(_ id: RequestID?) {
    raw(#"{"jsonrpc":"2.0","id":"#)
    switch id {
    case .number(let number): self.number(number)
    case .string(let text): string(text)
    case nil: raw("null")
    }
  }
}

extension CodingUserInfoKey {
  fileprivate static let eventName = CodingUserInfoKey.named("roost.eventName")
  fileprivate static let method = CodingUserInfoKey.named("roost.method")

  private static func named(_ name: String) -> CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: name) else { preconditionFailure("a key has a name") }
    return key
  }
}

private enum FrameKey: String, CodingKey { case jsonrpc, id, method, params, result, error }
private enum EnvelopeKey: String, CodingKey { case seq, serverTime }

private struct FrameHead: Decodable {
  struct Params: Decodable { var seq: Int? }
  var id: RequestID?
  var method: String?
  var params: Params?
  var error: ErrorObject?
}

private struct EventFrame: Decodable {
  var message: EventMessage

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: FrameKey.self)
    let params = try container.superDecoder(forKey: .params)
    let envelope = try params.container(keyedBy: EnvelopeKey.self)
    guard let name = decoder.userInfo[.eventName] as? EventName else { throw ErrorObject(.internalError) }
    message = EventMessage(
      seq: try envelope.decode(Int.self, forKey: .seq),
      serverTime: try envelope.decode(Int64.self, forKey: .serverTime),
      event: try Event(name: name, from: params))
  }
}

private struct ReplyFrame: Decodable {
  var reply: Reply

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: FrameKey.self)
    guard let method = decoder.userInfo[.method] as? Method else { throw ErrorObject(.internalError) }
    guard container.contains(.result) else { throw ErrorObject(.invalidRequest, "Neither result nor error.") }
    reply = try Reply(method: method, from: container.superDecoder(forKey: .result))
  }
}

extension Reply {
  /// Bytes of a frame that carries it, with an id of one digit; 0 for one that cannot be written. It is encoded for that: costs as much.
  public var encodedSize: Int { (try? ServerFrame.reply(.number(0), self).encode().count) ?? 0 }
}
