// Where the worker's datagrams go in the bench: to the seats while they connect, after that into a count.

import Basics
import Forwarding
import Media

struct MailSink: DatagramSink {
  var mail: [(Path, [UInt8])] = []
  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    mail.append((path, Array(bytes)))
    return nil
  }
}

/// Counts calls, packets and how long each was held.
struct CountingSink: DatagramSink {
  var now: Instant
  var calls = 0
  var packets = 0
  var bytes = 0
  var wakeUps = 0
  /// Media packets that were sent, by the seat that they are for, since this was emptied.
  var sent: [(seat: Int, count: Int, at: Instant)] = []
  /// Whether delays are looked at; it costs more than forwarding.
  var watchesDelays = false
  /// Send time less time stamp, by SSRC: constant but for how long a packet was held.
  var offsets: [UInt32: [UInt32]] = [:]

  init(at now: Instant) { self.now = now }

  mutating func send(_ datagrams: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    calls += 1
    packets += (datagrams.count + segment - 1) / max(segment, 1)
    bytes += datagrams.count
    // Not RTCP (RFC 5761 §4), STUN or DTLS (RFC 7983).
    if datagrams.count > 1, datagrams[0] >> 6 == 2, !(64..<96).contains(datagrams[1] & 0x7f) {
      sent.append((Seat.index(of: path), (datagrams.count + segment - 1) / max(segment, 1), now))
    }
    if watchesDelays { note(datagrams, segment) }
    return nil
  }

  private mutating func note(_ datagrams: UnsafeRawBufferPointer, _ segment: Int) {
    let sent = UInt32(truncatingIfNeeded: now.nanoseconds / 1_000)
    for start in stride(from: 0, to: datagrams.count, by: segment) where datagrams.count - start >= 12 {
      // Not RTCP (RFC 5761 §4).
      if (64..<96).contains(datagrams[start + 1] & 0x7f) { continue }
      let time = UInt32(bigEndian: datagrams.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self))
      let ssrc = UInt32(bigEndian: datagrams.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self))
      offsets[ssrc, default: []].append(sent &- time)
    }
  }

  /// Microseconds that packets were held, sorted. Some packet of every stream was not held at all.
  var delays: [Int] {
    offsets.values.flatMap { stream in
      let least = stream.reduce(stream[0]) { Int32(bitPattern: $1 &- $0) < 0 ? $1 : $0 }
      return stream.map { Int($0 &- least) }
    }.sorted()
  }
}
