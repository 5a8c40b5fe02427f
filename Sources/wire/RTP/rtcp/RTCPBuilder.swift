// Building RTCP packets (RFC 3550 §6.4 – §6.6, RFC 4585, RFC 5104, draft-alvestrand-rmcat-remb-03). Each call appends one
// or more whole packets to a buffer that the caller keeps, so that a compound is a row of calls and nothing is allocated
// once the buffer has grown.

import Basics

/// Appends RTCP packets to a buffer.
public enum RTCPBuilder {
  /// Most report blocks or sources in one packet.
  public static let longestList = 31

  /// Appends a header with the length still open; `close` fills it in.
  static func open(_ format: Int, _ type: UInt8, _ buffer: inout [UInt8]) -> Int {
    let start = buffer.count
    buffer.append(0x80 | UInt8(truncatingIfNeeded: format & 0x1f))
    buffer.append(type)
    buffer.append(bigEndian: 0 as UInt16)
    return start
  }

  /// Pads to a multiple of 4 with zeroes and writes the length of the packet that began at `start`.
  static func close(_ start: Int, _ buffer: inout [UInt8]) {
    while (buffer.count - start) & 3 != 0 { buffer.append(0) }
    let words = (buffer.count - start) / 4 - 1
    buffer[start + 2] = UInt8(truncatingIfNeeded: words >> 8)
    buffer[start + 3] = UInt8(truncatingIfNeeded: words)
  }

  /// Appends an SR with the first 31 of `blocks`; the others follow in receiver reports.
  public static func appendSenderReport(
    to buffer: inout [UInt8], ssrc: UInt32, ntp: NTPTime, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32,
    blocks: Span<ReportBlock>
  ) {
    let count = min(blocks.count, longestList)
    let start = open(count, RTCPType.senderReport, &buffer)
    buffer.append(bigEndian: ssrc)
    buffer.append(bigEndian: ntp.value)
    buffer.append(bigEndian: rtpTimestamp)
    buffer.append(bigEndian: packetCount)
    buffer.append(bigEndian: octetCount)
    for index in 0..<count { append(blocks[index], to: &buffer) }
    close(start, &buffer)
    if blocks.count > count {
      appendReceiverReport(to: &buffer, ssrc: ssrc, blocks: blocks.extracting(droppingFirst: count))
    }
  }

  /// Appends as many RRs as `blocks` need, at least one (an empty RR opens a compound that has nothing to report).
  public static func appendReceiverReport(to buffer: inout [UInt8], ssrc: UInt32, blocks: Span<ReportBlock>) {
    var done = 0
    repeat {
      let count = min(blocks.count - done, longestList)
      let start = open(count, RTCPType.receiverReport, &buffer)
      buffer.append(bigEndian: ssrc)
      for index in done..<(done + count) { append(blocks[index], to: &buffer) }
      close(start, &buffer)
      done += count
    } while done < blocks.count
  }

  private static func append(_ block: ReportBlock, to buffer: inout [UInt8]) {
    let lost = UInt32(bitPattern: min(max(block.cumulativeLost, -0x80_0000), 0x7f_ffff)) & 0xff_ffff
    buffer.append(bigEndian: block.ssrc)
    buffer.append(bigEndian: UInt32(block.fractionLost) << 24 | lost)
    buffer.append(bigEndian: block.highestSequence)
    buffer.append(bigEndian: block.jitter)
    buffer.append(bigEndian: block.lastReport)
    buffer.append(bigEndian: block.delay)
  }

  /// Appends an SDES with one chunk holding the canonical name, cut at 255 bytes.
  public static func appendSourceDescription(to buffer: inout [UInt8], ssrc: UInt32, cname: Span<UInt8>) {
    let start = open(1, RTCPType.sourceDescription, &buffer)
    let count = min(cname.count, 255)
    buffer.append(bigEndian: ssrc)
    buffer.append(1)
    buffer.append(UInt8(truncatingIfNeeded: count))
    for index in 0..<count { buffer.append(cname[index]) }
    buffer.append(0)  // Ends the chunk; `close` pads it to a word.
    close(start, &buffer)
  }

  /// Appends a BYE for the first 31 of `sources`.
  public static func appendBye(to buffer: inout [UInt8], sources: Span<UInt32>) {
    let count = min(sources.count, longestList)
    let start = open(count, RTCPType.bye, &buffer)
    for index in 0..<count { buffer.append(bigEndian: sources[index]) }
    close(start, &buffer)
  }

  /// Appends a generic NACK for `numbers`, which are sorted on the circle (RFC 1982) without repetition, packed into PID and
  /// BLP. Appends nothing for none.
  public static func appendNACK(to buffer: inout [UInt8], sender: UInt32, media: UInt32, numbers: Span<UInt16>) {
    guard numbers.count > 0 else { return }
    let start = open(1, RTCPType.transportFeedback, &buffer)
    buffer.append(bigEndian: sender)
    buffer.append(bigEndian: media)
    var index = 0
    while index < numbers.count {
      let packetID = numbers[index]
      var mask: UInt16 = 0
      index += 1
      while index < numbers.count, (1...16).contains(numbers[index] &- packetID) {
        mask |= 1 << (numbers[index] &- packetID &- 1)
        index += 1
      }
      buffer.append(bigEndian: packetID)
      buffer.append(bigEndian: mask)
    }
    close(start, &buffer)
  }

  /// Appends a picture loss indication.
  public static func appendPictureLoss(to buffer: inout [UInt8], sender: UInt32, media: UInt32) {
    let start = open(1, RTCPType.payloadFeedback, &buffer)
    buffer.append(bigEndian: sender)
    buffer.append(bigEndian: media)
    close(start, &buffer)
  }

  /// Appends a FIR to one source. `number` goes up with each new request and stays for a repetition.
  public static func appendFullIntraRequest(to buffer: inout [UInt8], sender: UInt32, media: UInt32, number: UInt8) {
    let start = open(4, RTCPType.payloadFeedback, &buffer)
    buffer.append(bigEndian: sender)
    buffer.append(bigEndian: 0 as UInt32)
    buffer.append(bigEndian: media)
    buffer.append(bigEndian: UInt32(number) << 24)
    close(start, &buffer)
  }

  /// Appends a REMB of `bitrate` bits per second, rounded down to 18 significant bits, for the first 255 of `sources`.
  public static func appendBandwidthEstimate(
    to buffer: inout [UInt8], sender: UInt32, bitrate: UInt64, sources: Span<UInt32>
  ) {
    let count = min(sources.count, 255)
    let exponent = max(0, 46 - bitrate.leadingZeroBitCount)
    let mantissa = UInt32(truncatingIfNeeded: bitrate >> UInt64(exponent))
    let start = open(15, RTCPType.payloadFeedback, &buffer)
    buffer.append(bigEndian: sender)
    buffer.append(bigEndian: 0 as UInt32)
    buffer.append(bigEndian: BandwidthEstimate.name)
    buffer.append(bigEndian: UInt32(count) << 24 | UInt32(exponent) << 18 | mantissa)
    for index in 0..<count { buffer.append(bigEndian: sources[index]) }
    close(start, &buffer)
  }
}
