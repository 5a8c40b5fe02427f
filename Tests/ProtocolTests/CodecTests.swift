// Every message both ways, and the names on the wire as docs/protocol.md has them.

import CAllocationCounter
import Foundation
import RoostProtocol
import Testing

@Suite struct CodecTests {
  @Test(arguments: Samples.requests) func requestsComeBackAsTheyWere(_ request: Request) throws {
    for id in [RequestID.number(7), .number(.max), .string("a-7"), .string("")] {
      let bytes = try ClientFrame.encode(request, id: id)
      #expect(ClientFrame.decode(bytes) == .request(id, request))
    }
  }

  @Test(arguments: 0..<Samples.replies.count) func repliesComeBackAsTheyWere(_ index: Int) throws {
    let (method, reply) = Samples.replies[index]
    let bytes = try ServerFrame.reply(.number(3), reply).encode()
    let decoded = try ServerFrame.decode(bytes) { $0 == .number(3) ? method : nil }
    #expect(decoded == .reply(.number(3), reply))
  }

  /// A client newer than its server.
  @Test func aSnapshotThatDoesNotSayWhatRingsIsRead() throws {
    for text in [#"{"seq": 7}"#, #"{"seq": 7, "ringing": null}"#, #"{"seq": 7, "ringing": []}"#] {
      #expect(try JSONDecoder().decode(Resync.self, from: Data(text.utf8)) == Resync(seq: 7))
    }
    let frame = Array(#"{"jsonrpc": "2.0", "id": 1, "result": {"resync": {"seq": 7}}}"#.utf8)
    let decoded = try ServerFrame.decode(frame) { _ in .sessionResume }
    #expect(decoded == .reply(.number(1), .resumed(.resync(Resync(seq: 7)))))
  }

  @Test(arguments: Samples.events) func eventsComeBackAsTheyWere(_ event: Event) throws {
    let frame = ServerFrame.event(EventMessage(seq: 41, serverTime: 1_700_000_000_001, event: event))
    #expect(try ServerFrame.decode(frame.encode()) { _ in nil } == frame)
  }

  /// Many hear one text with their own numbers in it, the same as each would get alone.
  @Test(arguments: Samples.events) func anEventIsEncodedOnceForAll(_ event: Event) throws {
    let text = try EventText(event, serverTime: -5)
    for seq in [1, 77, .max] {
      let frame = text.frame(seq: seq)
      let message = EventMessage(seq: seq, serverTime: -5, event: event)
      #expect(try ServerFrame.decode(frame) { _ in nil } == .event(message))
      let head = #"{"jsonrpc":"2.0","method":"\#(event.name.rawValue)","params":{"seq":\#(seq),"serverTime":-5"#
      #expect(String(decoding: frame, as: UTF8.self).hasPrefix(head), "always in this order")
      #expect(throws: Never.self) { try object(frame) }
    }
  }

  /// What a receiver more costs: its own copy of the bytes.
  @Test func anotherReceiverCostsNoEncoding() throws {
    let event = Event.chatMessage(Message(msgId: "m1", room: "demo", ts: 5, from: "anna", text: "to all"))
    let text = try EventText(event, serverTime: 1_700_000_000_000)
    _ = text.frame(seq: 1)
    let before = roost_thread_allocations()
    var bytes = 0
    for seq in 1...500 { bytes += text.frame(seq: seq).count }
    #expect(roost_thread_allocations() - before <= 500 && bytes > 50_000)
  }

  @Test(arguments: ErrorCode.allCases) func errorsComeBackAsTheyWere(_ code: ErrorCode) throws {
    var error = ErrorObject(code)
    #expect(!error.message.isEmpty)
    error.data.retryAfterMs = 100
    error.data.step = .ice
    error.data.field = "tracks[0].mid"
    for id in [RequestID.string("x"), nil] {
      let frame = ServerFrame.failure(id, error)
      #expect(try ServerFrame.decode(frame.encode()) { _ in nil } == frame)
    }
  }

  @Test func envelopesAreJSONRPC() throws {
    let request = try object(ClientFrame.encode(.room(.info(RoomParams(room: "demo"))), id: .number(4)))
    #expect(request == ["jsonrpc": "2.0", "id": 4, "method": "room.info", "params": ["room": "demo"]])
    #expect(
      try object(ClientFrame.encode(.session(.ping), id: .string("p"))) == [
        "jsonrpc": "2.0", "id": "p", "method": "ping",
      ])
    let reply = try object(ServerFrame.reply(.string("p"), .empty).encode())
    #expect(reply == ["jsonrpc": "2.0", "id": "p", "result": [:] as [String: Int]])
    let event = try object(
      ServerFrame.event(EventMessage(seq: 5, serverTime: 6, event: .sessionReplaced)).encode())
    #expect(event == ["jsonrpc": "2.0", "method": "session.replaced", "params": ["seq": 5, "serverTime": 6]])
    let failure = try object(ServerFrame.failure(nil, .limit(.roomFull, limit: 3, count: 3)).encode())
    let data: NSDictionary = ["name": "ROOM_FULL", "retryable": false, "limit": 3, "count": 3]
    let error: NSDictionary = ["code": 2002, "message": "The room is full.", "data": data]
    #expect(failure == ["jsonrpc": "2.0", "id": NSNull(), "error": error])
  }

