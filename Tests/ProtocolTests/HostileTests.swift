// What a client may not say, and what it is told. Nothing here may crash, and the id must find its way back.

import RoostProtocol
import Testing

@Suite struct HostileTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var json: String
    var code: ErrorCode
    var field: String?
    var id: RequestID? = .number(1)
    var testDescription: String { String(json.prefix(80)) }
  }

  static func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#
  }

  static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

  static let envelopes: [Case] = [
    Case(json: "", code: .parseError, id: nil), Case(json: "nonsense", code: .parseError, id: nil),
    Case(json: #"{"id":1,"method":"ping""#, code: .parseError, id: nil),
    Case(json: #"{"id":1,"method":"ping"}}"#, code: .parseError, id: nil),
    Case(json: #"{"id":1,"method":"pi"#, code: .parseError, id: nil),
    Case(json: #"{'id':1}"#, code: .parseError, id: nil), Case(json: "\u{0}", code: .parseError, id: nil),
    Case(json: "[]", code: .invalidRequest, id: nil), Case(json: "7", code: .invalidRequest, id: nil),
    Case(json: "null", code: .invalidRequest, id: nil), Case(json: #""ping""#, code: .invalidRequest, id: nil),
    Case(json: #"[{"id":1,"method":"ping"}]"#, code: .invalidRequest, id: nil),
    Case(json: "{}", code: .invalidRequest, id: nil),
    Case(json: #"{"method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":null,"method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":1.5,"method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":1e400,"method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":99999999999999999999,"method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":{},"method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":"\#(long(129))","method":"ping"}"#, code: .invalidRequest, id: nil),
    Case(json: #"{"id":1}"#, code: .invalidRequest), Case(json: #"{"id":1,"method":7}"#, code: .invalidRequest),
    Case(json: #"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, code: .invalidRequest),
    Case(json: #"{"id":1,"method":""}"#, code: .methodNotFound),
    Case(json: #"{"id":1,"method":"room.Join"}"#, code: .methodNotFound),
    Case(json: #"{"id":1,"method":"room.join"}"#, code: .invalidParams, field: "params"),
  ]

  static let params: [Case] = [
    Case(json: request("room.join", "[]"), code: .invalidParams, field: "params"),
    Case(json: request("room.join", "null"), code: .invalidParams, field: "params"),
    Case(json: request("room.join", "{}"), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":7}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":null}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":""}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":" a"}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":"a\u0000b"}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":"a\u202eb"}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":"\u200b\u3164\u2800"}"#), code: .invalidParams, field: "room"),
    Case(json: request("room.join", #"{"room":"\#(long(129))"}"#), code: .tooLarge, field: "room"),
    Case(json: request("room.join", #"{"room":"a","media":"smell"}"#), code: .invalidParams, field: "media"),
    Case(json: request("room.join", #"{"room":"a","autoSubscribe":1}"#), code: .invalidParams, field: "autoSubscribe"),
    Case(
      json: request("room.join", #"{"room":"a","metadata":"\#(long(4095))"}"#), code: .tooLarge, field: "metadata"),
    Case(
      json: request("call.join", #"{"callId":"a","metadata":"\#(long(4095))"}"#), code: .tooLarge, field: "metadata"),
    Case(
      json: request("call.accept", #"{"callId":"a","metadata":"\#(long(4095))"}"#), code: .tooLarge, field: "metadata"),
    Case(
      json: request("call.start", #"{"to":["a"],"kind":"group","media":"audio","metadata":"\#(long(4095))"}"#),
      code: .tooLarge, field: "metadata"),
    Case(json: request("session.resume", #"{"resumeToken":"r","lastSeq":-1}"#), code: .invalidParams, field: "lastSeq"),
    Case(
      json: request("session.resume", #"{"resumeToken":"r","lastSeq":1e30}"#), code: .invalidParams, field: "lastSeq"),
    Case(
      json: request("session.resume", #"{"resumeToken":"r","lastSeq":9223372036854775808}"#), code: .invalidParams,
      field: "lastSeq"),
    Case(
      json: request("session.resume", #"{"resumeToken":"r","lastSeq":"1"}"#), code: .invalidParams, field: "lastSeq"),
    Case(json: request("call.hangup", #"{"reason":"removed"}"#), code: .invalidParams, field: "reason"),
    Case(json: request("call.reject", #"{"callId":"c","reason":"cancelled"}"#), code: .invalidParams, field: "reason"),
    Case(json: request("session.hello", #"{"user":"a\nb"}"#), code: .invalidParams, field: "user"),
    Case(json: request("session.hello", #"{"user":"a","displayName":""}"#), code: .invalidParams, field: "displayName"),
    Case(
      json: request("chat.send", #"{"room":"a","text":"\#(long(8193))"}"#), code: .tooLarge, field: "text"),
    Case(json: request("chat.send", #"{"room":"a","text":""}"#), code: .invalidParams, field: "text"),
    Case(json: request("chat.send", #"{"room":"a","text":"x","to":["b",""]}"#), code: .invalidParams, field: "to[1]"),
    Case(json: request("chat.send", #"{"room":"a","text":"x","to":"b"}"#), code: .invalidParams, field: "to"),
    Case(json: request("chat.history", #"{"room":"a","limit":101}"#), code: .invalidParams, field: "limit"),
    Case(
      json: request("pc.offer", #"{"pc":"subscribe","sdp":"x","tracks":[{"mid":"0","kind":"audio","label":"l"}]}"#),
      code: .invalidParams, field: "tracks"),
    Case(
      json: request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video"},{"kind":"video"}]}"#),
      code: .invalidParams, field: "tracks[1].mid"),
    Case(
      json: request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"smell"}]}"#),
      code: .invalidParams, field: "tracks[0].kind"),
    Case(
      json: request(
        "pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"audio"},{"mid":"0","kind":"audio"}]}"#),
      code: .invalidParams, field: "tracks[1].mid"),
    Case(
      json: request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video","viewIndex":-1}]}"#),
      code: .invalidParams, field: "tracks[0].viewIndex"),
    Case(
      json: request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video","heights":[180,0]}]}"#),
      code: .invalidParams, field: "tracks[0].heights[1]"),
    Case(
      json: request(
        "pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video","heights":[1,2,3,4,5]}]}"#),
      code: .tooLarge, field: "tracks[0].heights"),
    Case(
      json: request("track.subscribe", #"{"trackId":"t1","maxHeight":-1}"#), code: .invalidParams, field: "maxHeight"),
    Case(
      json: request("track.update", #"{"subscriptionId":"s1","maxHeight":16385}"#), code: .invalidParams,
      field: "maxHeight"),
    Case(
      json: request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video","source":"nose"}]}"#),
      code: .invalidParams, field: "tracks[0].source"),
    Case(
      json: request("pc.offer", #"{"pc":"publish","sdp":"\#(long(128 << 10 + 1))"}"#), code: .tooLarge, field: "sdp"),
    Case(json: request("pc.answer", #"{"offerId":"1","sdp":"x"}"#), code: .invalidParams, field: "offerId"),
    Case(json: request("pc.restart", #"{"pc":"publish"}"#), code: .invalidParams, field: "pc"),
    Case(
      json: request("track.subscribe", #"{"trackId":"t","priority":256}"#), code: .invalidParams, field: "priority"),
    Case(json: request("user.query", #"{"users":[]}"#), code: .invalidParams, field: "users"),
    Case(
      json: request("call.start", #"{"to":["b"],"kind":"group","media":"video","ringTimeoutMs":1}"#),
      code: .invalidParams, field: "ringTimeoutMs"),
  ]

  @Test(arguments: envelopes + params) func isRefusedWithAReason(_ hostile: Case) {
    guard case .invalid(let id, _, let error) = ClientFrame.decode(Array(hostile.json.utf8)) else {
      Issue.record("was taken")
      return
    }
    #expect(error.code == hostile.code)
    #expect(error.data.field == hostile.field)
    #expect(error.data.name == hostile.code.name)
    #expect(id == hostile.id)
  }

  /// What no type can hold, in each place that a field can be in; the decoder says no place of it.
  static let unreadable: [(json: String, field: String, expected: String)] = [
    (
      request("call.start", #"{"to":["b"],"kind":"group","media":"video","ringTimeoutMs":1e400}"#), "ringTimeoutMs",
      "a whole number in range"
    ),
    (
      request("call.start", #"{"to":["b"],"kind":"group","media":"video","ringTimeoutMs":6000.5}"#), "ringTimeoutMs",
      "a whole number in range"
    ),
    (
      request("call.start", #"{"unknown":1e999,"to":["b","\ud800"],"kind":"group","media":"video"}"#), "to[1]",
      String.expectedText
    ),
    (request("call.start", #"{"to":["b"],"kind":"\udc00","media":"video"}"#), "kind", String.expectedText),
    (request("call.hangup", #"{"text":"a\ud83db"}"#), "text", String.expectedText),
    (
      request("session.hello", #"{"user":"a","capabilities":{"x":[0,1e400]}}"#), "capabilities.x[1]",
      "a number in range"
    ),
    (request("session.hello", #"{"user":"a","capabilities":{"x":"\ud800"}}"#), "capabilities.x", String.expectedText),
    (request("session.hello", #"{"user":"a","capabilities":-1e999}"#), "capabilities", "a number in range"),
    (
      request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video","heights":[180,1.5]}]}"#),
      "tracks[0].heights[1]", "a whole number in range"
    ),
    (
      request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"\ud800","kind":"video"}]}"#), "tracks[0].mid",
      String.expectedText
    ),
    (
      request("view.show", #"{"views":[{"subscriptionId":"s1"},{"subscriptionId":"\ud800"}]}"#),
      "views[1].subscriptionId", String.expectedText
    ),
    (request("room.list", #"{"limit":-9223372036854775809}"#), "limit", "a whole number in range"),
  ]

  @Test(arguments: unreadable) func aValueThatNothingCanHoldNamesItsField(
    _ hostile: (json: String, field: String, expected: String)
  ) {
    guard case .invalid(.number(1), _, let error) = ClientFrame.decode(Array(hostile.json.utf8)) else {
      Issue.record("was taken, or has no id")
      return
    }
    #expect(
      error.code == .invalidParams && error.data.field == hostile.field && error.data.expected == hostile.expected)
  }

  @Test func theErrorSaysWhatWasExpected() {
    let json = Self.request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":3,"kind":"video"}]}"#)
    guard case .invalid(_, let method, let error) = ClientFrame.decode(Array(json.utf8)) else {
      Issue.record("was taken")
      return
    }
    #expect(method == .pcOffer)
    #expect(error.message == "tracks[0].mid: expected a string.")
    let kind = Self.request("pc.offer", #"{"pc":"publish","sdp":"x","tracks":[{"mid":"3","kind":"smell"}]}"#)
    guard case .invalid(_, _, let other) = ClientFrame.decode(Array(kind.utf8)) else {
      Issue.record("was taken")
      return
    }
    #expect(other.data.expected == "one of audio, video")
  }

  @Test func theNamesOfAMessageAreBoundedTogether() {
    func frame(_ bytes: Int) -> ClientFrame {
      let lengths = Array(repeating: 128, count: bytes / 128) + [bytes % 128].filter { $0 > 0 }
      let names = lengths.map { "\"\(Self.long($0))\"" }
      let json = Self.request("chat.send", #"{"room":"a","text":"x","to":[\#(names.joined(separator: ","))]}"#)
      return ClientFrame.decode(Array(json.utf8))
    }
    #expect(isRequest(frame(ProtocolLimits.recipientBytes)))
    #expect(code(frame(ProtocolLimits.recipientBytes + 1)) == .tooLarge)
  }

  @Test(arguments: [
    #"{"id":1,"method":"call.history"}"#, #"{"id":1,"method":"call.hangup"}"#,
    #"{"id":1,"method":"call.hangup","params":null}"#, #"{"id":1,"method":"ping","params":{}}"#,
    #"{"id":1,"method":"ping","params":[1,2]}"#,
    #"{"id":1,"method":"room.info","params":{"room":"demo","colour":{"deep":[1]}},"extra":true}"#,
    #" { "method" : "room.list" , "id" : 1 } "#,
  ])
  func unknownFieldsAreIgnored(_ json: String) {
    guard case .request(let id, _) = ClientFrame.decode(Array(json.utf8)) else {
      Issue.record("was refused")
      return
    }
    #expect(id == .number(1))
  }

  @Test func nestingIsBounded() {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      // Two levels are the request's own.
      for depth in [14, 15, 1_000, 40_000] {
        let value = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        let json = Self.request("room.join", #"{"room":"a","metadata":\#(value)}"#)
        let frame = ClientFrame.decode(Array(json.utf8))
        if depth == 14 {
          #expect(isRequest(frame))
        } else {
          #expect(code(frame) == .tooLarge)
        }
      }
      #expect(code(ClientFrame.decode(Array(String(repeating: open, count: 50_000).utf8))) == .tooLarge)
    }
  }

  @Test func theNumberOfValuesIsBounded() {
    let zeroes = "[" + String(repeating: "0,", count: 60_000) + "0]"
    #expect(
      code(ClientFrame.decode(Array(Self.request("room.join", #"{"room":"a","x":\#(zeroes)}"#).utf8))) == .tooLarge)
    let commas = Self.request("chat.send", #"{"room":"a","text":"\#(String(repeating: ",[{", count: 2_000))"}"#)
    #expect(isRequest(ClientFrame.decode(Array(commas.utf8))), "what is in a string is no structure")
  }

  /// Keys are hashed to decode an object, and to hash a letter with n accents takes time with the square of n: seconds for one frame.
  @Test func keysAreBounded() {
    func frame(_ key: String) -> ClientFrame {
      ClientFrame.decode(Array(Self.request("room.join", #"{"room":"a","metadata":{"\#(key)":1}}"#).utf8))
    }
    let most = String(repeating: "\u{301}", count: ProtocolLimits.keyBytes / 2)
    #expect(isRequest(frame(most)))
    #expect(code(frame(most + "x")) == .tooLarge)
    #expect(isRequest(frame(String(repeating: #"\""#, count: ProtocolLimits.keyBytes / 2))))
    #expect(code(frame(String(repeating: #"\""#, count: ProtocolLimits.keyBytes / 2 + 1))) == .tooLarge)
    let text = Self.request("chat.send", #"{"room":"a","text":"\#(Self.long(4_000))"}"#)
    #expect(isRequest(ClientFrame.decode(Array(text.utf8))), "a value is no key")
    let accents = Self.long(1) + String(repeating: "\u{301}\u{316}", count: 60_000)
    let start = ContinuousClock.now
    #expect(code(frame(accents)) == .tooLarge)
    #expect(code(ClientFrame.decode(Array(#"{"\#(accents)" : 1}"#.utf8))) == .tooLarge)
    #expect(ContinuousClock.now - start < .seconds(1))
  }

  @Test func anOversizedFrameIsRefusedUnread() {
    let bytes = [UInt8](repeating: UInt8(ascii: "["), count: ProtocolLimits.messageBytes + 1)
    guard case .invalid(_, _, let error) = ClientFrame.decode(bytes) else {
      Issue.record("was taken")
      return
    }
    #expect(error.code == .tooLarge && error.data.limit == ProtocolLimits.messageBytes)
  }

  @Test func invalidUTF8IsRefused() {
    for bad: [UInt8] in [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]] {
      let json = Array(#"{"id":1,"method":"room.info","params":{"room":"a"#.utf8) + bad + Array(#""}}"#.utf8)
      #expect(!isRequest(ClientFrame.decode(json)))
    }
    #expect(!isRequest(ClientFrame.decode(Array(Self.request("room.info", #"{"room":"\ud800"}"#).utf8))))
  }

  @Test func ofEqualKeysOneCounts() {
    let json = Self.request("room.info", #"{"room":"a","room":"b"}"#)
    guard case .request(_, .room(.info(let params))) = ClientFrame.decode(Array(json.utf8)) else {
      Issue.record("was refused")
      return
    }
    #expect(["a", "b"].contains(params.room))
  }

  @Test func mutilatedRequestsNeverCrash() throws {
    var state: UInt64 = 42
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % max(bound, 1)
    }
    let seeds = try Samples.requests.map { try ClientFrame.encode($0, id: .number(1)) }
    var refused = 0
    for round in 0..<4_000 {
      var bytes = seeds[round % seeds.count]
      for _ in 0...random(4) {
        switch random(3) {
        case 0: bytes[random(bytes.count)] = UInt8(random(256))
        case 1: bytes.removeSubrange(random(bytes.count)...)
        default: bytes.insert(contentsOf: Array(#"{}[],":0"#.utf8).prefix(random(8)), at: random(bytes.count))
        }
        if bytes.isEmpty { bytes = [0] }
      }
      if case .invalid(_, _, let error) = ClientFrame.decode(bytes) {
        refused += 1
        #expect(!error.message.isEmpty)
      }
    }
    #expect(refused > 2_000)
  }

  private func isRequest(_ frame: ClientFrame) -> Bool {
    if case .request = frame { true } else { false }
  }

  private func code(_ frame: ClientFrame) -> ErrorCode? {
    if case .invalid(_, _, let error) = frame { error.code } else { nil }
  }
}

extension String {
  fileprivate static let expectedText = "text, without half a surrogate pair"
}
