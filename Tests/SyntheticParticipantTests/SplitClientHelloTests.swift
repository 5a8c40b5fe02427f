// A cut ClientHello is the same message in two fragments, and records keep rising numbers.

import Testing

@testable import SyntheticParticipant

@Suite struct SplitClientHelloTests {
  private func hello(_ body: [UInt8], record: UInt8 = 0) -> [UInt8] {
    let length = [UInt8(body.count >> 16), UInt8(body.count >> 8 & 255), UInt8(body.count & 255)]
    let message: [UInt8] = [1] + length + [0, 0] + [0, 0, 0] + length + body
    return [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, record]
      + [UInt8(message.count >> 8), UInt8(message.count & 255)] + message
  }

  @Test(arguments: [2, 3, 150, 1_200])
  func fragmentsPutTogetherAreTheMessage(_ count: Int) throws {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    var splitter = SplitClientHello()
    let pieces = splitter.transform(hello(body))
    try #require(pieces.count == 2)
    #expect(pieces.flatMap { $0.dropFirst(25) } == body)
    var offset = 0
    for (number, piece) in pieces.enumerated() {
      #expect(Int(piece[11]) << 8 | Int(piece[12]) == piece.count - 13)
      #expect(piece[10] == UInt8(number))
      #expect(Int(piece[19]) << 16 | Int(piece[20]) << 8 | Int(piece[21]) == offset)
      #expect(Int(piece[22]) << 16 | Int(piece[23]) << 8 | Int(piece[24]) == piece.count - 25)
      #expect(Int(piece[14]) << 16 | Int(piece[15]) << 8 | Int(piece[16]) == count)
      offset += piece.count - 25
    }
  }

  @Test func otherRecordsAreOnlyNumberedAnew() {
    var splitter = SplitClientHello()
    _ = splitter.transform(hello([1, 2, 3, 4]))
    var plain: [UInt8] = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 11, 0, 0]
    #expect(splitter.transform(plain) == [[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 11, 0, 0]])
    plain[4] = 1
    #expect(splitter.transform(plain) == [plain], "encrypted records keep their numbers")
  }

  @Test(arguments: [[], [22], [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1]] as [[UInt8]])
  func whatIsNoRecordPassesWithoutATrap(_ bytes: [UInt8]) {
    var splitter = SplitClientHello()
    #expect(splitter.transform(bytes).map(\.count) == [bytes.count])
  }
}
