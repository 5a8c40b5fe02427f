// What a run says, as JSON has it. Times are milliseconds or seconds as their names say; nil stands for "not measured here".

import SyntheticParticipant

/// A run's result.
struct Report: Encodable, Sendable {
  var scenario = ""
  var about = ""
  /// Which server was loaded: the program, or its address where it ran before.
  var loaded = ""
  /// From the first join to the end of measuring.
  var seconds = 0.0
  /// The window in which everybody is there and everything flows: packets, delays and costs are about it.
  var steadySeconds = 0.0
  var participants = 0
  var rooms = 0
  var streamsExpected = 0
  var streamsSeen = 0
  var packetsExpected: UInt64 = 0
  var packetsReceived: UInt64 = 0
  var packetsPerSecond = 0.0
  var lossRatio = 0.0
  /// Of those received, how many were not opened but counted by their headers.
  var packetsGlanced: UInt64 = 0
  var duplicates: UInt64 = 0
  var wrongStream: UInt64 = 0
  /// Packets of another length than they were made, frames with parts of others, time stamps that go back.
  var damaged: UInt64 = 0
  /// Gaps that a mute or a change of layer explains.
  var interruptions: UInt64 = 0
  /// Packets that came only because they were asked for.
  var repaired: UInt64 = 0
  /// Pictures that a decoder decoded.
  var decodedFrames: UInt64 = 0
  /// Frames that a decoder could not decode.
  var undecodableFrames: UInt64 = 0
  /// Decoded pictures and tones that were not their sender's.
  var wrongPictures: UInt64 = 0
  /// The worst likeness among decoded pictures that were compared with what was encoded, in decibels.
  @Nullable var lowestPSNR: Double?
  var freezes: UInt64 = 0
  /// What came from people in the room who are not of the load test; in none of the other figures.
  var others = Others()
  var latencyMs = Latencies()
  @Nullable var joinMs: Percentiles?
  @Nullable var firstFrameMs: Percentiles?
  @Nullable var muteToSilenceMs: Percentiles?
  /// Streams that went on after a mute.
  var muteLeaks = 0
  /// The longest silence of a voice while a call became one with pictures.
  @Nullable var upgradeGapMs: Double?
  /// Ways that calls can go, played.
  var callsPlayed = 0
  /// Those that went otherwise than they should.
  var callsFailed = 0
  /// From the answer to a call until both hear each other.
  @Nullable var answerMs: Percentiles?
  @Nullable var devices: Devices?
  /// Of whoever floods the server besides.
  var flooded = FloodCounts()
  var chatSent = 0
  var chatLost = 0
  /// Joins that were refused as they should be.
  var refused = 0
  @Nullable var server: Server?
  @Nullable var limit: Limit?
  @Nullable var ratioToLimit: Double?
  var generator = Generator()
  var expectations: [Expectation] = []
  /// What is aimed at, reached (`held`) or not; a reason to fail only where that was asked for.
  var targets: [Expectation] = []
  var passed = false
  /// One entry a second of the steady window.
  var timeline: [Moment] = []
  /// Delays of all packets of the window: upper bound of a bucket in microseconds, and how many.
  var latencyHistogram: [Bar] = []
  /// The same of the time to the first frame of each stream.
  var firstFrameHistogram: [Bar] = []
  var people: [PersonRow] = []
  /// What came over each line.
  var lines: [LineRow] = []
  /// What went wrong besides, as sentences.
  var problems: [String] = []

  /// Streams of other clients, such as a browser in the same room: without stamps, so nothing is known of identity, delay and
  /// loss, but frames are put together and decoded all the same.
  struct Others: Encodable, Sendable, Equatable {
    var streams = 0
    var packets: UInt64 = 0
    /// Whole frames.
    var frames: UInt64 = 0
    var decodedFrames: UInt64 = 0
    var undecodableFrames: UInt64 = 0

    mutating func add(_ stream: ReceiveStatistics) {
      guard stream.packets > 0 else { return }
      streams += 1
      packets += stream.packets
      frames += stream.frames
      decodedFrames += stream.inspection.decoded
      undecodableFrames += stream.inspection.undecodable
    }
  }

