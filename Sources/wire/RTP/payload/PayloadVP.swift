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
    if isFlexible, !info.readReferences(payload, &at, isInterPredicted) { return nil }
    if first & 0x02 != 0, !info.readScalabilityStructure(payload, &at) { return nil }
    guard at < payload.count else { return nil }
    info.startsKeyframe = info.startsFrame && !isInterPredicted && info.spatialLayer == 0 && !usesLowerLayer
    return info
  }

  /// Up to three |P_DIFF|N| bytes, N saying that another follows; none in a picture that is not predicted.
  private mutating func readReferences(_ payload: Span<UInt8>, _ at: inout Int, _ isInterPredicted: Bool) -> Bool {
    var frame = pictureID.map {
      FrameDependencies(number: $0.value, width: $0.isLong ? 15 : 7)
    }
    defer { dependencies = frame }
    guard isInterPredicted else { return true }
    for _ in 1...3 {
      guard at < payload.count else { return false }
      let byte = payload[at]
      frame?.refer(to: Int(byte >> 1))
      at += 1
      if byte & 0x01 == 0 { return true }
    }
    return false
  }

  /// |N_S|Y|G|-|, where Y a width and height per spatial layer, where G N_G pictures of |TID|U|R|-| and R P_DIFFs.
  private mutating func readScalabilityStructure(_ payload: Span<UInt8>, _ at: inout Int) -> Bool {
    guard at < payload.count else { return false }
    let head = payload[at]
    at += 1
    if head & 0x10 != 0 { at += 4 * (Int(head >> 5) + 1) }
    guard head & 0x08 != 0 else { return at <= payload.count }
    guard at < payload.count else { return false }
    let pictures = Int(payload[at])
    at += 1
    return readPictureGroup(payload, &at, pictures: pictures)
  }

  /// What refers to what in a group of pictures: whether upper layers may begin behind each picture of the base layer.
  private mutating func readPictureGroup(_ payload: Span<UInt8>, _ at: inout Int, pictures: Int) -> Bool {
    var base = 0
    // Pictures of the base layer since the group's first, the newest in bit 0.
    var bases: UInt64 = 0
    groups = pictures > 0 ? .closed : .unsaid
    for picture in 0..<pictures {
      guard at < payload.count else { return false }
      let (layer, count) = (payload[at] >> 5, Int(payload[at] >> 2 & 0x03))
      guard at + count < payload.count else { return false }
      if layer == 0 { base = picture }
      for reference in 1..<(count + 1) {
        let distance = Int(payload[at + reference])
        let isBase = distance < 64 && distance > 0 && bases & 1 << UInt64(max(distance - 1, 0)) != 0
        if layer > 0 && picture - distance < base && !isBase { groups = .open }
      }
      bases = bases << 1 | (layer == 0 ? 1 : 0)
      at += 1 + count
    }
    return true
  }
}
