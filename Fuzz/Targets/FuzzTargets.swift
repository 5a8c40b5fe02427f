// Everything that reads bytes from outside, as functions over bytes. libFuzzer (`make fuzz`) and the replay of the
// corpora (`make test`) call the same functions. Each checks what must hold of any input, and traps when it does not.

/// One reader of bytes from outside.
public struct FuzzTarget: Sendable {
  /// Its name, and that of its directory in Fuzz/corpora.
  public let name: String
  /// The longest input worth trying, bytes.
  public let maximumLength: Int
  /// Edges of the code that a run of some seconds reaches at the very least: well over half of what it reached when this was written.
  public let leastEdges: Int
  /// At how many places the tests cut and bend each seed.
  public let bends: Int
  /// What its inputs must get to, and how often they did since the process began; empty where nothing is counted.
  public let reached: @Sendable () -> [String: Int]
  /// Reads the input. Returns whatever it is, or traps.
  public let run: @Sendable (Span<UInt8>) -> Void

  /// A target named `name`.
  public init(
    _ name: String, leastEdges: Int, maximumLength: Int = 4096, bends: Int = 100,
    reached: @escaping @Sendable () -> [String: Int] = { [:] }, run: @escaping @Sendable (Span<UInt8>) -> Void
  ) {
    self.name = name
    self.leastEdges = leastEdges
    self.maximumLength = maximumLength
    self.bends = bends
    self.reached = reached
    self.run = run
  }
}

/// All targets. To add one: a line here, its function in a file beside this one, seeds in Fuzz/corpora/NAME.
public let fuzzTargets = [
  FuzzTarget("admin", leastEdges: 1700, maximumLength: 512, run: runAdmin),
  FuzzTarget("answer", leastEdges: 1110, maximumLength: 16_384, run: negotiateAnswer),
  FuzzTarget("core", leastEdges: 7880, maximumLength: 1024, bends: 10, reached: { coreGoals.counts }, run: runCore),
  FuzzTarget("descriptor", leastEdges: 80, maximumLength: 512, run: readDependencyDescriptors),
  FuzzTarget("door", leastEdges: 2200, maximumLength: 2048, bends: 5, reached: { doorGoals.counts }, run: runDoor),
  FuzzTarget("dtls", leastEdges: 140, maximumLength: 512, run: runDTLSServer),
  FuzzTarget("flashphoner", leastEdges: 530, run: readFlashphoner),
  FuzzTarget("http", leastEdges: 390, maximumLength: 9_216, run: readRequestHeads),
  FuzzTarget("ice", leastEdges: 130, maximumLength: 512, run: runICEAgent),
  FuzzTarget("json", leastEdges: 860, run: readRequest),
  FuzzTarget("message", leastEdges: 1440, reached: { messageGoals.counts }, run: readMessage),
  FuzzTarget("offer", leastEdges: 1660, maximumLength: 16_384, run: negotiateOffer),
  FuzzTarget("proxy", leastEdges: 270, maximumLength: 2_048, run: readProxyHeader),
  FuzzTarget("red", leastEdges: 50, maximumLength: 1500, run: readRedundantAudio),
  FuzzTarget("rows", leastEdges: 2470, maximumLength: 512, bends: 5, reached: { rowsGoals.counts }, run: readRows),
  FuzzTarget("rtcp", leastEdges: 90, maximumLength: 1500, run: readRTCP),
  FuzzTarget("rtp", leastEdges: 140, maximumLength: 1500, run: readRTP),
  FuzzTarget("sdp", leastEdges: 790, maximumLength: 16_384, run: readSDP),
  FuzzTarget("sdpfrag", leastEdges: 410, run: readFragment),
  FuzzTarget("srtp", leastEdges: 260, maximumLength: 1024, run: openSRTP),
  FuzzTarget("stun", leastEdges: 70, maximumLength: 1500, run: readSTUN),
  FuzzTarget("token", leastEdges: 330, run: readToken),
  FuzzTarget("webhookanswer", leastEdges: 150, maximumLength: 2048, bends: 10, run: readWebhookAnswer),
  FuzzTarget("worker", leastEdges: 2450, maximumLength: 2048, bends: 5, run: runWorker),
  FuzzTarget("yaml", leastEdges: 580, run: readConfiguration),
]