  /// Delays of first transmissions.
  struct Latencies: Encodable, Sendable, Equatable {
    @Nullable var audio: Percentiles?
    @Nullable var video: Percentiles?
  }

  /// Our own server, by the operating system's accounting.
  struct Server: Encodable, Sendable, Equatable {
    var cpuSeconds = 0.0
    /// CPU time of the process in the window, divided by media packets that receivers got of a first transmission.
    @Nullable var cpuMicrosPerForwardedPacket: Double?
    var rssBytes: UInt64 = 0
    /// What the process has grown by since before the first join, divided by participants.
    var rssBytesPerParticipant: Double = 0
  }

  /// What this kernel and CPU cannot go below with the same means; microseconds a packet.
  struct Limit: Encodable, Sendable, Equatable {
    var cryptoMicros = 0.0
    var sendMicros = 0.0
    var microsPerPacket = 0.0
    /// The SRTP backend that was the fastest.
    var backend = ""
    var packetBytes = 0
  }

  /// The load generator itself.
  struct Generator: Encodable, Sendable, Equatable {
    /// The busiest media thread's share of a CPU.
    var busiestThread = 0.0
    /// How much later than planned frames were sent.
    var lateSendsMs: Percentiles?
    /// How long packets waited in their sockets until a media thread came to read them; no part of the delays above.
    var readDelayMs: Percentiles?
    var wasBottleneck = false
    /// Why it thinks so.
    var reasons: [String] = []
    /// The average load of the machine over the last minute at the end, all processes included.
    var machineLoad = 0.0
    var cpus = 0
  }

  struct Expectation: Encodable, Sendable, Equatable {
    var name: String
    var held: Bool
    /// What was measured against what was wanted.
    var figure: String
  }

  struct Moment: Encodable, Sendable, Equatable {
    var second = 0.0
    var packetsPerSecond = 0.0
    var lossRatio = 0.0
    /// The server's share of one CPU.
    var serverCPU: Double?
    var rssBytes: UInt64?
    var p50Ms = 0.0
    var p99Ms = 0.0
  }

  struct Bar: Encodable, Sendable, Equatable {
    var microseconds: UInt64
    var count: UInt32
  }

  struct PersonRow: Encodable, Sendable, Equatable {
    var user: String
    var room: String
    var joinMs: Double?
    var firstFrameMs: Double?
    var streams = 0
    var packetsExpected: UInt64 = 0
    var packetsReceived: UInt64 = 0
    var repaired: UInt64 = 0
    var p99Ms: Double?
    var freezes: UInt64 = 0
    var decodedFrames: UInt64 = 0
  }
}

/// Some percentiles in milliseconds.
struct Percentiles: Encodable, Sendable, Equatable {
  var p50 = 0.0
  var p95 = 0.0
  var p99 = 0.0
  var max = 0.0

  /// Of a histogram; nil when it is empty.
  init?(_ histogram: LatencyHistogram) {
    guard histogram.count > 0 else { return nil }
    func milliseconds(_ share: Double) -> Double { Double(histogram.percentile(share)) / 1_000 }
    (p50, p95, p99) = (milliseconds(0.5), milliseconds(0.95), milliseconds(0.99))
    max = Double(histogram.maximum) / 1_000
  }

  /// Of single values in milliseconds, each percentile being the smallest value that so many do not exceed; nil when there
  /// are none.
  init?(_ values: [Double]) {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    func rank(_ share: Double) -> Double {
      sorted[Swift.min(sorted.count - 1, Swift.max(0, Int((Double(sorted.count) * share).rounded(.up)) - 1))]
    }
    (p50, p95, p99, max) = (rank(0.5), rank(0.95), rank(0.99), rank(1))
  }
}

/// A value that JSON has as null when there is none, so that every name is always there.
@propertyWrapper
struct Nullable<Value: Encodable & Sendable & Equatable>: Encodable, Sendable, Equatable {
  var wrappedValue: Value?

  init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}
