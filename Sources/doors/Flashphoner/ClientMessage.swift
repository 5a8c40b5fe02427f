// What clients of Flashphoner's SDKs say: text frames {"message": WORD, "data": [OBJECT …]}. Only what the server acts on is kept.
import Names
import RoostProtocol

/// A frame that was read.
public enum ClientMessage: Hashable, Sendable {
  /// The first message of a connection.
  case connection(ConnectionWish)
  case ping
  case pong
  /// `sendData`: something about a room, answered under the same `operation`.
  case data(operation: String, RoomWish)
  case publish(StreamWish)
  case play(StreamWish)
  /// `unPublishStream` and `stopStream`.
  case stop(id: String)
  case streamEvent(id: String, StreamEventWish)
  /// `availableStream`: whether somebody publishes under this name.
  case available(id: String, name: String)
  /// A word that this server has no use for; `id` is that of the stream or call that it names.
  case unsupported(word: String, id: String?)
}

/// Who connects.
public struct ConnectionWish: Hashable, Sendable {
  /// Which of the server's applications is meant.
  public var appKey: String
  /// Who it says it is; nil where the application has no logins.
  public var login: String?
  /// Proof of it.
  public var token: String?
  /// What an earlier session was given, by which this one goes on.
  public var authToken: String?
  /// The object as it came, which goes back.
  public var whole: [String: JSONValue]
}

/// What is wanted of a room.
public enum RoomWish: Hashable, Sendable {
  case join(room: String, isRecorded: Bool)
  case leave(room: String)
  /// `to` is empty for everybody.
  case message(room: String, to: [String], text: String)
  /// A command that there is none of here.
  case other(String)
}

/// A stream that begins.
public struct StreamWish: Hashable, Sendable {
  /// The client's name for its part in the stream.
  public var id: String
  /// What the stream is called.
  public var name: String
  /// The room that it belongs to, where the client says so.
  public var room: String?
  /// The client's offer.
  public var sdp: String
  /// Whether it shows a screen.
  public var isScreen = false
  /// Whether the server is to record it.
  public var isRecorded = false
  /// Why this server cannot do it at all.
  public var objection: String?
}

/// What happens to a stream that is published.
public enum StreamEventWish: Hashable, Sendable {
  case muted(TrackKind, Bool)
  /// Something for whoever plays it.
  case data(JSONValue)
  /// Anything that this server does not pass on.
  case other(String)
}

/// Why a frame is none.
public struct MalformedMessage: Error, Hashable, Sendable {
  /// The word, where it could be read.
  public let word: String?
  /// What was expected.
  public let reason: String
}

extension ClientMessage {
  /// Bytes of what goes back to a client that connects (`ConnectionWish.whole`).
  static let connectionBytes = 16 << 10
  /// People that one message may be for.
  static let receivers = ProtocolLimits.users

  /// Reads a frame.
  public init(_ bytes: [UInt8]) throws(MalformedMessage) {
    let value: JSONValue
    do throws(ErrorObject) {
      value = try .reading(bytes)
    } catch {
      throw MalformedMessage(word: nil, reason: error.message)
    }
    guard case .object(let frame) = value, case .string(let word)? = frame["message"], ProtocolLimits.isName(word)
    else {
      throw MalformedMessage(word: nil, reason: "Expected an object with a message, which is a word.")
    }
    let list: [JSONValue]
    switch frame["data"] {
    case .array(let values)?: list = values
    case .null?, nil: list = []
    case .bool?, .integer?, .number?, .string?, .object?:
      throw MalformedMessage(word: word, reason: "data: expected a list.")
    }
    guard case .object(let fields)? = list.first ?? .emptyObject else {
      // Only of words that carry nothing else than a beat.
      self = try Self.beat(word)
      return
    }
    try self.init(word, Fields(word: word, all: fields))
  }

  private static func beat(_ word: String) throws(MalformedMessage) -> ClientMessage {
    switch word {
    case "ping": .ping
    case "pong": .pong
    default: throw MalformedMessage(word: word, reason: "data: expected an object.")
    }
  }

  private init(_ word: String, _ fields: Fields) throws(MalformedMessage) {
    switch word {
    case "connection": self = .connection(try ConnectionWish(fields))
    case "ping": self = .ping
    case "pong": self = .pong
    case "sendData":
      self = .data(operation: try fields.name("operationId"), try RoomWish(try fields.object("payload")))
    case "publishStream": self = .publish(try StreamWish(fields, isPublished: true))
    case "playStream": self = .play(try StreamWish(fields, isPublished: false))
    case "unPublishStream", "stopStream": self = .stop(id: try fields.name("mediaSessionId"))
    case "sendStreamEvent":
      self = .streamEvent(id: try fields.name("mediaSessionId"), try StreamEventWish(fields))
    case "availableStream":
      let name = try fields.name("name")
      self = .available(id: fields.optional("mediaSessionId") ?? fields.optional("id") ?? name, name: name)
    default:
      let id = fields.optional("mediaSessionId") ?? fields.optional("callId") ?? fields.optional("id")
      self = .unsupported(word: word, id: id)
    }
  }
}

