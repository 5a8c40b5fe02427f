// A tap: an end that is given what comes of a track as its publisher sent it, to record it.
//
//   opened packet ─▶ new? ─▶ its consumers
//                     └────▶ out of what it was wrapped in (RTX, RED) ─▶ CopyBacklog ─▶ TapSink
//
// A tap gets each packet once, in the order of arrival: what was lost and comes again stands where it came, with its old number, and what
// was restored stands before the packet that brought it. Who writes a file sorts by `TappedPacket.number`; to wait here for what may never
// come would only hold up the rest. What a muted track sends goes to nobody, so to no tap either.

import Basics
import Forwarding
import RTP

/// Names a tap; made by the control plane.
public struct TapKey: Hashable, Sendable {
  /// Unique for the life of the process.
  public let value: UInt64
  /// The key `value`.
  public init(_ value: UInt64) { self.value = value }
}

/// What is known of a packet that a tap is given, besides its bytes.
public struct TappedPacket: Sendable, Equatable {
  /// Whose it is.
  public let tap: TapKey
  /// When it came, on the worker's clock; of one that was restored, when the packet came that held it.
  public let arrival: Instant
  /// Which layer it is of, by its place in SDP.
  public let place: Int
  /// Its number, unwrapped: no two of a layer have the same, and a stream that takes another's place goes on behind it.
  public let number: Int64
  /// How it got here.
  public let way: Way
  /// Packets that this tap has had no room for so far.
  public let lost: UInt64

  /// How a packet comes to a tap.
  public enum Way: Sendable, Hashable {
    /// By itself: the bytes are those that were sealed.
    case plain
    /// Out of a packet of redundant sound (RFC 2198), or as a repeat (RFC 4588). The header is that of the packet that brought it, with
    /// the original's payload type, number and SSRC.
    case unwrapped
    /// Its sound stood in a later packet. The header is made anew, and says no more than payload type, number, time stamp and SSRC.
    case restored
  }
}

/// Where a tap's packets go: a file, a thread that writes one, an array in tests.
public protocol TapSink: ~Copyable {
  /// Takes a packet; false where there is no room now. Then it comes again with the next call. What finds no room behind it is dropped and
  /// counted (`DropReason.backlogFull`, `TappedPacket.lost`).
  mutating func write(_ packet: TappedPacket, _ rtp: Span<UInt8>) -> Bool
}

/// A tap on one track. Owned by one worker.
struct Tap: ~Copyable {
  /// Packets that wait for the sink at most, and their bytes: about a second of a large picture. Raise them and the sink may be away for
  /// longer; each tap takes the memory.
  static let mostPackets = 512
  static let mostBytes = 512 * 1_024

  let key: TapKey
  private var backlog = CopyBacklog<TappedPacket>(packets: Self.mostPackets, bytes: Self.mostBytes)
  private var lost: UInt64 = 0
  /// Scratch space for a header that is changed.
  private var head: [UInt8] = []

  init(key: TapKey) {
    self.key = key
    head.reserveCapacity(256)
  }

  /// What a header says that is not that of the packet which brought it.
  struct Original {
    let payloadType: UInt8
    let sequence: UInt16
    let timestamp: UInt32
    let ssrc: UInt32
  }

  /// A packet for a tap. Valid while its datagram is looked at.
  struct Copied {
    let number: Int64
    let way: TappedPacket.Way
    /// Empty where there was none.
    let header: UnsafeBufferPointer<UInt8>
    /// What the header is to say instead.
    var original: Original?
    let body: UnsafeBufferPointer<UInt8>
  }

  /// Keeps a packet of the layer with this place in SDP; false where there is no room.
  mutating func keep(_ packet: Copied, place: Int, at now: Instant) -> Bool {
    let facts = TappedPacket(
      tap: key, arrival: now, place: place, number: packet.number, way: packet.way, lost: lost)
    let body = UnsafeRawBufferPointer(packet.body)
    let isKept: Bool
    if let original = packet.original {
      write(original, over: packet.header)
      isKept = head.withUnsafeBytes { backlog.append(facts, $0, body) }
    } else {
      isKept = backlog.append(facts, UnsafeRawBufferPointer(packet.header), body)
    }
    if !isKept { lost &+= 1 }
    return isKept
  }

  /// Writes a header into the scratch space. Padding went with what the packet was wrapped in.
  private mutating func write(_ original: Original, over header: UnsafeBufferPointer<UInt8>) {
    head.removeAll(keepingCapacity: true)
    head.append(contentsOf: header)
    if head.count < PacketView.fixedHeaderLength {
      head.removeAll(keepingCapacity: true)
      head.append(contentsOf: repeatElement(0, count: PacketView.fixedHeaderLength))
      head[0] = 0x80
    }
    head[0] &= ~0x20
    head[1] = head[1] & 0x80 | original.payloadType
    for index in 0..<2 { head[2 + index] = UInt8(truncatingIfNeeded: original.sequence >> (8 - 8 * index)) }
    for index in 0..<4 {
      head[4 + index] = UInt8(truncatingIfNeeded: original.timestamp >> (24 - 8 * index))
      head[8 + index] = UInt8(truncatingIfNeeded: original.ssrc >> (24 - 8 * index))
    }
  }

  /// Hands over what waits.
  mutating func drain<Sink: TapSink & ~Copyable>(into sink: inout Sink) { backlog.drain { sink.write($0, $1) } }
}
