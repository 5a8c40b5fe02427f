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
import Forwarding
import RTP

/// Names a pipe, at both of its ends; made by the control plane.
public struct PipeKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// Where what crosses a pipe goes: a ring of another thread, or the other worker at once.
public protocol PipeSink: ~Copyable {
  /// Takes a packet with the bytes of its descriptor and payload; false where there is no room now. Then it comes again with the next
  /// call. What finds no room behind it is dropped and counted (`DropReason.backlogFull`), and the mirror asks for it.
  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool
  /// Takes a message.
  mutating func write(_ message: PipeMessage)
  /// Whether it takes messages now; looked at once before all that are said. Where it does not, they wait, and what is said anew stands for
  /// what was said before.
  var takesMessages: Bool { get }
}

extension PipeSink where Self: ~Copyable {
  /// Always.
  public var takesMessages: Bool { true }
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

  /// Hands over what waits, as far as the sink takes it. Whether something still waits.
  mutating func drain<Sink: PipeSink & ~Copyable>(into sink: inout Sink) -> Bool {
    if hasToSay && sink.takesMessages { sayAll(into: &sink) }
    backlog.drain { sink.write($0, $1) }
    return isWaiting
  }

  /// Whether anything waits for the sink.
  var isWaiting: Bool { waiting > 0 || hasToSay }

  private var hasToSay: Bool { !messages.isEmpty || !wanted.isEmpty || !news.isEmpty }

  private mutating func sayAll<Sink: PipeSink & ~Copyable>(into sink: inout Sink) {
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
