// A line that carries nothing for a while: a change of network, a tunnel, a lift.
//
//   neither reports nor anything else comes ─▶ dark: no video, a packet now and then ─▶ a sign of life ─▶ keyframes from the cache

import Basics
import Congestion
import Forwarding

/// What is sent on a line that is dark, and when it is light again. Video that nobody receives would wait in queues on the way, come
/// seconds late, and count as lost.
enum LineOutage {
  /// A peer from which nothing authentic has come for so long, while it is sent video, may have no line. Reports come each 50 to 250 ms.
  /// Lower: a busy client loses pictures for it; higher: more old video lies in queues when the line is back.
  static let silence = TimeDelta.milliseconds(900)

  /// What has changed.
  enum Change {
    case begins
    case ends
  }
}

extension Transport {
  /// Looks whether the line has gone dark, or is light again: after each step of its estimator and each sign of life.
  mutating func followOutage(at now: Instant) -> LineOutage.Change? {
    let seemsDark = seemsDark(at: now)
    if seemsDark { downlink?.noteAllocation(at: now) }
    guard seemsDark != isDark else { return nil }
    isDark = seemsDark
    if isDark { return .begins }
    if downlink?.isSilent == true { downlink?.estimator.returned(at: now) }
    followDownlink()
    return .ends
  }
}

extension Forwarder {
  /// The videos of one end are not sent while its line is dark. What waits would come too late. Sound goes on: it is little, and is
  /// answered as soon as it arrives.
  mutating func darken(_ streams: [OutgoingRoute]) {
    for id in videos(of: streams) {
      consumers[id].isDark = true
      consumers[id].consumer.setPaused(true)
    }
  }

  /// Each picture begins anew.
  mutating func lighten(_ streams: [OutgoingRoute], _ tracks: borrowing Tracks, _ turn: inout Turn) {
    for id in videos(of: streams) {
      consumers[id].isDark = false
      consumers[id].consumer.setPaused(consumers[id].isStopped)
      consumers[id].consumer.interrupt()
      if consumers[id].consumer.awaitsKeyframe { requestKeyframe(for: id, tracks, &turn) }
    }
  }

  private func videos(of streams: [OutgoingRoute]) -> [ConsumerID] {
    var found: [ConsumerID] = []
    for stream in streams where consumers.contains(stream.consumer) {
      let kind = consumers[stream.consumer].consumer.parameters.kind
      if kind == .video && consumers[stream.consumer].consumer.ssrc == stream.ssrc { found.append(stream.consumer) }
    }
    return found
  }
}
