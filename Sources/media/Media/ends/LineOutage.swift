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
    _ id: TransportID, _ transports: inout Transports, _ forwarder: inout Forwarder, _ egress: inout Egress,
    telling events: inout [WorkerEvent], at now: Instant
  ) {
    let isDark = transports[id].seemsDark(at: now)
    if isDark { transports[id].downlink?.noteAllocation(at: now) }
    guard isDark != transports[id].isDark else { return }
    transports[id].isDark = isDark
    if isDark {
      begin(id, &transports, &forwarder, &egress)
    } else {
      end(id, &transports, &forwarder, telling: &events, at: now)
    }
  }

  /// What waits would come too late. Sound goes on: it is little, and is answered as soon as it arrives.
  private static func begin(
    _ id: TransportID, _ transports: inout Transports, _ forwarder: inout Forwarder, _ egress: inout Egress
  ) {
    for stream in videos(of: id, &transports, &forwarder) {
      forwarder.consumers[stream].isDark = true
      forwarder.consumers[stream].consumer.setPaused(true)
    }
    if let transport = transports.pointer(to: id) { egress.withdrawVideo(of: transport, &forwarder) }
  }

  /// Layers are chosen for what the line is believed to carry now, and each picture begins anew.
  private static func end(
    _ id: TransportID, _ transports: inout Transports, _ forwarder: inout Forwarder,
    telling events: inout [WorkerEvent], at now: Instant
  ) {
    if transports[id].downlink?.isSilent == true { transports[id].downlink?.estimator.returned(at: now) }
    transports[id].followDownlink()
    forwarder.allocate(for: id, &transports, telling: &events, at: now)
    for stream in videos(of: id, &transports, &forwarder) {
      forwarder.consumers[stream].isDark = false
      forwarder.consumers[stream].consumer.setPaused(forwarder.consumers[stream].isStopped)
      forwarder.consumers[stream].consumer.interrupt()
      if forwarder.consumers[stream].consumer.awaitsKeyframe { forwarder.requestKeyframe(for: stream) }
    }
  }

  private static func videos(
    of id: TransportID, _ transports: inout Transports, _ forwarder: inout Forwarder
  ) -> [ConsumerID] {
    var found: [ConsumerID] = []
    for stream in transports[id].routes.outgoing where forwarder.consumers.contains(stream.consumer) {
      let consumer = forwarder.consumers[stream.consumer].consumer.parameters
      if consumer.kind == .video && consumer.ssrc == stream.ssrc { found.append(stream.consumer) }
    }
    return found
  }
}
