// What sessions of both directions have in common: the core's words come in, one action comes out. The door knows no more of them.
import RoostProtocol
import WebSockets

/// One session of WHIP or WHEP. Pure: what is to be done is returned.
protocol StreamSession: Sendable {
  /// Whose it is, as the verifier said.
  var user: String { get }
  /// How often ICE was restarted; with it a session's entity tag changes.
  var restarts: Int { get }

  /// The core has answered a request.
  mutating func replied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> StreamAction
  /// The core has told it something.
  mutating func heard(_ event: Event) -> StreamAction
  /// The core has ended it.
  mutating func closed() -> StreamAction
  /// A client has sent a fragment (RFC 9725 §4.3).
  /// - Throws: 503 where another restart is on its way, 404 where there is no session yet or any more.
  mutating func patch(_ fragment: WhipFragment) throws(WhipProblem) -> StreamStep
}

/// What a client's fragment comes to.
enum StreamStep: Equatable {
  /// It restarts ICE: ask the core, under this number.
  case restart(RequestID, Request)
  /// It tells candidates, of which the server needs none.
  case trickle
}

/// What is to be done.
enum StreamAction: Equatable {
  case nothing
  /// Ask the core.
  case ask(RequestID, Request)
  /// Answer the POST: media can come, and this is the answer's SDP.
  case created(String)
  /// Answer the POST with a problem, and leave.
  case refuse(WhipProblem)
  /// Answer the PATCH: ICE is restarted, and this is what the server says of its own.
  case restarted(String)
  /// Answer the PATCH with a problem: the session goes on as before.
  case notRestarted(WhipProblem)
  /// Tell those who listen to the session's events.
  case tell([ServerSentEvent])
  /// Leave: nobody waits for an answer.
  case leave

  /// Whether it answers who waits, and the session goes on.
  var isAnswer: Bool {
    switch self {
    case .created, .restarted, .notRestarted: true
    case .nothing, .ask, .tell, .refuse, .leave: false
    }
  }
}

/// The offer of a session, and the restarts of ICE that changed it. One is on its way at most.
struct SessionOffer: Sendable {
  /// The offer as it stands.
  private(set) var current: WhipOffer
  /// The restart that the core has been asked for.
  private var pending: (id: RequestID, offer: WhipOffer)?
  private(set) var restarts = 0

  init(_ offer: WhipOffer) { current = offer }

  /// With the credentials of now a fragment tells candidates, with others it restarts ICE. `request` asks the core for that.
  /// - Throws: 503 where another restart is on its way.
  mutating func patch(
    _ fragment: WhipFragment, id: RequestID, _ request: (WhipOffer) -> Request
  ) throws(WhipProblem) -> StreamStep {
    if fragment.credentials == current.credentials { return .trickle }
    if pending != nil {
      var problem = WhipProblem(.unavailable, "Another restart of this session is on its way.")
      problem.retryAfter = 1
      throw problem
    }
    let offer = current.restarted(fragment.credentials)
    pending = (id, offer)
    return .restart(id, request(offer))
  }

  /// The core's reply to a restart; `.nothing` for any other reply.
  mutating func replied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> StreamAction {
    guard let restart = pending, restart.id == id else { return .nothing }
    pending = nil
    switch result {
    case .failure(let error): return .notRestarted(WhipProblem(error))
    case .success(.published(let answer)):
      (current, restarts) = (restart.offer, restarts + 1)
      return .restarted(WhipFragment.answering(answer.sdp))
    case .success: return .nothing
    }
  }
}

extension Event {
  /// What the event ends a session with, whose media are on this connection; nil where it goes on. A path that is lost (`consent`) may
  /// come back while the seat's grace lasts; then the core closes the room to it. What finds no track (`route`) may find one.
  func end(of connection: PeerConnection) -> WhipProblem? {
    if case .roomClosed = self { return WhipProblem(.forbidden, "The room was closed.") }
    if case .sessionReplaced = self { return WhipProblem(.forbidden, "A newer session has taken its place.") }
    guard case .mediaFailed(let media) = self, media.pc == connection, media.step != .consent, media.step != .route
    else {
      return nil
    }
    return WhipProblem(.failed, media.reason ?? "The media connection failed.")
  }
}
