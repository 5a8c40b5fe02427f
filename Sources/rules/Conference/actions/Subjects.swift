// Whose doing a step is: what it leaves in the log counts as theirs.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  /// Whoever time has made leave a call; where it says nobody, one who is in it. Those of calls that everybody has left count together.
  func subject(ofCall event: WebhookEvent) -> LineSubject {
    event.user.map { sessions.subject(ofUser: $0) } ?? event.room.flatMap { rooms.subject(inRoom: $0) }
      ?? LineSubject(named: "")
  }

  /// Whose action waits for the application.
  func subject(of ticket: Ticket) -> LineSubject? {
    guard case .action(let asked)? = storing.waiters[ticket] else { return nil }
    switch (asked.action.who, asked.action.wish) {
    case (.session(let key), _): return sessions.subject(of: key.session)
    case (.connection, .hello(_, let identity)): return LineSubject(identity)
    case (.connection, .request), (.connection, .token), (.connection, .stream), (.connection, .operate),
      (.operator, _):
      return nil
    }
  }

  /// The one whose subscription this is; nil where it is gone.
  public func subject(of subscription: SubscriptionID) -> LineSubject? {
    rooms.subject(of: subscription)
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
      core.sessions.subject(of: core.sessions.session(on: connection))
    case .publishPrepared(let key, _), .answerProcessed(let key, _), .offerAnswered(let key, _),
      .swapProcessed(let key, _), .streamAnswered(let key, _, _, _),
      .silence(.request(let key), _):
      core.sessions.subject(of: key.session)
    case .serverOffer(let seat, _), .mayMove(let seat, _, _), .media(let seat, _, _), .excess(let seat, _, _, _):
      core.rooms.subject(of: seat)
    case .subscription(let id, _): core.rooms.subject(of: id)
    case .trackLayers(let id, _): core.rooms.subject(of: id)
    case .answered(let ticket, _): core.subject(of: ticket)
    case .goOn(.session(let session)): core.sessions.subject(of: session)
    case .goOn(.hello(let connection)): core.asking.hello(on: connection).map { LineSubject($0) }
    case .mediaLoad, .activeSpeakers, .quality, .stored, .fetched, .drain, .stop: nil
    }
  }
}
