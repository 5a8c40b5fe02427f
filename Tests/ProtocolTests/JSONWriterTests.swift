// What writes its fields itself, against its own `encode(to:)`: the same bytes.

import Testing

@testable import RoostProtocol

@Suite struct JSONWriterTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test(arguments: Samples.events) func anEventIsWhatItsEncodingSays(_ event: Event) throws {
    var json = JSONWriter()
    json.raw("{")
    try event.writeFields(to: &json)
    json.raw("}")
    try expectSame(text(json.bytes), text(JSONText.bytes(of: Payload(event))))
  }

  @Test func aResultIsWhatItsEncodingSays() throws {
    for (method, reply) in Samples.replies {
      var json = JSONWriter()
      try reply.write(to: &json)
      try expectSame(text(json.bytes), text(JSONText.bytes(of: Payload(reply))), method.rawValue)
    }
  }

  @Test func paramsAreWhatTheirEncodingSays() throws {
    for request in Samples.requests {
      guard let params = request.params else { continue }
      try expectSame(text(JSONWriter.bytes(of: params)), text(JSONText.bytes(of: params)), request.method.rawValue)
    }
  }

  /// Objects of JSON that is opaque to the server have no order of their own.
  private func expectSame(_ ours: String, _ theirs: String, _ what: String = "") {
    let opaque = [ours, theirs].map { $0.replacing(#/"(extra|metadata|split|push)":\{.*?\}\}\}/#, with: "") }
    #expect(opaque[0] == opaque[1] && ours.utf8.count == theirs.utf8.count, "\(what)")
  }

  /// The samples leave no field out, so that one that is forgotten shows.
  @Test func theSamplesHaveEveryField() {
    func fields(_ value: Any) -> [String] {
      Mirror(reflecting: value).children.flatMap { child -> [String] in
        let isNil = Mirror(reflecting: child.value).displayStyle == .optional && "\(child.value)" == "nil"
        return isNil ? [child.label ?? "?"] : []
      }
    }
    #expect(fields(Samples.call) + fields(Samples.member) + fields(Samples.record) + fields(Samples.room) == [])
    #expect(fields(Member(user: "anna", state: .joined)).count == 7, "the control")
  }

  @Test func numbersAndText() {
    for number in [0, 9, 10, -1, 1_795_600_000_000, Int64.max, .min] {
      var json = JSONWriter()
      json.number(number)
      #expect(text(json.bytes) == String(number))
    }
    var json = JSONWriter()
    json.string("\u{0}\u{1f}a\"\\/ü\n\r\t\u{8}\u{c}👋")
    #expect(text(json.bytes) == #""\u0000\u001fa\"\\/ü\n\r\t\b\f👋""#)
  }

  @Test func emptyListsAndObjects() throws {
    let result = CallStartResult(
      call: Samples.call, room: Samples.room, busy: [], unreachable: [BusyUser(user: "a"), BusyUser(user: "b")])
    let end = #","busy":[],"unreachable":[{"user":"a"},{"user":"b"}]}"#
    #expect(text(try JSONWriter.bytes(of: result)).hasSuffix(end))
    #expect(
      text(try EventText.frame(of: EventMessage(seq: 1, serverTime: 2, event: .sessionReplaced))).hasSuffix(
        #""params":{"seq":1,"serverTime":2}}"#))
  }
}
