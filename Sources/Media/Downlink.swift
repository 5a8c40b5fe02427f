// What is known of a subscriber's line, and what follows from it: how much may leave, and which layers fit.
//
//   packets that leave ─▶ estimator ◀── transport-wide feedback, REMB, receiver reports
//                            │ target
//        Egress: budget ◀────┴────▶ Forwarder: layers (Forwarder+Bandwidth.swift)

import Basics
import Congestion
import RTP

/// The way down to one subscriber. A transport has one from its first video consumer on: sound alone has nothing to choose from.
struct Downlink {
  /// How often it is looked at which layers fit, besides when the target falls.
  static let allocationInterval = TimeDelta.milliseconds(250)
  /// What is assumed of a line of which nothing is known. Raise it and thin lines drop more in the first second; lower it and
  /// the first pictures of a large room come later.
  static let start = BitRate.megabits(1)
  /// What IP and UDP add to each packet (IPv4).
  static let packetOverhead = 28
  /// A target so much lower than the one that layers were chosen by is acted on at once …
  static let fall = 0.95
  /// … but not sooner than this after the last time: a client may say what it likes of its line, as often as it likes.
  static let shortestInterval = TimeDelta.milliseconds(50)

  /// More than the allocator's margin.
  private static let room = 1.25

  var estimator: BandwidthEstimator
  var allocator = LayerAllocator()
  /// Whether the client has said anything of its line. Until then nothing is held back.
  private(set) var isHeard = false
  /// Whether the client reports on transport-wide numbers.
  let hasFeedback: Bool
  /// The target by which layers were chosen last.
  private var allocated = BitRate.unlimited
  private var nextAllocation: Instant
  private var lastAllocation = Instant.zero
  /// Packets that the last flush held back for want of budget.
  var held = 0

  /// A line of which nothing is known. `number` is the transport-wide number of the next packet.
  init(extensions: HeaderExtensionIDs, canProbe: Bool, number: UInt16, at now: Instant) {
    hasFeedback = extensions.transportSequence != 0
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

  /// Whether nothing is known of the line that speaks against sending all that is wished.
  var isUnlimited: Bool { mutating get { !isHeard || !estimator.hasSeenLimit } }

  /// Whether budgets limit what leaves: where arrivals are reported. A client's own estimate (REMB) is too rough for it.
  var isPaced: Bool { mutating get { hasFeedback && !isUnlimited && !estimator.isRelaxed } }

  /// What may be sent, where the lowest layers and sound together need `least`. A client's own estimate follows what it is sent, and
  /// its reports hold what was lost before the server: neither would come back from nothing. So they choose layers, and pause none.
  mutating func target(least: BitRate) -> BitRate {
    if hasFeedback { return estimator.target }
    return max(estimator.target, least * Self.room)
  }

  /// Whether layers are to be chosen again.
  mutating func wantsAllocation(at now: Instant) -> Bool {
    if now >= min(nextAllocation, allocator.nextDeadline) { return true }
    return estimator.target < allocated * Self.fall && now - lastAllocation >= Self.shortestInterval
  }

  /// Something new is to be sent: layers are chosen again at once.
  mutating func noteChange(at now: Instant) { nextAllocation = min(nextAllocation, now) }

  /// Layers were chosen.
  mutating func noteAllocation(at now: Instant) {
    allocated = estimator.target
    lastAllocation = now
    nextAllocation = now + Self.allocationInterval
  }

  /// Transport-wide feedback; `bytes` are those that it was read from.
  mutating func feedback(_ feedback: TransportFeedback, _ bytes: Span<UInt8>, at now: Instant) {
    isHeard = true
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
