// What is read of frames, and what is none.

import RoostProtocol
import Testing

@testable import Flashphoner

@Suite struct ClientMessageTests {
  private func read(_ text: String) throws -> ClientMessage { try ClientMessage(Array(text.utf8)) }

  @Test func aConnectionSaysWhoItIs() throws {
    let message = try read(
      #"{"message":"connection","data":[{"appKey":"roomApp","mediaProviders":["WebRTC"],"keepAlive":true,"#
        + #""authToken":"a1","custom":{"login":"Anna","token":"t"}}]}"#)
    guard case .connection(let wish) = message else {
      Issue.record("\(message)")
      return
    }
    #expect(wish.appKey == "roomApp" && wish.login == "Anna" && wish.token == "t" && wish.authToken == "a1")
    #expect(wish.whole["keepAlive"] == true)
    guard
      case .connection(let other) = try read(
        #"{"message":"connection","data":[{"appKey":"defaultApp","authToken":null}]}"#)
    else {
      Issue.record("another message")
      return
    }
    #expect(other.login == nil && other.token == nil && other.authToken == nil)
  }

  /// Names that are compared are in Unicode form C; logins that a message is for are compared with what others are shown, of any form.
  @Test func namesOfAnotherFormAreRefused() throws {
    func frames(_ name: String) -> [String] {
      [
        #"{"message":"connection","data":[{"appKey":"a","custom":{"login":"\#(name)"}}]}"#,
        #"{"message":"connection","data":[{"appKey":"\#(name)"}]}"#,
        #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"join","options":{"name":"\#(name)"}}}]}"#,
        #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"leave","options":{"name":"\#(name)"}}}]}"#,
        #"{"message":"publishStream","data":[{"mediaSessionId":"m","name":"s","sdp":"v=0","custom":{"name":"\#(name)"}}]}"#,
        #"{"message":"publishStream","data":[{"mediaSessionId":"m","name":"\#(name)","sdp":"v=0"}]}"#,
        #"{"message":"playStream","data":[{"mediaSessionId":"\#(name)","name":"s","sdp":"v=0"}]}"#,
        #"{"message":"availableStream","data":[{"mediaSessionId":"m","name":"\#(name)"}]}"#,
      ]
    }
    for wrong in ["\u{212a}im", "Rene\u{301}", "\u{301}Kim"] {
      for frame in frames(wrong) {
        let error = #expect(throws: MalformedMessage.self, "\(frame)") { try read(frame) }
        #expect(error?.reason.contains("in Unicode form C") == true)
      }
    }
    for right in ["Kim", "Ren\u{e9}"] { for frame in frames(right) { _ = try read(frame) } }
    let message = try read(
      #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"sendMessage","options":{"roomConfig":{"name":"r"},"to":"Rene\#u{301}","text":"t"}}}]}"#
    )
    #expect(message == .data(operation: "o", .message(room: "r", to: ["Rene\u{301}"], text: "t")))
  }

  @Test(arguments: [
    (#"{"message":"ping","data":[null]}"#, ClientMessage.ping), (#"{"message":"pong","data":[null]}"#, .pong),
    (#"{"message":"pong","data":[]}"#, .pong), (#"{"message":"pong"}"#, .pong),
    (
      #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"join","options":{"name":"r","record":true}}}]}"#,
      .data(operation: "o", .join(room: "r", isRecorded: true))
    ),
    (
      #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"leave","options":{"name":"r"}}}]}"#,
      .data(operation: "o", .leave(room: "r"))
    ),
    (
      #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"sendMessage","options":{"roomConfig":{"name":"r"},"to":"Ben","text":"t"}}}]}"#,
      .data(operation: "o", .message(room: "r", to: ["Ben"], text: "t"))
    ),
    (
      #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"dance"}}]}"#,
      .data(operation: "o", .other("dance"))
    ),
    (#"{"message":"unPublishStream","data":[{"mediaSessionId":"m","name":"s"}]}"#, .stop(id: "m")),
    (#"{"message":"stopStream","data":[{"mediaSessionId":"m","name":"s"}]}"#, .stop(id: "m")),
    (
      #"{"message":"sendStreamEvent","data":[{"mediaSessionId":"m","type":"videoUnmuted"}]}"#,
      .streamEvent(id: "m", .muted(.video, false))
    ),
    (
      #"{"message":"sendStreamEvent","data":[{"mediaSessionId":"m","type":"data","payload":{}}]}"#,
      .streamEvent(id: "m", .data([:]))
    ),
    (
      #"{"message":"sendStreamEvent","data":[{"mediaSessionId":"m","type":"dance"}]}"#,
      .streamEvent(id: "m", .other("dance"))
    ),
    (#"{"message":"availableStream","data":[{"mediaSessionId":"m","name":"s"}]}"#, .available(id: "m", name: "s")),
    (#"{"message":"call","data":[{"callId":"c"}]}"#, .unsupported(word: "call", id: "c")),
  ]) func wordsAreKnown(text: String, message: ClientMessage) throws {
    #expect(try read(text) == message)
  }

  @Test func aStreamSaysWhatItIs() throws {
    let message = try read(
      #"{"message":"publishStream","data":[{"mediaSessionId":"m","name":"r-Anna-1a2b","published":true,"hasVideo":true,"#
        + #""record":true,"mediaProvider":"WebRTC","sdp":"v=0","custom":{"name":"r"},"#
        + #""constraints":{"video":{"type":"screen"}}}]}"#)
    var wish = StreamWish(id: "m", name: "r-Anna-1a2b", room: "r", sdp: "v=0")
    (wish.isScreen, wish.isRecorded) = (true, true)
    #expect(message == .publish(wish))
    guard
      case .play(let flash) = try read(
        #"{"message":"playStream","data":[{"mediaSessionId":"m","name":"s","mediaProvider":"Flash"}]}"#),
      case .publish(let rtmp) = try read(
        #"{"message":"publishStream","data":[{"mediaSessionId":"m","name":"s","rtmpUrl":"rtmp://x"}]}"#)
    else {
      Issue.record("another message")
      return
    }
    #expect(flash.objection != nil && rtmp.objection?.contains("RTMP") == true)
  }

  @Test(arguments: [
    "", "hello", "[]", "1", "{}", #"{"message":1}"#, #"{"message":""}"#, #"{"message":"join","data":{}}"#,
    #"{"message":"connection","data":[]}"#, #"{"message":"connection","data":[{"appKey":"\u0007"}]}"#,
    #"{"message":"connection","data":["x"]}"#, #"{"message":"sendData","data":[{"operationId":"o"}]}"#,
    #"{"message":"sendData","data":[{"payload":{"command":"join","options":{"name":"r"}}}]}"#,
    #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"join","options":{}}}]}"#,
    #"{"message":"sendData","data":[{"operationId":"o","payload":{"command":"sendMessage","options":{"roomConfig":{"name":"r"},"to":[1],"text":"t"}}}]}"#,
    #"{"message":"publishStream","data":[{"name":"s","sdp":"v=0"}]}"#,
  ]) func whatIsNoMessageIsRefused(text: String) {
    #expect(throws: MalformedMessage.self) { try read(text) }
  }

  @Test func sizesAreBounded() {
    let long = String(repeating: "x", count: 200)
    let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
    let many = "[" + Array(repeating: "1", count: 2000).joined(separator: ",") + "]"
    let large = String(repeating: "y", count: ClientMessage.connectionBytes)
    for text in [
      #"{"message":"\#(long)"}"#, #"{"message":"ping","data":[\#(deep)]}"#, #"{"message":"ping","data":\#(many)}"#,
      #"{"message":"connection","data":[{"appKey":"a","more":"\#(large)"}]}"#,
      #"{"message":"stopStream","data":[{"mediaSessionId":"\#(long)"}]}"#,
      #"{"message":"connection","data":[{"appKey":"a","custom":{"token":"\#(large)"}}]}"#,
    ] { #expect(throws: MalformedMessage.self) { try read(text) } }
  }
}

@Suite struct ConnectionSizeTests {
  /// What it says of itself goes back to it: so many bytes, and not one more.
  @Test func sixteenKilobytesAreTakenAndNotOneByteMore() throws {
    func connection(of bytes: Int) -> [UInt8] {
      let begin = #"{"appKey":"a","more":""#
      let whole = begin + String(repeating: "y", count: bytes - begin.utf8.count - 2) + "\"}"
      return Array(#"{"message":"connection","data":[\#(whole)]}"#.utf8)
    }
    guard case .connection(let wish) = try ClientMessage(connection(of: 16 << 10)) else {
      Issue.record("another message")
      return
    }
    #expect(JSONValue.object(wish.whole).encodedSize == ClientMessage.connectionBytes)
    #expect(throws: MalformedMessage.self) { try ClientMessage(connection(of: 16 << 10 + 1)) }
  }
}

@Suite struct ServerMessageTests {
  private func frame(_ message: ServerMessage) throws -> JSONValue { try .reading(message.frame(operation: "7")) }

  @Test func framesHaveTheirShapes() throws {
    #expect(try frame(.ping) == ["message": "ping", "data": [nil]])
    #expect(try frame(.remoteSDP(id: "m", sdp: "v=0")) == ["message": "setRemoteSDP", "data": ["m", "v=0"]])
    #expect(
      try frame(.dataStatus(operation: "o", isAccepted: false, info: "no"))
        == ["message": "DataStatusEvent", "data": [["operationId": "o", "status": "FAILED", "info": "no"]]])
    #expect(
      try frame(.room("r", .state([("A", []), ("B", ["r-B-1"])])))
        == [
          "message": "OnDataEvent",
          "data": [
            [
              "operationId": "7",
              "payload": ["roomName": "r", "name": "STATE", "info": ["A", ["login": "B", "name": "r-B-1"]]],
            ]
          ],
        ])
    #expect(
      try frame(.status(StreamReport(id: "m", name: "s", status: .playing, muted: [.video: true])))
        == [
          "message": "notifyStreamStatusEvent",
          "data": [["mediaSessionId": "m", "name": "s", "status": "PLAYING", "videoState": ["muted": true]]],
        ])
    #expect(
      try frame(.muted(id: "m", .audio, false))
        == ["message": "notifyStreamEvent", "data": [["mediaSessionId": "m", "type": "audioUnmuted"]]])
    #expect(
      try frame(.fail(.init(word: "call", info: "no"))) == [
        "message": "fail", "data": [["apiMethod": "call", "info": "no"]],
      ])
    #expect(
      try frame(.fail(.init(stream: "m", name: "s", info: "no")))
        == [
          "message": "fail",
          "data": [
            [
              "apiMethod": "StreamStatusEvent", "id": "m", "mediaSessionId": "m", "name": "s", "status": "FAILED",
              "info": "no",
            ]
          ],
        ])
    #expect(
      try frame(.userData(["appKey": "a", "authToken": nil], authToken: "t"))
        == ["message": "getUserData", "data": [["appKey": "a", "authToken": "t"]]])
  }

  /// Every refusal of the core is said, and the words that clients know are used where they fit.
  @Test(arguments: ErrorCode.allCases) func everyRefusalOfTheCoreHasWords(code: ErrorCode) {
    #expect(!Info.text(ErrorObject(code)).isEmpty)
    #expect(Info.text(ErrorObject(.roomFull)) == "Room is full")
    #expect(Info.text(ErrorObject(.forbidden) { $0.reason = "publishers" }) == "Stream name is already in use")
    #expect(Info.text(.dtls) == "Failed by DTLS error" && Info.text(.ice) == "Failed by ICE timeout")
  }
}
