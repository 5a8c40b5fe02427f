// Whose doing a step is: what it leaves in the log counts as theirs.

import Basics
import Calls
import RoostProtocol

extension ConferenceState {
  /// The one whose session this is.
  func subject(of session: SessionID?) -> LineSubject? {
    session.flatMap { sessions[$0] }.map { LineSubject($0.identity) }
  }

  /// The one who has this seat.
  func subject(of seat: SeatID) -> LineSubject? { subject(of: rooms.seats[seat]?.session) }

  /// Whoever time has made leave a call; where it says nobody, one who is in it. Those of calls that everybody has left count together.
  func subject(ofCall event: WebhookEvent) -> LineSubject {
    if let user = event.user { return subject(of: sessions.users[user]?.min()) ?? LineSubject(named: user) }
    let seat = rooms[named: event.room].flatMap { rooms[$0]?.members.first }
    return seat.flatMap { subject(of: $0) } ?? LineSubject(named: "")
  }
}

extension ConferenceCore {
  /// The one whose subscription this is; nil where it is gone.
  public func subject(of subscription: SubscriptionID) -> LineSubject? {
    state.rooms.subscriptions[subscription].flatMap { state.subject(of: $0.seat) }
  }
}

extension Command {
  /// Whose doing it is; nil where that is nobody's, or not known yet.
  func subject(in state: ConferenceState) -> LineSubject? {
    switch self {
    case .hello(_, _, _, let identity): LineSubject(identity)
    case .token(let connection, _, _, _), .request(let connection, _, _), .stream(let connection, _, _),
      .connectionClosed(let connection, _), .connectionOverdue(let connection, _), .resume(let connection, _, _, _),
      .silence(.hello(let connection), _):
      state.subject(of: state.sessions[on: connection])
    case .publishPrepared(let key, _), .answerProcessed(let key, _), .offerAnswered(let key, _),
      .swapProcessed(let key, _), .streamAnswered(let key, _, _, _),
      .silence(.request(let key), _):
      state.subject(of: key.session)
    case .serverOffer(let seat, _), .media(let seat, _, _), .excess(let seat, _, _, _): state.subject(of: seat)
    case .subscription(let id, _): state.rooms.subscriptions[id].flatMap { state.subject(of: $0.seat) }
    case .trackLayers(let id, _): state.rooms.tracks[id].flatMap { state.subject(of: $0.seat) }
    case .mediaLoad, .activeSpeakers, .quality, .stored, .fetched, .drain: nil
    }
  }
}
