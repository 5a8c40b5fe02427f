// What a request says: segments of its path, its query, and its content as JSON (RFC 8259). All that is not understood is refused: it may
// mean something else than what was done.
import FoundationEssentials
import Names
import RoostProtocol
import WebSockets

/// A request with the names that its route knows.
struct APIRequest {
  let request: HTTPRequest
  let route: APIRoute

  /// - Throws: −32602 where the query says more than the route knows.
  init(_ request: HTTPRequest, _ route: APIRoute) throws(ErrorObject) {
    (self.request, self.route) = (request, route)
    guard request.isQueryWhole else {
      throw .parameter("query", expected: "NAME=VALUE once for each name, percent-encoded: %26 for &, %3B for ;")
    }
    let known = route.query + ["realm"]
    if let stranger = request.arguments.keys.filter({ !known.contains($0) }).min() {
      throw .parameter(String(stranger.prefix(64)), expected: "nothing; a query has \(known.joined(separator: ", "))")
    }
    guard route.body != nil || request.content.isEmpty else {
      throw .parameter("body", expected: "nothing: this request has no content")
    }
  }

  /// The realm that it names; nil without a word.
  func realm() throws(ErrorObject) -> Realm? {
    guard let name = request.arguments["realm"] else { return nil }
    guard let realm = Realm(name) else { throw .parameter("realm", expected: Realm.rule) }
    return realm
  }

  /// What stands in the path.
  func segment(_ name: String) throws(ErrorObject) -> String {
    guard let text = try Self.name(request.segments[name], name) else {
      throw .parameter(name, expected: "it in the path")
    }
    return text
  }

  /// What stands in the query; nil without a word.
  func query(_ name: String) throws(ErrorObject) -> String? { try Self.name(request.arguments[name], name) }

  /// Which page is asked for, 1 without a word.
  func page() throws(ErrorObject) -> Int { Int(try number("page", in: 1...999_999) ?? 1) }

  /// A whole number of the query, in digits alone; nil without a word. Up to 2^53 − 1, as more is another number in JavaScript.
  func number(
    _ name: String, in range: ClosedRange<Int64> = 0...9_007_199_254_740_991
  ) throws(ErrorObject) -> Int64? {
    guard let text = request.arguments[name] else { return nil }
    guard text.utf8.count <= 16, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text),
      range.contains(number)
    else { throw .parameter(name, expected: "a number from \(range.lowerBound) to \(range.upperBound)") }
    return number
  }

  /// The content.
  /// - Throws: −32700 for what is no JSON, −32602 for a field that is wrong or not known, 1010 for what is too large.
  func body<Body: Decodable>(_ type: Body.Type) throws(ErrorObject) -> Body {
    guard case .object(let fields) = try JSONValue.reading(request.content) else {
      throw .parameter("body", expected: "an object")
    }
    let known = route.body ?? []
    if let stranger = fields.keys.filter({ !known.contains($0) }).min() {
      throw .parameter(String(stranger.prefix(64)), expected: "nothing; there are \(known.joined(separator: ", "))")
    }
    // A null means something; absent is another thing.
    if let empty = fields.filter({ $0.value == .null }).keys.min() {
      throw .parameter(empty, expected: "a value, or that it is left out")
    }
    do {
      return try JSONDecoder().decodeVerbatim(type, from: request.content, hasData: true)
    } catch {
      throw Self.objection(error)
    }
  }

  /// What a decoder complains about, with the field.
  private static func objection(_ error: any Error) -> ErrorObject {
    guard let error = error as? DecodingError else { return ErrorObject(.invalidParams) }
    let (path, expected): ([any CodingKey], String) =
      switch error {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "a value: it is missing")
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        (context.codingPath, "a value as the document of the API has it")
      @unknown default: ([], "a value as the document of the API has it")
      }
    let field = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
    return .parameter(field.isEmpty ? "body" : field, expected: expected)
  }

  /// A name that is held to its form (`NameForm`); nil where it is absent.
  /// - Throws: −32602 where it is empty: something was meant.
  static func name(_ text: String?, _ field: String) throws(ErrorObject) -> String? {
    guard let text else { return nil }
    guard (1...PathPattern.longestSegment).contains(text.utf8.count) else {
      throw .parameter(field, expected: "1 to \(PathPattern.longestSegment) bytes")
    }
    try NameForm.check(text, field)
    return text
  }
}
