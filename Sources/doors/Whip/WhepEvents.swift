// What a WHEP player may hear of its session, and wish of it: the two extensions of the draft (draft-ietf-wish-whep-02 §4.9).
import FoundationEssentials
import RoostProtocol
import WebSockets

/// Kinds of events.
enum WhepEventName: String, CaseIterable, Sendable {
  case active, inactive, layers, viewercount
}

extension ServerSentEvent {
  static let active = ServerSentEvent(WhepEventName.active.rawValue, data: "{}")
  static let inactive = ServerSentEvent(WhepEventName.inactive.rawValue, data: "{}")

  static func viewers(_ count: Int) -> ServerSentEvent {
    ServerSentEvent(WhepEventName.viewercount.rawValue, data: #"{"viewercount":\#(count)}"#)
  }

  /// The layers of one media line, best first. They are named as the room protocol names them, since a publisher's own names mean
  /// nothing to a player.
  static func layers(_ definitions: [Definition], line: Int) -> ServerSentEvent {
    let list = definitions.map { #"{"rid":"\#($0.rawValue)"}"# }.joined(separator: ",")
    return ServerSentEvent(WhepEventName.layers.rawValue, data: #"{"\#(line)":[\#(list)]}"#)
  }
}

/// The body of a request for a layer: `{"mediaId": "1", "rid": "low", "maxHeight": 360}`, all of them optional. Without `rid` the server
/// chooses.
struct WhepLayer: Decodable, Equatable {
  var mediaId: String?
  var rid: String?
  /// What the draft called `rid` before.
  var encodingId: String?
  var maxHeight: Int?

  /// - Throws: 400 where it is no such object.
  init(_ body: [UInt8]) throws(WhipProblem) {
    guard let read = try? JSONDecoder().decode(Self.self, from: Data(body)) else {
      throw WhipProblem(.badRequest, #"The body must be an object such as {"mediaId": "1", "rid": "low"}."#)
    }
    if let height = read.maxHeight, !(1...ProtocolLimits.pictureLines).contains(height) {
      throw WhipProblem(.badRequest, "maxHeight must be 1 to \(ProtocolLimits.pictureLines).")
    }
    self = read
  }

  /// nil for a name that is no layer's.
  var definition: Definition? {
    guard let name = rid ?? encodingId else { return .auto }
    return Definition(rawValue: name)
  }
}

/// The events that a player asked for: all, without a body.
/// - Throws: 400 where it is no list of names. Names that the server does not know are passed over.
func readEventNames(_ body: [UInt8]) throws(WhipProblem) -> Set<WhepEventName> {
  if body.isEmpty { return Set(WhepEventName.allCases) }
  guard let names = try? JSONDecoder().decode([String].self, from: Data(body)) else {
    throw WhipProblem(.badRequest, #"The body must be a list such as ["active", "inactive"]."#)
  }
  return Set(names.compactMap(WhepEventName.init))
}
