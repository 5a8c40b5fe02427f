// Everything that reads bytes from outside, as functions over bytes. libFuzzer (`make fuzz`) and the replay of the
// corpora (`make test`) call the same functions. Each checks what must hold of any input, and traps when it does not.

/// One reader of bytes from outside.
public struct FuzzTarget: Sendable {
  /// Its name, and that of its directory in Fuzz/corpora.
  public let name: String
  /// The longest input worth trying, bytes.
  public let maximumLength: Int
  /// At how many places the tests cut and bend each seed.
  public let bends: Int
  /// What its inputs must get to, and how often they did since the process began; empty where nothing is counted.
  public let reached: @Sendable () -> [String: Int]
  /// Reads the input. Returns whatever it is, or traps.
  public let run: @Sendable (Span<UInt8>) -> Void

  /// A target named `name`.
  public init(
    _ name: String, maximumLength: Int = 4096, bends: Int = 100,
    reached: @escaping @Sendable () -> [String: Int] = { [:] }, run: @escaping @Sendable (Span<UInt8>) -> Void
  ) {
    self.name = name
    self.maximumLength = maximumLength
    self.bends = bends
    self.reached = reached
    self.run = run
  }
}

/// All targets. To add one: a line here, its function in a file beside this one, seeds in Fuzz/corpora/NAME.
public let fuzzTargets = [
  FuzzTarget("admin", maximumLength: 512, run: runAdmin),
  FuzzTarget("answer", maximumLength: 16_384, run: negotiateAnswer),
  FuzzTarget("core", maximumLength: 1024, bends: 10, reached: { coreGoals.counts }, run: runCore),
  FuzzTarget("descriptor", maximumLength: 512, run: readDependencyDescriptors),
  FuzzTarget("door", maximumLength: 2048, bends: 5, reached: { doorGoals.counts }, run: runDoor),
  FuzzTarget("dtls", maximumLength: 512, run: runDTLSServer),
  FuzzTarget("flashphoner", run: readFlashphoner),
  FuzzTarget("http", maximumLength: 9_216, run: readRequestHeads),
  FuzzTarget("ice", maximumLength: 512, run: runICEAgent),
  FuzzTarget("json", run: readRequest),
  FuzzTarget("message", reached: { messageGoals.counts }, run: readMessage),
  FuzzTarget("offer", maximumLength: 16_384, run: negotiateOffer),
  FuzzTarget("proxy", maximumLength: 2_048, run: readProxyHeader),
  FuzzTarget("red", maximumLength: 1500, run: readRedundantAudio),
  FuzzTarget("rows", maximumLength: 512, bends: 5, reached: { rowsGoals.counts }, run: readRows),
  FuzzTarget("rtcp", maximumLength: 1500, run: readRTCP),
  FuzzTarget("rtp", maximumLength: 1500, run: readRTP),
  FuzzTarget("sdp", maximumLength: 16_384, run: readSDP),
  FuzzTarget("sdpfrag", run: readFragment),
  FuzzTarget("srtp", maximumLength: 1024, run: openSRTP),
  FuzzTarget("stun", maximumLength: 1500, run: readSTUN),
  FuzzTarget("token", run: readToken),
  FuzzTarget("webhookanswer", maximumLength: 2048, bends: 10, run: readWebhookAnswer),
  FuzzTarget("worker", maximumLength: 2048, bends: 5, run: runWorker),
  FuzzTarget("yaml", run: readConfiguration),
]
