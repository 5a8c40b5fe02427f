// What the server says to clients of Flashphoner's SDKs, and how it stands in a frame.
import RoostProtocol

/// One frame from the server.
enum ServerMessage: Hashable, Sendable {
  /// The client is let in: its own object, with the token of its session.
  case userData([String: JSONValue], authToken: String)
  case ping
  case pong
  /// What became of a `sendData`.
  case dataStatus(operation: String, isAccepted: Bool, info: String?)
  case room(String, RoomNews)
  /// The answer to a stream's offer.
  case remoteSDP(id: String, sdp: String)
  case status(StreamReport)
  /// Whether what a player is sent is silent, or dark, from now on.
  case muted(id: String, TrackKind, Bool)
  /// What the publisher of a stream has for its players.
  case streamData(id: String, JSONValue)
  case available(id: String, Bool, info: String?)
  /// Something went wrong. With the id of a stream it is that stream's end, else a warning to the application.
  case fail(Failure)

  /// A refusal in the protocol's own shape.
  struct Failure: Hashable, Sendable {
    /// The word that is refused.
    var word: String?
    /// The stream that has failed, and its name.
    var stream: String?
    var name: String?
    var info: String
    /// When what is refused may come again, in milliseconds; nil where that is not said.
    var retryAfterMs: Int64?
  }
}

/// What has become of a stream.
struct StreamReport: Hashable, Sendable {
  enum Status: String, Hashable, Sendable {
    case publishing = "PUBLISHING"
    case playing = "PLAYING"
    case unpublished = "UNPUBLISHED"
    case stopped = "STOPPED"
    case failed = "FAILED"
  }
  var id: String
  var name: String
  var status: Status
  var info: String?
  /// Which of what is played is muted; nil where the client knows.
  var muted: [TrackKind: Bool]?
}

/// What happens in a room. People go by their logins.
enum RoomNews: Hashable, Sendable {
  /// Who else is there when one comes, with their streams.
  case state([(login: String, streams: [String])])
  case joined(String)
  case left(String)
  case published(login: String, name: String)
  case unpublished(login: String, name: String)
  case message(from: String, text: String)

  static func == (a: RoomNews, b: RoomNews) -> Bool { a.payload == b.payload }
  func hash(into hasher: inout Hasher) { hasher.combine(payload.info) }

  fileprivate var payload: Payload {
    switch self {
    case .state(let people):
      Payload(
        "STATE",
        .array(
          people.flatMap { person in
            person.streams.isEmpty
              ? [.string(person.login)] : person.streams.map { ["login": .string(person.login), "name": .string($0)] }
          }))
    case .joined(let login): Payload("JOINED", .string(login))
    case .left(let login): Payload("LEFT", .string(login))
    case .published(let login, let name): Payload("PUBLISHED", ["login": .string(login), "name": .string(name)])
    case .unpublished(let login, let name): Payload("UNPUBLISHED", ["login": .string(login), "name": .string(name)])
    case .message(let from, let text): Payload("MESSAGE", ["from": .string(from), "text": .string(text)])
    }
  }

  fileprivate struct Payload: Equatable {
    let name: String
    let info: JSONValue
    init(_ name: String, _ info: JSONValue) { (self.name, self.info) = (name, info) }
  }
}

extension ServerMessage {
  /// The frame. `operation` names what the server tells unasked.
  func frame(operation: String) throws -> [UInt8] {
    try JSONText.bytes(of: JSONValue.object(["message": .string(word), "data": .array(data(operation))]))
  }

  var word: String {
    switch self {
    case .userData: "getUserData"
    case .ping: "ping"
    case .pong: "pong"
    case .dataStatus: "DataStatusEvent"
    case .room: "OnDataEvent"
    case .remoteSDP: "setRemoteSDP"
    case .status: "notifyStreamStatusEvent"
    case .muted, .streamData: "notifyStreamEvent"
    case .available: "availableStream"
    case .fail: "fail"
    }
  }

  private func data(_ operation: String) -> [JSONValue] {
    switch self {
    case .userData(let object, let authToken):
      [.object(object.merging(["authToken": .string(authToken)]) { $1 })]
    case .ping, .pong: [.null]
    case .dataStatus(let operation, let isAccepted, let info):
      [
        .fields([
          "operationId": .string(operation), "status": isAccepted ? "ACCEPTED" : "FAILED", "info": .text(info),
        ])
      ]
    case .room(let room, let news):
      [
        [
          "operationId": .string(operation),
          "payload": [
            "roomName": .string(room), "name": .string(news.payload.name), "info": news.payload.info,
          ],
        ]
      ]
    case .remoteSDP(let id, let sdp): [.string(id), .string(sdp)]
    case .status(let report): [report.object]
    case .muted(let id, let kind, let isMuted):
      [["mediaSessionId": .string(id), "type": .string("\(kind.rawValue)\(isMuted ? "Muted" : "Unmuted")")]]
    case .streamData(let id, let payload):
      [["mediaSessionId": .string(id), "type": .string(Membership.dataTopic), "payload": payload]]
    case .available(let id, let isThere, let info):
      [.fields(["id": .string(id), "status": .bool(isThere), "info": .text(info)])]
    case .fail(let failure): [failure.object]
    }
  }
}

extension StreamReport {
  fileprivate var object: JSONValue {
    .fields([
      "mediaSessionId": .string(id), "name": .string(name), "status": .string(status.rawValue), "info": .text(info),
      "audioState": state(.audio), "videoState": state(.video),
    ])
  }

  private func state(_ kind: TrackKind) -> JSONValue? { muted?[kind].map { ["muted": .bool($0)] } }
}

extension ServerMessage.Failure {
  /// The method by which the client knows the end of a stream.
  private static let ofStream = "StreamStatusEvent"

  fileprivate var object: JSONValue {
    .fields([
      "apiMethod": .text(stream == nil ? word : Self.ofStream), "id": .text(stream), "mediaSessionId": .text(stream),
      "name": .text(name), "status": stream == nil ? nil : "FAILED", "info": .string(info),
      "retryAfterMs": retryAfterMs.map { .integer($0) },
    ])
  }
}

extension JSONValue {
  /// An object of those fields that have a value.
  fileprivate static func fields(_ fields: [String: JSONValue?]) -> JSONValue {
    .object(fields.compactMapValues(\.self))
  }

  fileprivate static func text(_ text: String?) -> JSONValue? { text.map { .string($0) } }
}
