import Basics
import Testing

@testable import RTP

@Suite struct HeaderTemplateTests {
  private static let everything: HeaderExtensionIDs = {
    var ids = HeaderExtensionIDs()
    (ids.mid, ids.absSendTime, ids.transportSequence, ids.audioLevel, ids.videoOrientation) = (4, 2, 3, 1, 14)
    return ids
  }()

  private func fields(level: AudioLevel? = nil, orientation: UInt8? = nil, marker: Bool = true) -> HeaderTemplate.Fields
  {
    HeaderTemplate.Fields(
      marker: marker, payloadType: 96, sequenceNumber: 0x1234, timestamp: 0x5678_9abc, ssrc: 0x0102_0304,
      absSendTime: 0xabcdef, transportSequence: 0xfffe, audioLevel: level, videoOrientation: orientation)
  }

  /// Into bytes that were something else before.
  private func write(_ template: HeaderTemplate, _ fields: HeaderTemplate.Fields) throws -> [UInt8] {
    var out = [UInt8](repeating: 0xee, count: 100)
    var span = out.mutableSpan
    let length = try #require(template.write(fields, into: &span))
    #expect(out[HeaderTemplate.room...].allSatisfy { $0 == 0xee }, "written beyond its room")
    return Array(out[..<length])
  }