extension ConnectionWish {
  fileprivate init(_ fields: Fields) throws(MalformedMessage) {
    let custom = fields.objectIfAny("custom")
    appKey = try fields.name("appKey")
    login = custom?.text("login").flatMap { $0.isEmpty ? nil : $0 }
    token = custom?.text("token").flatMap { $0.isEmpty ? nil : $0 }
    if let login, !Fields.isName(login) { throw fields.expected("custom.login", Fields.nameRule) }
    if token?.utf8.count ?? 0 > ProtocolLimits.tokenBytes {
      throw fields.expected("custom.token", "at most \(ProtocolLimits.tokenBytes) bytes")
    }
    authToken = fields.optional("authToken")
    whole = fields.all
    guard JSONValue.object(whole).encodedSize <= ClientMessage.connectionBytes else {
      throw MalformedMessage(word: fields.word, reason: "Expected at most \(ClientMessage.connectionBytes) bytes.")
    }
  }
}

extension RoomWish {
  fileprivate init(_ payload: Fields) throws(MalformedMessage) {
    let options = payload.objectIfAny("options") ?? Fields(word: payload.word, all: [:])
    let command = try payload.name("command")
    switch command {
    case "join": self = .join(room: try options.name("name"), isRecorded: options.flag("record"))
    case "leave": self = .leave(room: try options.name("name"))
    case "sendMessage":
      guard let text = options.text("text"), !text.isEmpty else { throw options.expected("text", "a text") }
      let room = try options.object("roomConfig").name("name")
      self = .message(room: room, to: try Self.receivers(options), text: text)
    default: self = .other(command)
    }
  }

  /// One login, several, or nobody in particular. Logins are what others are shown, of whatever form, and are compared by their bytes.
  private static func receivers(_ options: Fields) throws(MalformedMessage) -> [String] {
    let values: [JSONValue]
    switch options.all["to"] {
    case nil, .null?, .string("")?: return []
    case .array(let several)?: values = several
    case let one?: values = [one]
    }
    guard values.count <= ClientMessage.receivers else {
      throw options.expected("to", "at most \(ClientMessage.receivers) logins")
    }
    var logins: [String] = []
    for value in values {
      guard case .string(let login) = value, ProtocolLimits.isName(login) else {
        throw options.expected("to", "a login, which is \(Fields.printableRule)")
      }
      logins.append(login)
    }
    return logins
  }
}

extension StreamWish {
  fileprivate init(_ fields: Fields, isPublished: Bool) throws(MalformedMessage) {
    self.init(
      id: try fields.name("mediaSessionId"), name: try fields.name("name"),
      room: try fields.objectIfAny("custom")?.nameIfAny("name"), sdp: fields.text("sdp") ?? "")
    isRecorded = fields.flag("record")
    if case .object(let video)? = fields.objectIfAny("constraints")?.all["video"] {
      isScreen = isPublished && video["type"] == .string("screen")
    }
    if let url = fields.text("rtmpUrl"), !url.isEmpty { objection = "RTMP is not supported" }
    if let provider = fields.text("mediaProvider"), !provider.isEmpty, provider != "WebRTC" {
      objection = "Only the media provider WebRTC is supported"
    }
  }
}

extension StreamEventWish {
  fileprivate init(_ fields: Fields) throws(MalformedMessage) {
    let type = try fields.name("type")
    switch type {
    case "audioMuted": self = .muted(.audio, true)
    case "audioUnmuted": self = .muted(.audio, false)
    case "videoMuted": self = .muted(.video, true)
    case "videoUnmuted": self = .muted(.video, false)
    case "data":
      guard let payload = fields.all["payload"], payload != .null else {
        throw fields.expected("payload", "something to send")
      }
      self = .data(payload)
    default: self = .other(type)
    }
  }
}

/// Fields of an object, with what is expected of them.
private struct Fields {
  static let printableRule = "1 to \(ProtocolLimits.nameBytes) printable bytes without blanks at the ends"
  static let nameRule = "\(printableRule), and \(NameForm.rule)"

  /// All names are compared: with those of the room's people, its streams, and the client's own streams.
  static func isName(_ text: String) -> Bool { ProtocolLimits.isName(text) && NameForm.accepts(text) }

  let word: String
  let all: [String: JSONValue]

  func text(_ key: String) -> String? {
    guard case .string(let text)? = all[key] else { return nil }
    return text
  }

  /// A name that must be there.
  func name(_ key: String) throws(MalformedMessage) -> String {
    guard let text = text(key), Self.isName(text) else { throw expected(key, Self.nameRule) }
    return text
  }

  /// A name; nil for what is none at all. One of another form means something, and is not to be overlooked.
  func nameIfAny(_ key: String) throws(MalformedMessage) -> String? {
    guard let text = text(key), ProtocolLimits.isName(text) else { return nil }
    return try name(key)
  }

  /// A name, if there is one.
  func optional(_ key: String) -> String? { text(key).flatMap { Self.isName($0) ? $0 : nil } }

  func flag(_ key: String) -> Bool { all[key] == .bool(true) || text(key) == "true" }

  func objectIfAny(_ key: String) -> Fields? {
    guard case .object(let fields)? = all[key] else { return nil }
    return Fields(word: word, all: fields)
  }

  func object(_ key: String) throws(MalformedMessage) -> Fields {
    guard let fields = objectIfAny(key) else { throw expected(key, "an object") }
    return fields
  }

  func expected(_ key: String, _ what: String) -> MalformedMessage {
    MalformedMessage(word: word, reason: "\(key): expected \(what).")
  }
}
