// The receiving half of a virtual peer: one subscription, checked for being one clean stream.

import Basics
import Media
import RTP

/// One received packet.
struct ReceivedPacket {
  var timestamp: UInt32
  var marker: Bool
  var payloadType: UInt8
  var codec: CodecProfile
  var info: PayloadInfo
  var stamp: Stamp?
  var arrival: Instant
  var isRepaired = false
  var length: Int
  /// What the packets that it carries besides say of themselves, the oldest first.
  var earlier: [Stamp] = []
  /// Its dependency descriptor; empty where it has none.
  var descriptor: [UInt8] = []

  /// The frame's number by that.
  var frameNumber: UInt16? { descriptor.isEmpty ? nil : UInt16(descriptor[1]) << 8 | UInt16(descriptor[2]) }
}

/// A subscription as it arrives.
struct ReceivedStream {
  let consumer: ConsumerKey
  let kind: MediaKind
  let ssrc: UInt32
  let rtxSSRC: UInt32?
  /// What was agreed on, now; packets under what was agreed on before may still be on their way.
  var payloads: [PayloadMapping]
  private(set) var packets: [Int64: ReceivedPacket] = [:]
  private(set) var duplicates = 0
  /// Packets that came again on the RTX stream though they had come: repeats in vain, and probes of the line.
  private(set) var repeats = 0
  /// Numbers of packets on the RTX stream.
  var repairNumbers: Set<UInt16> = []
  private(set) var unexpected: [String] = []
  private(set) var reports: [(at: Instant, report: SenderReport)] = []
  private(set) var first: Int64?
  private var unwrapper = SequenceUnwrapper()
  private var requested: [Int64: (tries: Int, next: Instant)] = [:]
  /// Of the last 400 numbers those that have not come.
  private var gaps: Set<Int64> = []
  var asksAgain = true

  init(consumer: ConsumerKey, _ parameters: SendParameters) {
    (self.consumer, kind, ssrc, rtxSSRC) = (consumer, parameters.kind, parameters.ssrc, parameters.rtxSSRC)
    payloads = parameters.payloads
  }

  var newest: Int64? { unwrapper.newest }
  /// Packets in the order of their numbers.
  var ordered: [ReceivedPacket] { packets.sorted { $0.key < $1.key }.map(\.value) }
  var repaired: Int { packets.values.count { $0.isRepaired } }
  /// Complete frames by what they were at the publisher.
  var frames: Set<[UInt32]> {
    var counts: [[UInt32]: (seen: Int, of: Int)] = [:]
    for packet in packets.values {
      guard let stamp = packet.stamp else { continue }
      let key = [UInt32(truncatingIfNeeded: stamp.producer), UInt32(stamp.layer), stamp.frame]
      counts[key] = ((counts[key]?.seen ?? 0) + 1, Int(stamp.count))
    }
    return Set(counts.filter { $0.value.seen == $0.value.of }.keys)
  }
  /// When each complete frame since then was there.
  func completed(since start: Instant) -> [Instant] {
    var frames: [[UInt32]: (seen: Int, of: Int, at: Instant)] = [:]
    for packet in packets.values {
      guard let stamp = packet.stamp else { continue }
      let key = [UInt32(stamp.layer), stamp.frame]
      let seen = frames[key] ?? (0, Int(stamp.count), .zero)
      frames[key] = (seen.seen + 1, seen.of, max(seen.at, packet.arrival))
    }
    return frames.values.filter { $0.seen == $0.of && $0.at >= start }.map(\.at).sorted()
  }
  /// The longest time without a complete frame.
  func longestGap(since start: Instant, until end: Instant) -> TimeDelta {
    var (longest, before) = (TimeDelta.zero, start)
    for at in completed(since: start) + [end] {
      longest = max(longest, at - before)
      before = at
    }
    return longest
  }
  var producers: Set<UInt64> { Set(packets.values.compactMap { $0.stamp?.producer }) }
  var layers: [UInt8] {
    ordered.compactMap { $0.stamp?.layer }.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }
  var codecs: [CodecProfile] { ordered.map(\.codec).reduce(into: []) { if $0.last != $1 { $0.append($1) } } }

