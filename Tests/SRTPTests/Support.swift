// Packets, keys and calls on arrays for the SRTP tests.

import Basics
import SRTPLibrary
import TestSupport

@testable import SRTP

extension SplitMix64 {
  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}

func bigEndian(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) } }

struct UnfitKey: Error {}

/// A master key whose bytes follow from `seed`.
func masterKey(_ profile: SRTPProfile, seed: UInt64 = 1) throws -> SRTPMasterKey {
  var generator = SplitMix64(seed: seed)
  guard
    let key = SRTPMasterKey(
      profile: profile, key: generator.bytes(profile.keyLength), salt: generator.bytes(profile.saltLength))
  else { throw UnfitKey() }
  return key
}

/// An RTP packet; `random` adds CSRCs, an extension, padding and payload of random size.
func rtpPacket(_ sequence: UInt16, ssrc: UInt32 = 0xcafe_f00d, payload: [UInt8] = [1, 2, 3, 4]) -> [UInt8] {
  [0x80, 96, UInt8(sequence >> 8), UInt8(sequence & 0xff)] + bigEndian(UInt32(sequence) &* 3_000) + bigEndian(ssrc)
    + payload
}

func randomRTPPacket(_ sequence: UInt16, ssrc: UInt32, _ generator: inout SplitMix64) -> [UInt8] {
  var packet = rtpPacket(sequence, ssrc: ssrc, payload: [])
  let sources = generator.number(0...15)
  packet[0] |= UInt8(sources)
  packet[1] = UInt8.random(in: 0...255, using: &generator)
  packet += generator.bytes(4 * sources)
  if Bool.random(using: &generator) {
    packet[0] |= 0x10
    let words = generator.number(0...8)
    packet += [0xbe, 0xde, 0, UInt8(words)] + generator.bytes(4 * words)
  }
  packet += generator.bytes(generator.number(0...1_200))
  if Bool.random(using: &generator) {
    packet[0] |= 0x20
    let padding = generator.number(1...20)
    packet += [UInt8](repeating: 0, count: padding - 1) + [UInt8(padding)]
  }
  return packet
}

/// A compound RTCP packet of random words after a sender's header.
func rtcpPacket(ssrc: UInt32 = 0xcafe_f00d, body: [UInt8] = Array(repeating: 7, count: 20)) -> [UInt8] {
  [0x80, 200, 0, UInt8(1 + body.count / 4)] + bigEndian(ssrc) + body
}

/// A packet in a buffer with room to grow, changed in place by `body`.
func inPlace<Failure: Error>(
  _ packet: [UInt8], room: Int = 32, _ body: (inout MutableSpan<UInt8>, Int) throws(Failure) -> Int
) throws(Failure) -> [UInt8] {
  var buffer = packet + [UInt8](repeating: 0xee, count: room)
  var span = buffer.mutableSpan
  let length = try body(&span, packet.count)
  return Array(buffer.prefix(length))
}

/// Sessions as objects, since `#expect` cannot hold noncopyable values.
final class Sender {
  var session: SRTPSender
  init(_ key: SRTPMasterKey, _ backend: SRTPBackend? = nil, maximumStreams: Int = 4_096) throws {
    session = try SRTPSender(key: key, backend: backend, maximumStreams: maximumStreams)
  }
  func rtp(_ packet: [UInt8], resending: Bool = false) throws(SRTPError) -> [UInt8] {
    try inPlace(packet) { (span, length) throws(SRTPError) in
      try session.protectRTP(&span, length: length, resending: resending)
    }
  }
  /// Seals a packet whose payload stands elsewhere.
  func rtp(header: [UInt8], payload: [UInt8]) throws(SRTPError) -> [UInt8] {
    try inPlace(header, room: payload.count + 32) { (span, length) throws(SRTPError) in
      try session.protectRTP(
        &span, header: length, payload: payload.span, ssrc: header.span.uint32(at: 8),
        sequence: header.span.uint16(at: 2))
    }
  }
  func rtcp(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
    try inPlace(packet) { (span, length) throws(SRTPError) in try session.protectRTCP(&span, length: length) }
  }
  func forget(_ ssrc: UInt32) { session.forget(ssrc: ssrc) }
  func startStream(_ ssrc: UInt32, newest: UInt64?, nextRTCP: UInt32 = 0) {
    session.startStream(ssrc: ssrc, newestIndex: newest, nextRTCP: nextRTCP)
  }
  var refused: Int { session.refusedStreams }
}

final class Receiver {
  var session: SRTPReceiver
  init(_ key: SRTPMasterKey, _ backend: SRTPBackend? = nil, maximumStreams: Int = 256) throws {
    session = try SRTPReceiver(key: key, backend: backend, maximumStreams: maximumStreams)
  }
  func rtp(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
    try inPlace(packet, room: 0) { (span, length) throws(SRTPError) in try session.unprotectRTP(&span, length: length) }
  }
  func rtcp(_ packet: [UInt8]) throws(SRTPError) -> [UInt8] {
    try inPlace(packet, room: 0) { (span, length) throws(SRTPError) in try session.unprotectRTCP(&span, length: length)
    }
  }
  func startStream(_ ssrc: UInt32, newest: UInt64) { session.startStream(ssrc: ssrc, newestIndex: newest) }
  var count: Int { session.streamCount }
  var retired: Int { session.retiredCount }
}

/// libsrtp2 itself, the oracle.
final class Oracle {
  var session: LibSRTPSession
  init(_ key: SRTPMasterKey, _ direction: LibSRTPSession.Direction) throws {
    session = try LibSRTPSession(key: key, direction: direction)
  }
  func protectRTP(_ packet: [UInt8]) throws(LibSRTPError) -> [UInt8] {
    try inPlace(packet) { (span, length) throws(LibSRTPError) in try session.protectRTP(&span, length: length) }
  }
  func unprotectRTP(_ packet: [UInt8]) throws(LibSRTPError) -> [UInt8] {
    try inPlace(packet) { (span, length) throws(LibSRTPError) in try session.unprotectRTP(&span, length: length) }
  }
  func protectRTCP(_ packet: [UInt8]) throws(LibSRTPError) -> [UInt8] {
    try inPlace(packet) { (span, length) throws(LibSRTPError) in try session.protectRTCP(&span, length: length) }
  }
  func unprotectRTCP(_ packet: [UInt8]) throws(LibSRTPError) -> [UInt8] {
    try inPlace(packet) { (span, length) throws(LibSRTPError) in try session.unprotectRTCP(&span, length: length) }
  }
  func setRollover(_ counter: UInt32, _ ssrc: UInt32) throws { try session.setRolloverCounter(counter, ssrc: ssrc) }
}
