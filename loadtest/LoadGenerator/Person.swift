// One person of a load test: joins, stays or comes and goes, and remembers what it saw.

import Basics
import RealMedia
import RoostProtocol
import SyntheticParticipant

/// How a person came in.
struct Joins: Sendable {
  /// When the latest was called.
  var calledAt: Instant?
  /// How many milliseconds each took.
  var milliseconds: [Double] = []
  /// When the join was called that each track of this person came from, earlier stays included.
  var published: [String: Instant] = [:]
  /// The error that the server refused the latest with.
  var refusal: String?
}

/// A person, who may be several participants one after the other.
actor Person {
  nonisolated let user: String
  nonisolated let room: String
  nonisolated let group: PeopleGroup
  private var configuration: SyntheticConfiguration
  private let driver: MediaDriver
  /// Whom this person comes to play by another door than the native one, and that door's address.
  private let plays: (publisher: Person, url: String)?
  private(set) var participant: SyntheticParticipant?
  private(set) var joins = Joins()
  private(set) var problems: [String] = []
  /// Streams of earlier stays, and when the join of each was called.
  private(set) var past: [(calledAt: Instant, stream: ReceiveStatistics)] = []
  private(set) var said = 0
  private(set) var heard: [String: [String]] = [:]

  init(
    _ configuration: SyntheticConfiguration, _ group: PeopleGroup, driver: MediaDriver,
    plays: (publisher: Person, url: String)? = nil
  ) {
    (user, room) = (configuration.user, configuration.room)
    (self.configuration, self.group, self.driver, self.plays) = (configuration, group, driver, plays)
  }

  var isHere: Bool { participant != nil }

  /// Encodes what this person will send, if it is to be real.
  func prepare() {
    guard group.real else { return }
    do {
      if let bitrate = group.audio, configuration.audio != nil {
        let identity = PayloadStamp.identity(user: user, label: Crowd.microphone)
        configuration.audio?.clip = try RealMedia.sound(identity: identity, bitsPerSecond: bitrate)
      }
      for index in configuration.video.indices {
        let plan = configuration.video[index]
        let identity = PayloadStamp.identity(user: user, label: plan.label)
        configuration.video[index].clips = try plan.layers.map {
          try RealMedia.pictures(identity: identity, layer: $0, framesPerSecond: plan.framesPerSecond)
        }
      }
    } catch {
      problems.append("\(user) could not encode: \(error)")
    }
  }

  /// Joins; a refusal is remembered, other errors are problems.
  func join() async {
    let start = MediaDriver.now
    joins.calledAt = start
    do {
      let new = try await come()
      joins.milliseconds.append((MediaDriver.now - start).seconds * 1_000)
      for track in await new.trackIds.values { joins.published[track] = start }
      // Whoever is gone without a word has a seat still when he comes back.
      if group.habits.vanishes { configuration.takesOver = await new.session?.hello.resumeToken }
      participant = new
    } catch {
      joins.refusal = error.code.flatMap(ErrorCode.init(rawValue:))?.name
      if joins.refusal == nil || group.refused == nil { problems.append("\(user) could not join: \(error)") }
    }
  }

  private func come() async throws(SyntheticError) -> SyntheticParticipant {
    if let plays, let door = group.door {
      configuration.plays = PlayerPlan(
        door: door, url: plays.url, publisher: plays.publisher.user, tracks: await plays.publisher.published())
    }
    let new = try SyntheticParticipant(configuration, driver: driver)
    if configuration.plays == nil { try await new.join() } else { try await new.play() }
    return new
  }

  /// What this person publishes. Waits a while until it does.
  func published() async -> [PlayerPlan.Track] {
    let wanted = [(TrackKind.audio, Crowd.microphone, group.audio != nil), (.video, Crowd.camera, group.video != nil)]
      .filter(\.2)
    for _ in 0..<400 {
      let ids = await participant?.trackIds ?? [:]
      let tracks = wanted.compactMap { kind, label, _ in
        ids[label].map { PlayerPlan.Track(kind: kind, label: label, trackId: $0) }
      }
      if tracks.count == wanted.count { return tracks }
      try? await Task.sleep(for: .milliseconds(25))
    }
    return []
  }

  /// Leaves, and keeps what was seen.
  func leave() async {
    guard let leaving = participant else { return }
    participant = nil
    if let calledAt = joins.calledAt { past += await leaving.statistics.received.map { (calledAt, $0) } }
    await collect(leaving)
    if group.habits.vanishes { await leaving.vanish() } else { await leaving.leave() }
  }

  /// Takes over what a participant heard and what went wrong with it.
  func collect(_ other: SyntheticParticipant) async {
    for (user, texts) in await other.chat { heard[user, default: []] += texts }
    problems += await other.problems.map { "\(user): \($0)" }
    problems += await other.mediaFailures.map {
      "\(user): the server says that the \($0.pc.rawValue) connection failed: \($0.reason ?? "no reason")"
    }
    for incident in await other.incidents {
      switch incident.kind {
      case .connected: continue
      case .lostConsent: problems.append("\(user): the server stopped answering on the \(incident.role) connection")
      case .failed(let why): problems.append("\(user): the \(incident.role) connection failed: \(why)")
      }
    }
  }

  /// What the present participant has counted.
  var statistics: ParticipantStatistics? {
    get async {
      guard let participant else { return nil }
      return await participant.statistics
    }
  }

  /// What the server said last of this person's line.
  var ownQuality: OwnQuality? {
    get async { await participant?.ownQuality }
  }

  func say(_ text: String) async {
    guard let participant else { return }
    do {
      try await participant.say(text)
      said += 1
    } catch {
      problems.append("\(user) could not say something: \(error)")
    }
  }

  /// Mutes or unmutes; false when that failed.
  func setMuted(_ label: String, _ isMuted: Bool) async -> Bool {
    do {
      try await participant?.setMuted(label, isMuted)
      return participant != nil
    } catch {
      problems.append("\(user) could not mute \(label): \(error)")
      return false
    }
  }
}
