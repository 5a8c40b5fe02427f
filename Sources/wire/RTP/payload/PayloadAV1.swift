// The aggregation header of AV1 and the extension of its first OBU (AV1 RTP payload format 1.0 §4.4; AV1 §5.3).

import Basics

extension PayloadInfo {
  //     |Z|Y|W W|N|-|-|-|  Z: begins with a continued OBU, Y: ends inside one, W: elements or 0, N: new video sequence
  static func av1(_ payload: Span<UInt8>, marker: Bool) -> PayloadInfo? {
    guard payload.count > 1 else { return nil }
    let header = payload[0]
    let continues = header & 0x80 != 0
    let startsSequence = header & 0x08 != 0
    if continues && startsSequence { return nil }
    var info = PayloadInfo()
    info.startsFrame = !continues
    info.startsKeyframe = startsSequence
    info.endsFrame = marker
    if continues { return info }
    var at = 1
    // With W = 1 the only element has no length in front of it.
    if header & 0x30 != 0x10, !skipLEB128(payload, &at) { return nil }
    guard at < payload.count else { return nil }
    if payload[at] & 0x04 != 0 {
      guard at + 1 < payload.count else { return nil }
      info.temporalLayer = payload[at + 1] >> 5
      info.spatialLayer = payload[at + 1] >> 3 & 0x03
    }
    return info
  }

  private static func skipLEB128(_ payload: Span<UInt8>, _ at: inout Int) -> Bool {
    for _ in 0..<8 {
      guard at < payload.count else { return false }
      let more = payload[at] & 0x80 != 0
      at += 1
      if !more { return true }
    }
    return false
  }
}
