// The names under which the server's numbers appear in /metrics; docs/operations.md explains them.

import Admin
import Calls
import DoorKit
import Forwarding
import Media
import MediaControl
import Members
import RoostProtocol
import WebSockets

extension MetricsCollector {
  /// The numbers of all realms: one metric of each name, with a sample, or several, for each of them.
  static func metrics(_ conference: ConferenceSnapshot) -> [Metric] {
    var all: [Metric] = []
    for own in conference.realms {
      for (place, metric) in metrics(own).enumerated() {
        let samples = metric.samples.map { $0.labelled("realm", own.realm.name) }
        if place == all.count { all.append(Metric(metric.name, metric.kind, help: metric.help, [])) }
        all[place].samples += samples
      }
    }
    return all + metrics(conference.admission)
  }

  private static func metrics(_ admission: [WorkerAdmission]) -> [Metric] {
    func each(_ value: (WorkerAdmission) -> Int) -> [Metric.Sample] {
      admission.enumerated().map { .init(value($1), ["worker": String($0)]) }
    }
    return [
      Metric(
        "roost_worker_expected_percent", .gauge,
        help: "The share of a CPU that the worker is expected to need when those who have just come send.",
        each { Int(min(max(0, $0.expected), 1_000_000)) }),
      Metric(
        "roost_worker_overloaded", .gauge, help: "1 while newcomers are refused.", each { $0.state == .full ? 1 : 0 }),
    ]
  }

  private static func metrics(_ own: RealmSnapshot) -> [Metric] {
    let gauges = own.gauges
    return [
      Metric("roost_rooms", .gauge, help: "Rooms with somebody in them.", [.init(gauges.rooms)]),
      Metric("roost_participants", .gauge, help: "Seats taken.", [.init(gauges.participants)]),
      Metric("roost_tracks", .gauge, help: "Tracks published.", [.init(gauges.tracks)]),
      Metric("roost_subscriptions", .gauge, help: "Tracks sent to somebody.", [.init(gauges.subscriptions)]),
      Metric(
        "roost_sessions", .gauge, help: "Sessions, those that may still be resumed included.", [.init(gauges.sessions)]),
      Metric("roost_calls", .gauge, help: "Calls that ring or run.", [.init(gauges.calls)]),
    ] + quality(gauges) + counters(own.counts)
  }

  /// How seats' media does: levels of now, and looks of two seconds by what they found.
  private static func quality(_ gauges: ConferenceGauges) -> [Metric] {
    let figures = gauges.quality
    func looks(_ counts: [UInt64], _ bounds: [Int], way: String) -> [Metric.Sample] {
      zip(bounds.map(String.init) + ["more"], counts).map { .init($1, ["way": way, "up_to": $0]) }
    }
    return [
      Metric(
        "roost_seats_by_quality", .gauge, help: "Seats with media, by how good their connections are.",
        gauges.levels.sorted { $0.key.rawValue < $1.key.rawValue }.map { .init($0.value, ["level": $0.key.rawValue]) }),
      Metric(
        "roost_looks_by_loss_percent_total", .counter,
        help: "Looks of two seconds, by lost packets: of tracks that come (up), of what a seat is sent (down).",
        looks(figures.lossUp, QualityFigures.lossBounds, way: "up")
          + looks(figures.lossDown, QualityFigures.lossBounds, way: "down")),
      Metric(
        "roost_looks_by_jitter_milliseconds_total", .counter, help: "Looks of two seconds at tracks, by jitter.",
        looks(figures.jitter, QualityFigures.jitterBounds, way: "up")),
      Metric(
        "roost_looks_at_videos_total", .counter,
        help: "Looks of two seconds that found a video standing still, or paused since the line does not carry it.",
        [.init(figures.frozen, ["found": "frozen"]), .init(figures.paused, ["found": "paused"])]),
    ]
  }