  mutating func take(_ view: PacketView, _ bytes: [UInt8], isRTX: Bool, at now: Instant) {
    var (sequence, payload) = (view.sequenceNumber, view.payload)
    let isRED = !isRTX && payloads.contains { $0.redPayloadType == view.payloadType }
    let mapping = payloads.first {
      (isRTX ? $0.rtxPayloadType : isRED ? $0.redPayloadType : $0.payloadType) == view.payloadType
    }
    guard let mapping else { return unexpected.append("payload type \(view.payloadType)") }
    if isRTX {
      guard payload.count >= 2 else { return unexpected.append("empty retransmission") }
      sequence = UInt16(bytes[payload.lowerBound]) << 8 | UInt16(bytes[payload.lowerBound + 1])
      payload = (payload.lowerBound + 2)..<payload.upperBound
    }
    var earlier: [Stamp] = []
    if isRED {
      guard let found = RedundantAudio.parse(bytes[payload].span), found.own.payloadType == mapping.payloadType else {
        return unexpected.append("redundant sound that does not parse")
      }
      for index in 0..<found.count {
        let block = found.earlier(index)
        let sound = bytes[payload][(payload.lowerBound + block.range.lowerBound + 1)...].prefix(block.range.count - 1)
        guard block.payloadType == mapping.payloadType, let stamp = Stamp(sound) else {
          return unexpected.append("an earlier packet that is none")
        }
        if (view.timestamp &- block.age) != view.timestamp, block.age % 960 == 0 { earlier.append(stamp) }
      }
      payload = (payload.lowerBound + found.own.range.lowerBound)..<(payload.lowerBound + found.own.range.upperBound)
    }
    let before = newest
    let number = unwrapper.unwrap(sequence)
    if first == nil { first = number }
    if number > before ?? number - 1 { gaps.formUnion(max(before.map { $0 + 1 } ?? number, number - 400)...number) }
    if packets[number] != nil {
      if isRTX { repeats += 1 } else { duplicates += 1 }
      return
    }
    let extensions = ParsedExtensions(bytes.span, view, ids: Agreed.subscriberExtensions)
    let descriptor = extensions.dependencyDescriptor
    let said =
      payload.isEmpty
      ? PayloadInfo() : PayloadInfo.parse(bytes[payload].span, codec: mapping.codec, marker: view.marker)
    guard var info = said ?? (descriptor == nil ? nil : PayloadInfo()) else {
      return unexpected.append("payload that does not parse")
    }
    // Where there is one, what is encrypted need not be read. Keyframes alone have more than three bytes of it.
    if let descriptor { info.startsKeyframe = descriptor.count > 3 }
    let offset = payload.lowerBound + TestPayload.stampOffset(mapping.codec)
    packets[number] = ReceivedPacket(
      timestamp: view.timestamp, marker: view.marker, payloadType: view.payloadType, codec: mapping.codec, info: info,
      stamp: offset < payload.upperBound ? Stamp(bytes[offset..<payload.upperBound]) : nil, arrival: now,
      isRepaired: isRTX, length: payload.count, earlier: earlier,
      descriptor: extensions.dependencyDescriptor.map { Array(bytes[$0]) } ?? [])
    requested[number] = nil
    gaps.remove(number)
  }

  mutating func take(_ report: SenderReport, at now: Instant) { reports.append((now, report)) }

  /// Numbers to ask for now: each missing one every 60 ms, twelve times.
  mutating func missing(at now: Instant) -> [UInt16] {
    guard asksAgain, let first, let newest, newest > first else { return [] }
    gaps = gaps.filter { $0 >= newest - 400 }
    var numbers: [UInt16] = []
    for number in gaps.sorted() {
      let state = requested[number] ?? (0, now)
      guard state.next <= now, state.tries < 12 else { continue }
      requested[number] = (state.tries + 1, now + .milliseconds(60))
      numbers.append(UInt16(truncatingIfNeeded: number))
    }
    return numbers
  }

