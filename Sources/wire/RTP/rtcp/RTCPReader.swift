// Walking compound RTCP (RFC 3550 §6.1, reduced size per RFC 5506) as small values with offsets.

import Basics

/// RTCP packet types (RFC 3550 §12.1, RFC 4585 §6.1, RFC 3611 §2).
enum RTCPType {
  static let senderReport: UInt8 = 200
  static let receiverReport: UInt8 = 201
  static let sourceDescription: UInt8 = 202
  static let bye: UInt8 = 203
  static let application: UInt8 = 204
  static let transportFeedback: UInt8 = 205
  static let payloadFeedback: UInt8 = 206
  static let extendedReport: UInt8 = 207
}

/// One packet of a compound. Lists inside are read with the compound's bytes.
public enum RTCPPacket: Sendable, Equatable {
  case senderReport(SenderReport)
  case receiverReport(ReceiverReport)
  case sourceDescription(SourceDescription)
  case bye(Bye)
  /// APP: its source, subtype and four-character name.
  case application(ssrc: UInt32, subtype: UInt8, name: UInt32)
  case nack(NACK)
  case transportFeedback(TransportFeedback)
  /// Picture loss indication (RFC 4585 §6.3.1).
  case pictureLoss(sender: UInt32, media: UInt32)
  case fullIntraRequest(FullIntraRequest)
  case bandwidthEstimate(BandwidthEstimate)
  /// XR (RFC 3611), not looked into.
  case extendedReport(ssrc: UInt32)
  /// A type or feedback format that is not known here.
  case unknown(type: UInt8, format: UInt8)
}

/// Walks the packets of a plaintext compound.
///
///     var reader = RTCPReader()
///     while let packet = try reader.next(bytes) { … }
public struct RTCPReader: Sendable {
  /// Where the next packet starts.
  public private(set) var offset = 0

  /// A walk from the compound's start.
  public init() {}

  /// The next packet; nil at the end of the bytes.
  ///
  /// Throws `truncated` or `wrongVersion` when the framing is broken: the walk is over then. Throws `badPadding` or
  /// `malformed` when only this packet is: the walk may go on behind it.
  public mutating func next(_ bytes: Span<UInt8>) throws(RTPError) -> RTCPPacket? {
    guard offset < bytes.count else { return nil }
    let start = offset
    offset = bytes.count  // The walk ends here unless the framing holds.
    guard bytes.count - start >= 4 else { throw .truncated }
    guard bytes[start] >> 6 == 2 else { throw .wrongVersion }
    let length = 4 + 4 * Int(bytes.uint16(at: start + 2))
    guard length <= bytes.count - start else { throw .truncated }
    offset = start + length
    var end = offset
    if bytes[start] & 0x20 != 0 {
      // RFC 3550 asks for a multiple of four, in a compound's last packet only. libwebrtc pads its transport feedback by one
      // to three bytes, wherever it stands.
      let padding = Int(bytes[end - 1])
      guard padding > 0, padding <= length - 4 else { throw .badPadding }
      end -= padding
    }
    return try Self.read(bytes, RTCPBody(start: start, end: end, format: bytes[start] & 0x1f, type: bytes[start + 1]))
  }

  private static func read(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) -> RTCPPacket {
    switch body.type {
    case RTCPType.senderReport: return .senderReport(try SenderReport(bytes, body))
    case RTCPType.receiverReport: return .receiverReport(try ReceiverReport(bytes, body))
    case RTCPType.sourceDescription: return .sourceDescription(try SourceDescription(bytes, body))
    case RTCPType.bye: return .bye(try Bye(bytes, body))
    case RTCPType.application:
      try body.require(8)
      return .application(
        ssrc: bytes.uint32(at: body.content), subtype: body.format, name: bytes.uint32(at: body.content + 4))
    case RTCPType.transportFeedback: return try readTransportFeedback(bytes, body)
    case RTCPType.payloadFeedback: return try readPayloadFeedback(bytes, body)
    case RTCPType.extendedReport:
      try body.require(4)
      return .extendedReport(ssrc: bytes.uint32(at: body.content))
    default: return .unknown(type: body.type, format: body.format)
    }
  }

  private static func readTransportFeedback(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) -> RTCPPacket {
    switch body.format {
    case 1: return .nack(try NACK(bytes, body))
    case 15: return .transportFeedback(try TransportFeedback(bytes, body))
    default: return .unknown(type: body.type, format: body.format)
    }
  }

  private static func readPayloadFeedback(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) -> RTCPPacket {
    switch body.format {
    case 1:
      try body.require(8)
      return .pictureLoss(sender: bytes.uint32(at: body.content), media: bytes.uint32(at: body.content + 4))
    case 4: return .fullIntraRequest(try FullIntraRequest(bytes, body))
    case 15:
      // Application layer feedback: REMB when it says so, otherwise somebody's own.
      guard let estimate = try BandwidthEstimate(bytes, body) else {
        return .unknown(type: body.type, format: body.format)
      }
      return .bandwidthEstimate(estimate)
    default: return .unknown(type: body.type, format: body.format)
    }
  }
}

/// One RTCP packet inside a compound: `start` at its header, `end` behind its content, padding left out.
struct RTCPBody {
  var start: Int
  var end: Int
  var format: UInt8
  var type: UInt8
  /// Behind the 4-byte header.
  var content: Int { start + 4 }

  func require(_ length: Int) throws(RTPError) {
    guard end - content >= length else { throw .malformed }
  }
}
