// What one thing that a client says may be long: so many bytes are taken, and one more is not.

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
    let quotes = bound == ProtocolLimits.opaqueBytes ? 2 : 0
    request = { HostileTests.request(method, params(HostileTests.long($0 - quotes))) }
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
    BoundedField("track.subscribe", "trackId", 128) { #"{"trackId":"\#($0)"}"# },
    BoundedField("call.hangup", "callId", 128) { #"{"callId":"\#($0)"}"# },
  ]
  static let opaque = [
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

  /// Every value, key and container counts.
  @Test func soManyValuesAreTakenAndNotOneMore() {
    for (count, isTaken) in [(ProtocolLimits.messageValues, true), (ProtocolLimits.messageValues + 1, false)] {
      func text(_ zeros: Int) -> [UInt8] {
        let list = [String](repeating: "0", count: zeros).joined(separator: ",")
        return Array(HostileTests.request("room.join", #"{"room":"a","metadata":[\#(list)]}"#).utf8)
      }
      let others = MessageShape(text(1).span).values - 1
      let bytes = text(count - others)
      #expect(MessageShape(bytes.span).values == count)
      switch ClientFrame.decode(bytes) {
      case .request: #expect(isTaken)
      case .invalid(_, _, let error): #expect(!isTaken && error.code == .tooLarge)
      }
    }
  }
}
