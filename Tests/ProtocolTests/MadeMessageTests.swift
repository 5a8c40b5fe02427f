// A message of every kind, made of docs/protocol.schema.json with every field filled: it is read, and written as it was. So a new message
// needs no sample of its own (`Samples.swift` has those with values that mean something).

import Foundation
import Testing

@testable import RoostProtocol

@Suite struct MadeMessageTests {
  private func maker() throws -> MessageMaker { MessageMaker(document: try #require(SchemaTests.schema)) }

  /// The text that the field writer makes, against the value that was read and against what `encode(to:)` says.
  private func expectSame(_ written: [UInt8], _ encoded: [UInt8], _ value: JSONValue, _ what: String) throws {
    let read = { (bytes: [UInt8]) in try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) }
    #expect(try read(written) == value, "\(what)")
    #expect(try read(encoded) == value, "\(what)")
  }

  @Test(arguments: Method.allCases) func requests(_ method: Method) throws {
    let schema = try maker().document["x-methods"][method.rawValue]["params"]
    let value = schema == nil ? JSONValue.emptyObject : try maker().value(schema)
    let request = try Made<Request>.read(value) { try Request(method: method, params: Params(decoder: $0)) }
    #expect(request.method == method && (1...Request.mostWeight).contains(request.weight))
    guard let params = request.params else {
      #expect(schema == nil)
      return
    }
    try expectSame(JSONWriter.bytes(of: params), JSONText.bytes(of: params), value, method.rawValue)
  }

  @Test(arguments: Method.allCases) func results(_ method: Method) throws {
    for value in try maker().values(try maker().document["x-methods"][method.rawValue]["result"]) {
      let reply = try Made<Reply>.read(value) { try Reply(method: method, from: $0) }
      var json = JSONWriter()
      try reply.write(to: &json)
      try expectSame(json.bytes, JSONText.bytes(of: Payload(reply)), value, method.rawValue)
    }
  }

  @Test(arguments: EventName.allCases) func events(_ name: EventName) throws {
    let value = try maker().value(try maker().document["x-events"][name.rawValue])
    let event = try Made<Event>.read(value) { try Event(name: name, from: $0) }
    #expect(event.name == name)
    var json = JSONWriter()
    json.raw("{")
    try event.writeFields(to: &json)
    json.raw("}")
    try expectSame(json.bytes, JSONText.bytes(of: Payload(event)), value, name.rawValue)
  }

  /// The control: a field that nobody reads is missing from what is written.
  @Test func aFieldThatIsForgottenIsFound() throws {
    var value = try maker().value(["$ref": "#/$defs/Speaker"])
    guard case .object(var fields) = value else { throw ErrorObject(.internalError) }
    fields["mood"] = "good"
    value = .object(fields)
    let speaker = try Made<Speaker>.read(value) { try Speaker(from: $0) }
    let written = try JSONDecoder().decode(JSONValue.self, from: Data(JSONWriter.bytes(of: speaker)))
    #expect(written != value && written["level"] == value["level"])
  }
}

/// What is read of a value by a function that wants a decoder.
private struct Made<Message>: Decodable {
  let decoder: any Decoder
  init(from decoder: any Decoder) { self.decoder = decoder }

  static func read(_ value: JSONValue, _ read: (any Decoder) throws -> Message) throws -> Message {
    try read(JSONDecoder().decode(Self.self, from: Data(JSONText.bytes(of: value))).decoder)
  }
}

/// Values that are as a schema says, with each field filled.
private struct MessageMaker {
  let document: JSONValue

  /// The first of them.
  func value(_ schema: JSONValue) throws -> JSONValue { try #require(values(schema).first) }

  /// One for each form that it has.
  func values(_ schema: JSONValue) throws -> [JSONValue] {
    if let name = schema["$ref"].string {
      return try values(document["$defs"][String(name.dropFirst("#/$defs/".count))])
    }
    let forms = schema["oneOf"].array
    if !forms.isEmpty { return try forms.map(value) }
    if let word = (schema["enum"].array + schema["examples"].array).first { return [word] }
    switch schema["type"].string {
    case "string": return ["text"]
    case "integer": return [.integer(max(7, schema["minimum"].integer ?? 0))]
    case "number": return [0.25]
    case "boolean": return [true]
    case "array": return [.array(try values(schema["items"]))]
    case "object":
      guard case .object(let fields) = schema["properties"] else { return [.emptyObject] }
      return [.object(try fields.mapValues(value))]
    // Opaque: anything.
    default: return [["any": [1, "thing"]]]
    }
  }
}
