// JSON that other front doors take: any value, within the bounds of a frame of the room protocol.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension JSONValue {
  /// Reads a JSON text (RFC 8259).
  /// - Throws: 1010 where it is larger, deeper or of more values than a frame may be, −32700 where it is no JSON.
  public static func reading(_ bytes: [UInt8]) throws(ErrorObject) -> JSONValue {
    guard bytes.count <= ProtocolLimits.messageBytes else {
      throw .tooLarge("frame", limit: ProtocolLimits.messageBytes, count: bytes.count)
    }
    guard MessageShape(bytes).isAcceptable else {
      throw ErrorObject(.tooLarge, "Too deeply nested, too many values, or too long a key.")
    }
    do {
      return try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    } catch {
      throw ErrorObject(.parseError)
    }
  }
}
