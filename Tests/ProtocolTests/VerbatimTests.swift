// `extra`, `push`, `metadata` and `data` of messages are the bytes that somebody wrote, wherever they go; and nothing else is.

import Foundation
import RoostProtocol
import Testing

@Suite struct VerbatimTests {
  /// What Foundation's types do not hold, or write otherwise.
  static let texts = [
    #"{ "b" : 1.0,\#t"a":[ 123456789012345678901234567890 , -0, 1E+2,1e400 ] }"#, "[]", "{}", "1.0",
    "-0", #""\u00e9\/\ud800""#, "true", #"{"x":null,"extra":{"push":[1.50]},"metadata":{"extra":1.0}}"#,
    "{\"z\":1,\r\n\t\"a\":2}", #"{"é":"ü"}"#, #"{"k":1,"k":2}"#,
  ]

  private func start(_ extra: String, push: String = "null", name: String = "extra") -> ClientFrame {
    let json =
      #"{"jsonrpc":"2.0","id":1,"method":"call.start","params":{"push" :  \#(push) ,"to":["b"],"kind":"group","\#(name)": \#(extra) ,"media":"audio"}}"#
    return ClientFrame.decode(Array(json.utf8))
  }

  private func params(_ frame: ClientFrame) throws -> CallStartParams {
    guard case .request(_, .call(.start(let params))) = frame else {
      Issue.record("refused: \(frame)")
      throw ErrorObject(.internalError)
    }
    return params
  }

  private func text(_ value: RawJSON?) -> String? { value?.text }

  /// Line 15: into the server, out of it to a client, and what a client makes of it.
  @Test(arguments: texts) func theBytesGoThrough(_ written: String) throws {
    let params = try params(start(written, push: written))
    #expect(text(params.extra) == written && text(params.push) == written)
    var call = Samples.call
    call.extra = params.extra
    let event = ServerFrame.event(EventMessage(seq: 1, serverTime: 2, event: .callCreated(CallEvent(call: call))))
    let bytes = try event.encode()
    #expect(String(decoding: bytes, as: UTF8.self).contains(#""extra":\#(written),"createdAt""#))
    guard case .event(let message) = try ServerFrame.decode(bytes, pending: { _ in nil }),
      case .callCreated(let created) = message.event
    else { throw ErrorObject(.internalError) }
    #expect(text(created.call.extra) == written && created.call.members == call.members)
    let request = try ClientFrame.encode(.call(.start(params)), id: .number(1))
    #expect(try text(self.params(ClientFrame.decode(request)).push) == written)
  }

  /// The same of custom messages: from one client to the server, and to another. Errors have a `data` of their own.
  @Test(arguments: texts) func theBytesOfAMessageGoThrough(_ written: String) throws {
    let json =
      #"{"id":1,"method":"message.send","params":{"data" :  \#(written) ,"topic":"t","room":"demo"}}"#
    let frame = ClientFrame.decode(Array(json.utf8))
    guard RawJSON(text: written)?.isReadable == true else {
      guard case .invalid(_, .messageSend, let error) = frame else { throw ErrorObject(.internalError) }
      #expect(error.code == .invalidParams && error.data.field == "data", "strict readers read messages")
      return
    }
    guard case .request(_, .message(.send(let params))) = frame else {
      Issue.record("refused: \(frame)")
      return
    }
    #expect(params.data.text == written)
    let received = MessageReceived(room: "demo", from: "a", topic: "t", data: params.data)
    let event = ServerFrame.event(EventMessage(seq: 1, serverTime: 2, event: .messageReceived(received)))
    let bytes = try event.encode()
    #expect(String(decoding: bytes, as: UTF8.self).hasSuffix(#""topic":"t","data":\#(written)}}"#))
    guard case .event(let message) = try ServerFrame.decode(bytes, pending: { _ in nil }),
      case .messageReceived(let heard) = message.event
    else { throw ErrorObject(.internalError) }
    #expect(heard == received && heard.data.text == written)
    let answered = ServerFrame.reply(.number(1), .messageAnswered(MessageAnswered(from: "b", data: params.data)))
    let reply = try ServerFrame.decode(answered.encode()) { _ in .messageRequest }
    guard case .reply(_, .messageAnswered(let answer)) = reply else { throw ErrorObject(.internalError) }
    #expect(answer.data.text == written)
    let error = ServerFrame.failure(.number(1), ErrorObject(.rateLimited) { $0.retryAfterMs = 7 })
    guard case .failure(_, let told) = try ServerFrame.decode(error.encode(), pending: { _ in nil }) else {
      throw ErrorObject(.internalError)
    }
    #expect(told.data.retryAfterMs == 7)
  }