  private static func counters(_ counts: [Counter: UInt64]) -> [Metric] {
    var events: [Metric.Sample] = []
    var joins: [Metric.Sample] = []
    var leaves: [Metric.Sample] = []
    var calls: [Metric.Sample] = []
    for (counter, count) in counts.sorted(by: { String(describing: $0.key) < String(describing: $1.key) }) {
      switch counter {
      case .joinRefused(let code): joins.append(.init(count, ["reason": code.name.lowercased()]))
      case .left(let reason): leaves.append(.init(count, ["reason": reason.rawValue]))
      case .sessionRefused(let code):
        events.append(.init(count, ["event": "session_refused_\(code.name.lowercased())"]))
      case .publishRefused(let code):
        events.append(.init(count, ["event": "publish_refused_\(code.name.lowercased())"]))
      case .mediaFailed(let connection):
        events.append(.init(count, ["event": "media_failed_\(connection?.rawValue ?? "other")"]))
      case .call(let call): calls.append(.init(count, labels(call)))
      case .joined, .sessionStarted, .resumed, .resynced, .sessionExpired, .sessionEvicted, .chatMessage,
        .dataMessage, .trackPublished, .mediaStrays:
        events.append(.init(count, ["event": snakeCase(String(describing: counter))]))
      }
    }
    return [
      Metric("roost_joins_refused_total", .counter, help: "Joins refused, by reason.", joins),
      Metric("roost_leaves_total", .counter, help: "Participants that left, by reason.", leaves),
      Metric("roost_events_total", .counter, help: "What happened in the conference, by event.", events),
      Metric("roost_calls_total", .counter, help: "What happened to calls: started, answered, ended and why.", calls),
    ]
  }

  private static func labels(_ counter: CallCounter) -> Metric.Labels {
    switch counter {
    case .started(let kind): ["event": "started", "kind": kind.rawValue]
    case .joined: ["event": "joined"]
    case .upgraded: ["event": "upgraded"]
    case .ended(let reason): ["event": "ended", "reason": reason.rawValue]
    }
  }

  static func snakeCase(_ name: String) -> String {
    name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
  }

