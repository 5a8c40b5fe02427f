// Payload structures of H264: single NAL unit, STAP-A, FU-A (RFC 6184 §5.6 – §5.8).

import Basics

/// NAL units that begin in a packet, as far as it matters for where a stream can begin.
public struct H264Units: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: UInt8
  /// A set of these bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A sequence parameter set.
  public static let sequenceSet = H264Units(rawValue: 1)
  /// A picture parameter set.
  public static let pictureSet = H264Units(rawValue: 2)
  /// The first slice of an IDR picture.
  public static let idr = H264Units(rawValue: 4)
  /// The first slice of another picture that refers to none in this slice (type I).
  public static let intra = H264Units(rawValue: 8)
  /// The first slice of a picture that refers to others.
  public static let inter = H264Units(rawValue: 16)
  /// From here on a decoder recovers (supplemental enhancement information, payload type 6).
  public static let recovery = H264Units(rawValue: 32)

  /// A slice of an IDR picture that says it is not the first one, or is encrypted and says nothing.
  public static let laterIDR = H264Units(rawValue: 64)

  /// What a decoder needs before any picture.
  public static let sets: H264Units = [.sequenceSet, .pictureSet]
  /// A slice of a picture.
  public static let slices: H264Units = [.idr, .intra, .inter, .laterIDR]
}

extension PayloadInfo {
  private enum NAL {
    static let slice: UInt8 = 1
    static let idr: UInt8 = 5
    static let supplement: UInt8 = 6
    static let pictureParameterSet: UInt8 = 8
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
      info.note(nalType: payload[0] & 0x1f, payload.extracting(1...))
      if payload[0] & 0x1f == NAL.slice { info.takeSlice() }
    case NAL.stapA:
      info.startsFrame = true
      guard info.takeAggregate(payload) else { return nil }
    case NAL.fuA:
      guard payload.count >= 2 else { return nil }
      info.startsFrame = payload[1] & 0x80 != 0
      if info.startsFrame { info.note(nalType: payload[1] & 0x1f, payload.extracting(2...)) }
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

  /// A NAL unit that begins here; `rest` is what follows its header.
  private mutating func note(nalType: UInt8, _ rest: Span<UInt8>) {
    switch nalType {
    case NAL.sequenceParameterSet: units.insert(.sequenceSet)
    case NAL.pictureParameterSet: units.insert(.pictureSet)
    case NAL.supplement where !rest.isEmpty && rest[0] == 6: units.insert(.recovery)
    // first_mb_in_slice is 0, which is one bit (ITU-T H.264 §7.3.3, §9.1). Behind parameter sets any slice is the first (§7.4.1.2.3).
    case NAL.idr:
      let isFirst = rest.isEmpty || rest[0] & 0x80 != 0 || !units.isDisjoint(with: .sets)
      units.insert(isFirst ? .idr : .laterIDR)
    case NAL.slice where rest.isEmpty || rest[0] & 0x80 != 0:
      units.insert(!rest.isEmpty && Self.isIntra(rest[0]) ? .intra : .inter)
    default: break
    }
    if nalType == NAL.idr || nalType == NAL.sequenceParameterSet { startsKeyframe = true }
  }

  /// Whether the slice type behind that bit is 2 or 7, I: 011 or 0001000 (ITU-T H.264 table 7-6).
  private static func isIntra(_ first: UInt8) -> Bool { first & 0x70 == 0x30 || first & 0x7f == 0x08 }

  /// |STAP-A header| 16-bit size | NAL | 16-bit size | NAL …; false when a size does not fit.
  private mutating func takeAggregate(_ payload: Span<UInt8>) -> Bool {
    var at = 1
    while at < payload.count {
      guard at + 2 < payload.count else { return false }
      let size = Int(payload.uint16(at: at))
      guard size > 0, at + 2 + size <= payload.count else { return false }
      note(nalType: payload[at + 2] & 0x1f, payload.extracting((at + 3)..<(at + 2 + size)))
      if payload[at + 2] & 0x1f == NAL.slice { takeSlice() }
      at += 2 + size
    }
    return payload.count > 1
  }
}