  @Test func objectsHaveTheNamesOfTheProtocol() throws {
    #expect(
      try keys(Samples.room) == [
        "room", "kind", "media", "limit", "count", "seq", "self", "participants", "chat", "views",
        "moderation",
      ])
    #expect(
      try keys(Samples.participant) == [
        "participantId", "user", "displayName", "state", "metadata", "tracks", "role", "handRaisedAt",
      ])
    #expect(
      try keys(Samples.track) == ["trackId", "kind", "label", "source", "muted", "viewIndex", "split", "definitions"])
    #expect(try keys(Samples.message) == ["msgId", "room", "ts", "from", "displayName", "to", "text"])
    #expect(try keys(Samples.info) == ["name", "kind", "media", "limit", "count"])
    #expect(
      try keys(Samples.hello) == [
        "sessionId", "resumeToken", "user", "deviceId", "serverTime", "limits", "iceServers", "ringing", "current",
        "missed",
      ])
    #expect(
      try keys(Samples.call) == [
        "callId", "room", "kind", "media", "answerPolicy", "rejectPolicy", "busyPolicy", "state", "rev", "caller",
        "members", "mediaRequest", "extra", "createdAt", "startedAt", "endedAt", "reason", "by", "expiresAt",
        "remainingMs",
      ])
    #expect(
      try keys(Samples.member) == [
        "user", "displayName", "state", "reason", "media", "invitedBy", "joinedAt", "leftAt", "role",
      ])
  }

  @Test func whatIsAbsentIsLeftOut() throws {
    let bare = Track(trackId: "t", kind: .audio, label: "", muted: false, definitions: [])
    #expect(try keys(bare) == ["trackId", "kind", "label", "muted", "definitions"])
    #expect(
      try keys(Message(msgId: "m", room: "r", ts: 1, from: "a", text: "x")) == ["msgId", "room", "ts", "from", "text"])
    #expect(try keys(CallCurrentResult()) == [])
  }

  @Test func aNewerServerIsUnderstoodAsFarAsPossible() throws {
    let unknown = #"{"jsonrpc":"2.0","method":"room.painted","params":{"seq":9,"serverTime":1,"colour":"red"}}"#
    #expect(try ServerFrame.decode(Array(unknown.utf8)) { _ in nil } == .unknownEvent(name: "room.painted", seq: 9))
    let left = """
      {"jsonrpc":"2.0","method":"room.participantLeft","params":{"seq":2,"serverTime":1,"room":"r","participantId":"p1",
      "user":"u","reason":"teleported","colour":"red"}}
      """
    guard case .event(let message) = try ServerFrame.decode(Array(left.utf8), pending: { _ in nil }),
      case .participantLeft(let params) = message.event
    else {
      Issue.record("not an event")
      return
    }
    #expect(params.reason == LeaveReason(rawValue: "teleported"))
    let failure = #"{"id":1,"error":{"code":4711,"message":"new","data":{"name":"NEW","retryable":true}}}"#
    guard case .failure(_, let error) = try ServerFrame.decode(Array(failure.utf8), pending: { _ in nil }) else {
      Issue.record("not a failure")
      return
    }
    #expect(error.code == .internalError && error.data.name == "NEW" && error.data.retryable)
  }

  @Test(arguments: [
    #"{"id":1,"result":{}}"#, #"{"id":2,"result":7}"#, #"{"id":2}"#, "[]", "", "nonsense",
    #"{"method":"chat.message","params":{"seq":1,"serverTime":2}}"#, #"{"method":"chat.message"}"#,
  ])
  func aServerThatTalksNonsenseIsAnError(_ text: String) {
    #expect(throws: ErrorObject.self) {
      try ServerFrame.decode(Array(text.utf8)) { $0 == .number(2) ? .roomInfo : nil }
    }
  }

  private func object(_ bytes: [UInt8]) throws -> NSDictionary? {
    try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary
  }

  private func keys(_ value: some Encodable) throws -> Set<String> {
    let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any]
    return Set(try #require(object).keys)
  }
}
