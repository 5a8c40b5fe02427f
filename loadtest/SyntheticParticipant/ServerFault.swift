// What a broken server would do to a stream, done to plain packets on their way to the checks: so that tests can see each
// check fail. A network cannot do these things, because it cannot forge SRTP.

import Basics
import RTP

/// One way to be broken.
public enum ServerFault: String, Sendable, Hashable, CaseIterable {
  /// Now and then a packet is left out, and the numbers of those behind it hide it.
  case drop
  /// Now and then a packet carries what belongs to another stream.
  case swap
  /// Now and then a packet comes twice.
  case duplicate
  /// Now and then a packet's stamp is destroyed, as if its payload had been mixed up.
  case garble
  /// Muting is not told to the server, which so goes on sending.
  case leak
  /// Every packet takes 300 ms longer.
  case late
}

/// Applies a fault to received packets.
struct FaultInjector {
  /// One packet in so many is hit.
  static let period = 97
  static let delay = TimeDelta.milliseconds(300)

  /// What becomes of a packet.
  enum Outcome { case once, twice, never }

  let fault: ServerFault
  private var count = 0
  private var dropped: [UInt32: UInt16] = [:]
  private var kept: (ssrc: UInt32, payload: [UInt8])?
  private var waiting: [(due: Instant, bytes: [UInt8])] = []
  private var firstWaiting = 0

  init(_ fault: ServerFault) { self.fault = fault }

  /// When a delayed packet is due.
  var nextDeadline: Instant { firstWaiting < waiting.count ? waiting[firstWaiting].due : .distantFuture }

  /// Takes the plain packet in the first `length` bytes.
  mutating func apply(_ packet: inout MutableSpan<UInt8>, length: Int, at now: Instant) -> Outcome {
    count += 1
    let isHit = count % Self.period == 0
    switch fault {
    case .leak: return .once
    case .duplicate: return isHit ? .twice : .once
    case .drop: return drop(&packet, isHit)
    case .swap:
      swapPayload(&packet, length, isHit)
      return .once
    case .garble:
      if isHit { garble(&packet, length) }
      return .once
    case .late:
      let bytes = packet.span.extracting(first: length).withUnsafeBufferPointer { Array($0) }
      waiting.append((now + Self.delay, bytes))
      return .never
    }
  }

  private mutating func drop(_ packet: inout MutableSpan<UInt8>, _ isHit: Bool) -> Outcome {
    let ssrc = packet.span.uint32(at: 8)
    if isHit {
      dropped[ssrc, default: 0] &+= 1
      return .never
    }
    packet.store(packet.span.uint16(at: 2) &- dropped[ssrc, default: 0], at: 2)
    return .once
  }

  private func garble(_ packet: inout MutableSpan<UInt8>, _ length: Int) {
    guard let view = try? PacketView.parse(packet.span.extracting(first: length)) else { return }
    for offset in [PayloadStamp.audioOffset, PayloadStamp.videoOffset, view.payload.count - PayloadStamp.length] {
      guard PayloadStamp(packet.span.extracting(view.payload), at: offset) != nil else { continue }
      let at = view.payload.lowerBound + offset
      let byte = packet[at]
      packet[at] = ~byte
    }
  }

  /// Keeps the latest payload, and puts it into a packet of another stream that is as long.
  private mutating func swapPayload(_ packet: inout MutableSpan<UInt8>, _ length: Int, _ isHit: Bool) {
    guard let view = try? PacketView.parse(packet.span.extracting(first: length)) else { return }
    if let kept, kept.ssrc != view.ssrc, kept.payload.count == view.payload.count, count > Self.period {
      packet.store(kept.payload.span, at: view.payload.lowerBound)
      self.kept = nil
      count = 0
    } else {
      kept = (view.ssrc, packet.span.extracting(view.payload).withUnsafeBufferPointer { Array($0) })
    }
  }

  /// The next delayed packet that is due.
  mutating func takeDue(at now: Instant) -> [UInt8]? {
    guard nextDeadline <= now else { return nil }
    defer {
      firstWaiting += 1
      if firstWaiting > 1_000 {
        waiting.removeFirst(firstWaiting)
        firstWaiting = 0
      }
    }
    return waiting[firstWaiting].bytes
  }
}
