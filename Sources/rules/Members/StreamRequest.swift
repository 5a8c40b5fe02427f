// What a front door asks for clients that have a media connection for each stream that they publish or play.

import RoostProtocol

/// What a front door asks for such a client. `MediaConnectionID`s are the door's own, from 2 on, each used once in a session.
public enum StreamRequest: Hashable, Sendable {
  /// Publish what this offer announces. The reply is that of `pc.offer`; a line that is declined is said in it.
  case publish(MediaConnectionID, PublishOfferParams)
  /// Be sent these tracks, one of a kind, on lines of these kinds that the offer wants to receive. The reply is the answer.
  case play(MediaConnectionID, tracks: [String], lines: [TrackKind], sdp: String)
  /// Be sent these in place of what was played there.
  case show(MediaConnectionID, tracks: [String])
  /// End it, with what it publishes and plays. One that is not there is no error.
  case close(MediaConnectionID)

  /// What it takes from its user's budget of requests (`Request.weight`); 0: nothing. An offer to play is made once for each stream of a
  /// room, where `pc.offer` is one for all of them. What is shown follows from what others publish, and has a bound of its own; what ends
  /// something is never refused.
  package var weight: Int {
    switch self {
    case .publish: 10
    case .play: 5
    case .show, .close: 0
    }
  }
}

extension StreamRequest {
  /// The connection whose views it changes; nil where it changes none.
  package var shown: MediaConnectionID? { if case .show(let stream, _) = self { stream } else { nil } }

  /// What it takes of the rates of its session. `views`: how many are on its connection.
  package func rate(views: Int) -> SessionRate? {
    switch self {
    case .publish: .offer
    case .play(_, _, let lines, _): .shows(lines.count, "beginning to play")
    case .show: .shows(max(views, 1), "changing what you play")
    case .close: nil
    }
  }

  /// What it is called in the log; nil where its refusal leaves a line of its own (`publish_refused`).
  package var nameInLog: String? {
    switch self {
    case .publish: nil
    case .play: "stream.play"
    case .show: "stream.show"
    case .close: "stream.close"
    }
  }
}
