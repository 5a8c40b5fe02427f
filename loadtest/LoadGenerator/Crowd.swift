// Everybody of a load test: made from the scenario, let in over the ramp.

import Basics
import Janus
import RealMedia
import RoostClient
import RoostProtocol
import SyntheticParticipant
import WebSockets

struct Crowd: Sendable {
  let scenario: Scenario
  let people: [Person]
  /// Labels that `SyntheticConfiguration` gives its tracks.
  static let microphone = "microphone"
  static let camera = "camera"
  /// Where participants are to be light, one in each room still checks everything, and in one room of so many with libsrtp2.
  static let roomsPerLibSRTP = 4

  /// Everybody of a scenario. `isLight`: see `RunSettings`; `isJanus`: whether they come to rooms of Janus; `doors`: where the
  /// others than the native one are.
  init(
    _ scenario: Scenario, url: String, doors: [PlayerPlan.Door: String] = [:], driver: MediaDriver, fault: ServerFault?,
    isLight: Bool = false, isJanus: Bool = false
  ) {
    self.scenario = scenario
    var people: [Person] = []
    // The same name twice on one server would be a takeover: each run has its own.
    let run = String(UInt32.random(in: 0 ... .max), radix: 36)
    let size = max(1, scenario.people.reduce(0) { $0 + max(1, $1.count) })
    for room in 1...max(1, scenario.rooms) {
      let start = people.count
      for group in scenario.people {
        for number in 1...max(1, group.count) {
          var configuration = SyntheticConfiguration(
            url: url, room: scenario.roomName(room, run: run),
            user: "\(group.name)-\(room)-\(number)-\(run)")
          configuration.shape(group, hasVideo: scenario.hasVideo, fault: fault)
          if isJanus { configuration.session.transport = janusTransport }
          // At another place in each room: who came first may be served first.
          let isThorough = !isLight || people.count - start == (room * 7) % size
          configuration.spotChecks = !isThorough
          configuration.usesServersSRTP = !isThorough || (isLight && (room - 1) % Self.roomsPerLibSRTP != 0)
          let decoders = Int((Double(group.count) * group.decodes).rounded(.up))
          if number <= decoders { configuration.inspector = { StreamDecoder(isAudio: $0) } }
          let publisher = people[start...].first { $0.group.tracks > 0 }
          let plays = publisher.flatMap { one in group.door.flatMap { doors[$0] }.map { (publisher: one, url: $0) } }
          people.append(Person(configuration, group, driver: driver, plays: plays))
        }
      }
    }
    self.people = people
  }

  /// Those who are there from beginning to end.
  var steady: [Person] { people.filter { $0.group.refused == nil && $0.group.habits.stay == nil } }
  /// Those of `people` whose line has room for all that is sent to them.
  static func unlimited(_ people: [Person]) -> [Person] { people.filter { $0.group.line == nil } }
  var members: [Person] { people.filter { $0.group.refused == nil } }
  /// How many are in at the moment.
  var up: Int {
    get async {
      var count = 0
      for person in members where await person.isHere { count += 1 }
      return count
    }
  }

  /// Encodes what people will send, where it is to be real.
  func prepare() async {
    await withTaskGroup { tasks in
      for person in people { tasks.addTask { await person.prepare() } }
    }
  }

  /// Lets everybody in, one after the other over the ramp; those to be refused when all others are in.
  func join() async {
    await join(members, over: scenario.ramp)
    await join(people.filter { $0.group.refused != nil }, over: .zero)
  }

  private func join(_ joining: [Person], over ramp: TimeDelta) async {
    let step = ramp / Int64(max(1, joining.count))
    await withTaskGroup { tasks in
      for (index, person) in joining.enumerated() {
        tasks.addTask {
          try? await Task.sleep(for: .nanoseconds((step * Int64(index)).nanoseconds))
          await person.join()
        }
      }
    }
  }

  /// Leaves with everybody, quickly.
  func leave() async {
    await withTaskGroup { tasks in
      for person in people { tasks.addTask { await person.leave() } }
    }
  }