  static func metrics(_ workers: [WorkerCounters]) -> [Metric] {
    func each(_ value: (WorkerCounters) -> some BinaryInteger) -> [Metric.Sample] {
      workers.enumerated().map { .init(value($0.element), ["worker": String($0.offset)]) }
    }
    var drops: [Metric.Sample] = []
    for reason in DropReason.allCases {
      let total = workers.reduce(UInt64(0)) { $0 + $1.drops[reason] }
      drops.append(.init(total, ["reason": reason.metricName]))
    }
    return [
      Metric(
        "roost_worker_transports", .gauge, help: "Media connections of a worker: two for each participant.",
        each { $0.transports }),
      Metric("roost_worker_producers", .gauge, help: "Tracks that a worker receives.", each { $0.producers }),
      Metric("roost_worker_consumers", .gauge, help: "Tracks that a worker sends.", each { $0.consumers }),
      Metric("roost_packets_received_total", .counter, help: "Datagrams received.", each { $0.packetsIn }),
      Metric("roost_bytes_received_total", .counter, help: "Bytes of datagrams received.", each { $0.bytesIn }),
      Metric("roost_packets_sent_total", .counter, help: "Datagrams sent.", each { $0.packetsOut }),
      Metric("roost_bytes_sent_total", .counter, help: "Bytes of datagrams sent.", each { $0.bytesOut }),
      Metric(
        "roost_packets_forwarded_total", .counter, help: "Media packets sent to a receiver for the first time.",
        each { $0.forwarded }),
      Metric(
        "roost_packets_retransmitted_total", .counter, help: "Media packets sent again.", each { $0.retransmitted }),
      Metric(
        "roost_piped_packets_total", .counter, help: "Media packets copied for other workers, and taken from them.",
        piped(workers)),
      Metric(
        "roost_sounds_restored_total", .counter,
        help: "Packets of sound that were lost before the server and stood in a later one.", each { $0.restored }),
      Metric(
        "roost_sounds_redundant_total", .counter, help: "Packets of sound that went along with later ones.",
        each { $0.redundant }),
      Metric(
        "roost_nacks_received_total", .counter, help: "Packets that receivers asked for again.",
        each { $0.nacksReceived }),
      Metric(
        "roost_nacks_sent_total", .counter, help: "Packets that publishers were asked for again.", each { $0.nacksSent }
      ),
      Metric(
        "roost_keyframe_requests_received_total", .counter, help: "Keyframes that receivers asked for.",
        each { $0.keyframeRequestsReceived }),
      Metric(
        "roost_keyframe_requests_sent_total", .counter, help: "Keyframes that publishers were asked for.",
        each { $0.keyframeRequestsSent }),
      Metric(
        "roost_receive_calls_total", .counter, help: "System calls to receive datagrams.",
        each { $0.loop.receiveCalls }),
      Metric(
        "roost_receive_calls_by_datagrams_total", .counter,
        help: "System calls to receive, by how many datagrams each brought.", byDatagrams(workers)),
      Metric(
        "roost_send_system_calls_total", .counter, help: "System calls to send: many sends share one.",
        each { $0.loop.sendCalls }),
      Metric("roost_worker_turns_total", .counter, help: "Turns of the worker's loop.", each { $0.loop.turns }),
      Metric(
        "roost_worker_busy_microseconds_total", .counter, help: "Time spent in turns.",
        each { $0.loop.busyNanoseconds / 1_000 }),
      Metric(
        "roost_worker_phase_microseconds_total", .counter, help: "Time spent in turns, by what was done.",
        phases(workers)),
      Metric(
        "roost_worker_longest_turn_microseconds", .gauge, help: "The longest turn of the last second.",
        each { UInt64(max(0, $0.loop.longestTurn.microseconds)) }),
      Metric(
        "roost_worker_lag_microseconds", .gauge, help: "How late the loop woke for what was due, in the last second.",
        each { UInt64(max(0, $0.loop.lag.microseconds)) }),
      Metric(
        "roost_worker_used_percent", .gauge, help: "The share of a CPU that the worker used in the last second.",
        each { UInt64(max(0, $0.loop.percent)) }),
      Metric(
        "roost_send_calls_total", .counter,
        help: "Sends: datagrams of one size to one receiver, handed to the kernel as one.", each { $0.sends }),
      Metric(
        "roost_send_calls_by_datagrams_total", .counter,
        help: "Sends, by how many datagrams each carried.", bySegments(workers)),
      Metric("roost_packets_dropped_total", .counter, help: "Packets not passed on, by reason.", drops),
    ] + lines(workers)
  }

  /// How receivers' lines are.
  private static func lines(_ workers: [WorkerCounters]) -> [Metric] {
    func each(_ value: (WorkerCounters) -> some BinaryInteger) -> [Metric.Sample] {
      workers.enumerated().map { .init(value($0.element), ["worker": String($0.offset)]) }
    }
    func bounds(_ bounds: [Int], _ counts: (LineReport) -> [Int]) -> [Metric.Sample] {
      let names = bounds.map(String.init) + ["more"]
      return names.enumerated().map { index, name in
        .init(workers.reduce(0) { $0 + counts($1.lines)[index] }, ["up_to": name])
      }
    }
    return [
      Metric(
        "roost_padding_bytes_sent_total", .counter, help: "Bytes sent only to measure receivers' lines.",
        each { $0.padding }),
      Metric("roost_lines", .gauge, help: "Receivers of video, whose lines are measured.", each { $0.lines.measured }),
      Metric(
        "roost_lines_paced", .gauge, help: "Those whose lines do not carry well more than they are sent.",
        each { $0.lines.paced }),
      Metric(
        "roost_lines_protected", .gauge, help: "Receivers whose sound carries redundancy, since their lines lose.",
        each { $0.lines.protected }),
      Metric(
        "roost_subscriptions_paused", .gauge, help: "Videos held back, since the receiver's line does not carry them.",
        each { $0.lines.pausedSubscriptions }),
      Metric(
        "roost_lines_by_estimate_kbps", .gauge, help: "Lines by the kbit/s that they are estimated to carry.",
        bounds(LineReport.estimateBounds) { $0.byEstimate }),
      Metric(
        "roost_lines_by_round_trip_milliseconds", .gauge, help: "Lines by round trip.",
        bounds(LineReport.roundTripBounds) { $0.byRoundTrip }),
    ]
  }

