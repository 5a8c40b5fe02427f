// Payload structures of H264: single NAL unit, STAP-A, FU-A (RFC 6184 §5.6 – §5.8).

import Basics

extension PayloadInfo {
  private enum NAL {
    static let slice: UInt8 = 1
    static let idr: UInt8 = 5
    static let sequenceParameterSet: UInt8 = 7
    static let stapA: UInt8 = 24
    static let fuA: UInt8 = 28
  }

  static func h264(_ payload: Span<UInt8>, marker: Bool) -> PayloadInfo? {
    guard payload.count > 0, payload[0] & 0x80 == 0 else { return nil }
    var info = PayloadInfo()
    info.endsFrame = marker
    info.isDiscardable = payload[0] & 0x60 == 0
    switch payload[0] & 0x1f {
    case 1...23:
      info.startsFrame = true
      info.take(nalType: payload[0] & 0x1f)
      if payload[0] & 0x1f == NAL.slice { info.takeSlice() }
    case NAL.stapA:
      info.startsFrame = true
      guard info.takeAggregate(payload) else { return nil }
    case NAL.fuA:
      guard payload.count >= 2 else { return nil }
      info.startsFrame = payload[1] & 0x80 != 0
      if info.startsFrame { info.take(nalType: payload[1] & 0x1f) }
      if payload[1] & 0x1f == NAL.slice { info.takeSlice() }
    default: return nil  // Interleaved mode and reserved types: never agreed on.
    }
    return info
  }

  /// A picture that nobody refers to is a temporal layer of its own, which may begin and end anywhere.
  private mutating func takeSlice() {
    guard isDiscardable else { return }
    (temporalLayer, isLayerSyncPoint) = (1, true)
  }

  private mutating func take(nalType: UInt8) {
    if nalType == NAL.sequenceParameterSet { carriesParameterSets = true }
    if nalType == NAL.idr || nalType == NAL.sequenceParameterSet { startsKeyframe = true }
  }

  /// |STAP-A header| 16-bit size | NAL | 16-bit size | NAL …; false when a size does not fit.
  private mutating func takeAggregate(_ payload: Span<UInt8>) -> Bool {
    var at = 1
    while at < payload.count {
      guard at + 2 < payload.count else { return false }
      let size = Int(payload.uint16(at: at))
      guard size > 0, at + 2 + size <= payload.count else { return false }
      take(nalType: payload[at + 2] & 0x1f)
      if payload[at + 2] & 0x1f == NAL.slice { takeSlice() }
      at += 2 + size
    }
    return payload.count > 1
  }
}
