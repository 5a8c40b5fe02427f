// What the sample asks of a WebRTC engine. `WebRTCEngine.swift` does it with WebRTC.xcframework. No type of an engine stands here, so the
// sample builds where there is none.
import RoostProtocol

/// How far a connection has come, as `RTCPeerConnectionState` says it.
public enum MediaState: Sendable, Hashable {
  case connecting, connected, disconnected, failed, closed
}

/// A line of one's own offer that sends.
public struct SentLine: Sendable, Hashable {
  /// Its identification tag (RFC 5888).
  public var mid: String
  /// Microphone or camera.
  public var kind: TrackKind

  /// A line with its tag.
  public init(mid: String, kind: TrackKind) {
    self.mid = mid
    self.kind = kind
  }
}

/// Makes peer connections. One engine lives as long as the app: `RTCPeerConnectionFactory`.
public protocol MediaEngine: Sendable {
  /// Makes a connection. `servers` are STUN and TURN servers, often none. Each change of the connection's state goes to `changed`.
  /// - Throws: the engine's error where it can make none.
  func makeConnection(_ servers: [ICEServer], changed: @escaping @Sendable (MediaState) -> Void) throws
    -> any MediaConnection
}

/// A peer connection: `RTCPeerConnection`. The sample asks for one thing after the other, except that `setSending` and `close` may come at
/// any time. Candidates are no matter of the app: the server reads none, and its own stand in its descriptions.
public protocol MediaConnection: Sendable {
  /// Opens the microphone or the camera, and adds a line that sends it and receives nothing.
  /// - Throws: the engine's error where there is no device, or the user does not allow it.
  func send(_ kind: TrackKind) async throws
  /// Lets go of a device that `send` has opened. Its line sends nothing from the next offer on.
  func drop(_ kind: TrackKind) async
  /// Stops or starts sending, without a new offer: `RTCMediaStreamTrack.isEnabled`.
  func setSending(_ kind: TrackKind, _ isSending: Bool) async
  /// Makes an offer and sets it as the local description; with `restartingICE` it has new ICE credentials (`restartIce`).
  /// - Returns: the offer, and all lines that send.
  func offer(restartingICE: Bool) async throws -> (sdp: String, lines: [SentLine])
  /// Sets the server's answer as the remote description.
  func take(answer: String) async throws
  /// Sets the server's offer as the remote description, makes the answer, and sets it as the local one. Where the offer has new ICE
  /// credentials, so has the answer.
  func answer(_ offer: String) async throws -> String
  /// Shows what comes: all tracks and their lines, as of the latest offer. A line that is not named carries nothing.
  func show(_ tracks: [OfferedTrack]) async
  /// Ends the connection, and lets go of its devices.
  func close() async
}
