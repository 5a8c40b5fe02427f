// A pipe: an end that carries tracks from one worker to another, so that a room may be larger than a core.
//
//   the publisher's worker                                         the worker of more receivers
//   stored ─▶ one copy of each layer that is wanted ─ PipedPacket ─▶ mirror: a track with encodings of its own ─▶ consumers
//   cache, throttle ◀──────── PipeMessage: layers, keyframes, what is missing ──────── its needs, its throttle, its losses
//   which layers arrive, clocks ───────────────── PipeMessage ────────────────▶ what can be had, and what it takes
//
// A mirror keeps what a publisher's track does: a cache, from which its receivers' losses are repaired; a throttle, which merges
// their wishes for keyframes; a list of what is missing. So each hop repairs what it has lost itself, and the publisher hears of none of it.
// Values cross, and nothing is shared. What a thread needs for it (rings, a wake) is not here.

import Basics
import Congestion
import Forwarding
import RTP

/// Names a pipe, at both of its ends; made by the control plane.
public struct PipeKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// A packet that crosses a pipe, besides its bytes: its dependency descriptor, and its payload.
public struct PipedPacket: Sendable {
  /// Whose it is. A mirror has the key of what it mirrors.
  public let track: ProducerKey
  /// Which layer it is of, by its place in SDP.
  public let place: Int
  /// Which stream of this layer over this pipe: another one begins with numbers and a clock of its own.
  public let stream: UInt32
  /// Whether it was asked for.
  public let isRepeat: Bool
  /// What is known of it, as its source has stored it; of its number the lower sixteen bits count.
  public let packet: StoredPacket
  /// Bytes of its dependency descriptor, which go before the payload.
  public let descriptorLength: Int

  init(_ piped: PipedLayer, isRepeat: Bool, packet: StoredPacket, descriptorLength: Int) {
    (track, place, stream) = (piped.track, piped.place, piped.stream)
    (self.isRepeat, self.packet, self.descriptorLength) = (isRepeat, packet, descriptorLength)
  }
}

/// What crosses a pipe besides packets.
public enum PipeMessage: Sendable, Hashable {
  /// To the source: these layers of a track are wanted, by the bits of their places in SDP; all others are not. The answer is `arriving`,
  /// where something is known of them.
  case layers(ProducerKey, wanted: UInt8)
  /// To the source: a keyframe of the layer at this place is wanted.
  case keyframe(ProducerKey, place: Int)
  /// To the source: packets of the layer at this place are missing that have these numbers.
  case missing(ProducerKey, place: Int, [UInt16])
  /// To the mirror: what the publisher says of its clock.
  case report(PipedReport)
  /// To the mirror: which layers of a simulcast track can be had.
  case arriving(PipedArrivals)
}

/// Which layers of a simulcast track arrive at the source, and what each takes. A mirror sees none but those that cross.
public struct PipedArrivals: Sendable, Hashable {
  /// Which track.
  public let track: ProducerKey
  /// Those that arrive, by the bits of their places in SDP.
  public let arriving: UInt8
  /// What each takes, by its place. One that has a rate and does not arrive was paused at its publisher, and can be had.
  public let rates: [BitRate]

  /// What is known of a track; nil of one with a single layer, and where nothing has been measured.
  init?(of id: ProducerID, _ tracks: borrowing Tracks, at now: Instant) {
    guard tracks.producers[id].declared.count > 1 else { return nil }
    var (bits, rates) = (UInt8(0), [BitRate]())
    for (place, encoding) in tracks.producers[id].declared.prefix(UInt8.bitWidth).enumerated() {
      guard let layer = tracks.producers[id].encodings.firstIndex(of: encoding) else { return nil }
      var meter = tracks.encodings[encoding].encoding.rate
      rates.append(
        tracks.producers[id].asked?.rate(ofAbsent: layer)
          ?? BitRate(bitsPerSecond: Double(meter.steadyBytesPerSecond(at: now)) * 8))
      if tracks.producers[id].arriving & 1 << UInt8(layer) != 0 { bits |= 1 << UInt8(place) }
    }
    guard rates.contains(where: { $0 > .zero }) else { return nil }
    (track, arriving, self.rates) = (tracks.producers[id].key, bits, rates)
  }

  /// Whether a mirror that knows this need not hear the other: rates move all the time.
  fileprivate func isLike(_ other: PipedArrivals) -> Bool {
    arriving == other.arriving && rates.count == other.rates.count
      && zip(rates, other.rates).allSatisfy { $0 <= $1 * 1.25 && $1 <= $0 * 1.25 }
  }
}

/// A publisher's sender report (RFC 3550 §6.4.1) about a layer.
public struct PipedReport: Sendable, Hashable {
  /// Which track, which of its layers by its place in SDP, and which stream of that.
  public let track: ProducerKey, place: Int, stream: UInt32
  /// NTP time, 32.32 fixed point, and the RTP time stamp then, as those of packets that cross.
  public let ntp: UInt64, rtp: UInt32
  /// When it came in, on the clock that all workers have.
  public let arrival: Instant

  /// Whether both are about one layer.
  fileprivate func isAbout(_ other: PipedReport) -> Bool { track == other.track && place == other.place }
}

