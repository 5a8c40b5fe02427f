// What is kept of received streams that were put away for newer ones: their highest indices, so that nothing of them can be
// replayed, and whoever sends on such an SSRC again goes on where it was.

/// The highest indices of the last streams that were put away. Bounded: the one put away first gives way.
struct RetiredStreams {
  /// Streams remembered; about 40 bytes each. A packet of one that was put away before these could be replayed.
  static let capacity = 4_096

  struct Indices {
    var rtp: UInt64?
    var rtcp: UInt64?
    fileprivate var serial = 0
  }

  private var indices: [UInt32: Indices] = [:]
  /// Who was put away when, in a ring.
  private var order: [(ssrc: UInt32, serial: Int)] = []
  private var serial = 0

  var count: Int { indices.count }

  mutating func put(_ stream: ReceiverStream, ssrc: UInt32) {
    let entry = (ssrc: ssrc, serial: serial)
    let place = serial % Self.capacity
    serial += 1
    if order.count < Self.capacity {
      order.append(entry)
    } else {
      let oldest = order[place]
      if indices[oldest.ssrc]?.serial == oldest.serial { indices[oldest.ssrc] = nil }
      order[place] = entry
    }
    indices[ssrc] = Indices(rtp: stream.rtp.newest, rtcp: stream.rtcp.newest, serial: entry.serial)
  }

  /// The stream as it goes on: all up to its highest indices counts as used. Nil for one that is not known.
  func stream(_ ssrc: UInt32) -> ReceiverStream? {
    guard !indices.isEmpty, let known = indices[ssrc] else { return nil }
    return ReceiverStream(rtp: ReplayWindow(usedUpTo: known.rtp), rtcp: ReplayWindow(usedUpTo: known.rtcp))
  }

  mutating func remove(_ ssrc: UInt32) { if !indices.isEmpty { indices[ssrc] = nil } }
}
