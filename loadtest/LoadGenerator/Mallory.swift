// Who floods the server in the middle of a run: a stranger with thirty thousand datagrams a second, or somebody with a seat who publishes
// much more than they are asked to, or sends a hundred thousand checks a second.

import Basics
import SyntheticParticipant

/// What comes besides the scenario's people.
enum Trouble: String, Sendable, CaseIterable, Encodable {
  case random, fingerprint, integrity, srtp, hello
  /// A publisher at 200 Mbit/s, where the server takes 40.
  case publisher
  /// A hundred thousand checks a second with the right password, as many with a wrong one, and the control: the right one, and no bound.
  case checks, forged, unbounded

  /// Frames of the publisher a second: 100 × 224 × 1,116 bytes are 200 Mbit/s.
  fileprivate static let frames = 100
  /// Packets of each.
  fileprivate static let packets = 224

  /// How many datagrams a second are asked for.
  var perSecond: Int {
    switch self {
    case .random, .fingerprint, .integrity, .srtp, .hello: 30_000
    case .publisher: Self.frames * Self.packets
    case .checks, .forged, .unbounded: 100_000
    }
  }

  /// Whether it is there to be compared with others, and has no bar of its own.
  var isForComparison: Bool { self == .forged || self == .unbounded }

  /// Ports that it comes from.
  fileprivate var ports: Int { perSecond == 100_000 ? 1 : 16 }

  fileprivate var kind: FloodKind? {
    switch self {
    case .random: .random
    case .fingerprint: .fingerprint
    case .integrity, .forged: .integrity
    case .srtp: .srtp
    case .hello: .hello
    case .checks, .unbounded: .check
    case .publisher: nil
    }
  }
}

/// What somebody who floods has sent, and what the server did with it.
struct FloodCounts: Encodable, Sendable, Equatable {
  /// Datagrams that the kernel took; of a publisher packets of video.
  var sent: UInt64 = 0
  /// What the server dropped of a publisher as above their bound; nil where a stranger floods, or it could not be read.
  @Nullable var overBitrate: UInt64?
  /// Packets of a publisher that came to who listens to them.
  var heard: UInt64 = 0

  /// What has come to it since.
  func since(_ earlier: FloodCounts) -> FloodCounts {
    var counts = FloodCounts()
    counts.sent = sent - min(sent, earlier.sent)
    counts.heard = heard - min(heard, earlier.heard)
    if let overBitrate, let before = earlier.overBitrate { counts.overBitrate = overBitrate - min(overBitrate, before) }
    return counts
  }

  /// What a server's page for Prometheus says of packets above a bound; nil where it says nothing.
  static func overBitrate(in page: String) -> UInt64? {
    let name = #"roost_packets_dropped_total{reason="over_bitrate"} "#
    guard let line = page.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
    return UInt64(line.dropFirst(name.count))
  }
}

/// Somebody in a room of their own, whose transport is flooded, or floods. Nobody else's figures have anything of theirs.
struct Mallory {
  private let participant: SyntheticParticipant
  /// Who gets what is within a publisher's bound; nil where a stranger floods.
  private let listener: SyntheticParticipant?
  private let driver: MediaDriver
  private let flood: Flood?
  /// Where the server's page for Prometheus is.
  private let web: String

  /// Joins and begins. `problem` is what went wrong.
  static func begin(_ trouble: Trouble, url: String, web: String) async -> (mallory: Mallory?, problem: String?) {
    let driver = MediaDriver()
    var configuration = SyntheticConfiguration(url: url, room: "mallory", user: "mallory")
    configuration.audio = nil
    configuration.usesServersSRTP = true
    var plan = VideoPlan()
    if trouble == .publisher {
      plan.framesPerSecond = Trouble.frames
      plan.layers = [
        VideoLayer(packetsPerFrame: Trouble.packets, packetsPerKeyframe: Trouble.packets, packetBytes: 1_100)
      ]
    }
    configuration.video = [plan]
    do {
      let participant = try SyntheticParticipant(configuration, driver: driver)
      try await participant.join()
      guard await participant.waitUntilConnected() else { return (nil, "mallory's media did not come up") }
      guard let kind = trouble.kind else {
        let listener = try SyntheticParticipant(listening(url: url), driver: driver)
        try await listener.join()
        guard await listener.waitUntilConnected() else {
          await participant.leave()
          driver.stop()
          return (nil, "the listener's media did not come up")
        }
        return (Mallory(participant: participant, listener: listener, driver: driver, flood: nil, web: web), nil)
      }
      guard let target = await participant.floodTarget,
        let flood = Flood(
          kind.datagrams(target), to: target.server, perSecond: trouble.perSecond,
          from: SocketAddress(v4: 0x7f00_0002, port: 0), ports: trouble.ports)
      else { return (nil, "mallory has nothing to flood") }
      return (Mallory(participant: participant, listener: nil, driver: driver, flood: flood, web: web), nil)
    } catch {
      return (nil, "mallory could not join: \(error)")
    }
  }

  /// Somebody who sends nothing. Without feedback about their line no video is paused for them.
  private static func listening(url: String) -> SyntheticConfiguration {
    var configuration = SyntheticConfiguration(url: url, room: "mallory", user: "listener")
    configuration.audio = nil
    configuration.video = []
    configuration.usesServersSRTP = true
    configuration.feedback = BandwidthFeedback.none
    return configuration
  }

  /// What has been sent so far, and what became of it.
  var counts: FloodCounts {
    get async {
      var counts = FloodCounts()
      if let flood {
        counts.sent = UInt64(flood.sent)
        return counts
      }
      let now = await participant.statistics
      let packets: UInt64 = now.sent.reduce(0) { $0 + $1.packets }
      counts.sent = packets - min(packets, now.publish.datagramsNotSent)
      if let page = await MetricsPage.text(at: web) { counts.overBitrate = FloodCounts.overBitrate(in: page) }
      if let listener { counts.heard = await listener.statistics.received.reduce(0) { $0 + $1.packets } }
      return counts
    }
  }

  /// Stops, and says what was sent until then.
  func end() async -> FloodCounts {
    let all = await counts
    flood?.stop()
    await listener?.leave()
    await participant.leave()
    driver.stop()
    return all
  }
}
