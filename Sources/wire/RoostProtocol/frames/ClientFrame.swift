// Frames from client to server (JSON-RPC 2.0, section 4): one request each. Batches and notifications are refused.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A text frame that a client sent.
public enum ClientFrame: Hashable, Sendable {
  /// A request whose method and params are as they must be.
  case request(RequestID, Request)
  /// What gets an error: `id` is nil where none could be read, and goes out as `null`.
  case invalid(RequestID?, Method?, ErrorObject)

  /// Decodes and validates a frame; never fails otherwise than with `.invalid`.
  public static func decode(_ bytes: [UInt8]) -> ClientFrame {
    guard bytes.count <= ProtocolLimits.messageBytes else {
      return .invalid(nil, nil, .tooLarge("frame", limit: ProtocolLimits.messageBytes, count: bytes.count))
    }
    guard MessageShape(bytes).isAcceptable else {
      return .invalid(nil, nil, ErrorObject(.tooLarge, "Too deeply nested, too many values, or too long a key."))
    }
    do {
      return try JSONDecoder().decodeVerbatim(Incoming.self, from: bytes, hasData: true).frame
    } catch {
      return .invalid(nil, nil, ErrorObject(isSyntax(error) ? .parseError : .invalidRequest))
    }
  }

  /// The text frame for a request.
  public static func encode(_ request: Request, id: RequestID) throws -> [UInt8] {
    var json = JSONWriter()
    json.begin(id)
    json.raw(#","method":""#)
    json.plain(request.method.rawValue)
    json.raw("\"")
    if let params = request.params {
      json.raw(#","params":"#)
      try json.value(params)
    }
    json.raw("}")
    return json.bytes
  }

  private static func isSyntax(_ error: any Error) -> Bool {
    guard case DecodingError.dataCorrupted(let context) = error else { return false }
    return context.codingPath.isEmpty
  }
}

/// What decodes the params of a request.
public struct Params {
  let decoder: (any Decoder)?

  /// Decodes one type of params. Absent ones, and null, count as an object without fields, which will do where all are optional.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    if let decoder { return try T(from: decoder) }
    guard let empty = try? JSONDecoder().decode(T.self, from: Data("{}".utf8)) else {
      throw ErrorObject.parameter("params", expected: "an object")
    }
    return empty
  }
}

private enum RequestKey: String, CodingKey { case jsonrpc, id, method, params }

/// A request being decoded: what is wrong with it is kept beside the id, so that the error finds its way back.
private struct Incoming: Decodable {
  var frame: ClientFrame

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: RequestKey.self)
    let id = try? container.decode(RequestID.self, forKey: .id)
    guard try container.decodeIfPresent(String.self, forKey: .jsonrpc) ?? "2.0" == "2.0" else {
      frame = .invalid(id, nil, ErrorObject(.invalidRequest, "jsonrpc: expected 2.0."))
      return
    }
    guard let id else {
      frame = .invalid(nil, nil, ErrorObject(.invalidRequest, "id: expected a whole number or a short string."))
      return
    }
    guard let name = try? container.decode(String.self, forKey: .method) else {
      frame = .invalid(id, nil, ErrorObject(.invalidRequest, "method: expected a string."))
      return
    }
    guard let method = Method(rawValue: name) else {
      frame = .invalid(id, nil, ErrorObject(.methodNotFound))
      return
    }
    do {
      let isAbsent = try !container.contains(.params) || container.decodeNil(forKey: .params)
      let decoder = isAbsent ? nil : try container.superDecoder(forKey: .params)
      let request = try Self.request(method, decoder)
      try request.validate()
      frame = .request(id, request)
    } catch {
      frame = .invalid(id, method, ErrorObject(decoding: error))
    }
  }

  /// The request; of what the decoder refuses without saying where it is, the place is looked for.
  private static func request(_ method: Method, _ decoder: (any Decoder)?) throws -> Request {
    do {
      return try Request(method: method, params: Params(decoder: decoder))
    } catch let error where !(error is DecodingError || error is ErrorObject) {
      let finder = decoder.map { FieldDecoder($0, at: []) }
      _ = try Request(method: method, params: Params(decoder: finder))
      throw error
    }
  }
}