  // MARK: checks

  /// What is not clean about the stream; empty when a decoder would be content.
  var problems: [String] {
    var result = unexpected
    guard let first, let newest else { return result }
    let lowest = packets.keys.min() ?? first
    let missing = (lowest...newest).filter { packets[$0] == nil }
    if !missing.isEmpty { result.append("missing \(missing.map { $0 - lowest }) of \(newest - lowest + 1)") }
    let all = ordered.filter { $0.stamp != nil }
    if kind == .video, all.first?.info.startsKeyframe == false { result.append("does not start with a keyframe") }
    for (old, new) in zip(all, all.dropFirst()) {
      if let problem = problem(old, new) { result.append(problem) }
    }
    return result
  }

  private func problem(_ old: ReceivedPacket, _ new: ReceivedPacket) -> String? {
    guard let before = old.stamp, let after = new.stamp else { return nil }
    let what =
      "frame \(before.producer)/\(before.layer)/\(before.frame) → \(after.producer)/\(after.layer)/\(after.frame)"
    let step = Int32(bitPattern: new.timestamp &- old.timestamp)
    let isSameFrame =
      before.producer == after.producer && before.layer == after.layer && before.frame == after.frame
    if isSameFrame {
      if after.index != before.index + 1 { return "\(what): packet \(before.index) → \(after.index)" }
      return step == 0 ? nil : "\(what): time stamp changes within the frame"
    }
    if kind == .video, old.marker != (before.index + 1 == before.count) { return "\(what): wrong marker" }
    if step <= 0 { return "\(what): time stamp moves by \(step)" }
    if kind == .audio { return nil }
    if after.index != 0 { return "\(what): starts with packet \(after.index)" }
    let follows = before.producer == after.producer && before.layer == after.layer && after.frame == before.frame + 1
    if !follows && !after.isKeyframe { return "\(what): goes on without a keyframe" }
    return pictureProblem(old, new, mayJump: after.isKeyframe && !follows).map { "\(what): \($0)" }
  }

  private func pictureProblem(_ old: ReceivedPacket, _ new: ReceivedPacket, mayJump: Bool) -> String? {
    guard let before = old.info.pictureID?.value, let after = new.info.pictureID?.value else { return nil }
    let step = (after &- before) & 0x7fff
    if mayJump ? step == 0 || step > 0x3fff : step != 1 { return "picture identifier moves by \(step)" }
    guard let old = old.info.tl0PictureIndex?.value, let new = new.info.tl0PictureIndex?.value else { return nil }
    let index = new &- old
    if mayJump ? index == 0 : index != 1 { return "TL0PICIDX moves by \(index)" }
    return nil
  }

  /// How far the capture time told by the newest sender report is from the stamped one, at most, over all packets, or over those that
  /// came since then; nil where none did. It is the server's time: later than the stamp by what a report takes on its way to the server.
  func captureError(way: TimeDelta = Link.good.delay, since: Instant = .zero) -> TimeDelta? {
    reports.last.flatMap { captureError(of: $0.report, way: way, since: since) }
  }

  /// The same of a report.
  func captureError(of report: SenderReport, way: TimeDelta = Link.good.delay, since: Instant = .zero) -> TimeDelta? {
    let clock = kind == .audio ? 48.0 : 90.0
    let base = Double(report.ntp.value >> 32) * 1_000 + Double(report.ntp.value & 0xffff_ffff) / 4_294_967_296 * 1_000
    var worst: Double?
    for packet in packets.values where packet.arrival >= since {
      guard let stamp = packet.stamp else { continue }
      let ticks = Double(Int32(bitPattern: packet.timestamp &- report.rtpTimestamp))
      worst = max(worst ?? 0, abs(base + ticks / clock - way.seconds * 1_000 - Double(stamp.capture) / 1e6))
    }
    return worst.map { .microseconds(Int($0 * 1_000)) }
  }
}
