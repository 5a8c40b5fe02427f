// The receiver's side of a simulcast video: puts frames together, asks for what is missing, and notes which frames can be decoded.

import Basics

/// What the receiver asks the server for.
struct VideoRequests: Sendable {
  /// Numbers of missing packets (NACK).
  var missing: [Int] = []
  /// It cannot go on without a keyframe (PLI).
  var keyframe = false

  var isEmpty: Bool { missing.isEmpty && !keyframe }
}

/// Decodes a frame when it is complete, and is a keyframe or follows a decoded one of its layer.
struct VideoReceiver {
  /// Beyond so many requests a packet is given up.
  static let mostRequests = 10
  static let requestInterval = TimeDelta.milliseconds(5)
  /// Packets remembered.
  static let window = 4_096

  private struct Missing {
    var requests = 0
    var next: Instant
  }
  private struct Frame {
    var first: Int?
    var last: Int?
    var received = 0
    var isKey = false
    var layer = 0
    var isComplete: Bool { first.flatMap { first in last.map { $0 - first + 1 == received } } ?? false }
  }

  private let roundTrip: TimeDelta
  private var frames: [Int: Frame] = [:]
  private var missing: [Int: Missing] = [:]
  private var seen: Set<Int> = []
  private var newest = -1
  private var decoded = -1
  private var decodedLayer = 0
  private var lastDecoded = Instant.zero
  private var lastKeyframeRequest = Instant.zero
  private var nextRequest = Instant.zero

  /// A receiver that asks again after `roundTrip`.
  init(roundTrip: TimeDelta) { self.roundTrip = max(roundTrip, .milliseconds(20)) }

  /// Takes a packet. Returns how many frames can be decoded now.
  mutating func receive(_ packet: VideoPacket, at now: Instant) -> Int {
    guard packet.sequence > newest - Self.window, seen.insert(packet.sequence).inserted else { return 0 }
    missing[packet.sequence] = nil
    if newest >= 0, packet.sequence > newest + 1 {
      for number in (newest + 1)..<packet.sequence { missing[number] = Missing(next: now) }
    }
    newest = max(newest, packet.sequence)
    seen.remove(newest - Self.window)
    guard packet.frame > decoded else { return 0 }
    var frame = frames[packet.frame] ?? Frame()
    frame.received += 1
    frame.isKey = packet.isKey
    frame.layer = packet.layer
    if packet.isFirst { frame.first = packet.sequence }
    if packet.isLast { frame.last = packet.sequence }
    frames[packet.frame] = frame
    return decode(at: now)
  }

  private mutating func decode(at now: Instant) -> Int {
    var count = 0
    while let next = nextDecodable() {
      decodedLayer = frames[next]?.layer ?? decodedLayer
      for old in frames.keys where old <= next { frames[old] = nil }
      decoded = next
      count += 1
    }
    if count > 0 { lastDecoded = now }
    return count
  }

  /// The frame behind the last decoded one, or the newest complete keyframe.
  private func nextDecodable() -> Int? {
    if decoded >= 0, let next = frames[decoded + 1], next.isComplete, next.isKey || next.layer == decodedLayer {
      return decoded + 1
    }
    return frames.filter { $0.value.isKey && $0.value.isComplete }.keys.max()
  }

  /// What is asked for now.
  mutating func requests(at now: Instant) -> VideoRequests {
    var requests = VideoRequests()
    guard now >= nextRequest, newest >= 0 else { return requests }
    nextRequest = now + Self.requestInterval
    for (number, entry) in missing where entry.next <= now {
      requests.missing.append(number)
      let again = Missing(requests: entry.requests + 1, next: now + roundTrip)
      missing[number] = again.requests < Self.mostRequests && number > newest - Self.window / 2 ? again : nil
    }
    requests.missing.sort()
    let patience = roundTrip * 2 + .milliseconds(400)
    if !frames.isEmpty, now - lastDecoded > patience, now - lastKeyframeRequest > patience {
      requests.keyframe = true
      lastKeyframeRequest = now
    }
    return requests
  }
}
