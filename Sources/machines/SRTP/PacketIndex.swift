// Packet indices and replay windows (RFC 3711 §3.3.1, §3.3.2).

/// The newest index of a stream and which of the 128 up to it have been used.
struct ReplayWindow {
  static let size: UInt64 = 128
  /// Rollover counter · 2^16 + sequence number for SRTP, the 31-bit index for SRTCP; nil before the first.
  private(set) var newest: UInt64?
  /// Bit i stands for `newest` − i.
  private var used: UInt128 = 0

  init() {}

  /// A window in which everything up to this index has been used; nil for one in which nothing has.
  init(usedUpTo newest: UInt64?) {
    self.newest = newest
    used = newest == nil ? 0 : .max
  }

  enum Verdict {
    case fresh
    case replayed
    case tooOld
  }

  @inline(__always)
  func check(_ index: UInt64) -> Verdict {
    guard let newest, index <= newest else { return .fresh }
    let age = newest - index
    guard age < Self.size else { return .tooOld }
    return used >> UInt128(age) & 1 == 0 ? .fresh : .replayed
  }

  /// Marks an index as used. One too old for the window changes nothing.
  @inline(__always)
  mutating func insert(_ index: UInt64) {
    guard let newest else {
      self.newest = index
      used = 1
      return
    }
    if index == newest &+ 1 {
      used = used &<< 1 | 1
      self.newest = index
    } else if index > newest {
      let step = index - newest
      used = step < Self.size ? used << UInt128(step) | 1 : 1
      self.newest = index
    } else if newest - index < Self.size {
      used |= 1 << UInt128(newest - index)
    }
  }

  /// The index that a sequence number most likely stands for; nil when the rollover counter would itself roll over.
  ///
  /// Before the first rollover a number that could only belong to the time before the stream began is taken as a jump
  /// forward.
  func estimate(_ sequence: UInt16) -> UInt64? {
    guard let newest else { return UInt64(sequence) }
    let newestSequence = Int(newest & 0xffff)
    var rollover = newest >> 16
    if newestSequence < 0x8000 {
      if Int(sequence) - newestSequence > 0x8000, rollover > 0 { rollover -= 1 }
    } else if newestSequence - 0x8000 > Int(sequence) {
      rollover += 1
    }
    guard rollover <= UInt64(UInt32.max) else { return nil }
    return rollover << 16 | UInt64(sequence)
  }
}

extension ReplayWindow {
  /// The index of the packet with this sequence number. Throws `keyExhausted`, and what `admit` throws unless the number may
  /// have been used before. Inlined, because it runs for each packet of each receiver.
  @inline(__always)
  func index(of sequence: UInt16, mayBeUsed: Bool = false) throws(SRTPError) -> UInt64 {
    guard let index = estimate(sequence) else { throw .keyExhausted }
    if !mayBeUsed { try admit(index) }
    return index
  }

  /// Throws for an index that has been used or is too old to tell.
  @inline(__always)
  func admit(_ index: UInt64) throws(SRTPError) {
    switch check(index) {
    case .fresh: return
    case .replayed: throw .replayed
    case .tooOld: throw .tooOld
    }
  }
}

/// What a sender knows of a stream.
struct SenderStream {
  var rtp = ReplayWindow()
  /// The SRTCP index of the next packet.
  var nextRTCP: UInt32 = 0
}

/// What a receiver knows of a stream.
struct ReceiverStream {
  var rtp = ReplayWindow()
  var rtcp = ReplayWindow()
  /// Packets that the receiver had opened when it opened the last one of this stream.
  var lastUse: UInt64 = 0
}
