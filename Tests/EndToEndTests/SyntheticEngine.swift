// The engine of a phone in tests: the load test's ICE, DTLS and SRTP. What it sends has a stamp in each packet, and what it receives is
// checked by that.

import Basics
import Crypto
import PhoneSample
import RoostProtocol
import SDP
import TestSupport
import Threads

@testable import SyntheticParticipant

/// Makes connections that send and receive for one user.
final class SyntheticEngine: MediaEngine {
  private let user: String
  private let thread: DriverThread
  private let isForger: Bool
  private let made = Locked<[SyntheticConnection]>([])

  /// `isForger`: its descriptions name a certificate that it has not.
  init(_ user: String, _ driver: MediaDriver, isForger: Bool = false) {
    (self.user, self.isForger) = (user, isForger)
    thread = driver.nextThread()
  }

  func makeConnection(_ servers: [ICEServer], changed: @escaping @Sendable (MediaState) -> Void) throws
    -> any MediaConnection
  {
    let connection = try SyntheticConnection(user, thread, isForger: isForger, changed)
    made.withLock { $0.append(connection) }
    return connection
  }

  /// All that were made, in order.
  var connections: [SyntheticConnection] { made.withLock { $0 } }

  /// Those that are not closed.
  var open: [SyntheticConnection] {
    get async {
      var result: [SyntheticConnection] = []
      for connection in connections where await !connection.isClosed { result.append(connection) }
      return result
    }
  }

  /// Whole frames that have come of a track since its connection began.
  func frames(_ user: String, _ label: String) async -> UInt64 {
    let identity = PayloadStamp.identity(user: user, label: label)
    var frames: UInt64 = 0
    for connection in await open {
      for stream in await connection.received where stream.shownIdentity == identity { frames += stream.frames }
    }
    return frames
  }

  /// Whether a track goes on coming.
  func receives(_ user: String, _ label: String) async -> Bool {
    let before = await frames(user, label)
    return await eventually { await frames(user, label) >= before + 5 }
  }

  /// The network is gone: nothing goes out and nothing comes in, until ICE is restarted on another one.
  func loseNetwork() async {
    for connection in await open { await connection.loseNetwork() }
  }
}

/// A connection of the load test, as `RTCPeerConnection` has it.
actor SyntheticConnection: MediaConnection {
  private static let anywhere = SocketAddress(v4: 0, port: 0)

  private let user: String
  private let thread: DriverThread
  private let key: ConnectionKey
  private let certificate: Certificate
  private let fingerprint: CertificateFingerprint
  private let changed: @Sendable (MediaState) -> Void
  private let sessionID: UInt64
  private var random: SplitMix64
  private var credentials: ICECredentials
  private var remote: ICECredentials?
  private var version: UInt64 = 0
  private var lastMid = -1
  private var tracks: [SendTrack] = []
  private var offered: SessionDescription?
  /// What the app was asked to show.
  private(set) var shown: [OfferedTrack] = []
  /// How often ICE was restarted, with new credentials of both sides.
  private(set) var restarts = 0
  private(set) var isClosed = false

  init(
    _ user: String, _ thread: DriverThread, isForger: Bool, _ changed: @escaping @Sendable (MediaState) -> Void
  ) throws {
    var secure = SecureRandomGenerator()
    var random = SplitMix64(seed: secure.next())
    let wall = WallClock.milliseconds()
    (self.user, self.thread, self.changed) = (user, thread, changed)
    key = thread.makeKey()
    certificate = try Certificate(wallMilliseconds: wall)
    fingerprint = isForger ? .filled(with: 7) : certificate.sha256Fingerprint
    credentials = .random(using: &secure)
    sessionID = random.next() >> 2
    let setup = ConnectionSetup(
      certificate: certificate, credentials: credentials, user: user, seed: random.next(),
      wallOrigin: wall - MediaDriver.now.nanoseconds / 1_000_000)
    self.random = random
    thread.post(
      .open(key, setup, bind: Self.anywhere) { event in
        switch event {
        case .connected: changed(.connected)
        case .lostConsent: changed(.disconnected)
        case .failed: changed(.failed)
        }
      })
  }

  private var end: LocalEnd { LocalEnd(credentials: credentials, fingerprint: fingerprint) }

  // MARK: MediaConnection

  func send(_ kind: TrackKind) {
    lastMid += 1
    var picture = VideoPlan.light
    picture.framesPerSecond = 15
    let source: SendTrack.Source = kind == .audio ? .audio(AudioPlan()) : .video(picture)
    let track = SendTrack(mid: "\(lastMid)", source: source, user: user, random: &random)
    tracks.append(track)
    thread.post(.tell(key, .add(track)))
  }

  func drop(_ kind: TrackKind) {
    for track in tracks where track.kind == kind { thread.post(.tell(key, .setSending(mid: track.mid, false))) }
    tracks.removeAll { $0.kind == kind }
  }

  func setSending(_ kind: TrackKind, _ isSending: Bool) {
    for track in tracks where track.kind == kind { thread.post(.tell(key, .setSending(mid: track.mid, isSending))) }
  }

  func offer(restartingICE: Bool) -> (sdp: String, lines: [SentLine]) {
    if restartingICE { renewCredentials() }
    version += 1
    let text = PublishOffer.text(tracks, end, user: user, sessionID: sessionID, version: version)
    return (text, tracks.map { SentLine(mid: $0.mid, kind: $0.kind) })
  }

  func take(answer sdp: String) throws {
    let answer = try SessionDescription.parse(sdp)
    thread.post(.tell(key, .agree(PublishOffer.agreed(answer), trackIds: [:])))
    begin(try RemoteEnd(answer))
  }

  func answer(_ sdp: String) throws -> String {
    let offer = try SessionDescription.parse(sdp)
    let server = try RemoteEnd(offer)
    if let remote, remote != server.credentials { renewCredentials() }
    offered = offer
    begin(server)
    return SubscribeReply.text(to: offer, end, sessionID: sessionID)
  }

  func show(_ tracks: [OfferedTrack]) {
    shown = tracks
    if let offered { thread.post(.tell(key, .setLines(SubscribeReply.lines(of: offered, tracks: tracks)))) }
  }

  func close() {
    isClosed = true
    thread.post(.close(key, politely: true))
    changed(.closed)
  }

  private func renewCredentials() {
    var secure = SecureRandomGenerator()
    credentials = .random(using: &secure)
  }

  /// Begins, or begins anew where the server's credentials are new: on whatever network there is now.
  private func begin(_ server: RemoteEnd) {
    guard remote != server.credentials else { return }
    if remote != nil {
      restarts += 1
      thread.post(.rebind(key, bind: Self.anywhere))
    }
    remote = server.credentials
    thread.post(.tell(key, .begin(server, local: credentials)))
    thread.post(.tell(key, .impair(Impairments())))
  }

  // MARK: For tests

  /// What comes on its lines.
  var received: [ReceiveStatistics] {
    get async {
      let report = await withCheckedContinuation {
        [thread, key] (answer: CheckedContinuation<ConnectionReport?, Never>) in
        thread.post(.statistics([key]) { answer.resume(returning: $0[key]) })
      }
      return report?.media.received ?? []
    }
  }

  func loseNetwork() {
    var network = Impairments()
    network.isBlackout = true
    thread.post(.tell(key, .impair(network)))
  }

  /// Tells that nothing comes any more, as WebRTC does after some seconds.
  func tellLost() { changed(.disconnected) }
}
