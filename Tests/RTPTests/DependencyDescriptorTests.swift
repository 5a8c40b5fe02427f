import Basics
import TestSupport
import Testing

@testable import RTP

@Suite struct DependencyDescriptorTests {
  private static func parse(_ bytes: [UInt8], known: DependencyStructure?) -> DependencyDescriptor? {
    DependencyDescriptor.parse(bytes.span, known: known)
  }

  /// Writes bits as text: "1 000001 …".
  static func bytes(_ bits: String) -> [UInt8] {
    var result: [UInt8] = []
    for (index, bit) in bits.filter({ $0 == "0" || $0 == "1" }).enumerated() {
      if index % 8 == 0 { result.append(0) }
      if bit == "1" { result[index / 8] |= 0x80 >> UInt8(index % 8) }
    }
    return result
  }

  /// One spatial and three temporal layers (L1T3 of the W3C's scalability modes): five templates from 60 on, three decode targets,
  /// one chain. By the syntax tables of appendix A.8.
  static let structure = """
    111100 00010
    00 01 00 01 11
    101010 001010 000111 000010 000001
    0  1 0011 0  1 0001 0  1 0000 0  1 0000 1 0001 0
    01
    0000 0100 0001 0010 0011
    """
  static let key = "1 0 111100 0000000000000111 1 0 0 0 0" + structure + "1 0000001001111111 0000000101100111"

  static let expected = DependencyStructure(
    firstID: 60,
    templates: [
      .init(), .init(references: 1 << 3), .init(temporalLayer: 1, references: 1 << 1),
      .init(temporalLayer: 1, references: 1), .init(temporalLayer: 2, references: 0b11),
    ], decodeTargets: 3, chains: 1, size: PictureSize(640, 360))

  @Test func theStructureComesWithTheKeyframe() throws {
    let found = try #require(Self.parse(Self.bytes(Self.key), known: nil))
    #expect(found.startsFrame && !found.endsFrame && found.frameNumber == 7)
    #expect(found.structure == Self.expected)
    #expect(found.frame == .init())
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bits: String
    /// Nil for what cannot be read.
    var frame: DependencyStructure.Template?
  }

  static let rows = [
    Row(testDescription: "three bytes", bits: "11 111101 0000000100000000", frame: .init(references: 1 << 3)),
    Row(
      testDescription: "an identifier behind the wrap", bits: "01 000000 0000000100000000",
      frame: .init(temporalLayer: 2, references: 0b11)),
    Row(testDescription: "an identifier of no template", bits: "01 000001 0000000100000000"),
    Row(testDescription: "an identifier before the first", bits: "01 111011 0000000100000000"),
    Row(
      testDescription: "active decode targets", bits: "11 111101 0000000100000000 01000 011",
      frame: .init(references: 1 << 3)),
    Row(
      testDescription: "everything its own",
      bits: "11 111110 0000000100000000 01111 011 101010 01 0010 10 01000000 11 000001111111 00 00000001",
      frame: .init(temporalLayer: 1, references: 1 << 2 | 1 << 63)),
    Row(
      testDescription: "refers to nothing", bits: "11 111110 0000000100000000 00010 00", frame: .init(temporalLayer: 1)),
    Row(testDescription: "two bytes", bits: "11 111101 00000001"),
    Row(testDescription: "cut references", bits: "11 111110 0000000100000000 00010 11 0"),
    Row(testDescription: "cut decode targets", bits: "11 111101 0000000100000000 00100 111"),
    Row(testDescription: "cut chains", bits: "11 111101 0000000100000000 00001 111"),
  ]

  @Test(arguments: rows) func framesNameTheirTemplate(row: Row) {
    let found = Self.parse(Self.bytes(row.bits), known: Self.expected)
    #expect(found?.frame == row.frame)
    #expect(found?.structure == nil)
    if row.frame != nil { #expect(found?.frameNumber == 0x100 && found?.endsFrame == true) }
    let unknown = Self.parse(Self.bytes(row.bits), known: nil)
    #expect(unknown == nil, "nothing is known without a structure")
  }

  @Test func aStructureThatIsCutIsRefused() {
    let whole = Self.bytes(Self.key)
    for length in 0..<whole.count {
      let found = Self.parse(Array(whole[..<length]), known: nil)
      #expect(found == nil, "\(length) bytes")
    }
  }

  @Test func moreLayersThanThereMayBeAreRefused() {
    for next in ["00", "01", "10"] {
      let bits = "1 0 000000 0000000000000111 1 0 0 0 0 000000 00000" + String(repeating: next, count: 400)
      let found = Self.parse(Self.bytes(bits), known: nil)
      #expect(found == nil)
    }
  }

  /// Numbers below 5: 0, 1, 2 in two bits, 3 and 4 in three (AV1 §4.10.7).
  @Test(arguments: [("00", 0), ("01", 1), ("10", 2), ("110", 3), ("111", 4)])
  func numbersInAsFewBitsAsMayBe(bits: String, value: Int) {
    var reader = BitReader()
    let found = reader.readNonSymmetric(below: 5, Self.bytes(bits).span)
    #expect(found == value && reader.position == bits.count)
    var none = BitReader()
    let only = none.readNonSymmetric(below: 1, Self.bytes("1").span)
    #expect(only == 0 && none.position == 0)
  }

  @Test func aPacketIsWhatItsDescriptorSays() throws {
    let descriptor = try #require(
      Self.parse(Self.bytes("01 000000 0000000100000000"), known: Self.expected))
    var info = PayloadInfo()
    info.take(descriptor)
    #expect(info.temporalLayer == 2 && info.endsFrame && !info.startsFrame)
    #expect(
      info.dependencies?.number == 0x100 && info.dependencies?.references == 0b11 && info.dependencies?.width == 16)
  }
}
