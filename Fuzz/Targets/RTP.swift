// RTP packets and RTCP compounds: headers, extensions, payload descriptors, retransmissions, reports and feedback.
import RTP

@Sendable func readRTP(_ input: Span<UInt8>) {
  guard let header = try? PacketView.parse(input) else { return }
  precondition(header.payload.upperBound == input.count)
  readExtensions(input, header)
  guard let view = try? header.strippingPadding(input) else { return }
  precondition(view.payload.lowerBound == header.payload.lowerBound && view.payload.upperBound <= input.count)
  for codec in CodecProfile.allCases {
    let payload = input.extracting(view.payload)
    guard let info = PayloadInfo.parse(payload, codec: codec, marker: view.marker) else { continue }
    if let picture = info.pictureID { precondition(Int(picture.offset) + (picture.isLong ? 2 : 1) <= payload.count) }
    if let index = info.tl0PictureIndex { precondition(Int(index.offset) < payload.count) }
  }
  unwrap(input.bytes(), view)
}

private func readExtensions(_ input: Span<UInt8>, _ view: PacketView) {
  let end = view.extensionOffset + view.extensionLength
  var cursor = HeaderExtensionCursor(view)
  while let element = cursor.next(input) {
    precondition(element.offset > view.extensionOffset && element.range.upperBound <= end, "an element is in its frame")
  }
  var ids = HeaderExtensionIDs()
  (ids.mid, ids.rid, ids.repairedRid, ids.absSendTime) = (1, 2, 3, 4)
  (ids.transportSequence, ids.audioLevel, ids.videoOrientation) = (5, 6, 7)
  let parsed = ParsedExtensions(input, view, ids: ids)
  for range in [parsed.mid, parsed.rid, parsed.repairedRid] {
    if let range { precondition(!range.isEmpty && range.upperBound <= end) }
  }
}

private func unwrap(_ bytes: [UInt8], _ view: PacketView) {
  var packet = bytes
  var span = packet.mutableSpan
  guard let restored = try? Retransmission.unwrap(&span, view, payloadType: 96, ssrc: 7) else { return }
  let again = try? PacketView.parse(packet.span.extracting(first: restored.payload.upperBound))
  precondition(again == restored, "what was unwrapped reads as what was said")
}

@Sendable func readRTCP(_ input: Span<UInt8>) {
  var reader = RTCPReader()
  var last = -1
  while reader.offset < input.count {
    precondition(reader.offset > last, "each step moves on")
    last = reader.offset
    guard let packet = try? reader.next(input) else { continue }
    readLists(packet, input)
  }
}

private func readLists(_ packet: RTCPPacket, _ input: Span<UInt8>) {
  switch packet {
  case .senderReport(let report): readBlocks(report.blocks, input)
  case .receiverReport(let report): readBlocks(report.blocks, input)
  case .sourceDescription(let description):
    if let name = description.cname { precondition(name.upperBound <= input.count) }
  case .bye(let bye): for index in 0..<bye.count { precondition(bye.ssrc(index, input) != nil) }
  case .nack(let nack):
    var count = 0
    nack.forEachSequenceNumber(input) { _ in count += 1 }
    precondition(count <= 17 * nack.count)
  case .transportFeedback(let feedback):
    var count = 0
    feedback.forEachReceived(input) { _, _ in count += 1 }
    precondition(count == feedback.receivedCount && count <= feedback.statusCount)
  case .fullIntraRequest(let requests):
    for index in 0..<requests.count { precondition(requests.request(index, input) != nil) }
  case .bandwidthEstimate(let estimate):
    for index in 0..<estimate.count { precondition(estimate.ssrc(index, input) != nil) }
  case .application, .pictureLoss, .extendedReport, .unknown: break
  }
}

private func readBlocks(_ blocks: ReportBlocks, _ input: Span<UInt8>) {
  for index in 0..<blocks.count { precondition(blocks.block(index, input) != nil) }
  precondition(blocks.block(blocks.count, input) == nil)
}
