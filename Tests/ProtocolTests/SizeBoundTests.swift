// How long and how many the things may be that a client says: so much is taken, and one more is not.

import Testing

@testable import RoostProtocol

/// A field with a bound on its bytes, and a request that fills it.
struct BoundedField: Sendable, CustomTestStringConvertible {
  var field: String
  var bound: Int
  /// The request with a value of so many bytes as they count.
  var request: @Sendable (Int) -> String
  var method: String
  var testDescription: String { "\(method) \(field)" }

  init(_ method: String, _ field: String, _ bound: Int, _ params: @escaping @Sendable (String) -> String) {
    (self.method, self.field, self.bound) = (method, field, bound)
    // Of opaque JSON the quotes count too.
    let quotes = bound == ProtocolLimits.opaqueBytes || field == "data" ? 2 : 0
    request = { HostileTests.request(method, params(HostileTests.long($0 - quotes))) }
  }
}

/// A list with a bound on its entries, or a number, and a request with so many.
struct BoundedCount: Sendable, CustomTestStringConvertible {
  var field: String
  var bound: Int
  /// What one more is told.
  var code: ErrorCode
  var request: @Sendable (Int) -> String
  var method: String
  var testDescription: String { "\(method) \(field)" }

  init(
    _ method: String, _ field: String, _ bound: Int, _ code: ErrorCode,
    _ params: @escaping @Sendable (Int) -> String
  ) {
    (self.method, self.field, self.bound, self.code) = (method, field, bound, code)
    request = { HostileTests.request(method, params($0)) }
  }

  /// A list of so many.
  static func list(_ count: Int, _ entry: (Int) -> String) -> String {
    "[" + (0..<count).map(entry).joined(separator: ",") + "]"
  }

  /// So many users.
  static func users(_ count: Int) -> String { list(count) { "\"u\($0)\"" } }

  /// An offer with one track of video that has this, too.
  static func offer(_ more: String) -> String {
    #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video",\#(more)}]}"#
  }
}

