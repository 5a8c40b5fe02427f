// An input read as a list of steps, for machines that have a memory.

struct Script {
  private let bytes: [UInt8]
  private var position = 0

  init(_ input: Span<UInt8>) { bytes = input.bytes() }

  /// The next byte; nil at the end.
  mutating func next() -> UInt8? {
    guard position < bytes.count else { return nil }
    position += 1
    return bytes[position - 1]
  }

  /// Up to `count` bytes.
  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(position + count, bytes.count)
    defer { position = end }
    return Array(bytes[position..<end])
  }
}
