// Which sessions only wait: connected, without a seat, and with no call that rings or runs on their device. Nothing breaks where the
// line of such a session is lost unseen for a minute, so doors may ask rarely whether it is there.

import Members

extension Sessions {
  /// Those of whom it may have changed since this was settled last, in order.
  package var unsettled: [SessionID] { table.unsettled.sorted() }
}

extension SessionTable {
  /// Tells doors what they do not know. Costs time with the sessions that something happened to, not with all.
  mutating func settleWaiting(_ sessions: [(session: SessionID, isCalled: Bool)], _ step: inout Step) {
    forgetUnsettled()
    for (id, isCalled) in sessions {
      guard let session = self[id], let connection = session.connection else { continue }
      let isWaiting = session.seat == nil && !isCalled
      guard isWaiting != session.line.isTakenForWaiting else { continue }
      setWaiting(isWaiting, id)
      step.add(.setWaiting(connection, isWaiting))
    }
  }
}
