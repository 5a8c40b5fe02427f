// docs/protocol.schema.json against what the codec writes: every request, result and event is as its schema says, and says no more.

import Foundation
import RoostProtocol
import Testing

@Suite struct SchemaTests {
  static let schema: JSONValue? = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/protocol.schema.json")
    return try? JSONDecoder().decode(JSONValue.self, from: Data(contentsOf: file))
  }()

  private func checker() throws -> SchemaChecker { SchemaChecker(document: try #require(Self.schema)) }

  private func read(_ bytes: [UInt8]) throws -> JSONValue {
    try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
  }

  @Test func everyRequestIsAsItsSchemaSays() throws {
    let checker = try checker()
    for request in Samples.requests {
      let frame = try read(ClientFrame.encode(request, id: .number(1)))
      #expect(checker.problems(frame, ["$ref": "#/$defs/requests"]) == [], "\(request.method)")
      let params = checker.document["x-methods"][request.method.rawValue]["params"]
      #expect((params == nil) == (request.params == nil), "\(request.method)")
      if params != nil { #expect(checker.problems(frame["params"], params) == [], "\(request.method)") }
    }
  }

  @Test func everyResultIsAsItsSchemaSays() throws {
    let checker = try checker()
    for (method, reply) in Samples.replies {
      let frame = try read(ServerFrame.reply(.number(1), reply).encode())
      let result = checker.document["x-methods"][method.rawValue]["result"]
      #expect(checker.problems(frame["result"], result) == [], "\(method)")
      #expect(checker.problems(frame, checker.document) == [], "\(method)")
    }
    for id in [nil, RequestID.string("a")] {
      let failure = try read(ServerFrame.failure(id, Samples.error).encode())
      #expect(checker.problems(failure, checker.document) == [])
    }
  }

  @Test func everyEventIsAsItsSchemaSays() throws {
    let checker = try checker()
    for event in Samples.events {
      let frame = try read(ServerFrame.event(EventMessage(seq: 3, serverTime: 4, event: event)).encode())
      #expect(checker.problems(frame, ["$ref": "#/$defs/events"]) == [], "\(event.name)")
    }
  }

  @Test func itHasEveryNameOfTheProtocol() throws {
    let document = try checker().document
    #expect(document["x-methods"].fields.keys.sorted() == Method.allCases.map(\.rawValue).sorted())
    #expect(document["x-events"].fields.keys.sorted() == EventName.allCases.map(\.rawValue).sorted())
    for method in Method.allCases {
      #expect(document["x-methods"][method.rawValue]["weight"].integer.map { $0 >= 1 } == true, "\(method)")
    }
  }

  /// The controls: what is not as it must be is found.
  @Test(arguments: [
    (#"{"room":"a","raised":true}"#, "RaiseHandParams", []),
    (#"{"room":"a","risen":true}"#, "RaiseHandParams", ["raised is missing", "risen is unknown"]),
    (#"{"room":"a","raised":1}"#, "RaiseHandParams", ["raised is no boolean"]),
    (#"{"pc":"both"}"#, "RestartParams", ["pc is none of its words"]),
    (#"{"views":[{"subscriptionId":"s1","track":"t"}]}"#, "ViewShowParams", ["views.0.track is unknown"]),
    (#"{"subscriptionId":"s","rtpTimestamp":-1}"#, "ViewChanged", ["rtpTimestamp is too small"]),
    (#"{"replayed":1}"#, "ResumeResult", []), (#"{"again":1}"#, "ResumeResult", [" fits nothing"]),
    (#"{"level":"splendid","participantId":"p1"}"#, "PersonQuality", []),
  ]) func whatIsOtherwiseIsFound(_ text: String, _ type: String, _ problems: [String]) throws {
    let value = try read(Array(text.utf8))
    #expect(try checker().problems(value, ["$ref": .string("#/$defs/\(type)")]).sorted() == problems)
  }
}

extension JSONValue {
  fileprivate var fields: [String: JSONValue] { if case .object(let fields) = self { fields } else { [:] } }
}

/// As much of JSON Schema 2020-12 as scripts/wire writes; any other keyword is a problem. A field that no schema names is one, too.
private struct SchemaChecker {
  let document: JSONValue

  private static let annotations: Set<String> = [
    "$schema", "$defs", "title", "description", "examples", "x-methods", "x-events",
  ]

  func problems(_ value: JSONValue, _ schema: JSONValue) -> [String] {
    let extra = unknown(value, schema).map { "\($0) is unknown" }
    return (found(value, schema, []) + extra).map { $0.hasPrefix(".") ? String($0.dropFirst()) : $0 }
  }

  private func resolved(_ schema: JSONValue) -> JSONValue {
    guard let name = schema["$ref"].string else { return schema }
    return document["$defs"][String(name.dropFirst("#/$defs/".count))]
  }

  private func found(_ value: JSONValue, _ schema: JSONValue, _ path: [String]) -> [String] {
    let place = path.map { ".\($0)" }.joined()
    return schema.fields.flatMap { keyword, said -> [String] in
      switch keyword {
      case "$ref":
        let target = resolved(schema)
        return target == nil ? ["\(place) names nothing"] : found(value, target, path)
      case "type": return isOf(said, value) ? [] : ["\(place) is no \(said.string ?? "such type")"]
      case "enum": return said.array.contains(value) ? [] : ["\(place) is none of its words"]
      case "const": return said == value ? [] : ["\(place) is another"]
      case "minimum": return (value.integer ?? 0) < (said.integer ?? 0) ? ["\(place) is too small"] : []
      case "maximum": return (value.integer ?? 0) > (said.integer ?? 0) ? ["\(place) is too large"] : []
      case "required":
        return said.array.compactMap(\.string).filter { value.fields[$0] == nil }.map { "\(place).\($0) is missing" }
      case "properties":
        return said.fields.flatMap { key, one in value.fields[key].map { found($0, one, path + [key]) } ?? [] }
      case "items":
        return value.array.enumerated().flatMap { index, one in found(one, said, path + ["\(index)"]) }
      case "allOf": return said.array.flatMap { found(value, $0, path) }
      case "oneOf":
        return said.array.count { found(value, $0, path).isEmpty } == 1 ? [] : ["\(place) fits nothing"]
      default: return Self.annotations.contains(keyword) ? [] : ["\(place): \(keyword) is not known here"]
      }
    }
  }

  private func isOf(_ type: JSONValue, _ value: JSONValue) -> Bool {
    let types = type.string.map { [$0] } ?? type.array.compactMap(\.string)
    return types.contains { type in
      switch (type, value) {
      case ("string", .string), ("boolean", .bool), ("integer", .integer), ("number", .integer), ("number", .number),
        ("array", .array), ("object", .object), ("null", .null):
        true
      default: false
      }
    }
  }

  /// Paths of fields that the schema does not name, wherever it names any.
  private func unknown(_ value: JSONValue, _ schema: JSONValue, _ path: String = "") -> [String] {
    let parts = parts(of: schema, for: value)
    if case .array(let values) = value {
      guard let items = parts.compactMap({ $0.fields["items"] }).first else { return [] }
      return values.enumerated().flatMap { unknown($1, items, "\(path).\($0)") }
    }
    let named = parts.compactMap { $0.fields["properties"]?.fields }
    guard !named.isEmpty else { return [] }
    return value.fields.flatMap { key, one -> [String] in
      guard let schema = named.compactMap({ $0[key] }).first else { return ["\(path).\(key)"] }
      return unknown(one, schema, "\(path).\(key)")
    }
  }

  /// The schemas that say of this value what fields it has.
  private func parts(of schema: JSONValue, for value: JSONValue) -> [JSONValue] {
    let whole = resolved(schema)
    let chosen = whole["oneOf"].array.filter { found(value, $0, []).isEmpty }
    return [whole] + (whole["allOf"].array + chosen).flatMap { parts(of: $0, for: value) }
  }
}
