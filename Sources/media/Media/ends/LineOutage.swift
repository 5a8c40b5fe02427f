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

  /// After each step of a line's estimator and each sign of life.
  static func follow(
    _ id: TransportID, _ ends: inout Ends, _ forwarder: inout Forwarder, _ egress: inout Egress,
    _ turn: inout Turn
  ) {
    let isDark = ends.transports[id].seemsDark(at: turn.now)
    if isDark { ends.transports[id].downlink?.noteAllocation(at: turn.now) }
    guard isDark != ends.transports[id].isDark else { return }
    ends.transports[id].isDark = isDark
    if isDark {
      begin(id, &ends, &forwarder, &egress)
    } else {
      end(id, &ends, &forwarder, &turn)
    }
  }

  /// What waits would come too late. Sound goes on: it is little, and is answered as soon as it arrives.
  private static func begin(
    _ id: TransportID, _ ends: inout Ends, _ forwarder: inout Forwarder, _ egress: inout Egress
  ) {
    for stream in videos(of: id, &ends, &forwarder) {
      forwarder.consumers[stream].isDark = true
      forwarder.consumers[stream].consumer.setPaused(true)
    }
    if let transport = ends.transports.pointer(to: id) { egress.withdrawVideo(of: transport, &forwarder) }
  }

  /// Layers are chosen for what the line is believed to carry now, and each picture begins anew.
  private static func end(
    _ id: TransportID, _ ends: inout Ends, _ forwarder: inout Forwarder,
    _ turn: inout Turn
  ) {
    if ends.transports[id].downlink?.isSilent == true { ends.transports[id].downlink?.estimator.returned(at: turn.now) }
    ends.transports[id].followDownlink()
    forwarder.allocate(for: id, &ends, &turn)
    for stream in videos(of: id, &ends, &forwarder) {
      forwarder.consumers[stream].isDark = false
      forwarder.consumers[stream].consumer.setPaused(forwarder.consumers[stream].isStopped)
      forwarder.consumers[stream].consumer.interrupt()
      if forwarder.consumers[stream].consumer.awaitsKeyframe { forwarder.requestKeyframe(for: stream) }
    }
  }

  private static func videos(
    of id: TransportID, _ ends: inout Ends, _ forwarder: inout Forwarder
  ) -> [ConsumerID] {
    var found: [ConsumerID] = []
    for stream in ends.transports[id].routes.outgoing where forwarder.consumers.contains(stream.consumer) {
      let consumer = forwarder.consumers[stream.consumer].consumer.parameters
      if consumer.kind == .video && consumer.ssrc == stream.ssrc { found.append(stream.consumer) }
    }
    return found
  }
}
