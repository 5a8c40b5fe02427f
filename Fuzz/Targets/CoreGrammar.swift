// Requests with params that mostly mean something: for each method its fields, and for each field values that are known, that
// were heard from the server, or that are wrong.
import RoostProtocol

/// What values a field takes from: a few words, what was heard, and what is never right.
struct CoreWords {
  /// Heard from the server; the newest of each.
  var tokens: [String] = []
  var tracks: [String] = []
  var subscriptions: [String] = []
  var calls: [String] = []
  var questions: [String] = []

  private static let wrong = [
    "null", "[]", "{}", "\"\"", "-1", "1e300", "9223372036854775807", "\"\\u0000\"", "true",
    "\"" + String(repeating: "x", count: 200) + "\"", "[[[[]]]]", "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
  ]

  /// The JSON of one field's value.
  func value(_ domain: Character, _ choice: UInt8) -> String {
    guard choice < 0xe8 else { return Self.wrong[Int(choice - 0xe8) % Self.wrong.count] }
    let values = values(domain)
    return values[Int(choice) % values.count]
  }

  private func values(_ domain: Character) -> [String] {
    switch domain {
    case "u": quoted(["u0", "u1", "u2", "u3", "u4", "u5"])
    case "U": ["[\"u1\"]", "[\"u0\"]", "[\"u2\",\"u3\"]", "[\"u1\",\"u1\"]", "[]", "[\"nobody\"]"]
    case "d": quoted(["d0", "d1"])
    case "r": quoted(["demo", "voice", "stage", "x", "call:1"])
    case "n": quoted(["Anna", "anna", "Bert"])
    case "m": quoted(["audio", "video"])
    case "b": ["true", "false"]
    case "i": ["0", "1", "2", "49", "255", "100000"]
    case "t": quoted(tokens.suffix(8) + ["no", String(repeating: "A", count: 43)])
    case "T": quoted(tracks.suffix(8) + ["t1", "t999"])
    case "S": quoted(subscriptions.suffix(8) + ["s1", "s999"])
    case "Q": quoted(questions.suffix(4) + ["q1"])
    case "C": quoted(calls.suffix(4) + ["no"])
    case "V": views
    case "A": Self.announced
    case "K": quoted(CallKind.allCases.map(\.rawValue))
    case "o": quoted(["offer", "offer 0", "offer 1 2"])
    case "x": quoted(["hello", "", "<script>"])
    case "j": ["{}", "{\"a\":[1,null]}", "7"]
    case "p": quoted(["publish", "subscribe"])
    // A ban with the address is an action of its own: one more field would move all that follows it in a seed.
    case "a":
      quoted(Self.actions) + [
        "\"ban\",\"address\":true", "\"media\",\"media\":\"audio\"", "\"media\",\"media\":\"video\"",
      ]
    case "R": quoted(["moderator", "participant", "speaker"])
    case "g": quoted(["hangup", "rejected", "busy", "no_answer"])
    case "l": ["1700000005000", "1", "9000000000000"]
    case "q": quoted(Self.policies)
    default: ["null"]
    }
  }

  private static let actions = [
    "mute", "stopVideo", "kick", "ban", "unban", "lock", "unlock", "lobby", "admit", "deny", "role", "disableChat",
    "enableChat", "lowerHand", "end",
  ]
  private static let policies = [
    "ring", "reject", "first_wins", "everyone", "everywhere", "this_device", "request", "accept", "cancel", "any_ends",
    "ignore",
  ]

  private var views: [String] {
    let (view, track) = (subscriptions.last ?? "s1", tracks.last ?? "t1")
    return [
      "[{\"subscriptionId\":\"\(view)\",\"trackId\":\"\(track)\"}]", "[{\"subscriptionId\":\"\(view)\"}]",
      "[{\"subscriptionId\":\"\(view)\",\"follow\":\"activeSpeaker\"}]", "[]",
    ]
  }

  private static let announced = [
    "[{\"mid\":\"0\",\"kind\":\"audio\"}]", "[{\"mid\":\"1\",\"kind\":\"video\"}]",
    "[{\"mid\":\"0\",\"kind\":\"audio\"},{\"mid\":\"1\",\"kind\":\"video\",\"muted\":true}]",
    "[{\"mid\":\"2\",\"kind\":\"video\",\"source\":\"screen\"}]", "[]",
  ]

  private func quoted(_ words: [String]) -> [String] { words.map { "\"\($0)\"" } }
}

extension Method {
  /// In the order that seeds number them in. New ones come last: elsewhere they would make other requests of all seeds.
  static let scripted = first + allCases.filter { !first.contains($0) }

  private static let first: [Method] = [
    .sessionHello, .sessionResume, .sessionToken, .sessionBye, .ping, .userQuery, .roomJoin, .roomLeave, .roomList,
    .roomInfo, .roomModerate, .roomRaiseHand, .chatSend, .chatHistory, .pcOffer, .pcAnswer, .pcRestart,
    .trackUnpublish, .trackMute, .trackUnmute, .trackSubscribe, .trackUnsubscribe, .trackUpdate, .subscriptionSwap,
    .viewOpen, .viewShow, .callStart, .callRinging, .callAccept, .callReject, .callCancel, .callHangup, .callInvite,
    .callCancelInvite, .callJoin, .callGet, .callCurrent, .callAvailable, .callHistory, .callMediaChange, .callEnd,
    .userBlock, .userUnblock, .userBlocked,
  ]

  /// Its fields with what they take their values from; those with `?` may be left out.
  var fields: String { Self.chosen[self] ?? declaredFields }

  /// Those of which few are tried, or in an order that seeds have.
  private static let chosen: [Method: String] = [
    .sessionHello: "user:u deviceId:d displayName:n? token:t? capabilities:j? callable:b? resumeToken:t?",
    .sessionToken: "token:u",
    .roomJoin: "room:r media:m? displayName:n? metadata:j? autoSubscribe:b? views:i? takeover:b? resumeToken:t?",
    .roomList: "after:r? limit:i?",
    .roomModerate: "room:r action:a user:u? kind:m? role:R? until:l? hold:b?",
    .chatSend: "room:r text:x to:U? clientMsgId:n?",
    .trackSubscribe: "trackId:T priority:i? maxHeight:i? view:i?",
    .trackUpdate: "subscriptionId:S paused:b? priority:i? maxHeight:i?",
    .subscriptionSwap: "a:S b:S",
    .callStart:
      "to:U kind:K media:m ringTimeoutMs:i? busyPolicy:q? answerPolicy:q? extra:j? clientCallId:n? replace:b?",
    .callAccept: "callId:C media:m? takeover:b? resumeToken:t? metadata:j? autoSubscribe:b?",
    .callReject: "callId:C reason:g? text:x? scope:q?",
    .callHangup: "callId:C? reason:g? text:x?",
    .callInvite: "callId:C users:U ringTimeoutMs:i?",
    .callHistory: "before:C? limit:i?",
  ]
}

extension Script {
  /// A frame with a request of a method; each field takes a byte, and one that may be left out two.
  mutating func frame(_ method: Method, id: Int, _ words: CoreWords) -> [UInt8] {
    var params: [String] = []
    for field in method.fields.split(separator: " ") {
      let parts = field.split(separator: ":")
      if field.hasSuffix("?"), (next() ?? 0) & 1 == 0 { continue }
      params.append("\"\(parts[0])\":\(words.value(parts[1].first ?? "x", next() ?? 0))")
    }
    let text =
      "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method.rawValue)\",\"params\":{\(params.joined(separator: ","))}}"
    return Array(text.utf8)
  }
}
