// Everything that can happen to a call, played by three people with telephones. Each play either goes as it should, or throws
// what did not.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant

/// What went otherwise than it should have.
struct PlayFailure: Error, CustomStringConvertible {
  var description: String
}

/// A way that a call can go.
enum CallPlay: String, Sendable, CaseIterable {
  case answer, reject, cancel, busy, glare, invite, upgrade
  case dieMidRing = "die mid-ring"
}

/// Three people who do not know anybody else.
struct CallParty: Sendable {
  let url: String
  let driver: MediaDriver
  /// Distinguishes this party's people from all others, before and after it.
  let name: String
  /// For servers and machines that are slow, not for those that are good.
  static let patience = TimeDelta.seconds(20)

  /// What a play measured.
  struct Result: Sendable {
    /// From the answer until both hear each other.
    var answerMs: Double?
    /// The longest silence of a voice while the call became one with pictures.
    var upgradeGapMs: Double?
  }

  func play(_ play: CallPlay) async throws -> Result {
    let phones = ["a", "b", "c"].map { Phone(url: url, user: "\(name)-\($0)", driver: driver) }
    do {
      for phone in phones { try await phone.signIn() }
      let result = try await perform(play, phones[0], phones[1], phones[2])
      for phone in phones { await phone.leave() }
      return result
    } catch {
      for phone in phones { await phone.leave() }
      throw error
    }
  }

  private func perform(_ play: CallPlay, _ a: Phone, _ b: Phone, _ c: Phone) async throws -> Result {
    switch play {
    case .answer: try await answer(a, b)
    case .reject: try await reject(a, b)
    case .cancel: try await cancel(a, b)
    case .busy: try await busy(a, b, c)
    case .glare: try await glare(a, b)
    case .invite: try await invite(a, b, c)
    case .upgrade: try await upgrade(a, b)
    case .dieMidRing: try await dieMidRing(a, b)
    }
  }

  // MARK: Plays

  private func answer(_ a: Phone, _ b: Phone) async throws -> Result {
    let (call, result) = try await connect(a, b)
    try await end(call, by: a, heardBy: b)
    return result
  }

  private func reject(_ a: Phone, _ b: Phone) async throws -> Result {
    let started = try await a.call(b)
    let ring = try await b.nextRing()
    try await ring.call.reject(text: "not now")
    try await a.waitForEnd(started.call, .rejected)
    return Result()
  }

  private func cancel(_ a: Phone, _ b: Phone) async throws -> Result {
    let started = try await a.call(b)
    let ring = try await b.nextRing()
    try await started.call.cancel()
    try await wait("it goes on ringing after the caller gave up") { await !ring.call.isRinging }
    return Result()
  }

  private func busy(_ a: Phone, _ b: Phone, _ c: Phone) async throws -> Result {
    let (call, _) = try await connect(a, b)
    let second = try await c.tryToCall(b)
    try await c.waitForEnd(second, .busy)
    try await end(call, by: b, heardBy: a)
    return Result()
  }

  private func glare(_ a: Phone, _ b: Phone) async throws -> Result {
    async let one = a.call(b)
    async let other = b.call(a)
    let calls = try await (one, other)
    guard calls.0.call.callId == calls.1.call.callId else { throw PlayFailure(description: "two calls instead of one") }
    guard calls.0.isGlare != calls.1.isGlare else { throw PlayFailure(description: "nobody was told of the glare") }
    _ = try await hearEachOther([a, b])
    try await end(calls.0.call, by: a, heardBy: b)
    return Result()
  }

  private func invite(_ a: Phone, _ b: Phone, _ c: Phone) async throws -> Result {
    let (call, _) = try await connect(a, b)
    try await call.invite([c.user])
    let ring = try await c.nextRing()
    try await c.accept(ring)
    _ = try await hearEachOther([a, b, c])
    try await wait("two became three, but the call no group") { await call.state?.kind == .group }
    return Result()
  }

  private func upgrade(_ a: Phone, _ b: Phone) async throws -> Result {
    let (call, _) = try await connect(a, b)
    await a.forgetGaps()
    await b.forgetGaps()
    try await call.requestMediaChange(to: .video)
    try await b.telephone(call.callId).answerMediaChange(true)
    for phone in [a, b] { try await phone.showPicture() }
    try await wait("no pictures after the upgrade") { await min(a.frames(.video), b.frames(.video)) > 5 }
    let gaps = [await a.longestGap, await b.longestGap]
    try await end(call, by: b, heardBy: a)
    return Result(upgradeGapMs: gaps.max())
  }

  private func dieMidRing(_ a: Phone, _ b: Phone) async throws -> Result {
    _ = try await a.call(b)
    let ring = try await b.nextRing()
    await a.vanish()
    try await wait("it goes on ringing after the caller died") { await !ring.call.isRinging }
    return Result()
  }

  // MARK: Steps

  /// A calls, B answers, and both hear each other.
  private func connect(_ a: Phone, _ b: Phone) async throws -> (CallSession, Result) {
    let started = try await a.call(b)
    let ring = try await b.nextRing()
    try await ring.call.ringing()
    let answered = MediaDriver.now
    try await b.accept(ring)
    let heard = try await hearEachOther([a, b])
    return (started.call, Result(answerMs: (heard - answered).seconds * 1_000))
  }

  /// Waits until each has heard all others; when that was.
  private func hearEachOther(_ phones: [Phone]) async throws -> Instant {
    try await wait("they do not hear each other") {
      for phone in phones where await phone.voices < phones.count - 1 { return false }
      return true
    }
    return MediaDriver.now
  }

  private func end(_ call: CallSession, by one: Phone, heardBy other: Phone) async throws {
    try await one.telephone(call.callId).hangup()
    try await other.waitForEnd(call, .hangup)
  }
}

/// Waits until `condition` holds; throws `complaint` when it still does not after `CallParty.patience`.
func wait(_ complaint: String, until condition: () async -> Bool) async throws {
  let end = MediaDriver.now + CallParty.patience
  while MediaDriver.now < end {
    if await condition() { return }
    await pause(.milliseconds(10))
  }
  throw PlayFailure(description: complaint)
}
