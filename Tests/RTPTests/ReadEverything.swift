import Basics
import RTP

/// Every reader on the same bytes. The number depends on all that was read, so that nothing is optimised away.
enum ReadEverything {
  /// The bytes as an RTP packet: header, padding, extensions, every payload format, RTX.
  static func packet(_ bytes: Span<UInt8>) -> Int {
    guard let whole = try? PacketView.parse(bytes) else { return 0 }
    let view = (try? whole.strippingPadding(bytes)) ?? whole
    var ids = HeaderExtensionIDs()
    (ids.mid, ids.rid, ids.repairedRid, ids.absSendTime) = (1, 2, 3, 4)
    (ids.transportSequence, ids.audioLevel, ids.videoOrientation) = (5, 6, 7)
    let extensions = ParsedExtensions(bytes, view, ids: ids)
    var sum = view.payloadLength &+ (extensions.mid?.count ?? 0) &+ Int(extensions.absSendTime ?? 0)
    var cursor = HeaderExtensionCursor(view)
    while let element = cursor.next(bytes) { sum &+= Int(element.id) &+ element.range.upperBound }
    for codec in CodecProfile.allCases { sum &+= payload(bytes.extracting(view.payload), codec) }
    return sum &+ Int(Retransmission.originalSequenceNumber(bytes, view) ?? 0)
  }

  /// The bytes as a payload of `codec`.
  static func payload(_ bytes: Span<UInt8>, _ codec: CodecProfile) -> Int {
    guard let info = PayloadInfo.parse(bytes, codec: codec, marker: false) else { return 0 }
    return Int(info.temporalLayer) + Int(info.spatialLayer) + (info.startsKeyframe ? 16 : 0)
      + Int(info.pictureID?.value ?? 0) + Int(info.tl0PictureIndex?.value ?? 0)
  }

  /// The bytes as an RTCP compound, every list in it read.
  static func compound(_ bytes: Span<UInt8>) -> Int {
    var reader = RTCPReader()
    var sum = PacketClass.classify(bytes).rawValue == 0 ? 1 : 0
    while true {
      do throws(RTPError) {
        guard let packet = try reader.next(bytes) else { return sum }
        sum &+= lists(packet, bytes)
      } catch {
        sum &+= 1
      }
    }
  }

  private static func lists(_ packet: RTCPPacket, _ bytes: Span<UInt8>) -> Int {
    var sum = 0
    switch packet {
    case .senderReport(let report): sum = blocks(report.blocks, bytes)
    case .receiverReport(let report): sum = blocks(report.blocks, bytes)
    case .sourceDescription(let description): sum = description.cname?.upperBound ?? 0
    case .bye(let bye): for index in 0...bye.count { sum &+= Int(bye.ssrc(index, bytes) ?? 0) }
    case .nack(let nack): nack.forEachSequenceNumber(bytes) { sum &+= Int($0) }
    case .transportFeedback(let feedback):
      feedback.forEachReceived(bytes) { sum &+= Int($0) &+ Int(truncatingIfNeeded: $1) }
    case .fullIntraRequest(let fir): for index in 0...fir.count { sum &+= Int(fir.request(index, bytes)?.number ?? 0) }
    case .bandwidthEstimate(let remb): for index in 0...remb.count { sum &+= Int(remb.ssrc(index, bytes) ?? 0) }
    case .application, .pictureLoss, .extendedReport, .unknown: sum = 1
    }
    return sum
  }

  private static func blocks(_ blocks: ReportBlocks, _ bytes: Span<UInt8>) -> Int {
    var sum = 0
    for index in 0...blocks.count { sum &+= Int(blocks.block(index, bytes)?.jitter ?? 0) }
    return sum
  }
}
