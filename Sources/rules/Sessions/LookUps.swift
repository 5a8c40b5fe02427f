// What others may ask of sessions. None of it changes anything.

import Basics
import Members
import RoostProtocol

extension Sessions {
  /// The session of a connection; nil where it has none.
  package func session(on connection: ConnectionID) -> SessionID? { table[on: connection] }

  /// What rooms are to know of a session; nil where it is gone.
  package func facts(of id: SessionID) -> MemberFacts? { table.facts(of: id) }

  /// Who has a session; nil where it is gone. Cheaper than all its facts.
  package func identity(of id: SessionID) -> Identity? { table.all[id]?.identity }

  /// Whether a session has a socket.
  package func isConnected(_ id: SessionID) -> Bool { table.all[id]?.connection != nil }

  /// Whether somebody may begin a session, as far as tokens go that were taken back, the end of the process, and a hello of that connection
  /// which waits for workers.
  package func mayBegin(_ identity: Identity, on connection: ConnectionID) -> Bool {
    !isDraining && (try? Revoking.check(identity, revocations)) != nil
      && (try? takeovers.checkHello(on: connection, table)) != nil
  }

  /// Where a session has its seat.
  package func place(of id: SessionID) -> MemberPlace? { table[id]?.place }

  /// What its device is called.
  package func device(of id: SessionID) -> String? { table[id]?.deviceId }

  /// The session of the same device that it has replaced, and that had a leg in a call then.
  package func predecessor(of id: SessionID) -> SessionID? { table[id]?.predecessor }

  /// At which of its events it stands.
  package func seq(of id: SessionID) -> Int? { table[id]?.log.seq }

  /// Whether somebody who is the same user may take a session's place.
  package func mayReplace(_ id: SessionID, _ identity: Identity, token: String?) -> Bool {
    table.mayReplace(id, identity, token: token)
  }

  /// What is known of each of these users; `isBusy` says who is in a call.
  package func presence(of users: [String], isBusy: (String) -> Bool) -> UserQueryResult {
    table.presence(of: users, isBusy: isBusy)
  }

  /// How many there are, those that wait to be resumed included.
  package var count: Int { table.all.count }

  /// How many count: one that was superseded counts for its successor.
  package var counted: Int { table.counted }

  /// Whether a connection has a session, or a hello that waits for workers.
  package func holds(_ connection: ConnectionID) -> Bool {
    (try? takeovers.checkHello(on: connection, table)) == nil
  }

  /// The one whose session this is.
  package func subject(of session: SessionID?) -> LineSubject? { table.subject(of: session) }

  /// A user who may be there.
  package func subject(ofUser user: String) -> LineSubject {
    table.subject(of: table.users[user]?.min()) ?? LineSubject(named: user)
  }
}

extension SessionTable {
  /// The one whose session this is.
  func subject(of session: SessionID?) -> LineSubject? {
    session.flatMap { self[$0] }.map { LineSubject($0.identity) }
  }
}
