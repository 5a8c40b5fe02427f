// One WHIP session as a client of the room protocol: it says hello, takes a seat, offers once. Pure: what the core says comes in,
// what is to be done comes out.
//
//   greeting ──hello──▶ joining ──room.join──▶ offering ──pc.offer──▶ live ──▶ over
//       └────────────────── refused: one problem, and the end ──────────────────▶
import RoostProtocol

/// The way of a session from its POST to its end.
struct WhipSession: Sendable {
  /// How far it has come.
  private enum Stage { case greeting, joining, offering, live, over }

  /// What is to be done.
  enum Action: Equatable {
    case nothing
    /// Ask the core.
    case ask(RequestID, Request)
    /// Answer the POST: it publishes, and this is the answer's SDP.
    case created(String)
    /// Answer the POST with a problem, and leave.
    case refuse(WhipProblem)
    /// Leave: nobody waits for an answer.
    case leave
  }

  /// Numbers of its requests.
  static let (hello, join, offer) = (RequestID.number(1), RequestID.number(2), RequestID.number(3))

  /// The room of its URL.
  let room: String
  /// Whose it is, as the verifier said.
  let user: String
  private let announced: WhipOffer
  private var stage = Stage.greeting

  init(room: String, user: String, offer: WhipOffer) {
    (self.room, self.user, announced) = (room, user, offer)
  }

  /// The request that takes the seat. It is the same user's from an earlier POST where that still has it.
  static func joining(_ room: String) -> Request {
    .room(.join(RoomJoinParams(room: room, autoSubscribe: false, takeover: true)))
  }

  /// The request that publishes.
  static func offering(_ offer: WhipOffer) -> Request {
    .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: offer.sdp, tracks: offer.tracks)))
  }

  /// The core has answered a request.
  mutating func replied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> Action {
    switch (stage, id, result) {
    case (.over, _, _), (.live, _, _): return .nothing
    case (_, _, .failure(let error)): return refuse(WhipProblem(error))
    case (.greeting, Self.hello, .success):
      stage = .joining
      return .ask(Self.join, Self.joining(room))
    case (.joining, Self.join, .success):
      stage = .offering
      return .ask(Self.offer, Self.offering(announced))
    case (.offering, Self.offer, .success(.published(let result))): return published(result)
    case (.greeting, _, _), (.joining, _, _), (.offering, _, _): return .nothing
    }
  }

  /// RFC 9725 §4.4.2: never half of an answer.
  private mutating func published(_ result: PublishResult) -> Action {
    if let line = result.declined?.first {
      return refuse(WhipProblem(.unprocessable, "Media line \(line.mid) is not taken: \(line.error.message)"))
    }
    stage = .live
    return .created(result.sdp)
  }

  private mutating func refuse(_ problem: WhipProblem) -> Action {
    stage = .over
    return .refuse(problem)
  }

  /// The core has told it something.
  mutating func heard(_ event: Event) -> Action {
    guard let problem = Self.end(event) else { return .nothing }
    return end(problem)
  }

  /// The core has ended it.
  mutating func closed() -> Action { end(WhipProblem(.forbidden, "The session was ended.")) }

  private mutating func end(_ problem: WhipProblem) -> Action {
    switch stage {
    case .over: return .nothing
    case .live:
      stage = .over
      return .leave
    case .greeting, .joining, .offering: return refuse(problem)
    }
  }

  /// What an event ends the session with; nil where it goes on. A path that is lost (`consent`) may come back while the seat's grace
  /// lasts; then the core closes the room to it.
  private static func end(_ event: Event) -> WhipProblem? {
    if case .roomClosed = event { return WhipProblem(.forbidden, "The room was closed.") }
    if case .sessionReplaced = event { return WhipProblem(.forbidden, "A newer session has taken its place.") }
    guard case .mediaFailed(let media) = event, media.pc == .publish, media.step != .consent else { return nil }
    return WhipProblem(.failed, media.reason ?? "The media connection failed.")
  }
}
