import Basics
import STUN
import TestSupport
import Testing

@Suite struct MessageTests {
  static let header = "2112a442 000102030405060708090a0b"

  /// A binding request with these attributes.
  static func request(_ attributes: String) -> [UInt8] {
    let body = hex(attributes)
    return hex("0001") + [UInt8(body.count >> 8), UInt8(body.count & 255)] + hex(header) + body
  }

  @Test(
    arguments: [
      (0x0001, .request, 1), (0x0101, .success, 1), (0x0111, .error, 1), (0x0011, .indication, 1),
      (0x0003, .request, 3),
      (0x3eef, .request, 0xfff), (0x3fff, .error, 0xfff),
    ] as [(UInt16, MessageClass, UInt16)])
  func typesAreTakenApart(raw: UInt16, messageClass: MessageClass, method: UInt16) {
    let type = MessageType(rawValue: raw)
    #expect(type.messageClass == messageClass && type.method == method)
    if method == MessageType.binding { #expect(MessageType(binding: messageClass).rawValue == raw) }
  }

  @Test(
    arguments: [
      ("8001 0000", .notSTUN), ("0001 0000 2112a443 000000000000000000000000", .notSTUN),
      ("0001 0001 2112a442 000000000000000000000000 00", .wrongLength),
      ("0001 0004 2112a442 000000000000000000000000", .wrongLength), ("", .wrongLength),
    ] as [(String, STUNError)])
  func headersThatAreNotSTUN(text: String, error: STUNError) {
    let bytes = hex(text)
    let padded = bytes.first == 0x80 ? bytes + Array(repeating: 0, count: 16) : bytes
    #expect(throws: error) { try MessageView.parse(padded.span) }
  }

  @Test(
    arguments: [
      ("00240003 00000000", .malformed), ("00240008 0000000000000000", .malformed), ("00250004 00000000", .malformed),
      ("80290004 00000000", .malformed), ("802a0009 000000000000000000000000", .malformed), ("00060000", .malformed),
      ("00080010 00000000000000000000000000000000", .malformed), ("80280004 00000000 00250000", .malformed),
      ("80280008 0000000000000000", .malformed), ("00200008 0003000000000000", .malformed),
      ("00200004 00010000", .malformed), ("00200008 0002000000000000", .malformed),
      ("00200014 0001000000000000 000000000000000000000000", .malformed), ("00090004 00000200", .malformed),
      ("00090004 00000463", nil), ("00090004 00000464", .malformed), ("00090000", .malformed),
      ("00060004 6162", .wrongLength), ("0006ffff 61626364", .wrongLength), ("00060005 61626364", .wrongLength),
      ("000600", .wrongLength),
    ] as [(String, STUNError?)])
  func attributesThatAreWrong(attributes: String, error: STUNError?) {
    let bytes = Self.request(attributes)
    if let error {
      #expect(throws: error) { try MessageView.parse(bytes.span) }
    } else {
      #expect(throws: Never.self) { try MessageView.parse(bytes.span) }
    }
  }

  @Test func unknownAttributesAreListedOnceAndBounded() throws {
    let required = (1...12).map { "7f" + String($0 + 0x10, radix: 16) + "0000" }.joined()
    let bytes = Self.request("ff010000 7f110000 c0570004 00000000" + required)
    let unknown = try MessageView.parse(bytes.span).unknown
    #expect((0..<unknown.count).map { unknown[$0] } == (0..<8).map { 0x7f11 + UInt16($0) })
  }

  @Test func theFirstOfTwoCounts() throws {
    let bytes = Self.request("00240004 00000001 00240004 00000002 00060001 61000000 00060001 62000000")
    let view = try MessageView.parse(bytes.span)
    #expect(view.priority == 1)
    #expect(view.username.map { bytes[$0.lowerBound] } == 0x61)
  }

  @Test func whatFollowsTheIntegrityIsIgnored() throws {
    let signed = try message { (writer, buffer) throws(STUNError) in
      try writer.appendIntegrity(to: &buffer) { tag([1], $0, $1) }
      try writer.appendUseCandidate(to: &buffer)
      try writer.appendPriority(5, to: &buffer)
      try writer.appendFingerprint(to: &buffer)
    }
    let view = try MessageView.parse(signed.span)
    #expect(!view.useCandidate && view.priority == nil)
    #expect(try fingerprintHolds(signed))
    #expect(try integrityHolds(signed, key: [1]))
  }

  @Test(arguments: [
    SocketAddress(v4: 0x7f00_0001, port: 1), SocketAddress(v4: .max, port: .max),
    SocketAddress(high: 0, low: 1, port: 9),
    SocketAddress(high: .max, low: .max, port: 0),
  ])
  func everyAttributeGoesRound(address: SocketAddress) throws {
    var unknown = UnknownAttributes()
    unknown.append(0x7f00)
    unknown.append(0x7f00)
    let built = try message { (writer, buffer) throws(STUNError) in
      try writer.appendUsername(Array("abcd:ef".utf8).span, to: &buffer)
      try writer.appendSoftware(Array("Roost".utf8).span, to: &buffer)
      try writer.appendPriority(.max, to: &buffer)
      try writer.appendControlling(tieBreaker: 7, to: &buffer)
      try writer.appendControlled(tieBreaker: 8, to: &buffer)
      try writer.appendUseCandidate(to: &buffer)
      try writer.appendMappedAddress(address, to: &buffer)
      try writer.appendErrorCode(487, to: &buffer)
      try writer.appendUnknownAttributes(unknown, to: &buffer)
      try writer.appendIntegrity(to: &buffer) { tag([1, 2], $0, $1) }
      try writer.appendFingerprint(to: &buffer)
    }
    let view = try MessageView.parse(built.span)
    #expect(view.username.map { String(decoding: built[$0], as: UTF8.self) } == "abcd:ef")
    #expect(view.priority == .max && view.iceControlling == 7 && view.iceControlled == 8 && view.useCandidate)
    #expect(view.mappedAddress == address && view.errorCode == 487 && view.unknown.count == 0)
    #expect(try fingerprintHolds(built))
    #expect(try integrityHolds(built, key: [1, 2]))
  }

  /// Whatever the room, either the whole attribute is there or the message is as it was.
  @Test func aShortBufferIsNeverOverrun() throws {
    for capacity in 0...120 {
      let attempt = Result { () throws(STUNError) in
        try message(capacity: capacity) { (writer, buffer) throws(STUNError) in
          try writer.appendUsername(Array("abcd:efghi".utf8).span, to: &buffer)
          try writer.appendIntegrity(to: &buffer) { tag([1], $0, $1) }
          try writer.appendFingerprint(to: &buffer)
        }
      }
      #expect((try? attempt.get())?.count == (capacity >= 68 ? 68 : nil))
    }
  }

  @Test func nothingLongerThanTheSmallestDatagramIsWritten() {
    #expect(throws: STUNError.noRoom) {
      try message(capacity: 2_000) { (writer, buffer) throws(STUNError) in
        try writer.appendUsername([UInt8](repeating: 97, count: 525).span, to: &buffer)
      }
    }
    #expect(throws: STUNError.malformed) {
      try message { (writer, buffer) throws(STUNError) in try writer.appendErrorCode(700, to: &buffer) }
    }
  }

  @Test func randomBytesNeverTrap() {
    var random = SplitMix64(seed: 2)
    var sum = 0
    for round in 0..<100_000 {
      var bytes = random.bytes(Int(random.next() % 80))
      if round & 1 == 0 {
        bytes = Self.request("") + bytes.prefix(bytes.count & ~3)
        bytes[3] = UInt8(bytes.count - 20)
        if bytes.count >= 24 {
          let known = [0x06, 0x08, 0x09, 0x20, 0x24, 0x25, 0x14, 0x28] as [UInt8]
          (bytes[20], bytes[21], bytes[22]) = (round & 4 == 0 ? 0 : 0x80, known[round / 8 % 8], 0)
          bytes[23] = UInt8(truncatingIfNeeded: round / 64 % 32)
        }
      }
      sum += Self.readEverything(bytes)
    }
    #expect(sum > 0)
  }

  static func readEverything(_ bytes: [UInt8]) -> Int {
    guard let view = try? MessageView.parse(bytes.span) else { return 0 }
    let holds = view.fingerprintHolds(bytes.span)
    let isAuthentic = view.integrityHolds(bytes.span) { header, body in
      IntegrityTag(repeating: header[2] ^ UInt8(truncatingIfNeeded: body.count))
    }
    return view.length + (view.username?.upperBound ?? 0) + (holds ? 1 : 0) + (isAuthentic ? 2 : 0)
  }
}
