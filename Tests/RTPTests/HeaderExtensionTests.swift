import Basics
import RTP
import TestSupport
import Testing

@Suite struct HeaderExtensionTests {
  static var ids: HeaderExtensionIDs {
    var ids = HeaderExtensionIDs()
    (ids.mid, ids.rid, ids.repairedRid, ids.absSendTime) = (4, 10, 11, 2)
    (ids.transportSequence, ids.audioLevel, ids.videoOrientation) = (3, 1, 13)
    return ids
  }

  /// A packet with this extension block (profile, length and elements) and no payload.
  static func packet(_ block: String) -> [UInt8] { hex("90 60 0001 00000000 00000001") + hex(block) }

  static func elements(_ block: String) throws -> [String] {
    let packet = packet(block)
    var cursor = HeaderExtensionCursor(try PacketView.parse(packet.span))
    var found: [String] = []
    while let element = cursor.next(packet.span) {
      found.append("\(element.id):" + packet[element.range].map { String($0, radix: 16) }.joined(separator: ","))
    }
    return found
  }

  /// The first two rows are the examples of RFC 8285 §4.2 and §4.3.
  @Test(arguments: [
    ("bede 0003 10aa 21bbcc 0000 33dddddddd 00", ["1:aa", "2:bb,cc", "3:dd,dd,dd,dd"]),
    ("1000 0003 0100 0201aa 00 0304bbbbbbbb 00", ["1:", "2:aa", "3:bb,bb,bb,bb"]),
    ("bede 0001 10aa f0bb", ["1:aa"]),  // 15 ends the reading.
    ("bede 0002 10aa 02bb 10cc 0000", ["1:aa"]),  // So does 0 with a length.
    ("bede 0001 10aa 22bb", ["1:aa"]),  // Longer than the block.
    ("bede 0001 00000000", []), ("bede 0000", []), ("1234 0001 10aa0000", []),
    ("100f 0001 05 01 77 00", ["5:77"]),  // The low four bits of a two-byte profile are the application's.
    ("1000 0001 01 05 77 00", []), ("1000 0001 00 00 00 01", []),
  ])
  func walksTheElements(block: String, expected: [String]) throws {
    #expect(try Self.elements(block) == expected)
  }

  @Test func readsEveryKnownExtensionInOnePass() throws {
    let packet = Self.packet("bede 0005 10ff 22abcdef 311234 4030 a16869 b071 d003 00 00")
    let found = ParsedExtensions(packet.span, try PacketView.parse(packet.span), ids: Self.ids)
    #expect(found.audioLevel == AudioLevel(level: 127, voice: true))
    #expect(found.absSendTime == 0xab_cdef)
    #expect(found.transportSequence == 0x1234)
    #expect(packet.text(found.mid) == "0")
    #expect(packet.text(found.rid) == "hi")
    #expect(packet.text(found.repairedRid) == "q")
    #expect(found.videoOrientation == 3)
  }

  @Test func wrongLengthsAndUnagreedIdentifiersArePassedOver() throws {
    let packet = Self.packet("bede 0003 21abcd 3012 10 7f 55aaaaaa 000000")
    let view = try PacketView.parse(packet.span)
    var expected = ParsedExtensions()
    expected.audioLevel = AudioLevel(level: 127, voice: false)
    #expect(ParsedExtensions(packet.span, view, ids: Self.ids) == expected)
    #expect(ParsedExtensions(packet.span, view, ids: HeaderExtensionIDs()) == ParsedExtensions())
  }

  @Test func aLyingLengthReadsNothingBeyondThePacket() throws {
    let whole = Self.packet("bede 0002 10aa 22bbccdd 1077")
    let view = try PacketView.parse(whole.span)
    for length in 12...whole.count {
      var cursor = HeaderExtensionCursor(view)
      while let element = cursor.next(whole.span.extracting(first: length)) {
        #expect(element.range.upperBound <= length)
      }
    }
  }

