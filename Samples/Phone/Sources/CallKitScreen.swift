// CallKit and PushKit, for iOS: what the system tells goes to `PhoneCalls`, and what that tells goes to the system. Neither framework is
// on Linux, so nobody has built this file yet.
#if os(iOS)
  import AVFAudio
  import CallKit
  import Foundation
  import PushKit
  import RoostProtocol

  /// The system's call screen. Keep one from the app's start on: push messages come before any view.
  ///
  ///     let screen = CallKitScreen(audio: WebRTCEngine.setAudio) { token in sendToYourServer(token) }
  ///     var options = SessionOptions()
  ///     options.token = { try await tokenFromYourServer() }
  ///     let calls = PhoneCalls(
  ///       url, HelloParams(user: "anna", deviceId: "phone"), WebRTCEngine(), screen, options: options)
  ///     screen.calls = calls
  @MainActor
  public final class CallKitScreen: NSObject, CallScreen {
    /// Whom the system's wishes go to. Set it before the app has started.
    public var calls: PhoneCalls?
    private let provider: CXProvider
    private let controller = CXCallController()
    private let registry = PKPushRegistry(queue: .main)
    private let audio: @Sendable (AVAudioSession, _ isOn: Bool) -> Void
    private let register: @Sendable (Data) -> Void
    /// CallKit's names of calls, by those of the server.
    private var ids: [String: UUID] = [:]

    /// Registers for push messages of calls.
    /// - Parameters:
    ///   - audio: starts and stops the engine's sound. CallKit decides when.
    ///   - register: hands the device's push token to your server, which your push webhook sends to (docs/webhooks.md).
    public init(
      audio: @escaping @Sendable (AVAudioSession, _ isOn: Bool) -> Void, register: @escaping @Sendable (Data) -> Void
    ) {
      let configuration = CXProviderConfiguration()
      configuration.supportsVideo = true
      configuration.maximumCallGroups = 1
      configuration.maximumCallsPerCallGroup = 1
      configuration.supportedHandleTypes = [.generic]
      provider = CXProvider(configuration: configuration)
      (self.audio, self.register) = (audio, register)
      super.init()
      provider.setDelegate(self, queue: .main)
      registry.delegate = self
      registry.desiredPushTypes = [.voIP]
    }

    /// Calls somebody: the system is asked, and then tells `perform` below.
    public func call(_ user: String, isVideo: Bool) async throws {
      let action = CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: user))
      action.isVideo = isVideo
      try await controller.request(CXTransaction(action: action))
    }

    // MARK: CallScreen

    /// Shows an incoming call.
    public func ring(_ callId: String, from: String, isVideo: Bool) async { show(callId, from: from, isVideo: isVideo) }

    /// Both talk.
    public func connected(_ callId: String) async {
      if let id = ids[callId] { provider.reportOutgoingCall(with: id, connectedAt: nil) }
    }

    /// Takes the call from the screen, with the reason in the list of calls.
    public func ended(_ callId: String, _ reason: Reason?) async {
      guard let id = ids.removeValue(forKey: callId) else { return }
      let why: CXCallEndedReason =
        switch reason {
        case .noAnswer, .unreachable: .unanswered
        case .answeredElsewhere: .answeredElsewhere
        case .rejectedElsewhere: .declinedElsewhere
        case .disconnected, .connectFailed: .failed
        default: .remoteEnded
        }
      provider.reportCall(with: id, endedAt: nil, reason: why)
    }

    /// For each push message the system wants to hear of a call, also of one that it shows already.
    private func show(_ callId: String, from: String, isVideo: Bool) {
      let isNew = ids[callId] == nil
      let id = ids[callId] ?? UUID()
      ids[callId] = id
      let update = CXCallUpdate()
      update.remoteHandle = CXHandle(type: .generic, value: from)
      update.hasVideo = isVideo
      provider.reportNewIncomingCall(with: id, update: update) { error in
        // "Do Not Disturb", for one: then it rings on other devices alone.
        if error != nil, isNew { Task { @MainActor in self.ids[callId] = nil } }
      }
    }
  }

  // CallKit calls on the main queue, as it was told above.
  extension CallKitScreen: @preconcurrency CXProviderDelegate {
    /// The system has forgotten all calls.
    public func providerDidReset(_ provider: CXProvider) { ids = [:] }

    /// The user calls somebody.
    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
      guard let calls else { return action.fail() }
      let (id, user, isVideo) = (action.callUUID, action.handle.value, action.isVideo)
      finish(action) {
        let callId = try await calls.start(user, isVideo ? .video : .audio)
        self.ids[callId] = id
      }
    }

    /// The user answers.
    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
      perform(action) { try await $0.answer($1) }
    }

    /// The user declines or hangs up.
    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
      perform(action) { try await $0.end($1) }
    }

    /// The user mutes or unmutes.
    public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
      let isMuted = action.isMuted
      perform(action) { try await $0.setMuted($1, isMuted) }
    }

    /// From here on the microphone may be used.
    public func provider(_ provider: CXProvider, didActivate session: AVAudioSession) { audio(session, true) }

    /// From here on it may not.
    public func provider(_ provider: CXProvider, didDeactivate session: AVAudioSession) { audio(session, false) }

    private func perform(
      _ action: CXCallAction, _ run: @escaping @Sendable (PhoneCalls, String) async throws -> Void
    ) {
      guard let calls, let callId = ids.first(where: { $0.value == action.callUUID })?.key else { return action.fail() }
      finish(action) { try await run(calls, callId) }
    }

    private func finish(_ action: CXCallAction, _ run: @escaping @MainActor () async throws -> Void) {
      Task {
        do {
          try await run()
          action.fulfill()
        } catch {
          action.fail()
        }
      }
    }
  }

  extension CallKitScreen: @preconcurrency PKPushRegistryDelegate {
    /// The device has another token.
    public func pushRegistry(_ registry: PKPushRegistry, didUpdate credentials: PKPushCredentials, for type: PKPushType)
    {
      register(credentials.token)
    }

    /// A call wakes the app. Its fields are those of the webhook, as your server has sent them on.
    public func pushRegistry(
      _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
      completion: @escaping () -> Void
    ) {
      let fields = payload.dictionaryPayload
      let (callId, from) = (fields["callId"] as? String ?? "", fields["from"] as? String ?? "")
      let isVideo = fields["media"] as? String == "video"
      // At once, or the system ends the app.
      show(callId, from: from, isVideo: isVideo)
      Task {
        await calls?.pushed(callId, from: from, isVideo: isVideo)
        completion()
      }
    }
  }
#endif
