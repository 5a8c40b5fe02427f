// The director's part in streams: media connections that front doors open beside the two of the room protocol.

import Members
import RoostProtocol

extension MediaDirector {
  /// Carries out what the conference wants of a stream. What it has to hear of it.
  mutating func carryOut(_ effect: StreamEffect) -> [Command] {
    switch effect {
    case .open(let seat, let id, .publish): openConnection(id, seat: seat, for: .publish)
    case .open(let seat, let id, .subscribe): openConnection(id, seat: seat, for: .subscribe, offerer: .client)
    case .negotiate(let key, let seat, let id, let params, let limits):
      return [.publishPrepared(key, preparePublish(key, seat: seat, on: id, params, limits))]
    case .answer(let key, let seat, let id, let sdp):
      let (result, lines) = answerOffer(seat: seat, on: id, sdp: sdp)
      // Lines first: the client is answered when it is known what they can carry.
      return lines.commands + [.streamAnswered(key, seat, id, result)]
    case .close(let seat, let id): closeConnection(id, seat: seat)
    }
    return []
  }
}