  @Test func whatIsWrittenIsReadBack() throws {
    var extensions = OutgoingExtensions()
    extensions.mid = ExtensionTag("video0")
    extensions.absSendTime = 0x12_3456
    extensions.transportSequence = 0xffee
    extensions.audioLevel = AudioLevel(level: 30, voice: true)
    extensions.videoOrientation = 1
    let header = RTPHeader(
      marker: true, payloadType: 96, sequenceNumber: 65535, timestamp: 0xffff_fff0, ssrc: 77, extensions: extensions)
    var buffer = [UInt8](repeating: 0xee, count: 100)
    var span = buffer.mutableSpan
    let length = try header.write(into: &span, at: 5, ids: Self.ids)
    #expect(length % 4 == 0)
    let packet = Array(buffer[5..<(5 + length)])
    let view = try PacketView.parse(packet.span)
    #expect(view.payloadLength == 0 && view.marker && view.payloadType == 96)
    #expect(view.sequenceNumber == 65535 && view.timestamp == 0xffff_fff0 && view.ssrc == 77)
    let found = ParsedExtensions(packet.span, view, ids: Self.ids)
    #expect(packet.text(found.mid) == "video0")
    #expect(found.absSendTime == 0x12_3456 && found.transportSequence == 0xffee)
    #expect(found.audioLevel == AudioLevel(level: 30, voice: true) && found.videoOrientation == 1)
    #expect(buffer[..<5].allSatisfy { $0 == 0xee } && buffer[(5 + length)...].allSatisfy { $0 == 0xee })
  }

  @Test func withoutValuesThereIsNoBlock() throws {
    var extensions = OutgoingExtensions()
    extensions.absSendTime = 1
    let header = RTPHeader(
      marker: false, payloadType: 111, sequenceNumber: 1, timestamp: 2, ssrc: 3, extensions: extensions)
    var buffer = [UInt8](repeating: 0, count: RTPHeader.maximumLength)
    var span = buffer.mutableSpan
    #expect(try header.write(into: &span, ids: HeaderExtensionIDs()) == 12)
    #expect(buffer[0] == 0x80)
    var small = [UInt8](repeating: 0, count: RTPHeader.maximumLength - 1)
    #expect(throws: RTPError.noRoom) {
      var span = small.mutableSpan
      _ = try header.write(into: &span, ids: Self.ids)
    }
  }

  @Test func theLongestHeaderFitsTheMaximum() throws {
    var extensions = OutgoingExtensions()
    extensions.mid = ExtensionTag("0123456789abcdef")
    extensions.rid = ExtensionTag("fedcba9876543210")
    extensions.absSendTime = 1
    extensions.transportSequence = 2
    extensions.audioLevel = AudioLevel(level: 3, voice: false)
    extensions.videoOrientation = 0
    let header = RTPHeader(
      marker: false, payloadType: 1, sequenceNumber: 1, timestamp: 2, ssrc: 3, extensions: extensions)
    var buffer = [UInt8](repeating: 0, count: RTPHeader.maximumLength)
    var span = buffer.mutableSpan
    #expect(try header.write(into: &span, ids: Self.ids) == RTPHeader.maximumLength)
    let found = ParsedExtensions(buffer.span, try PacketView.parse(buffer.span), ids: Self.ids)
    #expect(buffer.text(found.mid) == "0123456789abcdef")
    #expect(buffer.text(found.rid) == "fedcba9876543210")
  }

  @Test func tagsHaveOneToSixteenBytes() {
    #expect(ExtensionTag("") == nil)
    #expect(ExtensionTag("12345678901234567") == nil)
    #expect(ExtensionTag("ab") == ExtensionTag("ab"))
    #expect(ExtensionTag("ab") != ExtensionTag("ac"))
    #expect(ExtensionTag("ab")?.matches(Array("xabx".utf8).span, 1..<3) == true)
    #expect(ExtensionTag("ab")?.matches(Array("xabx".utf8).span, 0..<2) == false)
    #expect(ExtensionTag("ab")?.matches(Array("xa".utf8).span, 1..<3) == false)
  }
}