  @Test func aMessageSaysSomething() {
    for data in ["", #","data":null"#] {
      let frame = ClientFrame.decode(
        Array(#"{"id":1,"method":"message.send","params":{"room":"demo","topic":"t"\#(data)}}"#.utf8))
      guard case .invalid(_, .messageSend, let error) = frame else {
        Issue.record("\(frame)")
        continue
      }
      #expect(error.code == .invalidParams && error.data.field == "data")
    }
  }

  @Test func whatItSaysIsThereToo() throws {
    let extra = try #require(params(start(#"{ "order" : 7, "of":[1.0] }"#)).extra)
    #expect(extra.value == ["order": 7, "of": [1]])
    #expect(try params(start("1e400")).extra?.value == "1e400", "what no number can hold is text to who asks")
    #expect(try params(start("null")).extra == nil, "null is as if it were absent")
  }

  @Test func aNameMayBeWrittenWithEscapes() throws {
    #expect(try text(params(start("1.0", name: #"\u0065xtra"#)).extra) == "1.0")
    #expect(try text(params(start("1.0", name: #"ext\u0072a"#)).extra) == "1.0")
  }

  /// All in a room read what somebody says of themselves. A strict reader would refuse the whole snapshot for it.
  @Test(arguments: [
    (#"{"x":[0,1e400]}"#, false), (#"{"x":"\ud800"}"#, false), ("-1e999", false), (#"{"k":1,"k":1.50}"#, true),
  ])
  func metadataIsReadableToEverybody(_ written: String, isTaken: Bool) throws {
    for (method, rest) in [
      ("room.join", #""room":"a""#), ("call.join", #""callId":"c""#), ("call.accept", #""callId":"c""#),
      ("call.start", #""to":["b"],"kind":"group","media":"audio""#),
    ] {
      let json = #"{"id":1,"method":"\#(method)","params":{\#(rest),"metadata":\#(written)}}"#
      switch ClientFrame.decode(Array(json.utf8)) {
      case .request: #expect(isTaken, "\(json)")
      case .invalid(_, _, let error):
        #expect(!isTaken && error.code == .invalidParams && error.data.field == "metadata")
      }
    }
  }

  /// What one says of oneself goes to the others as it came, whatever fields are in it.
  @Test(arguments: texts.filter { !$0.contains("1e400") && !$0.contains("ud800") }) func metadataGoesThrough(
    _ written: String
  ) throws {
    let json = #"{"id":1,"method":"room.join","params":{"room":"a","metadata": \#(written) ,"views":1}}"#
    guard case .request(_, .room(.join(let join))) = ClientFrame.decode(Array(json.utf8)) else {
      throw ErrorObject(.internalError)
    }
    #expect(text(join.metadata) == written && join.views == 1)
    var room = Samples.room
    room.participants[0].metadata = try #require(join.metadata)
    let bytes = try ServerFrame.reply(.number(1), .room(room)).encode()
    #expect(String(decoding: bytes, as: UTF8.self).contains(#""metadata":\#(written),"tracks""#))
    guard case .reply(_, .room(let snapshot)) = try ServerFrame.decode(bytes, pending: { _ in .roomJoin }) else {
      throw ErrorObject(.internalError)
    }
    #expect(snapshot == room)
  }

  /// What is opaque besides is decoded, and what is in it is its own.
  @Test func otherFieldsAreDecodedAsEver() throws {
    let json = #"{"id":1,"method":"session.hello","params":{"user":"a","capabilities":{"extra":1.0,"push":{"a":[1]}}}}"#
    guard case .request(_, .session(.hello(let hello))) = ClientFrame.decode(Array(json.utf8)) else {
      throw ErrorObject(.internalError)
    }
    #expect(hello.capabilities == ["extra": 1, "push": ["a": [1]]])
  }

  @Test func twoAreEqualWhereTheirBytesAre() throws {
    let written: RawJSON = ["b": 1, "a": [1.5, nil, true, "x\"y"]]
    #expect(written.text == #"{"b":1,"a":[1.5,null,true,"x\"y"]}"# && RawJSON(text: written.text) == written)
    #expect(RawJSON(text: " \t[1 ,2]\r\n")?.text == "[1 ,2]" && RawJSON(text: "[1 ,2]") != RawJSON(text: "[1,2]"))
    #expect(RawJSON(text: "1.0") != RawJSON(text: "1") && RawJSON(text: "1.0")?.value == RawJSON(text: "1")?.value)
    let known: Set = [RawJSON(text: "1.0"), RawJSON(text: "1"), RawJSON(text: "1.0")]
    #expect(known.count == 2)
    for text in ["", " ", "{", "1 2", "nul", "\u{feff}1", "[1,]"] { #expect(RawJSON(text: text) == nil, "\(text)") }
  }

  /// What is no JSON never goes on as if it were some.
  @Test(arguments: [
    "{", #"{"a":tru}"#, "[1,,2]", #"{"a" 1}"#, #""\q""#, "\"a\u{1}b\"", "1.2.3", "01", "+1", ".5", "1.", "1e", "nul",
    "'a'", #"{a:1}"#,
    #"{"a":1}}"#, #"1},"x":{"y":2"#, #""\u12g4""#,
  ]) func whatIsNoJSONIsNotKept(_ written: String) throws {
    switch start(written) {
    case .invalid: break
    case .request(_, .call(.start(let params))):
      #expect(text(params.extra) != written && text(params.extra)?.isEmpty != true)
    case .request: Issue.record("something else")
    }
  }

  /// What Foundation takes beyond the grammar switches nothing off: the frame is refused.
  @Test(arguments: [
    (#""to":["b",],"#, ""), (#""to":["b"],"x":[1,],"#, ""), ("", ","), (#""metadata":{"a":[[],]},"#, ""),
  ]) func aFrameThatIsNoJSONIsAParseError(_ before: String, _ after: String) {
    let json =
      #"{"jsonrpc":"2.0","id":1,"method":"call.start","params":{"kind":"group",\#(before)"extra":{"n":12345678901234567890123,"v":1.0}\#(after)}}"#
    let frames = [Array(json.utf8), [0xef, 0xbb, 0xbf] + Array(json.utf8)]
    for frame in frames { #expect(code(frame) == .parseError, "\(frame.first ?? 0)") }
  }

  @Test func anotherEncodingIsAParseError() {
    let json =
      #"{"jsonrpc":"2.0","id":1,"method":"call.start","params":{"to":["b"],"kind":"group","media":"audio","extra":1.0}}"#
    #expect(code(Array(json.utf8)) == nil)
    for isLittle in [true, false] {
      let frame = json.utf16.flatMap {
        isLittle ? [UInt8($0 & 255), UInt8($0 >> 8)] : [UInt8($0 >> 8), UInt8($0 & 255)]
      }
      #expect(code(frame) == .parseError)
      #expect(code((isLittle ? [0xff, 0xfe] : [0xfe, 0xff]) + frame) == .parseError)
    }
    #expect(code([0xef, 0xbb, 0xbf] + Array(json.utf8)) == .parseError)
  }

  private func code(_ frame: [UInt8]) -> ErrorCode? {
    if case .invalid(_, _, let error) = ClientFrame.decode(frame) { error.code } else { nil }
  }

  /// The mark is in nothing that leaves the process, and a string that looks like one is a string.
  @Test func nobodyWritesWhatIsTakenForKeptText() throws {
    let bytes = try ClientFrame.encode(.call(.start(params(start(#"{"a":1}"#)))), id: .number(1))
    let written = String(decoding: bytes, as: UTF8.self)
    #expect(!written.contains("\u{1}") && !written.contains("u0001"))
    let join = #"{"id":1,"method":"room.join","params":{"room":"a","metadata":{"x":"\u0001abc\u0001}{"}}}"#
    guard case .request(_, .room(.join(let params))) = ClientFrame.decode(Array(join.utf8)) else {
      throw ErrorObject(.internalError)
    }
    #expect(params.metadata?.value == ["x": "\u{1}abc\u{1}}{"])
  }

  /// 4 KiB of bytes, blanks among them.
  @Test func itsSizeIsThatOfItsBytes() throws {
    let most = "[" + String(repeating: " ", count: ProtocolLimits.opaqueBytes - 2) + "]"
    #expect(try text(params(start(most)).extra) == most)
    guard case .invalid(_, _, let error) = start(" [" + String(repeating: " ", count: ProtocolLimits.opaqueBytes) + "]")
    else {
      Issue.record("too large, and taken")
      return
    }
    #expect(error.code == .tooLarge && error.data.field == "extra")
  }

  /// Encoders of others write what it says.
  @Test func otherEncodersWriteTheValue() throws {
    let extra = try params(start(#"{ "a" : [1.0, "b"] }"#)).extra
    let bytes = try JSONEncoder().encode([extra])
    #expect(try JSONDecoder().decode([JSONValue].self, from: bytes) == [["a": [1, "b"]]])
  }
}
