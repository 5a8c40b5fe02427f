// Who floods the server in the middle of a run: a stranger with thirty thousand datagrams a second, or somebody with a seat who publishes
// much more than they are asked to.

import Basics
import SyntheticParticipant

/// What comes besides the scenario's people.
enum Trouble: String, Sendable, CaseIterable, Encodable {
  case random, fingerprint, integrity, srtp, hello
  /// A publisher at 200 Mbit/s, where the server takes 40.
  case publisher

  /// Datagrams a second of a stranger.
  static let perSecond = 30_000

  fileprivate var kind: FloodKind? { FloodKind(rawValue: rawValue) }
}

/// Somebody in a room of their own, whose transport is flooded, or floods. Nobody else's figures have anything of theirs.
struct Mallory {
  private let participant: SyntheticParticipant
  private let driver: MediaDriver
  private let flood: Flood?

  /// Joins and begins. `says` is what went wrong.
  static func begin(_ trouble: Trouble, url: String) async -> (mallory: Mallory?, problem: String?) {
    let driver = MediaDriver()
    var configuration = SyntheticConfiguration(url: url, room: "mallory", user: "mallory")
    configuration.audio = nil
    configuration.usesServersSRTP = true
    var plan = VideoPlan()
    if trouble == .publisher {
      plan.framesPerSecond = 100
      // 100 × 224 × 1,116 bytes.
      plan.layers = [VideoLayer(packetsPerFrame: 224, packetsPerKeyframe: 224, packetBytes: 1_100)]
    }
    configuration.video = [plan]
    do {
      let participant = try SyntheticParticipant(configuration, driver: driver)
      try await participant.join()
      guard await participant.waitUntilConnected() else { return (nil, "mallory's media did not come up") }
      guard let kind = trouble.kind else {
        return (Mallory(participant: participant, driver: driver, flood: nil), nil)
      }
      guard let target = await participant.floodTarget,
        let flood = Flood(
          kind.datagrams(target), to: target.server, perSecond: Trouble.perSecond,
          from: SocketAddress(v4: 0x7f00_0002, port: 0))
      else { return (nil, "mallory has nothing to flood") }
      return (Mallory(participant: participant, driver: driver, flood: flood), nil)
    } catch {
      return (nil, "mallory could not join: \(error)")
    }
  }

  /// Stops, and says how many datagrams it were.
  func end() async -> UInt64 {
    flood?.stop()
    let published = await participant.statistics.sent.reduce(0) { $0 + $1.packets }
    await participant.leave()
    driver.stop()
    return flood.map { UInt64($0.sent) } ?? published
  }
}
