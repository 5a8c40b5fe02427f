// Whose doing a step is: what it leaves in the log counts as theirs.

import Basics
import Calls
import Members
import RoostProtocol

extension SessionTable {
  /// The one whose session this is.
  func subject(of session: SessionID?) -> LineSubject? {
    session.flatMap { self[$0] }.map { LineSubject($0.identity) }
  }

  /// A user who may be there.
  func subject(ofUser user: String) -> LineSubject { subject(of: users[user]?.min()) ?? LineSubject(named: user) }
}

extension RoomTable {
  /// The one who has this seat.
  func subject(of seat: SeatID) -> LineSubject? { seats[seat].map { LineSubject($0.member.identity) } }

  /// One who is in a room.
  fileprivate func subject(inRoom name: String) -> LineSubject? {
    self[named: name].flatMap { self[$0]?.members.first }.flatMap { subject(of: $0) }
  }
}

extension ConferenceCore {
  /// Whoever time has made leave a call; where it says nobody, one who is in it. Those of calls that everybody has left count together.
  func subject(ofCall event: WebhookEvent) -> LineSubject {
    event.user.map { sessions.table.subject(ofUser: $0) } ?? rooms.table.subject(inRoom: event.room)
      ?? LineSubject(named: "")
  }

  /// The one whose subscription this is; nil where it is gone.
  public func subject(of subscription: SubscriptionID) -> LineSubject? {
    rooms.media.subscriptions[subscription].flatMap { rooms.table.subject(of: $0.seat) }
  }
}

extension Command {
  /// Whose doing it is; nil where that is nobody's, or not known yet.
  func subject(in core: ConferenceCore) -> LineSubject? {
    switch self {
    case .hello(_, _, _, let identity): LineSubject(identity)
    case .token(let connection, _, _, _), .request(let connection, _, _), .stream(let connection, _, _),
      .connectionClosed(let connection, _), .connectionOverdue(let connection, _), .resume(let connection, _, _, _),
      .silence(.hello(let connection), _):
      core.sessions.table.subject(of: core.sessions.table[on: connection])
    case .publishPrepared(let key, _), .answerProcessed(let key, _), .offerAnswered(let key, _),
      .swapProcessed(let key, _), .streamAnswered(let key, _, _, _),
      .silence(.request(let key), _):
      core.sessions.table.subject(of: key.session)
    case .serverOffer(let seat, _), .media(let seat, _, _), .excess(let seat, _, _, _):
      core.rooms.table.subject(of: seat)
    case .subscription(let id, _): core.rooms.media.subscriptions[id].flatMap { core.rooms.table.subject(of: $0.seat) }
    case .trackLayers(let id, _): core.rooms.media.tracks[id].flatMap { core.rooms.table.subject(of: $0.seat) }
    case .mediaLoad, .activeSpeakers, .quality, .stored, .fetched, .drain: nil
    }
  }
}
