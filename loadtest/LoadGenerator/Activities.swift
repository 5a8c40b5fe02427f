// What people do while it is measured: come and go, mute, chat, suffer from their networks.

import Basics
import Glibc
import SyntheticParticipant

/// What was seen of activities.
struct ActivityFindings: Sendable {
  /// How long after the call to mute the last packet came, in milliseconds, one for each receiver.
  var muteToSilence: [Double] = []
  /// Receivers that still got packets when there should have been none.
  var muteLeaks = 0
  var stays = 0
}

actor Activities {
  private(set) var findings = ActivityFindings()
  private let crowd: Crowd
  private let driver: MediaDriver
  private var tasks: [Task<Void, Never>] = []
  private var isOver = false
  /// After so long a muted track must be silent; what comes later is a leak.
  private static let silence = TimeDelta.milliseconds(500)

  init(_ crowd: Crowd, driver: MediaDriver) {
    self.crowd = crowd
    self.driver = driver
  }

  /// Begins everybody's doings.
  func start() async {
    for person in crowd.members {
      if person.group.network != Network() {
        await person.participant?.setImpairments(Impairments(person.group.network, line: person.group.line))
      }
      if let every = person.group.habits.muteEvery { begin(person, every) { await $0.muteOnce(person) } }
      if let every = person.group.habits.chatEvery {
        begin(person, every) { _ in await person.say("\(await person.said)") }
      }
      if let stay = person.group.habits.stay, let away = person.group.habits.away { beginChurn(person, stay, away) }
    }
  }

  /// Ends them, and mends the networks. Nobody is cut off in the middle of a request.
  func stop() async {
    isOver = true
    for task in tasks { await task.value }
    for person in crowd.members where person.group.network != Network() {
      await person.participant?.setImpairments(Impairments(Network(), line: person.group.line))
    }
  }

  /// Repeats `body`, each person at a phase of its own.
  private func begin(_ person: Person, _ every: TimeDelta, _ body: @escaping @Sendable (Activities) async -> Void) {
    tasks.append(
      Task {
        await rest(every * Int64.random(in: 0..<1_000) / 1_000)
        while !isOver {
          let start = MediaDriver.now
          await body(self)
          await rest(every - (MediaDriver.now - start))
        }
      })
  }

  private func beginChurn(_ person: Person, _ stay: TimeDelta, _ away: TimeDelta) {
    tasks.append(
      Task {
        await rest(stay * Int64.random(in: 0..<1_000) / 1_000)
        while !isOver {
          await person.leave()
          findings.stays += 1
          await rest(away)
          if isOver { break }
          await person.join()
          await rest(stay)
        }
      })
  }

  /// Waits, but not past the end.
  private func rest(_ time: TimeDelta) async {
    let end = MediaDriver.now + time
    while !isOver, MediaDriver.now < end { await pause(min(end - MediaDriver.now, .milliseconds(100))) }
  }

  /// Mutes sound or pictures, looks when the last packet came, and unmutes.
  private func muteOnce(_ person: Person) async {
    let labels =
      (person.group.audio == nil ? [] : [Crowd.microphone]) + (person.group.video == nil ? [] : [Crowd.camera])
    guard let label = labels.randomElement(), let trackId = await person.participant?.trackIds[label] else { return }
    let start = MediaDriver.now
    guard await person.setMuted(label, true) else { return }
    await rest(Self.silence + .milliseconds(300))
    // Over in between: nobody knows how long it would have lasted.
    if !isOver { note(await driver.latestPackets(ofTrack: trackId), since: start) }
    _ = await person.setMuted(label, false)
  }

  private func note(_ latest: [Instant], since start: Instant) {
    for instant in latest {
      let after = instant - start
      findings.muteToSilence.append(max(0, after.seconds * 1_000))
      if after > Self.silence { findings.muteLeaks += 1 }
    }
  }
}

/// Sleeps, or less when cancelled.
func pause(_ time: TimeDelta) async { try? await Task.sleep(for: .nanoseconds(time.nanoseconds)) }

extension Impairments {
  init(_ network: Network, line: LineShape?) {
    self.init()
    self.line = line
    sendLoss = network.sendLoss
    receiveLoss = network.receiveLoss
    jitter = network.jitter
    readPause = network.readPause
  }
}
