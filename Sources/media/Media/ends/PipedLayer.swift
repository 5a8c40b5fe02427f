// A layer on its way into a pipe, and when what is copied of it begins anew for the mirror.

/// A pipe that a layer is copied to.
struct PipedLayer {
  /// Numbers that may be missing within a stream. Sixteen bits tell apart twice as many: the rest is for what comes late.
  static let longestGap: Int64 = 16_384

  let pipe: PipeID
  /// Whose it is, and its place in SDP.
  let track: ProducerKey, place: Int
  /// Under which number it crosses.
  private(set) var stream: UInt32
  /// The SSRC under which its publisher sends what crosses so.
  private(set) var ssrc: UInt32?
  /// Whether its mirror has asked for a keyframe while the track was muted.
  var awaitsKeyframe = false
  /// The first and the newest number that crossed under `stream`; nil before the first.
  private var numbers: ClosedRange<Int64>?

  init(pipe: PipeID, track: ProducerKey, place: Int, stream: UInt32, ssrc: UInt32?) {
    (self.pipe, self.track, self.place, self.stream, self.ssrc) = (pipe, track, place, stream, ssrc)
  }

  /// Whether a packet cannot cross under `stream`. Another SSRC has numbers and a clock of its own. What came while the track was muted
  /// does not cross, and nothing of it is missing. And over too wide a gap sixteen bits do not say which number is meant.
  func needsStream(for number: Int64, of ssrc: UInt32?, mutedUntil: Int64) -> Bool {
    if self.ssrc != ssrc { return true }
    guard let numbers else { return false }
    return numbers.lowerBound <= mutedUntil || number - numbers.upperBound > Self.longestGap
  }

  /// Goes on under another number.
  mutating func begin(_ stream: UInt32, of ssrc: UInt32?) {
    (self.stream, self.ssrc, numbers, awaitsKeyframe) = (stream, ssrc, nil, false)
  }

  /// Whether a packet with this number, or one before it, has crossed under `stream`: then it may be missing at the mirror.
  func mayMiss(_ number: Int64) -> Bool { numbers.map { $0.lowerBound <= number } ?? false }

  /// A packet crosses.
  mutating func note(_ number: Int64) {
    numbers = numbers.map { $0.lowerBound...max($0.upperBound, number) } ?? number...number
  }
}
