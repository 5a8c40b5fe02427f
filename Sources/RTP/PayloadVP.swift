// Payload descriptors of VP8 (RFC 7741 §4.2, §4.3) and VP9 (RFC 9628 §4.2).

import Basics

extension PayloadInfo {
  /// Reads the picture identifier at `at` and moves behind it; false when the payload ends first.
  private mutating func readPictureID(_ payload: Span<UInt8>, _ at: inout Int) -> Bool {
    guard at < payload.count else { return false }
    let isLong = payload[at] & 0x80 != 0
    guard at + (isLong ? 2 : 1) <= payload.count else { return false }
    let value = isLong ? payload.uint16(at: at) & 0x7fff : UInt16(payload[at])
    pictureID = PictureID(offset: UInt8(truncatingIfNeeded: at), value: value, isLong: isLong)
    at += isLong ? 2 : 1
    return true
  }

  /// Reads TL0PICIDX at `at` and moves behind it; false when the payload ends first.
  private mutating func readTL0PictureIndex(_ payload: Span<UInt8>, _ at: inout Int) -> Bool {
    guard at < payload.count else { return false }
    tl0PictureIndex = TL0PictureIndex(offset: UInt8(truncatingIfNeeded: at), value: payload[at])
    at += 1
    return true
  }

  //      0 1 2 3 4 5 6 7
  //     |X|R|N|S|R| PID |  then, where X:  |I|L|T|K| RSV |  I: picture ID, L: TL0PICIDX, T or K: |TID|Y| KEYIDX |
  static func vp8(_ payload: Span<UInt8>, marker: Bool) -> PayloadInfo? {
    guard payload.count > 0 else { return nil }
    var info = PayloadInfo()
    let first = payload[0]
    info.isDiscardable = first & 0x20 != 0
    info.startsFrame = first & 0x10 != 0 && first & 0x07 == 0
    info.endsFrame = marker
    var at = 1
    if first & 0x80 != 0 {
      guard at < payload.count else { return nil }
      let present = payload[at]
      at += 1
      if present & 0x80 != 0, !info.readPictureID(payload, &at) { return nil }
      if present & 0x40 != 0, !info.readTL0PictureIndex(payload, &at) { return nil }
      if present & 0x30 != 0 {
        guard at < payload.count else { return nil }
        if present & 0x20 != 0 {
          info.temporalLayer = payload[at] >> 6
          info.isLayerSyncPoint = payload[at] & 0x20 != 0
        }
        at += 1
      }
    }
    guard at < payload.count else { return nil }
    // The frame header's P bit, inverted: 0 is a keyframe (RFC 6386 §9.1).
    info.startsKeyframe = info.startsFrame && payload[at] & 0x01 == 0
    return info
  }

  //     |I|P|L|F|B|E|V|Z|  I: picture ID, L: |TID|U| SID |D| and without F TL0PICIDX, F and P: up to three P_DIFF
  static func vp9(_ payload: Span<UInt8>) -> PayloadInfo? {
    guard payload.count > 0 else { return nil }
    var info = PayloadInfo()
    let first = payload[0]
    let isInterPredicted = first & 0x40 != 0
    let isFlexible = first & 0x10 != 0
    var usesLowerLayer = false
    info.startsFrame = first & 0x08 != 0
    info.endsFrame = first & 0x04 != 0
    info.isDiscardable = first & 0x01 != 0
    var at = 1
    if first & 0x80 != 0, !info.readPictureID(payload, &at) { return nil }
    if first & 0x20 != 0 {
      guard at < payload.count else { return nil }
      info.temporalLayer = payload[at] >> 5
      info.isLayerSyncPoint = payload[at] & 0x10 != 0
      info.spatialLayer = payload[at] >> 1 & 0x07
      usesLowerLayer = payload[at] & 0x01 != 0
      at += 1
      if !isFlexible, !info.readTL0PictureIndex(payload, &at) { return nil }
    }
    if isFlexible, isInterPredicted, !skipReferences(payload, &at) { return nil }
    if first & 0x02 != 0, !skipScalabilityStructure(payload, &at) { return nil }
    guard at < payload.count else { return nil }
    info.startsKeyframe = info.startsFrame && !isInterPredicted && info.spatialLayer == 0 && !usesLowerLayer
    return info
  }

  /// Up to three |P_DIFF|N| bytes, N saying that another follows.
  private static func skipReferences(_ payload: Span<UInt8>, _ at: inout Int) -> Bool {
    for count in 1...3 {
      guard at < payload.count else { return false }
      let more = payload[at] & 0x01 != 0
      at += 1
      if !more { return true }
      if count == 3 { return false }
    }
    return false
  }

  /// |N_S|Y|G|-|, where Y a width and height per spatial layer, where G N_G pictures of |TID|U|R|-| and R P_DIFFs.
  private static func skipScalabilityStructure(_ payload: Span<UInt8>, _ at: inout Int) -> Bool {
    guard at < payload.count else { return false }
    let head = payload[at]
    at += 1
    if head & 0x10 != 0 { at += 4 * (Int(head >> 5) + 1) }
    guard head & 0x08 != 0 else { return at <= payload.count }
    guard at < payload.count else { return false }
    let pictures = payload[at]
    at += 1
    for _ in 0..<pictures {
      guard at < payload.count else { return false }
      at += 1 + Int(payload[at] >> 2 & 0x03)
    }
    return at <= payload.count
  }
}
