// Coming back without one's resume token, where nobody proves who they are: from the network of the old session, once its socket is gone
// or owes an answer, and its media has been silent for as long. For everybody else the seat is taken until the grace is over.
//
//   takeover ─▶ same network? socket gone? ─▶ askSilence ─▶ workers ─▶ silence ─▶ served, or refused with the time to wait

import Basics
import RoostProtocol

/// What the workers have said of the media of a seat.
package struct MediaSilence: Sendable {
  package let seat: SeatID
  /// Since something authentic came; nil where nothing ever has.
  package let time: TimeDelta?

  package init(seat: SeatID, time: TimeDelta?) { (self.seat, self.time) = (seat, time) }
}

/// Somebody who comes back to an old session without its token.
package struct Returner {
  package let identity: Identity
  /// From where they are connected.
  package let network: PeerNetwork?
  /// Whose place they want, and that one's seat.
  package let old: MemberFacts
  package let seat: SeatID?
  /// What is known of the old session's media; nil where nobody has asked.
  package let silence: MediaSilence?

  package init(identity: Identity, network: PeerNetwork?, old: MemberFacts, seat: SeatID?, silence: MediaSilence?) {
    (self.identity, self.network, self.old) = (identity, network, old)
    (self.seat, self.silence) = (seat, silence)
  }
}

/// Whether one who has not the token may take the place of an old session.
package enum Comeback {
  /// It is refused as ever.
  case no
  /// The old session may be alive still: ask again after so many milliseconds.
  case later(Int64)
  /// That depends on the media of this seat.
  case ask(SeatID)
  case yes

  /// When it is worth asking again where the old socket stands: its next ping, and the time for the answer, are somewhere ahead.
  private static let lookAgain: Int64 = 2_000

  package init(_ returner: Returner, _ limit: TimeDelta, at now: Instant) {
    guard returner.identity.mayComeBack, let network = returner.network, returner.old.identity.mayComeBack,
      returner.old.presence.reachedFrom == network
    else {
      self = .no
      return
    }
    self = Self.judge(returner, limit, at: now)
  }

  private static func judge(
    _ returner: Returner, _ limit: TimeDelta, at now: Instant
  ) -> Comeback {
    let (old, silence) = (returner.old.presence, returner.silence)
    guard !old.isConnected || old.isOverdue else { return .later(lookAgain) }
    if let seat = returner.seat {
      guard let silence else { return .ask(seat) }
      guard silence.seat == seat else { return .later(lookAgain) }
    }
    // Who has sent no media yet was heard last when the socket ended; one that owes an answer has owed it for as long.
    let quiet = silence?.time ?? old.lostAt.map { now - $0 } ?? limit
    return quiet >= limit ? .yes : .later((limit - quiet).milliseconds + 1)
  }
}

extension Identity {
  /// Whether its name is its only proof, and its sessions have a socket each: only of such can it be told whether it is silent.
  fileprivate var mayComeBack: Bool { !isVerified && entrance == .native }
}

extension Returner {
  /// Whether a request may take the place of an old session without its token. Else the seat whose media have to be asked about first.
  /// - Throws: `refusal`, with the time to wait where waiting helps.
  package func seatToAsk(
    orRefuse refusal: ErrorObject, _ rules: ConferenceRules, _ step: inout Step
  ) throws(ErrorObject) -> SeatID? {
    switch Comeback(self, rules.takeoverSilence, at: step.now.instant) {
    case .no: throw refusal
    case .later(let wait):
      var refusal = refusal
      refusal.data.retryable = true
      refusal.data.retryAfterMs = wait
      throw refusal
    case .ask(let seat): return seat
    case .yes:
      step.log("came_back", ["user": identity.user, "session": "\(old.session)"])
      return nil
    }
  }
}
