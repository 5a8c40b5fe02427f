// Numbers and names of errors and reasons as the protocol has them, and opaque JSON.

import Foundation
import RoostProtocol
import Testing

@Suite struct VocabularyTests {
  static let errors: [(Int, String)] = [
    (1003, "NOT_LOGGED_IN"), (1004, "AUTH_FAILED"), (1005, "FORBIDDEN"), (1006, "RATE_LIMITED"),
    (1007, "RESUME_EXPIRED"), (1008, "SESSION_REPLACED"), (1009, "UNSUPPORTED"), (1010, "TOO_LARGE"),
    (1011, "REFUSED_BY_APP"), (1012, "NO_ANSWER"),
    (2001, "ROOM_NOT_FOUND"), (2002, "ROOM_FULL"), (2003, "NAME_TAKEN"), (2004, "ALREADY_JOINED"),
    (2005, "NOT_JOINED"), (2006, "ROOM_CLOSED"), (2007, "ROOM_LOCKED"), (2008, "IN_LOBBY"), (2009, "BANNED"),
    (3001, "CALL_NOT_FOUND"),
    (3002, "CALL_ENDED"), (3003, "INVALID_STATE"), (3004, "ANSWERED_ELSEWHERE"), (3005, "REJECTED_ELSEWHERE"),
    (3006, "NOT_IN_CALL"), (3007, "NOT_INVITED"), (3008, "USER_NOT_FOUND"), (3011, "SELF_BUSY"),
    (3012, "CANNOT_CALL_SELF"), (3013, "CALL_FULL"), (3014, "TOO_MANY_INVITEES"), (3015, "MEDIA_CHANGE_PENDING"),
    (3016, "MEDIA_NOT_ALLOWED"), (4001, "TRACK_NOT_FOUND"), (4002, "NOT_SUBSCRIBED"), (4003, "TOO_MANY_TRACKS"),
    (4004, "NO_COMMON_CODEC"), (4005, "NEGOTIATION_FAILED"), (4006, "TRANSPORT_FAILED"), (4007, "LAYER_UNAVAILABLE"),
    (5000, "INTERNAL"), (5001, "DRAINING"), (5002, "OVERLOADED"),
  ]

  @Test func errorsHaveTheirNumbersAndNames() {
    for (number, name) in Self.errors { #expect(ErrorCode(rawValue: number)?.name == name) }
    #expect(Set(ErrorCode.allCases.map(\.rawValue)) == Set(Self.errors.map(\.0) + [-32700, -32600, -32601, -32602]))
    #expect(Set(ErrorCode.allCases.map(\.name)).count == ErrorCode.allCases.count)
    #expect(Set(ErrorCode.allCases.map(\.message)).count == ErrorCode.allCases.count)
    #expect(Set(ErrorCode.allCases.filter(\.isRetryable).map(\.rawValue)) == [1006, 4006, 5001, 5002])
  }

  @Test func reasonsHaveTheirNumbers() {
    let expected: [String: Int] = [
      "hangup": 6000, "rejected": 6001, "busy": 6002, "no_answer": 6003, "cancelled": 6004, "answered_elsewhere": 6005,
      "answered_by_other": 6005, "rejected_elsewhere": 6006, "rejected_by_other": 6006, "unreachable": 6007,
      "connect_failed": 6008, "disconnected": 6009, "stopped": 6010, "removed": 6011, "replaced": 6012,
      "switched_call": 6012, "caller_lost": 6013, "network_changed": 6014, "background": 6015, "call_ended": 6016,
    ]
    #expect(Dictionary(uniqueKeysWithValues: Reason.allCases.map { ($0.rawValue, $0.code) }) == expected)
    #expect(CallStopped(callId: "c", rev: 1, reason: .answeredByOther).code == 6005)
  }

  @Test(arguments: [
    "null", "true", "-9223372036854775808", "9223372036854775807", "2.5", "\"\"", "\"a\\\"b\"", "[]", "{}",
    #"{"a":[1,2,{"b":null}],"c":"é"}"#, "[[[[]]]]", "[1e3]",
  ])
  func opaqueJSONComesBackAsItWas(_ json: String) throws {
    let value = try JSONDecoder().decode([JSONValue].self, from: Data("[\(json)]".utf8))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    #expect(text == "[\(json == "[1e3]" ? "[1000]" : json)]")
    #expect(value[0].encodedSize >= text.utf8.count - 2)
  }

  /// Written and read again it is the same. A whole number is one however it was written, also above 2^53.
  @Test(arguments: ["88888888888888890.25", "8.888888888888889e16", "-9.2e18", "1e300", "9223372036854775808", "-0.0"])
  func numbersAreTheSameWhenTheyAreReadAgain(_ json: String) throws {
    let value = try JSONDecoder().decode([JSONValue].self, from: Data("[\(json)]".utf8))
    #expect(try JSONDecoder().decode([JSONValue].self, from: try JSONEncoder().encode(value)) == value)
  }

  @Test func sizesOfOpaqueJSONAreThoseOnTheWire() {
    let value: JSONValue = ["views": [["index": 0, "x": 0.5, "on": false], nil], "n": "text"]
    #expect(value.encodedSize == #"{"views":[{"index":0,"x":0.5,"on":false},null],"n":"text"}"#.utf8.count)
    #expect(JSONValue.emptyObject.encodedSize == 2)
    #expect(JSONValue.array([]).encodedSize == 2)
    #expect(JSONValue.string("\n").encodedSize == 8)
  }
}
