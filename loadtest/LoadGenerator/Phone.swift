// Somebody with a telephone: can be called, calls, and is a participant with real media once he is in a call.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant

actor Phone {
  nonisolated let user: String
  private let url: String
  private let driver: MediaDriver
  private var participant: SyntheticParticipant?
  private var session: RoostSession?
  private var rings: AsyncStream<IncomingCall>?

  init(url: String, user: String, driver: MediaDriver) {
    (self.url, self.user, self.driver) = (url, user, driver)
  }

  /// Can be called from now on.
  func signIn() async throws {
    var configuration = SyntheticConfiguration(url: url, room: "", user: user)
    configuration.video = []
    configuration.session.requestTimeout = .seconds(30)
    let participant = try SyntheticParticipant(configuration, driver: driver)
    let session = try await participant.connect()
    rings = await session.incomingCalls()
    (self.participant, self.session) = (participant, session)
  }

  func leave() async { await participant?.leave() }

  func vanish() async { await participant?.vanish() }

  // MARK: Calls

  /// Calls another, with the voice alone.
  func call(_ other: Phone) async throws -> (call: CallSession, isGlare: Bool) {
    guard let participant else { throw PlayFailure(description: "\(user) is not signed in") }
    let params = CallStartParams(to: [other.user], kind: .oneToOne, media: .audio)
    guard case .callStarted(let started) = try await participant.enter(by: .call(.start(params))) else {
      throw PlayFailure(description: "a call was answered with something else")
    }
    return (try telephone(started.call.callId), started.glare ?? false)
  }

  /// Calls somebody who will not answer: the call may be over before anything could be published in it.
  func tryToCall(_ other: Phone) async throws -> CallSession {
    guard let session else { throw PlayFailure(description: "\(user) is not signed in") }
    return try await session.startCall(CallStartParams(to: [other.user], kind: .oneToOne, media: .audio)).call
  }

  func accept(_ ring: IncomingCall) async throws {
    _ = try await participant?.enter(by: .call(.accept(CallAcceptParams(callId: ring.call.callId))))
  }

  /// The next call that rings here.
  func nextRing() async throws -> IncomingCall {
    guard let rings else { throw PlayFailure(description: "\(user) is not signed in") }
    let ring = await withTaskGroup(of: IncomingCall?.self) { tasks in
      tasks.addTask {
        for await ring in rings { return ring }
        return nil
      }
      tasks.addTask {
        await pause(CallParty.patience)
        return nil
      }
      let first = await tasks.next() ?? nil
      tasks.cancelAll()
      return first
    }
    guard let ring else { throw PlayFailure(description: "it does not ring") }
    return ring
  }

  /// A call as this one's session has it.
  func telephone(_ callId: String) throws -> CallSession {
    guard let session else { throw PlayFailure(description: "\(user) is not signed in") }
    return session.call(callId)
  }

  /// Waits until this one has heard that the call is over, and for this reason.
  func waitForEnd(_ call: CallSession, _ reason: Reason) async throws {
    let own = try telephone(call.callId)
    try await wait("\(user) does not hear of the end") { await own.state?.state == .ended }
    let heard = await own.state?.reason
    if heard != reason {
      throw PlayFailure(description: "the call ended as \(String(describing: heard)), not \(reason)")
    }
  }

  // MARK: Media

  /// Shows a picture too.
  func showPicture() async throws {
    var plan = VideoPlan()
    plan.layers = [VideoLayer(packetsPerFrame: 2, packetsPerKeyframe: 8, packetBytes: 1_000)]
    try await participant?.publish(plan)
  }

  /// People of whom something was heard.
  var voices: Int {
    get async { await streams(.audio).filter { $0.frames > 2 }.count }
  }

  /// Whole frames that came, of that kind.
  func frames(_ kind: TrackKind) async -> UInt64 { await streams(kind).reduce(0) { $0 + $1.frames } }

  /// The longest silence of a voice in milliseconds, since `forgetGaps`.
  var longestGap: Double {
    get async { await streams(.audio).map { $0.longestGap.seconds * 1_000 }.max() ?? 0 }
  }

  func forgetGaps() async { await participant?.forgetGaps() }

  private func streams(_ kind: TrackKind) async -> [ReceiveStatistics] {
    guard let participant else { return [] }
    return await participant.statistics.received.filter { $0.kind == kind && $0.isActive }
  }
}