  /// Streams that `receivers` should get from `senders`.
  static func streams(to receivers: [Person], from senders: [Person]) -> Int {
    var tracks: [String: Int] = [:]
    for sender in senders { tracks[sender.room, default: 0] += sender.group.tracks }
    let own = Set(senders.map(\.user))
    return receivers.reduce(0) { sum, receiver in
      guard receiver.group.receives else { return sum }
      return sum + tracks[receiver.room, default: 0] - (own.contains(receiver.user) ? receiver.group.tracks : 0)
    }
  }
}

extension PeopleGroup {
  /// Tracks that each publishes.
  var tracks: Int { (audio == nil ? 0 : 1) + (video == nil ? 0 : 1) }
}

extension Scenario {
  /// Whether somebody is behind a line.
  var hasLines: Bool { people.contains { $0.line != nil } }
  var hasVideo: Bool { people.contains { $0.video != nil } }

  /// The first room of kind demo is the one that every server has.
  fileprivate func roomName(_ number: Int, run: String) -> String {
    if let room, number == 1 { return room }
    return roomKind == "demo" && number == 1 ? "demo" : "load-\(run)-\(number)"
  }
}

extension SyntheticConfiguration {
  fileprivate mutating func shape(_ group: PeopleGroup, hasVideo: Bool, fault: ServerFault?) {
    audio = group.audio.map { bitrate in
      var plan = AudioPlan()
      plan.packetBytes = bitrate / 8 / 50
      return plan
    }
    video = group.video.map { [$0.plan] } ?? []
    receives = group.receives
    (feedback, definition) = (group.feedback, group.definition)
    impairments.line = group.line
    roomMedia = hasVideo ? .video : .audio
    self.fault = fault
    // Many joins at once may take a while, and a refusal ought to be the server's, not ours.
    session.requestTimeout = .seconds(60)
    // It is the server that asks whether they are still there: pages in browsers cannot send pings. What a page asks in their
    // stead after six silent seconds is no part of the load.
    session.keepAlive = nil
    session.transport = { (url) throws(RoostError) in
      try LibWebSocketsTransport(url: url, limits: .unasking)
    }
  }
}

/// To a room of Janus.
private let janusTransport: TransportFactory = { (url) throws(RoostError) in
  JanusTransport(try LibWebSocketsTransport(url: url, subprotocol: "janus-protocol", limits: .unasking))
}

extension WebSocketLimits {
  /// A client's, without pings.
  fileprivate static var unasking: WebSocketLimits {
    var limits = WebSocketLimits.client
    (limits.pingInterval, limits.silenceLimit) = (TimeDelta(nanoseconds: .max), TimeDelta(nanoseconds: .max))
    return limits
  }
}

extension VideoShape {
  private static let payloadBytes = 1_200

  /// A size that looks well at the bitrate.
  private func size(_ bitrate: Int) -> (UInt16, UInt16) {
    bitrate >= 1_000_000 ? (1_280, 720) : bitrate >= 300_000 ? (640, 360) : (320, 180)
  }

  /// Frames of whole packets of nearly equal size, as VP8 packetizers make them.
  var plan: VideoPlan {
    var plan = VideoPlan()
    plan.framesPerSecond = framesPerSecond
    let names = layers == 1 ? [nil] : ["h", "m", "l"].map(Optional.some)
    plan.layers = (0..<layers).reversed().map { index in
      let share = (0..<index).reduce(bitrate) { rate, _ in rate / 3 }
      return layer(bytes: max(60, share / 8 / framesPerSecond), rid: names[index], size(share))
    }
    return plan
  }

  private func layer(bytes: Int, rid: String?, _ size: (UInt16, UInt16)) -> VideoLayer {
    let packets = (bytes + Self.payloadBytes - 1) / Self.payloadBytes
    return VideoLayer(
      rid: rid, width: size.0, height: size.1, packetsPerFrame: packets, packetsPerKeyframe: packets * keyframeTimes,
      packetBytes: bytes / packets)
  }
}
