// Which sessions only wait: connected, without a seat, and with no call that rings or runs on their device. Nothing breaks where the
// line of such a session is lost unseen for a minute, so doors may ask rarely whether it is there.

import Basics
import Members
import RoostProtocol

extension ConferenceCore {
  /// What doors are to be told since this was asked last. Costs time with the sessions that something happened to, not with all.
  public mutating func takeWaiting() -> [ClientEffect] {
    var effects: [ClientEffect] = []
    for id in sessions.table.takeUnsettled() {
      guard let session = sessions.table[id], let connection = session.connection else { continue }
      let isWaiting = session.seat == nil && !calls.concerns(id.device)
      guard isWaiting != session.line.isTakenForWaiting else { continue }
      sessions.table.setWaiting(isWaiting, id)
      effects.append(.setWaiting(connection, isWaiting))
    }
    return effects
  }
}