/// Where what crosses a pipe goes: a ring of another thread, or the other worker at once.
public protocol PipeSink: ~Copyable {
  /// Takes a packet with the bytes of its descriptor and payload; false where there is no room now. Then it comes again with the next
  /// call. What finds no room behind it is dropped and counted (`DropReason.backlogFull`), and the mirror asks for it.
  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool
  /// Takes a message.
  mutating func write(_ message: PipeMessage)
}

/// One end of a pipe. Owned by one worker.
struct Pipe: ~Copyable {
  /// Packets that wait at most, and their bytes: what thirty large pictures take in a tenth of a second. Raise them and the other worker
  /// may be busy for longer; each pipe takes the memory.
  static let mostPackets = 2_048
  static let mostBytes = 2_048 * 1_024
  /// Messages that wait at most, besides those about layers, of which each track has one. Each is said again by who waits for an answer.
  static let mostMessages = 1_024

  let key: PipeKey
  private var backlog = CopyBacklog<PipedPacket>(packets: Self.mostPackets, bytes: Self.mostBytes)
  private var messages: [PipeMessage] = []
  /// At the mirror: which layers are wanted, as it is still to be said; and the tracks of which the source has heard that some are.
  private var wanted: [ProducerKey: UInt8] = [:]
  private var crossing: Set<ProducerKey> = []
  /// At the source: which layers arrive, as it is still to be said, and as it was said last.
  private var news: [ProducerKey: PipedArrivals] = [:]
  private var told: [ProducerKey: PipedArrivals] = [:]
  private var lastStream: UInt32 = 0
  /// At the mirror: reports of streams of which nothing has come yet, one for each layer at most.
  private var early: [PipedReport] = []
  /// Of those whose tracks it brings, by `Publisher.key`.
  private var clocks: [UInt64: PublisherClock] = [:]

  init(key: PipeKey) { self.key = key }

  /// A number that no stream over this pipe had before.
  mutating func makeStream() -> UInt32 {
    lastStream &+= 1
    return lastStream
  }

  /// Keeps a packet for the other worker; false where there is no room.
  mutating func keep(_ packet: PipedPacket, _ descriptor: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer)
    -> Bool
  {
    backlog.append(packet, descriptor, payload)
  }

  /// Has the other worker told. What is said anew stands for what was said before.
  mutating func say(_ message: PipeMessage) {
    switch message {
    case .layers(let track, let layers): return wanted[track] = layers
    case .arriving(let facts):
      told[facts.track] = facts
      return news[facts.track] = facts
    case .keyframe: if messages.contains(message) { return }
    case .report(let report):
      // As often as its publisher likes: the newest counts, and leaves others their room.
      for index in messages.indices {
        guard case .report(let old) = messages[index], old.isAbout(report) else { continue }
        messages[index] = message
        return
      }
    case .missing: break
    }
    if messages.count < Self.mostMessages { messages.append(message) }
  }

  /// Says which layers of a track arrive, unless that is known.
  mutating func tell(_ facts: PipedArrivals) {
    if told[facts.track]?.isLike(facts) != true { say(.arriving(facts)) }
  }

  /// Hands over what waits.
  mutating func drain<Sink: PipeSink & ~Copyable>(into sink: inout Sink) {
    // Before the keyframes of these layers. In some order that is always the same.
    if !wanted.isEmpty {
      for (track, layers) in wanted.sorted(by: { $0.key.value < $1.key.value }) {
        sink.write(.layers(track, wanted: layers))
        if layers == 0 { crossing.remove(track) } else { crossing.insert(track) }
      }
      wanted.removeAll(keepingCapacity: true)
    }
    if !news.isEmpty {
      for (_, facts) in news.sorted(by: { $0.key.value < $1.key.value }) { sink.write(.arriving(facts)) }
      news.removeAll(keepingCapacity: true)
    }
    for message in messages { sink.write(message) }
    messages.removeAll(keepingCapacity: true)
    backlog.drain { sink.write($0, $1) }
  }

  /// Packets that wait.
  var waiting: Int { backlog.count }

  // MARK: clocks

  /// Whose clocks are known.
  var publishers: Dictionary<UInt64, PublisherClock>.Keys { clocks.keys }

  /// The clock of somebody whose tracks it brings.
  func clock(of publisher: UInt64) -> PublisherClock? { clocks[publisher] }

  /// Takes in a report of somebody's.
  mutating func note(_ report: PipedReport, of publisher: UInt64) {
    clocks[publisher, default: PublisherClock()].take(ntp: report.ntp, at: report.arrival)
  }

  /// None of somebody's tracks is brought any more.
  mutating func forget(_ publisher: UInt64) { clocks[publisher] = nil }

  /// Keeps a report until its stream comes: what is said crosses before packets.
  mutating func keep(_ report: PipedReport) {
    early.removeAll { $0.isAbout(report) }
    early.append(report)
  }

  /// The report that was kept of a stream which comes now.
  mutating func takeReport(of packet: PipedPacket) -> PipedReport? {
    let index = early.firstIndex {
      $0.stream == packet.stream && $0.track == packet.track && $0.place == packet.place
    }
    return index.map { early.remove(at: $0) }
  }

  /// A track is brought no more, or has ended. The source hears of it where it was asked for something.
  mutating func forget(track: ProducerKey) {
    early.removeAll { $0.track == track }
    wanted[track] = crossing.contains(track) ? 0 : nil
    (news[track], told[track]) = (nil, nil)
  }
}

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
