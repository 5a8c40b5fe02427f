// The engine of an app for iOS: WebRTC.xcframework, with one microphone and the front camera. The framework is not on Linux, so nobody has
// built this file yet.
#if os(iOS) && canImport(WebRTC)
  import AVFoundation
  import Foundation
  import RoostProtocol
  @preconcurrency import WebRTC

  /// Makes `RTCPeerConnection`s. WebRTC's objects may be called from any thread.
  public final class WebRTCEngine: MediaEngine, @unchecked Sendable {
    private let factory = RTCPeerConnectionFactory(
      encoderFactory: RTCDefaultVideoEncoderFactory(), decoderFactory: RTCDefaultVideoDecoderFactory())
    private let show: @Sendable ([(OfferedTrack, RTCMediaStreamTrack)]) -> Void

    /// `show` gets all tracks that come, whenever they change. Sound is played without it; a picture wants an `RTCMTLVideoView`.
    public init(show: @escaping @Sendable ([(OfferedTrack, RTCMediaStreamTrack)]) -> Void = { _ in }) {
      self.show = show
      // CallKit says when there is sound: `CallKitScreen` calls `setAudio`.
      RTCAudioSession.sharedInstance().useManualAudio = true
    }

    /// Starts and stops sound.
    public static func setAudio(_ session: AVAudioSession, _ isOn: Bool) {
      let audio = RTCAudioSession.sharedInstance()
      if isOn { audio.audioSessionDidActivate(session) } else { audio.audioSessionDidDeactivate(session) }
      audio.isAudioEnabled = isOn
    }

    /// A connection with one transport for all lines.
    public func makeConnection(_ servers: [ICEServer], changed: @escaping @Sendable (MediaState) -> Void) throws
      -> any MediaConnection
    {
      let configuration = RTCConfiguration()
      configuration.sdpSemantics = .unifiedPlan
      configuration.bundlePolicy = .maxBundle
      configuration.iceServers = servers.map {
        RTCIceServer(urlStrings: $0.urls, username: $0.username, credential: $0.credential)
      }
      let watcher = StateWatcher(changed)
      guard let connection = factory.peerConnection(with: configuration, constraints: .plain, delegate: watcher) else {
        throw WebRTCError.noConnection
      }
      return WebRTCConnection(connection, factory, watcher, show)
    }
  }

  /// What WebRTC has no error of its own for.
  public enum WebRTCError: Error { case noConnection, noMicrophone, noCamera }

  /// One `RTCPeerConnection`.
  private final class WebRTCConnection: MediaConnection, @unchecked Sendable {
    private let connection: RTCPeerConnection
    private let factory: RTCPeerConnectionFactory
    /// The connection does not keep it.
    private let watcher: StateWatcher
    private let show: @Sendable ([(OfferedTrack, RTCMediaStreamTrack)]) -> Void
    private var camera: RTCCameraVideoCapturer?

    init(
      _ connection: RTCPeerConnection, _ factory: RTCPeerConnectionFactory, _ watcher: StateWatcher,
      _ show: @escaping @Sendable ([(OfferedTrack, RTCMediaStreamTrack)]) -> Void
    ) {
      (self.connection, self.factory, self.watcher, self.show) = (connection, factory, watcher, show)
    }

    func send(_ kind: TrackKind) async throws {
      let line = RTCRtpTransceiverInit()
      line.direction = .sendOnly
      switch kind {
      case .audio:
        guard await AVCaptureDevice.requestAccess(for: .audio) else { throw WebRTCError.noMicrophone }
        let source = factory.audioSource(with: nil)
        connection.addTransceiver(with: factory.audioTrack(with: source, trackId: "microphone"), init: line)
      case .video:
        let source = factory.videoSource()
        try await startCamera(into: source)
        connection.addTransceiver(with: factory.videoTrack(with: source, trackId: "camera"), init: line)
      }
    }

    private func startCamera(into source: RTCVideoSource) async throws {
      let devices = RTCCameraVideoCapturer.captureDevices()
      guard await AVCaptureDevice.requestAccess(for: .video),
        let device = devices.first(where: { $0.position == .front }) ?? devices.first,
        let format = RTCCameraVideoCapturer.supportedFormats(for: device).last(where: {
          CMVideoFormatDescriptionGetDimensions($0.formatDescription).width <= 1280
        })
      else { throw WebRTCError.noCamera }
      let camera = RTCCameraVideoCapturer(delegate: source)
      try await camera.startCapture(with: device, format: format, fps: 30)
      self.camera = camera
    }

    private func lines(_ kind: TrackKind) -> [RTCRtpTransceiver] {
      connection.transceivers.filter { $0.sender.track?.kind == kind.rawValue }
    }

    func drop(_ kind: TrackKind) async {
      if kind == .video { await camera?.stopCapture() }
      for line in lines(kind) {
        line.setDirection(.inactive, error: nil)
        line.sender.track = nil
      }
    }

    func setSending(_ kind: TrackKind, _ isSending: Bool) async {
      for line in lines(kind) { line.sender.track?.isEnabled = isSending }
    }

    func offer(restartingICE: Bool) async throws -> (sdp: String, lines: [SentLine]) {
      if restartingICE { connection.restartIce() }
      let offer = try await connection.offer(for: .plain)
      try await connection.setLocalDescription(offer)
      let sent = TrackKind.allCases.flatMap { kind in lines(kind).map { SentLine(mid: $0.mid, kind: kind) } }
      return (offer.sdp, sent)
    }

    func take(answer sdp: String) async throws {
      try await connection.setRemoteDescription(RTCSessionDescription(type: .answer, sdp: sdp))
    }

    func answer(_ offer: String) async throws -> String {
      try await connection.setRemoteDescription(RTCSessionDescription(type: .offer, sdp: offer))
      let answer = try await connection.answer(for: .plain)
      try await connection.setLocalDescription(answer)
      return answer.sdp
    }

    func show(_ tracks: [OfferedTrack]) async {
      let received = Dictionary(connection.transceivers.map { ($0.mid, $0.receiver.track) }) { first, _ in first }
      show(tracks.compactMap { track in received[track.mid]?.map { (track, $0) } })
    }

    func close() async {
      await camera?.stopCapture()
      connection.close()
    }
  }

  extension RTCMediaConstraints {
    fileprivate static var plain: RTCMediaConstraints {
      RTCMediaConstraints(mandatoryConstraints: nil, optionalConstraints: nil)
    }
  }

  /// Tells how far a connection has come. Nothing else that a connection tells is needed.
  private final class StateWatcher: NSObject, RTCPeerConnectionDelegate {
    private let changed: @Sendable (MediaState) -> Void

    init(_ changed: @escaping @Sendable (MediaState) -> Void) { self.changed = changed }

    func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCPeerConnectionState) {
      switch newState {
      case .new: break
      case .connecting: changed(.connecting)
      case .connected: changed(.connected)
      case .disconnected: changed(.disconnected)
      case .failed: changed(.failed)
      case .closed: changed(.closed)
      @unknown default: break
      }
    }

    func peerConnection(_ peerConnection: RTCPeerConnection, didChange stateChanged: RTCSignalingState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didAdd stream: RTCMediaStream) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didRemove stream: RTCMediaStream) {}
    func peerConnectionShouldNegotiate(_ peerConnection: RTCPeerConnection) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCIceConnectionState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCIceGatheringState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didGenerate candidate: RTCIceCandidate) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didRemove candidates: [RTCIceCandidate]) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didOpen dataChannel: RTCDataChannel) {}
  }
#endif