  static func linesLost(_ count: UInt64) -> Metric {
    Metric(
      "roost_log_lines_lost_total", .counter, help: "Log lines that nobody read in time, so that they were dropped.",
      [.init(count)])
  }

  /// From the mailboxes themselves: a worker whose mailbox is full does not answer.
  static func refusals(_ workers: [UInt64]) -> Metric {
    Metric(
      "roost_worker_refused_messages_total", .counter, help: "Commands to a worker that its full mailbox refused.",
      workers.enumerated().map { .init($0.element, ["worker": String($0.offset)]) })
  }

  private static func phases(_ workers: [WorkerCounters]) -> [Metric.Sample] {
    workers.enumerated().flatMap { worker, counters in
      let phases = counters.loop.phases
      return [("receive", phases.receiving), ("seal", phases.sealing), ("send", phases.sending)].map { phase, spent in
        Metric.Sample(spent / 1_000, ["worker": String(worker), "phase": phase])
      }
    }
  }

  private static func piped(_ workers: [WorkerCounters]) -> [Metric.Sample] {
    workers.enumerated().flatMap { worker, counters in
      [("out", counters.piped), ("in", counters.crossed)].map { direction, count in
        Metric.Sample(count, ["worker": String(worker), "direction": direction])
      }
    }
  }

  private static func byDatagrams(_ workers: [WorkerCounters]) -> [Metric.Sample] {
    let sizes = ["0", "1", "2", "3-4", "5-8", "9-16", "17-32", "33-"]
    return workers.enumerated().flatMap { worker, counters in
      sizes.enumerated().map { index, size in
        .init(counters.loop.receivesByDatagrams[index], ["worker": String(worker), "datagrams": size])
      }
    }
  }

  private static func bySegments(_ workers: [WorkerCounters]) -> [Metric.Sample] {
    let sizes = ["1", "2", "3-4", "5-8", "9-16", "17-32", "33-64"]
    return workers.enumerated().flatMap { worker, counters in
      sizes.enumerated().map { index, size in
        .init(counters.sendsBySegments[index], ["worker": String(worker), "datagrams": size])
      }
    }
  }

  static func metrics(_ statistics: TokenStatistics) -> [Metric] {
    [
      Metric(
        "roost_token_failures_total", .counter, help: "Tokens that were refused, or not looked at and slowed.",
        [.init(statistics.failed, ["what": "refused"]), .init(statistics.slowed, ["what": "slowed"])])
    ]
  }

  /// - Parameter listener: which it is; nil for that of the page.
  static func metrics(_ statistics: WebServerStatistics, listener: String? = nil) -> [Metric] {
    let closed = statistics.closed.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
    let labels: Metric.Labels = listener.map { ["listener": $0] } ?? [:]
    let causes = closed.map { cause, count in
      Metric.Sample(count, listener.map { ["listener": $0, "cause": cause] } ?? ["cause": cause])
    }
    return [
      Metric(
        "roost_connections", .gauge, help: "TCP connections, HTTP and WebSocket.",
        [.init(statistics.connections, labels)]),
      Metric("roost_websockets", .gauge, help: "WebSockets open.", [.init(statistics.webSocketsOpen, labels)]),
      Metric("roost_websockets_closed_total", .counter, help: "WebSockets gone, by cause.", causes),
      Metric(
        "roost_connections_refused_total", .counter, help: "TCP connections turned away: too many.",
        [.init(statistics.connectionsRefused, labels)]),
      Metric(
        "roost_handshakes_refused_total", .counter, help: "WebSocket handshakes turned away: wrong path or origin.",
        [.init(statistics.handshakesRefused, labels)]),
      Metric(
        "roost_requests_malformed_total", .counter,
        help: "Requests whose head was no head of HTTP/1.1, or too long.",
        [.init(statistics.malformedRequests, labels)]),
      Metric(
        "roost_messages_received_total", .counter, help: "Messages of clients.", [.init(statistics.messagesIn, labels)]),
      Metric(
        "roost_messages_sent_total", .counter, help: "Messages to clients.", [.init(statistics.messagesOut, labels)]),
    ]
  }
}