  @Test func isTheHeaderByteForByte() throws {
    let template = HeaderTemplate(mid: ExtensionTag("ab"), ids: Self.everything)
    #expect(
      try write(template, fields(level: AudioLevel(level: 5, voice: true))) == [
        0x90, 0xe0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 1, 2, 3, 4, 0xbe, 0xde, 0, 3,
        0x31, 0xff, 0xfe, 0x22, 0xab, 0xcd, 0xef, 0x41, 0x61, 0x62, 0x10, 0x85,
      ])
  }

  @Test(arguments: ["0", "ab", "abc", "abcdefghijklmnop"], [nil, 0x42 as UInt8])
  func saysWhatTheGeneralWriterSays(_ mid: String, _ orientation: UInt8?) throws {
    for ids in Self.choices() {
      for level in [nil, AudioLevel(level: 127, voice: false)] {
        let tag = ExtensionTag(mid)
        let bytes = try write(HeaderTemplate(mid: tag, ids: ids), fields(level: level, orientation: orientation))
        var header = RTPHeader(
          marker: true, payloadType: 96, sequenceNumber: 0x1234, timestamp: 0x5678_9abc, ssrc: 0x0102_0304)
        (header.extensions.mid, header.extensions.absSendTime) = (tag, 0xabcdef)
        (header.extensions.transportSequence, header.extensions.audioLevel) = (0xfffe, level)
        header.extensions.videoOrientation = orientation
        var general = [UInt8](repeating: 0, count: 100)
        var span = general.mutableSpan
        let length = try header.write(into: &span, ids: ids)
        #expect(bytes.count >= length && bytes.count <= length + 4)
        #expect(try Said(bytes, ids) == Said(Array(general[..<length]), ids))
      }
    }
  }

  /// Or a room's eleventh stream might have longer headers than its tenth, and no segments in common.
  @Test(arguments: choices(), [nil, AudioLevel(level: 3, voice: true)])
  func isAsLongForEveryStream(_ ids: HeaderExtensionIDs, _ level: AudioLevel?) throws {
    let lengths = try ["0", "9", "10", "99"].map { mid in
      try write(HeaderTemplate(mid: ExtensionTag(mid), ids: ids), fields(level: level)).count
    }
    #expect(Set(lengths).count == 1, "\(lengths)")
  }

  @Test func withoutExtensionsThereIsNoBlock() throws {
    let template = HeaderTemplate(mid: ExtensionTag("a"), ids: HeaderExtensionIDs())
    let bytes = try write(template, fields(level: AudioLevel(level: 1, voice: true), orientation: 1, marker: false))
    #expect(bytes == [0x80, 96, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 1, 2, 3, 4])
    #expect(!template.hasTransportSequence)
  }

  /// A descriptor of 16 bytes still fits into the one-byte form, one of 17 does not.
  @Test(arguments: [3, 16, 17, 255], ["0", "ab"])
  func aDescriptorStandsBehindTheOthers(_ length: Int, _ mid: String) throws {
    var ids = Self.everything
    ids.dependencyDescriptor = 12
    let descriptor = [0xc1, 0xff, 0xfe] + [UInt8](repeating: 7, count: length - 3)
    let template = HeaderTemplate(mid: ExtensionTag(mid), ids: ids)
    var out = [UInt8](repeating: 0xee, count: HeaderTemplate.describedRoom + 1)
    var span = out.mutableSpan
    let level = AudioLevel(level: 5, voice: true)
    let header = try #require(template.write(fields(level: level, orientation: 1), into: &span))
    let described = descriptor.withUnsafeBytes { template.describe($0, frameNumber: 1, header: header, of: &span) }
    let end = try #require(described)
    #expect(end % 4 == 0 && out[end...].allSatisfy { $0 == 0xee || $0 == 0 })
    let packet = Array(out[..<end]) + [1, 2, 3]
    let view = try PacketView.parse(packet.span)
    #expect(view.payload == end..<(end + 3))
    #expect(view.extensionProfile == (length > 16 ? 0x1000 : 0xbede))
    let said = ParsedExtensions(packet.span, view, ids: ids)
    #expect(said.dependencyDescriptor.map { Array(packet[$0]) } == [0xc1, 0, 1] + descriptor.dropFirst(3))
    #expect(said.audioLevel == level && said.videoOrientation == 1 && said.transportSequence == 0xfffe)
    #expect(said.absSendTime == 0xabcdef && said.mid.map { Array(packet[$0]) } == Array(mid.utf8))
  }

  /// Also where no other element was agreed on.
  @Test func aDescriptorMayStandAlone() throws {
    var ids = HeaderExtensionIDs()
    ids.dependencyDescriptor = 9
    var out = [UInt8](repeating: 0, count: HeaderTemplate.describedRoom)
    var span = out.mutableSpan
    let template = HeaderTemplate(mid: nil, ids: ids)
    let header = try #require(template.write(fields(marker: false), into: &span))
    let end = [0xc1 as UInt8, 0, 9].withUnsafeBytes {
      template.describe($0, frameNumber: 10, header: header, of: &span)
    }
    #expect(Array(out[..<(try #require(end))].dropFirst(12)) == [0xbe, 0xde, 0, 1, 0x92, 0xc1, 0, 10])
    #expect(out[0] == 0x90)
  }

  /// What is no descriptor, was not agreed on, or has no room changes nothing.
  @Test func whatCannotBeDescribedStaysAsItIs() throws {
    var ids = Self.everything
    for (length, id, room) in [(2, 12, 384), (256, 12, 384), (3, 0, 384), (3, 15, 384), (3, 12, 383)]
      as [(Int, UInt8, Int)]
    {
      ids.dependencyDescriptor = id
      let template = HeaderTemplate(mid: ExtensionTag("ab"), ids: ids)
      var out = [UInt8](repeating: 0xee, count: room)
      var span = out.mutableSpan
      let header = try #require(template.write(fields(), into: &span))
      let before = Array(out)
      var again = out.mutableSpan
      let end = [UInt8](repeating: 1, count: length).withUnsafeBytes {
        template.describe($0, frameNumber: 0, header: header, of: &again)
      }
      #expect(end == nil && out == before, "\(length) bytes under \(id)")
    }
  }

  @Test func needsItsRoom() {
    var bytes = [UInt8](repeating: 0xee, count: HeaderTemplate.room - 1)
    var span = bytes.mutableSpan
    let length = HeaderTemplate(mid: nil, ids: HeaderExtensionIDs()).write(fields(), into: &span)
    #expect(length == nil && bytes.allSatisfy { $0 == 0xee })
  }

  /// Each extension agreed on or not; 0 and 15 cannot be written.
  private static func choices() -> [HeaderExtensionIDs] {
    (0..<64).map { mask in
      var ids = HeaderExtensionIDs()
      if mask & 1 != 0 { ids.mid = 4 }
      if mask & 2 != 0 { ids.absSendTime = 2 }
      if mask & 4 != 0 { ids.transportSequence = 3 }
      if mask & 8 != 0 { ids.audioLevel = 1 }
      if mask & 16 != 0 { ids.videoOrientation = 14 }
      if mask & 32 != 0 { ids.audioLevel = 15 }
      return ids
    }
  }

  /// What a reader finds in a header.
  private struct Said: Equatable {
    let marker: Bool
    let numbers: [UInt32]
    let mid: [UInt8]
    let extensions: ParsedExtensions

    init(_ bytes: [UInt8], _ ids: HeaderExtensionIDs) throws {
      let view = try PacketView.parse(bytes.span)
      #expect(view.payloadOffset == bytes.count)
      marker = view.marker
      numbers = [UInt32(view.payloadType), UInt32(view.sequenceNumber), view.timestamp, view.ssrc]
      var found = ParsedExtensions(bytes.span, view, ids: ids)
      mid = found.mid.map { Array(bytes[$0]) } ?? []
      // The order of elements is nobody's business.
      found.mid = nil
      extensions = found
    }
  }
}
