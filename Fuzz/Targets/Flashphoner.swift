// Frames of clients of Flashphoner's SDKs, one a line, as one of them would send them one after the other.
import Flashphoner

@Sendable func readFlashphoner(_ input: Span<UInt8>) {
  let frames = input.bytes().split(separator: UInt8(ascii: "\n")).map(Array.init)
  let answered = replayFlashphoner(frames)
  precondition(answered.members <= 64, "a client has only so many rooms and streams")
  precondition(answered.messages <= frames.count * 5, "a frame is answered with a few messages at most")
}
