import Basics
import RTP
import TestSupport
import Testing

@Suite struct PayloadInfoTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var codec: CodecProfile
    var payload: String
    var marker = false
    /// What is expected, beginning from nothing known; nil for a payload that is refused.
    var expected: (@Sendable (inout PayloadInfo) -> Void)?
    var testDescription: String { name }
  }

  static let vp: [Row] = [
    Row(name: "VP8 keyframe without extension", codec: .vp8, payload: "10 10 00 00 9d012a") {
      $0.startsKeyframe = true
      $0.startsFrame = true
    },
    Row(name: "VP8 interframe, last packet", codec: .vp8, payload: "10 11", marker: true) {
      $0.startsFrame = true
      $0.endsFrame = true
    },
    Row(name: "VP8 keyframe, second packet", codec: .vp8, payload: "00 10") { _ in },
    Row(name: "VP8 second partition starts", codec: .vp8, payload: "11 10") { _ in },
    Row(name: "VP8 everything, 15-bit picture", codec: .vp8, payload: "b0 f0 9234 07 a5 10") {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.isDiscardable = true
      $0.pictureID = .init(offset: 2, value: 0x1234, isLong: true)
      $0.tl0PictureIndex = .init(offset: 4, value: 7)
      $0.temporalLayer = 2
      $0.isLayerSyncPoint = true
    },
    Row(name: "VP8 7-bit picture alone", codec: .vp8, payload: "90 80 7f 01") {
      $0.startsFrame = true
      $0.pictureID = .init(offset: 2, value: 0x7f, isLong: false)
    },
    Row(name: "VP8 key index alone", codec: .vp8, payload: "90 10 ff 01") { $0.startsFrame = true },
    Row(name: "VP8 no frame behind the descriptor", codec: .vp8, payload: "90 80 7f"),
    Row(name: "VP8 cut picture", codec: .vp8, payload: "90 80 80"),
    Row(name: "VP8 empty", codec: .vp8, payload: ""),
    Row(name: "VP9 keyframe, flexible, no layers", codec: .vp9Profile0, payload: "9c 8001 82") {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.endsFrame = true
      $0.pictureID = .init(offset: 1, value: 1, isLong: true)
      $0.dependencies = .init(number: 1, width: 15)
    },
    Row(
      name: "VP9 non-flexible keyframe with structure", codec: .vp9Profile2,
      payload: "aa 05 10 44 30014000f002800 1e0 82"
    ) {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.pictureID = .init(offset: 1, value: 5, isLong: false)
      $0.isLayerSyncPoint = true
      $0.tl0PictureIndex = .init(offset: 3, value: 0x44)
    },
    Row(name: "VP9 upper layer of a key picture", codec: .vp9Profile0, payload: "bc 05 03 82") {
      $0.startsFrame = true
      $0.endsFrame = true
      $0.pictureID = .init(offset: 1, value: 5, isLong: false)
      $0.spatialLayer = 1
      $0.dependencies = .init(number: 5, width: 7)
    },
    Row(name: "VP9 inter, flexible, two references", codec: .vp9Profile0, payload: "fd 05 54 03 04 82") {
      $0.startsFrame = true
      $0.endsFrame = true
      $0.isDiscardable = true
      $0.pictureID = .init(offset: 1, value: 5, isLong: false)
      $0.temporalLayer = 2
      $0.spatialLayer = 2
      $0.isLayerSyncPoint = true
      $0.dependencies = .init(number: 5, width: 7)
      $0.dependencies?.refer(to: 1)
      $0.dependencies?.refer(to: 2)
    },
    Row(name: "VP9 structure with picture group", codec: .vp9Profile0, payload: "0a 08 02 00 08 0102 82") {
      $0.groups = .closed
      $0.startsKeyframe = true
      $0.startsFrame = true
    },
    Row(
      name: "VP9 picture group that refers across its base", codec: .vp9Profile0, payload: "0a 08 03 00 24 01 24 03 82"
    ) {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.groups = .open
    },
    Row(
      name: "VP9 picture group of three layers", codec: .vp9Profile0, payload: "0a 08 04 04 04 54 01 34 02 58 01 02 82"
    ) {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.groups = .closed
    },
    Row(name: "VP9 four references", codec: .vp9Profile0, payload: "50 03 05 07 08 82"),
    Row(name: "VP9 cut structure", codec: .vp9Profile0, payload: "0a 18 0140"),
    Row(name: "VP9 cut group", codec: .vp9Profile0, payload: "0a 08 02 00 0c 01"),
    Row(name: "VP9 cut layers", codec: .vp9Profile0, payload: "28 00"),
  ]

  static let others: [Row] = [
    Row(name: "H264 IDR", codec: .h264ConstrainedBaseline, payload: "65 88", marker: true) {
      $0.startsKeyframe = true
      $0.units = [.idr]
      $0.startsFrame = true
      $0.endsFrame = true
    },
    Row(name: "H264 SPS", codec: .h264High, payload: "67 42e01f") {
      $0.startsKeyframe = true
      $0.units = [.sequenceSet]
      $0.startsFrame = true
    },
    Row(name: "H264 slice nobody refers to", codec: .h264Main, payload: "01 9a") {
      $0.units = [.inter]
      $0.startsFrame = true
      $0.isDiscardable = true
      $0.temporalLayer = 1
      $0.isLayerSyncPoint = true
    },
    Row(name: "H264 STAP-A of SPS and PPS", codec: .h264Baseline, payload: "78 0002 6742 0002 68ce") {
      $0.startsKeyframe = true
      $0.units = .sets
      $0.startsFrame = true
    },
    Row(name: "H264 STAP-A of AUD and IDR", codec: .h264Baseline, payload: "78 0002 09f0 0001 65") {
      $0.startsKeyframe = true
      $0.units = [.idr]
      $0.startsFrame = true
    },
    Row(name: "H264 FU-A start of IDR", codec: .h264BaselineMode0, payload: "7c 85 88") {
      $0.startsKeyframe = true
      $0.units = [.idr]
      $0.startsFrame = true
    },
    Row(name: "H264 FU-A end of IDR", codec: .h264Baseline, payload: "7c 45 88", marker: true) { $0.endsFrame = true },
    Row(name: "H264 FU-A start of slice", codec: .h264Baseline, payload: "7c 81 88") {
      $0.startsFrame = true
      $0.units = [.intra]
    },
    Row(name: "H264 FU-A start of a later slice of an IDR", codec: .h264Baseline, payload: "7c 85 43") {
      $0.startsKeyframe = true
      $0.units = [.laterIDR]
      $0.startsFrame = true
    },
    Row(
      name: "H264 STAP-A of SPS, PPS and IDR, encrypted", codec: .h264Baseline,
      payload: "78 0002 6742 0002 68ce 0002 6543"
    ) {
      $0.startsKeyframe = true
      $0.units = [.sequenceSet, .pictureSet, .idr]
      $0.startsFrame = true
    },
    Row(name: "H264 recovery point", codec: .h264Baseline, payload: "06 06 01 80") {
      $0.startsFrame = true
      $0.isDiscardable = true
      $0.units = [.recovery]
    },
    Row(name: "H264 FU-A without its header", codec: .h264Baseline, payload: "7c"),
    Row(name: "H264 STAP-A with a size too long", codec: .h264Baseline, payload: "78 0003 6742"),
    Row(name: "H264 STAP-A with an empty unit", codec: .h264Baseline, payload: "78 0000 6742"),
    Row(name: "H264 STAP-A without units", codec: .h264Baseline, payload: "78"),
    Row(name: "H264 FU-B", codec: .h264Baseline, payload: "7d 85 00 00 88"),
    Row(name: "H264 forbidden bit", codec: .h264Baseline, payload: "e5 88"),
    Row(name: "AV1 new sequence, one element", codec: .av1, payload: "18 0a 0b") {
      $0.startsKeyframe = true
      $0.startsFrame = true
    },
    Row(name: "AV1 new sequence, two elements", codec: .av1, payload: "28 02 0e 48 32", marker: true) {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.endsFrame = true
      $0.temporalLayer = 2
      $0.spatialLayer = 1
    },
    Row(name: "AV1 inter frame", codec: .av1, payload: "10 30 00") { $0.startsFrame = true },
    Row(name: "AV1 continued", codec: .av1, payload: "90 36 48", marker: true) { $0.endsFrame = true },
    Row(name: "AV1 continued and new at once", codec: .av1, payload: "98 00"),
    Row(name: "AV1 cut length", codec: .av1, payload: "20 80"),
    Row(name: "AV1 cut extension", codec: .av1, payload: "10 34"),
    Row(name: "AV1 header alone", codec: .av1, payload: "10"),
    Row(name: "Opus", codec: .opus, payload: "78 01 02") {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.endsFrame = true
    },
    Row(name: "Opus silence", codec: .opus, payload: "78") {
      $0.startsKeyframe = true
      $0.startsFrame = true
      $0.endsFrame = true
      $0.isDTX = true
    },
    Row(name: "Opus empty", codec: .opus, payload: ""),
  ]

  @Test(arguments: vp + others)
  func factsOf(row: Row) {
    let found = PayloadInfo.parse(hex(row.payload).span, codec: row.codec, marker: row.marker)
    var expected = PayloadInfo()
    row.expected?(&expected)
    #expect(found == (row.expected == nil ? nil : expected))
  }

  @Test func pictureIdentifiersAreRewrittenInTheirWidth() {
    var payload = hex("90 80 8001 05")
    var span = payload.mutableSpan
    PayloadInfo.PictureID(offset: 2, value: 1, isLong: true).write(0x7fff, into: &span)
    #expect(payload == hex("90 80 ffff 05"))
    span = payload.mutableSpan
    PayloadInfo.PictureID(offset: 4, value: 5, isLong: false).write(0x1ff, into: &span)
    #expect(payload == hex("90 80 ffff 7f"))
    span = payload.mutableSpan
    PayloadInfo.PictureID(offset: 4, value: 5, isLong: true).write(0, into: &span)
    #expect(payload == hex("90 80 ffff 7f"))
  }
}