@Suite struct SizeBoundTests {
  static let names = [
    BoundedField("room.join", "room", 128) { #"{"room":"\#($0)"}"# },
    BoundedField("room.join", "displayName", 128) { #"{"room":"a","displayName":"\#($0)"}"# },
    BoundedField("session.hello", "user", 128) { #"{"user":"\#($0)"}"# },
    BoundedField("session.hello", "deviceId", 128) { #"{"user":"a","deviceId":"\#($0)"}"# },
    BoundedField("chat.send", "clientMsgId", 128) { #"{"room":"a","text":"x","clientMsgId":"\#($0)"}"# },
    BoundedField("chat.send", "to[0]", 128) { #"{"room":"a","text":"x","to":["\#($0)"]}"# },
    BoundedField("message.send", "topic", 64) { #"{"room":"a","topic":"\#($0)","data":1}"# },
    BoundedField("message.request", "topic", 64) { #"{"room":"a","to":"b","topic":"\#($0)","data":1}"# },
    BoundedField("message.request", "to", 128) { #"{"room":"a","to":"\#($0)","topic":"x","data":1}"# },
    BoundedField("message.answer", "requestId", 128) { #"{"requestId":"\#($0)","data":1}"# },
    BoundedField("message.send", "to[0]", 128) { #"{"room":"a","topic":"x","data":1,"to":["\#($0)"]}"# },
    BoundedField("message.send", "callId", 128) { #"{"callId":"\#($0)","topic":"x","data":1}"# },
    BoundedField("track.subscribe", "trackId", 128) { #"{"trackId":"\#($0)"}"# },
    BoundedField("call.hangup", "callId", 128) { #"{"callId":"\#($0)"}"# },
  ]
  static let opaque = [
    BoundedField("message.request", "data", 8_192) { #"{"room":"a","to":"b","topic":"x","data":"\#($0)"}"# },
    BoundedField("message.answer", "data", 8_192) { #"{"requestId":"q1","data":"\#($0)"}"# },
    BoundedField("message.send", "data", 8_192) { #"{"room":"a","topic":"x","data":"\#($0)"}"# },
    BoundedField("room.join", "metadata", 4_096) { #"{"room":"a","metadata":"\#($0)"}"# },
    BoundedField("session.hello", "capabilities", 4_096) { #"{"user":"a","capabilities":"\#($0)"}"# },
    BoundedField("call.start", "extra", 4_096) { #"{"to":["b"],"kind":"group","media":"audio","extra":"\#($0)"}"# },
    BoundedField("pc.offer", "tracks[0].split", 4_096) {
      #"{"pc":"publish","sdp":"x","tracks":[{"mid":"0","kind":"video","split":"\#($0)"}]}"#
    },
  ]
  static let texts = [
    BoundedField("chat.send", "text", 8_192) { #"{"room":"a","text":"\#($0)"}"# },
    BoundedField("pc.offer", "sdp", 131_072) { #"{"pc":"publish","sdp":"\#($0)"}"# },
    BoundedField("pc.answer", "sdp", 393_216) { #"{"offerId":1,"sdp":"\#($0)"}"# },
  ]
  static let lists: [BoundedCount] = [
    BoundedCount("chat.send", "to", 400, .tooLarge) {
      #"{"room":"a","text":"x","to":\#(BoundedCount.users($0))}"#
    },
    BoundedCount("message.send", "to", 400, .tooLarge) {
      #"{"room":"a","topic":"x","data":1,"to":\#(BoundedCount.users($0))}"#
    },
    BoundedCount("call.start", "to", 400, .tooLarge) {
      #"{"to":\#(BoundedCount.users($0)),"kind":"group","media":"audio"}"#
    },
    BoundedCount("call.invite", "users", 400, .tooLarge) { #"{"callId":"c","users":\#(BoundedCount.users($0))}"# },
    BoundedCount("call.cancelInvite", "users", 400, .tooLarge) {
      #"{"callId":"c","users":\#(BoundedCount.users($0))}"#
    },
    BoundedCount("user.query", "users", 100, .tooLarge) { #"{"users":\#(BoundedCount.users($0))}"# },
    BoundedCount("pc.offer", "tracks", 32, .tooLarge) { count in
      let tracks = BoundedCount.list(count) { #"{"mid":"\#($0)","kind":"audio"}"# }
      return #"{"pc":"publish","sdp":"x","tracks":\#(tracks)}"#
    },
    BoundedCount("view.show", "views", 49, .invalidParams) { count in
      let views = BoundedCount.list(count) { #"{"subscriptionId":"s\#($0)"}"# }
      return #"{"views":\#(views)}"#
    },
  ]
  static let numbers: [BoundedCount] = [
    BoundedCount("room.join", "views", 49, .invalidParams) { #"{"room":"a","views":\#($0)}"# },
    BoundedCount("view.open", "count", 49, .invalidParams) { #"{"count":\#($0)}"# },
    BoundedCount("room.list", "limit", 100, .invalidParams) { #"{"limit":\#($0)}"# },
    BoundedCount("chat.history", "limit", 100, .invalidParams) { #"{"room":"a","limit":\#($0)}"# },
    BoundedCount("call.history", "limit", 100, .invalidParams) { #"{"limit":\#($0)}"# },
    BoundedCount("pc.offer", "tracks[0].viewIndex", 255, .invalidParams) {
      BoundedCount.offer(#""viewIndex":\#($0)"#)
    },
    BoundedCount("track.subscribe", "view", 255, .invalidParams) { #"{"trackId":"t","view":\#($0)}"# },
    BoundedCount("track.subscribe", "priority", 255, .invalidParams) { #"{"trackId":"t","priority":\#($0)}"# },
    BoundedCount("track.update", "priority", 255, .invalidParams) { #"{"subscriptionId":"s","priority":\#($0)}"# },
    BoundedCount("pc.offer", "tracks[0].heights[0]", 16_384, .invalidParams) {
      BoundedCount.offer(#""heights":[\#($0)]"#)
    },
    BoundedCount("track.subscribe", "maxHeight", 16_384, .invalidParams) { #"{"trackId":"t","maxHeight":\#($0)}"# },
    BoundedCount("track.update", "maxHeight", 16_384, .invalidParams) {
      #"{"subscriptionId":"s","maxHeight":\#($0)}"#
    },
    BoundedCount("call.start", "ringTimeoutMs", 180_000, .invalidParams) {
      #"{"to":["b"],"kind":"group","media":"audio","ringTimeoutMs":\#($0)}"#
    },
    BoundedCount("message.request", "timeoutMs", 60_000, .invalidParams) {
      #"{"room":"a","to":"b","topic":"x","data":1,"timeoutMs":\#($0)}"#
    },
    BoundedCount("call.invite", "ringTimeoutMs", 180_000, .invalidParams) {
      #"{"callId":"c","users":["b"],"ringTimeoutMs":\#($0)}"#
    },
  ]

  @Test(arguments: names + opaque + texts) func soManyBytesAreTakenAndNotOneMore(_ bounded: BoundedField) {
    let fits = ClientFrame.decode(Array(bounded.request(bounded.bound).utf8))
    if case .request = fits {} else { Issue.record("\(fits)") }
    guard case .invalid(_, _, let error) = ClientFrame.decode(Array(bounded.request(bounded.bound + 1).utf8)) else {
      Issue.record("one more was taken")
      return
    }
    #expect(error.code == .tooLarge && error.data.field == bounded.field)
    #expect(error.data.limit == bounded.bound && error.data.count == bounded.bound + 1)
  }

  @Test(arguments: lists + numbers) func soManyAreTakenAndNotOneMore(_ bounded: BoundedCount) {
    let fits = ClientFrame.decode(Array(bounded.request(bounded.bound).utf8))
    if case .request = fits {} else { Issue.record("\(fits)") }
    guard case .invalid(_, _, let error) = ClientFrame.decode(Array(bounded.request(bounded.bound + 1).utf8)) else {
      Issue.record("one more was taken")
      return
    }
    #expect(error.code == bounded.code && error.data.field == bounded.field)
    guard bounded.code == .tooLarge else { return }
    #expect(error.data.limit == bounded.bound && error.data.count == bounded.bound + 1)
  }

  @Test func anIdHasSoManyBytesAndNotOneMore() {
    for (count, isTaken) in [(128, true), (129, false)] {
      let name = HostileTests.long(count)
      switch ClientFrame.decode(Array(#"{"jsonrpc":"2.0","id":"\#(name)","method":"ping","params":{}}"#.utf8)) {
      case .request(let id, _): #expect(isTaken && id == .string(name))
      case .invalid(let id, _, let error): #expect(!isTaken && id == nil && error.code == .invalidRequest)
      }
    }
  }

  /// A client does not read everything either. Two levels are the event's own.
  @Test func aServersFrameHasSoManyLevelsAndNotOneMore() throws {
    func frame(_ levels: Int) -> [UInt8] {
      let deep = String(repeating: "[", count: levels - 2) + String(repeating: "]", count: levels - 2)
      return Array(#"{"jsonrpc":"2.0","method":"news","params":{"seq":7,"more":\#(deep)}}"#.utf8)
    }
    let decoded = try ServerFrame.decode(frame(64)) { _ in nil }
    #expect(decoded == .unknownEvent(name: "news", seq: 7))
    let error = #expect(throws: ErrorObject.self) { try ServerFrame.decode(frame(65)) { _ in nil } }
    #expect(error?.code == .tooLarge)
  }

  /// Every value, key and container counts.
  @Test func soManyValuesAreTakenAndNotOneMore() {
    for (count, isTaken) in [(ProtocolLimits.messageValues, true), (ProtocolLimits.messageValues + 1, false)] {
      func text(_ zeros: Int) -> [UInt8] {
        let list = [String](repeating: "0", count: zeros).joined(separator: ",")
        return Array(HostileTests.request("room.join", #"{"room":"a","metadata":[\#(list)]}"#).utf8)
      }
      let others = MessageShape(text(1)).values - 1
      let bytes = text(count - others)
      #expect(MessageShape(bytes).values == count)
      switch ClientFrame.decode(bytes) {
      case .request: #expect(isTaken)
      case .invalid(_, _, let error): #expect(!isTaken && error.code == .tooLarge)
      }
    }
  }
}
