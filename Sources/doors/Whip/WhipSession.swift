// One WHIP session as a client of the room protocol: it says hello, takes a seat, offers once. Pure: what the core says comes in,
// what is to be done comes out.
//
//   greeting ──hello──▶ joining ──room.join──▶ offering ──pc.offer──▶ live ──▶ over
//       └────────────────── refused: one problem, and the end ──────────────────▶
//
// While it is live a client may restart ICE: the same offer again with new credentials. A restart that fails leaves all as it was.
import RoostProtocol

/// The way of a publisher from its POST to its end.
struct WhipSession: StreamSession {
  /// How far it has come.
  private enum Stage { case greeting, joining, offering, live, over }

  /// Numbers of its requests.
  static let (hello, join, offer) = (RequestID.number(1), RequestID.number(2), RequestID.number(3))
  /// The one that ends it, whose reply nobody waits for.
  static let farewell = RequestID.number(0)

  /// The room of its URL.
  let room: String
  let user: String
  private var offered: SessionOffer
  private var stage = Stage.greeting
  var restarts: Int { offered.restarts }

  init(room: String, user: String, offer: WhipOffer) {
    (self.room, self.user, offered) = (room, user, SessionOffer(offer))
  }

  /// The request that takes the seat. It is the same user's from an earlier POST where that still has it.
  static func joining(_ room: String) -> Request {
    .room(.join(RoomJoinParams(room: room, autoSubscribe: false, takeover: true)))
  }

  /// The request that publishes.
  static func offering(_ offer: WhipOffer) -> Request {
    .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: offer.sdp, tracks: offer.tracks)))
  }

  mutating func replied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> StreamAction {
    switch (stage, id, result) {
    case (.live, _, _): return offered.replied(id, result)
    case (.over, _, _): return .nothing
    case (_, _, .failure(let error)): return refuse(WhipProblem(error))
    case (.greeting, Self.hello, .success):
      stage = .joining
      return .ask(Self.join, Self.joining(room))
    case (.joining, Self.join, .success):
      stage = .offering
      return .ask(Self.offer, Self.offering(offered.current))
    case (.offering, Self.offer, .success(.published(let result))): return published(result)
    case (.greeting, _, _), (.joining, _, _), (.offering, _, _): return .nothing
    }
  }

  /// RFC 9725 §4.4.2: never half of an answer. Lines that are taken without what clashes in them are taken.
  private mutating func published(_ result: PublishResult) -> StreamAction {
    if let line = result.refused.first {
      return refuse(.sdp(.unprocessable, "Media line \(line.mid) is not taken: \(line.error.message)"))
    }
    stage = .live
    return .created(result.sdp)
  }

  mutating func patch(_ fragment: WhipFragment) throws(WhipProblem) -> StreamStep {
    guard stage == .live else { throw WhipProblem(.notFound, "There is no such session; it may be over.") }
    return try offered.patch(fragment, id: .number(Int64(restarts) + 4), Self.offering)
  }

  private mutating func refuse(_ problem: WhipProblem) -> StreamAction {
    stage = .over
    return .refuse(problem)
  }

  mutating func heard(_ event: Event) -> StreamAction { event.end(of: .publish).map { end($0) } ?? .nothing }

  mutating func closed() -> StreamAction { end(WhipProblem(.forbidden, "The session was ended.")) }

  private mutating func end(_ problem: WhipProblem) -> StreamAction {
    switch stage {
    case .over: return .nothing
    case .live:
      stage = .over
      return .leave
    case .greeting, .joining, .offering: return refuse(problem)
    }
  }
}
