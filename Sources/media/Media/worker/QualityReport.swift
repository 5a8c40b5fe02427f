// How each peer connection does: what a worker tells the control plane of all those in a room at once, every two seconds. The values
// are there anyway. Nothing is counted for each packet.

import Basics
import Congestion
import Forwarding
import RTP

/// What a stream, or all of one direction, brought since the report before.
public struct FlowQuality: Sendable, Hashable {
  /// Packets that should have come, and those of them that did not: before repeats made up for it.
  public var expected = 0, lost = 0
  /// Whether they are a share (`lost` of 256) and no counts: the peer has reported nothing else.
  public var isShare = false
  /// By how much the time between packets varies (RFC 3550 §6.4.1).
  public var jitter = TimeDelta.zero
  /// Bits a second.
  public var rate = 0

  /// Nothing.
  public init() {}
}

/// How one published track arrives.
public struct TrackQuality: Sendable, Hashable {
  /// Which.
  public var producer: ProducerKey
  /// What it brought.
  public var flow: FlowQuality
}

/// How one peer connection does.
public struct TransportQuality: Sendable {
  /// Which.
  public var transport: TransportKey
  /// Nil where it is not measured: without video toward the peer.
  public var roundTrip: TimeDelta?
  /// What the peer's line is estimated to carry toward it, in bits a second; nil where it has shown no limit.
  public var estimate: Int?
  /// What comes from the peer, by track.
  public var tracks: [TrackQuality] = []
  /// What goes to the peer.
  public var down = FlowQuality()
  /// Videos that its line does not carry, and those that stand still though their publishers send.
  public var paused = 0, frozen = 0
  /// Media goes both ways or should, and nothing at all comes from the peer.
  public var isSilent = false
}

/// Says whose turn it is, and collects. A room's connections are looked at together; rooms take turns, so that no turn of the loop is long.
struct QualityProbe {
  /// From one look at a room to the next.
  static let interval = TimeDelta.seconds(2)
  /// Rooms are looked at in so many groups.
  private static let groups: UInt64 = 8
  /// Silence of a peer that sends media, or reports on what it is sent, which is many times a second …
  private static let silence = TimeDelta.seconds(2)
  /// … and of one that only hears: it reports each five seconds (RFC 3550 §6.2).
  private static let silenceOfListeners = TimeDelta.seconds(7)

  /// When the next group is due; `distantFuture` while there is nobody.
  private(set) var next = Instant.distantFuture
  private var group: UInt64 = 0

  /// Somebody is there.
  mutating func begin(at now: Instant) {
    if next == .distantFuture { next = now + Self.interval }
  }

  /// What is to be told of the group whose turn it is.
  mutating func collect(
    _ ends: inout Ends, _ tracks: inout Tracks, _ forwarder: inout Forwarder, at now: Instant
  ) -> [TransportQuality] {
    let turn = group
    group = (group + 1) % Self.groups
    next = ends.transports.count == 0 ? .distantFuture : now + Self.interval / Int64(Self.groups)
    var found: [TransportQuality] = []
    ends.transports.forEach { _, transport in
      guard transport.canSend || transport.lostPath != nil,
        tracks.rooms[transport.room].key.value % Self.groups == turn
      else { return }
      found.append(Self.look(&transport, &tracks, &forwarder, at: now))
    }
    return found
  }

  private static func look(
    _ transport: inout Transport, _ tracks: inout Tracks, _ forwarder: inout Forwarder, at now: Instant
  ) -> TransportQuality {
    var quality = TransportQuality(transport: transport.key)
    let reported = transport.takeReported()
    quality.down.expected = reported.expected
    quality.down.lost = reported.lost
    quality.down.isShare = reported.isShare
    if transport.downlink?.isHeard == true { quality.roundTrip = transport.roundTrip }
    if transport.downlink?.isUnlimited == false {
      quality.estimate = transport.downlink.map { Int($0.estimator.target.bitsPerSecond) }
    }
    let sent = forwarder.takeSent(transport.routes.outgoing)
    quality.down.rate = rate(sent.bytes)
    quality.paused = sent.held
    for track in sent.still where tracks.isArriving(track, at: now) { quality.frozen += 1 }
    for line in transport.routes.lines where !tracks.producers[line.producer].isMuted {
      quality.tracks.append(
        TrackQuality(producer: tracks.producers[line.producer].key, flow: flow(of: line, &tracks.encodings, at: now)))
    }
    let isTalkative = !quality.tracks.isEmpty || transport.downlink?.isHeard == true
    let isQuiet = transport.isSilent(for: isTalkative ? silence : silenceOfListeners, at: now)
    quality.isSilent = transport.isDark || ((sent.bytes > 0 || !quality.tracks.isEmpty) && isQuiet)
    return quality
  }

  private static func flow(of line: LineRoute, _ encodings: inout Encodings, at now: Instant) -> FlowQuality {
    var flow = FlowQuality()
    for encoding in line.encodings.map(\.encoding) {
      let taken = encodings[encoding].encoding.statistics.take()
      flow.expected += taken.expected
      flow.lost += taken.lost
      let clock = max(Int64(encodings[encoding].encoding.clockRate), 1)
      let jitter = TimeDelta(nanoseconds: Int64(taken.jitter) * 1_000_000_000 / clock)
      if taken.expected > 0 { flow.jitter = max(flow.jitter, jitter) }
      flow.rate += Int(encodings[encoding].encoding.rate.bytesPerSecond(at: now)) * 8
    }
    return flow
  }

  private static func rate(_ bytes: UInt32) -> Int { Int(bytes) * 8 / Int(interval.seconds) }
}

extension Forwarder {
  /// What the streams to one end were sent since the last call: bytes, how many videos its line holds back, and the tracks of those that
  /// were sent nothing though nothing stops them.
  fileprivate mutating func takeSent(
    _ streams: [OutgoingRoute]
  ) -> (bytes: UInt32, held: Int, still: [ProducerID]) {
    var (bytes, held, still) = (UInt32(0), 0, [ProducerID]())
    for stream in streams {
      guard let slot = consumers.pointer(to: stream.consumer), slot.pointee.consumer.ssrc == stream.ssrc else {
        continue
      }
      let sent = slot.pointee.consumer.bytesSent &- slot.pointee.bytesSeen
      slot.pointee.bytesSeen = slot.pointee.consumer.bytesSent
      bytes &+= sent
      if slot.pointee.isHeld { held += 1 }
      guard sent == 0 && !slot.pointee.isStopped && slot.pointee.consumer.parameters.kind == .video else { continue }
      if let producer = slot.pointee.producer { still.append(producer) }
    }
    return (bytes, held, still)
  }
}

extension Transport {
  /// What the peer has reported since the last call of what it was sent: by transport-wide feedback, else the share of the worst of its reports.
  fileprivate mutating func takeReported() -> (expected: Int, lost: Int, isShare: Bool) {
    let worst = worstReport
    worstReport = 0
    guard let counted = downlink?.estimator.takeReported(), counted.expected > 0 else { return (256, Int(worst), true) }
    return (counted.expected, counted.lost, false)
  }
}
