// One WHIP session as a client of the room protocol: it says hello, takes a seat, offers once. Pure: what the core says comes in,
// what is to be done comes out.
//
//   greeting ──hello──▶ joining ──room.join──▶ offering ──pc.offer──▶ live ──▶ over
//       └────────────────── refused: one problem, and the end ──────────────────▶
//
// While it is live a client may restart ICE: the same offer again with new credentials. A restart that fails leaves all as it was.
import RoostProtocol

/// The way of a session from its POST to its end.
struct WhipSession: Sendable {
  /// How far it has come.
  private enum Stage { case greeting, joining, offering, live, over }

  /// What a client's fragment comes to.
  enum Step: Equatable {
    /// It restarts ICE: ask the core, under this number.
    case restart(RequestID, Request)
    /// It tells candidates, of which the server needs none.
    case trickle
  }

  /// What is to be done.
  enum Action: Equatable {
    case nothing
    /// Ask the core.
    case ask(RequestID, Request)
    /// Answer the POST: it publishes, and this is the answer's SDP.
    case created(String)
    /// Answer the POST with a problem, and leave.
    case refuse(WhipProblem)
    /// Answer the PATCH: ICE is restarted, and this is what the server says of its own.
    case restarted(String)
    /// Answer the PATCH with a problem: the session goes on as before.
    case notRestarted(WhipProblem)
    /// Leave: nobody waits for an answer.
    case leave

    /// Whether it answers who waits, and the session goes on.
    var isAnswer: Bool {
      switch self {
      case .created, .restarted, .notRestarted: true
      case .nothing, .ask, .refuse, .leave: false
      }
    }
  }

  /// Numbers of its requests.
  static let (hello, join, offer) = (RequestID.number(1), RequestID.number(2), RequestID.number(3))

  /// The room of its URL.
  let room: String
  /// Whose it is, as the verifier said.
  let user: String
  private var announced: WhipOffer
  private var stage = Stage.greeting
  /// The restart that the core has been asked for.
  private var pending: (id: RequestID, offer: WhipOffer)?
  /// How often ICE was restarted; with it a session's entity tag changes.
  private(set) var restarts = 0

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
    case (.live, _, _): return restartReplied(id, result)
    case (.over, _, _): return .nothing
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

  /// A client has sent a fragment (RFC 9725 §4.3): with the credentials of now it tells candidates, with others it restarts ICE.
  /// - Throws: 503 where another restart is on its way, 404 where there is no session yet or any more.
  mutating func patch(_ fragment: WhipFragment) throws(WhipProblem) -> Step {
    guard stage == .live else { throw WhipProblem(.notFound, "There is no such session; it may be over.") }
    if fragment.credentials == announced.credentials { return .trickle }
    if pending != nil {
      var problem = WhipProblem(.unavailable, "Another restart of this session is on its way.")
      problem.retryAfter = 1
      throw problem
    }
    let offer = announced.restarted(fragment.credentials)
    let id = RequestID.number(Int64(restarts) + 4)
    pending = (id, offer)
    return .restart(id, Self.offering(offer))
  }

  private mutating func restartReplied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> Action {
    guard let restart = pending, restart.id == id else { return .nothing }
    pending = nil
    switch result {
    case .failure(let error): return .notRestarted(WhipProblem(error))
    case .success(.published(let answer)):
      (announced, restarts) = (restart.offer, restarts + 1)
      return .restarted(WhipFragment.answering(answer.sdp))
    case .success: return .nothing
    }
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
