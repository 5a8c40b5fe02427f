// Redundant audio: what is read lies in the payload, in its order, and reads the same when it is written again.
import RTP

@Sendable func readRedundantAudio(_ input: Span<UInt8>) {
  _ = OpusPacket.duration(input)
  guard let found = RedundantAudio.parse(input) else { return }
  precondition((0...RedundantAudio.mostBlocks).contains(found.count))
  var at = found.count * RedundantAudio.blockHeader + RedundantAudio.ownHeader
  var headers = [UInt8](repeating: 0, count: found.count * RedundantAudio.blockHeader)
  for index in 0..<found.count {
    let block = found.earlier(index)
    precondition(block.range.lowerBound == at && block.range.count <= RedundantAudio.longestBlock)
    at = block.range.upperBound
    let isWritten = headers.withUnsafeMutableBytes {
      RedundantAudio.writeHeader(
        payloadType: block.payloadType, age: block.age, length: block.range.count, into: $0,
        at: index * RedundantAudio.blockHeader)
    }
    precondition(isWritten)
  }
  precondition(found.own.range == at..<input.count && !found.own.range.isEmpty)
  for index in headers.indices { precondition(headers[index] == input[index], "what was read is written again") }
}
