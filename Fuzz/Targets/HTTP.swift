// The heads of HTTP requests as they come on a connection, in pieces of any size.
import Basics
import WebSockets

/// What was made of a connection's bytes.
private struct ReadHeads: Equatable {
  var heads: [RequestHead] = []
  var fault: RequestHeads.Fault?
  /// What the library gets; of a faulty request nothing.
  var given: [UInt8] = []
  /// A WebSocket's frame was not masked.
  var hasBareFrame = false

  init(_ input: [UInt8], pieces size: Int) {
    var reader = RequestHeads()
    for start in stride(from: 0, to: input.count, by: size) {
      var piece = Array(input[start..<min(start + size, input.count)])
      switch piece.read(with: &reader) {
      case .success(let count):
        precondition((0...piece.count).contains(count), "the library gets what there is, or less")
        given += piece[..<count]
      case .failure(let failure): fault = failure
      }
      if fault != nil { break }
    }
    while let head = reader.next() { heads.append(head) }
    hasBareFrame = reader.frames.fault != nil
    // Whether the first byte of a frame was given that turns out to be none depends on the pieces.
    if fault != nil || hasBareFrame { given = [] }
  }
}

extension [UInt8] {
  /// Reads them. - Returns: how many of them the library gets.
  fileprivate mutating func read(with reader: inout RequestHeads) -> Result<Int, RequestHeads.Fault> {
    withUnsafeMutableBufferPointer { buffer in
      do throws(RequestHeads.Fault) {
        return .success(try reader.read(buffer))
      } catch {
        return .failure(error)
      }
    }
  }
}

/// What must hold of any head.
private func check(_ head: RequestHead, isLast: Bool) {
  precondition(head.headers.count <= RequestHeads.mostLines, "lines are bounded")
  precondition(head.target.utf8.first == UInt8(ascii: "/") && !head.target.contains("#"), "a target is a path")
  let path = head.target.prefix { $0 != "?" }
  precondition(!path.split(separator: "/").contains { $0 == "." || $0 == ".." }, "a path leads nowhere else")
  let upgrades = head.headers.filter { $0.name == "upgrade" }
  precondition(upgrades.isEmpty || upgrades.map { $0.value.lowercased() } == ["websocket"], "one upgrade, to WebSocket")
  precondition(upgrades.isEmpty || isLast, "behind an upgrade there is no request")
  for header in head.headers {
    precondition(!header.name.isEmpty && header.name == header.name.lowercased(), "names are there, in small letters")
    precondition(!header.value.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 }, "a value is within its line")
  }
  let lengths = head.headers.filter { $0.name == "content-length" }
  let isEncoded = head.headers.contains { $0.name == "transfer-encoding" }
  switch head.framing {
  case .absent: precondition(lengths.isEmpty && !isEncoded, "what is framed is told")
  case .length(let bytes):
    precondition(bytes >= 0 && lengths.count == 1 && !isEncoded, "one length, and nothing beside it")
    precondition(bytes == 0 || isLast, "behind content there is no request")
  case .encoded: precondition(lengths.isEmpty && isEncoded && isLast, "an encoding alone")
  case .malformed: precondition(isLast, "behind what cannot be framed there is no request")
  }
  guard case .found(let segments) = PathPattern("/{a}/b/{c}").match(head.target) else { return }
  precondition(segments.count == 2, "each name has its segment")
  for segment in segments.values {
    precondition(!segment.isEmpty && segment.utf8.count <= PathPattern.longestSegment, "segments are bounded")
    precondition(segment.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }, "no control characters")
  }
}

/// The first byte chooses the size of the pieces.
@Sendable func readRequestHeads(_ input: Span<UInt8>) {
  guard let first = input.bytes().first else { return }
  let bytes = Array(input.bytes().dropFirst())
  let whole = ReadHeads(bytes, pieces: max(bytes.count, 1))
  let parts = ReadHeads(bytes, pieces: Int(first) + 1)
  precondition(whole == parts, "a request is the same however it is cut")
  precondition(whole.heads.count <= RequestHeads.mostWaiting, "requests that wait are bounded")
  // Behind content nothing is a request, so that alone is kept from the library.
  if whole.fault == nil, case .length(1...) = whole.heads.last?.framing ?? .absent {
    precondition(whole.given.count <= bytes.count, "nothing is added")
  } else {
    precondition(
      whole.fault != nil || whole.hasBareFrame || whole.given.count == bytes.count, "nothing is added or taken away")
  }
  for (index, head) in whole.heads.enumerated() { check(head, isLast: index == whole.heads.count - 1) }
}
