// The heads of HTTP requests as they come on a connection, in pieces of any size.
import Basics
import WebSockets

/// What was made of a connection's bytes.
private struct ReadHeads: Equatable {
  var heads: [RequestHead] = []
  var fault: RequestHeads.Fault?
  /// What the library gets; of a faulty request nothing.
  var given: [UInt8] = []

  init(_ input: [UInt8], pieces size: Int) {
    var reader = RequestHeads()
    for start in stride(from: 0, to: input.count, by: size) {
      var piece = Array(input[start..<min(start + size, input.count)])
      fault = piece.fault(with: &reader)
      if fault != nil { break }
      given += piece
    }
    while let head = reader.next() { heads.append(head) }
    if fault != nil { given = [] }
  }
}

extension [UInt8] {
  /// Reads them, and says what is wrong with them.
  fileprivate mutating func fault(with reader: inout RequestHeads) -> RequestHeads.Fault? {
    withUnsafeMutableBufferPointer { buffer -> RequestHeads.Fault? in
      do throws(RequestHeads.Fault) {
        try reader.read(buffer)
        return nil
      } catch {
        return error
      }
    }
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
  precondition(whole.fault != nil || whole.given.count == bytes.count, "nothing is added or taken away")
  for value in whole.heads.flatMap({ $0.hosts + $0.origins }) {
    precondition(!value.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 }, "a value is within its line")
  }
}
