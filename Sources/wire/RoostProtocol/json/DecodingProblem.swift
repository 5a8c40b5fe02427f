// From a decoder's complaint to an error object that says where and what was expected.

extension ErrorObject {
  /// −32602 with the path of the field at fault (without the leading `params`) and what belongs there.
  init(decoding error: any Error) {
    guard let error = error as? DecodingError else {
      // The decoder throws a type of its own, without a path, for a number that fits nothing; `FieldDecoder` has looked for it.
      self = (error as? ErrorObject) ?? .parameter("params", expected: "values in range")
      return
    }
    switch error {
    case .typeMismatch(let type, let context):
      self = .parameter(Self.path(context.codingPath), expected: Self.expectation(of: type))
    case .valueNotFound(let type, let context):
      self = .parameter(Self.path(context.codingPath), expected: Self.expectation(of: type))
    case .keyNotFound(let key, let context):
      self = .parameter(Self.path(context.codingPath + [key]), expected: "a value: it is missing")
    case .dataCorrupted(let context):
      let text = context.debugDescription
      let expected = text.hasPrefix("expected ") ? String(text.dropFirst("expected ".count)) : "a value in range"
      self = .parameter(Self.path(context.codingPath), expected: expected)
    @unknown default:
      self = ErrorObject(.invalidParams)
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    var text = ""
    for key in keys.first?.stringValue == "params" ? keys[1...] : keys[...] {
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        // A key may come from the wire, where opaque JSON is concerned.
        text += (text.isEmpty ? "" : ".") + key.stringValue.prefix(64)
      }
    }
    return text.isEmpty ? "params" : text
  }

  private static func expectation(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case is Int.Type, is Int64.Type: "a whole number"
    case is Double.Type: "a number"
    case is [Any].Type: "an array"
    case is [String: Any].Type: "an object"
    default: String(describing: type).hasPrefix("Array") ? "an array" : "an object"
    }
  }
}
