// What is known of a subscriber's line, and what follows from it: how much may leave, and which layers fit.
//
//   packets that leave ─▶ estimator ◀── transport-wide feedback, REMB, receiver reports
//                            │ target
//        Egress: budget ◀────┴────▶ Forwarder: layers (Forwarder+Bandwidth.swift)

import Basics
import Congestion
import RTP

/// The way down to one subscriber. A transport has one from its first video consumer on, or from when redundancy is added to its sound:
/// sound alone has nothing to choose from.
struct Downlink {
  /// How often it is looked at which layers fit, besides when the target falls.
  static let allocationInterval = TimeDelta.milliseconds(250)
  /// The same where the line has shown no limit: all is sent whole, and only the wish is told anew.
  static let unlimitedInterval = TimeDelta.milliseconds(500)
  /// What is assumed of a line of which nothing is known. Raise it and thin lines drop more in the first second; lower it and
  /// the first pictures of a large room come later.
  static let start = BitRate.megabits(1)
  /// What IP and UDP add to each packet (IPv4).
  static let packetOverhead = 28
  /// A target so much lower than the one that layers were chosen by is acted on at once …
  static let fall = 0.95
  /// … but not sooner than this after the last time: a client may say what it likes of its line, as often as it likes.
  static let shortestInterval = TimeDelta.milliseconds(50)

  /// How often a dark line is tried. Sooner, and more is sent for nothing; later, and pictures come back later.
  static let beatInterval = TimeDelta.milliseconds(150)

  /// Loss from which on a packet that was asked for is sent twice, and three times.
  private static let twiceFrom = 0.02, thriceFrom = 0.07

  /// More than the allocator's margin.
  private static let room = 1.25

  var estimator: BandwidthEstimator
  var allocator = LayerAllocator()
  /// Whether the client has said anything of its line. Until then nothing is held back.
  private(set) var isHeard = false
  /// Whether the client reports on transport-wide numbers.
  let hasFeedback: Bool
  /// Whether it has done so. By any other sign a stream is not thinned: a client's own estimate follows what it is sent, so that it
  /// would stay thinned.
  private(set) var mayThin = false
  /// Whether padding can be sent.
  let canProbe: Bool
  /// The target by which layers were chosen last.
  private var allocated = BitRate.unlimited
  private var nextAllocation: Instant
  private var lastAllocation = Instant.zero
  /// While nothing comes from the receiver: when it is next sent a packet that it may answer.
  private(set) var nextBeat = Instant.zero
  /// Packets that the last flush held back for want of budget.
  var held = 0

  /// A line of which nothing is known. `number` is the transport-wide number of the next packet.
  init(extensions: HeaderExtensionIDs, canProbe: Bool, number: UInt16, at now: Instant) {
    hasFeedback = extensions.transportSequence != 0
    self.canProbe = canProbe
    var configuration = BandwidthEstimator.Configuration()
    configuration.start = hasFeedback ? Self.start : configuration.maximum
    configuration.hasTransportFeedback = hasFeedback
    configuration.canProbe = canProbe
    configuration.firstNumber = number
    estimator = BandwidthEstimator(configuration)
    nextAllocation = now
  }

  /// Mutating, though nothing changes: to borrow all of it, the compiler (6.3) copies it.
  var nextDeadline: Instant {
    mutating get { min(min(nextAllocation, allocator.nextDeadline), estimator.nextDeadline) }
  }

  /// Whether reports have stayed away for as long as from a dark line, whose end could be noticed.
  var isSilent: Bool { mutating get { hasFeedback && canProbe && estimator.isSilent } }

  /// Bytes of padding that are due on a dark line: a packet now and then, to be answered when it gets through.
  mutating func beat(at now: Instant) -> Int {
    guard now >= nextBeat else { return 0 }
    nextBeat = now + Self.beatInterval
    return 1
  }

  /// Whether nothing is known of the line that speaks against sending all that is wished.
  var isUnlimited: Bool { mutating get { !isHeard || !estimator.hasSeenLimit } }

  /// Whether budgets limit what leaves: where arrivals are reported. A client's own estimate (REMB) is too rough for it.
  var isPaced: Bool { mutating get { hasFeedback && !isUnlimited && !estimator.isRelaxed } }

  /// How often a packet that was asked for is sent. A client asks again only after 100 ms where it knows no round trip, and by then a
  /// picture is late. So where the line loses by chance, one repeat of them all should arrive. Where it has a queue it loses because it
  /// is full, and one is enough.
  var copiesOfRepeats: Int {
    mutating get {
      guard hasFeedback, estimator.isQuiet else { return 1 }
      let loss = estimator.recentLoss
      return loss < Self.twiceFrom ? 1 : loss < Self.thriceFrom ? 2 : 3
    }
  }

  /// What layers may need, where the lowest layers and sound together need `least`. A client's own estimate follows what it is sent, and
  /// its reports hold what was lost before the server: neither would come back from nothing. So they choose layers, and pause none.
  mutating func target(least: BitRate) -> BitRate {
    if hasFeedback { return estimator.settled }
    return max(estimator.settled, least * Self.room)
  }

  /// Whether layers are to be chosen again.
  mutating func wantsAllocation(at now: Instant) -> Bool {
    if now >= min(nextAllocation, allocator.nextDeadline) { return true }
    return estimator.settled < allocated * Self.fall && now - lastAllocation >= Self.shortestInterval
  }

  /// Something new is to be sent: layers are chosen again at once.
  mutating func noteChange(at now: Instant) { nextAllocation = min(nextAllocation, now) }

  /// Layers were chosen.
  mutating func noteAllocation(at now: Instant) {
    allocated = estimator.settled
    lastAllocation = now
    nextAllocation = now + (isUnlimited ? Self.unlimitedInterval : Self.allocationInterval)
  }

  /// Transport-wide feedback; `bytes` are those that it was read from.
  mutating func feedback(_ feedback: TransportFeedback, _ bytes: Span<UInt8>, at now: Instant) {
    (isHeard, mayThin) = (true, true)
    estimator.feedback(feedback, bytes, at: now)
  }

  /// The client's own estimate.
  mutating func remb(_ rate: BitRate, at now: Instant) {
    isHeard = true
    estimator.remb(rate, at: now)
  }

  /// A receiver report's worst loss.
  mutating func report(fractionLost: UInt8, at now: Instant) {
    if !hasFeedback { isHeard = true }
    estimator.report(fractionLost: fractionLost, at: now)
  }
}
