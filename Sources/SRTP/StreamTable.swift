// A session's streams by SSRC: bounded, and nothing is allocated for a stream that is known.

struct StreamTable<Stream> {
  let limit: Int
  /// Packets refused because their SSRC would have been one too many.
  private(set) var refused = 0
  private var positions: [UInt32: Int] = [:]
  private var streams: [Stream] = []
  private var free: [Int] = []
  /// The stream looked up last: packets come in runs.
  private var last: (ssrc: UInt32, position: Int)?

  init(limit: Int) { self.limit = limit }

  var count: Int { positions.count }
  var isFull: Bool { positions.count >= limit }

  mutating func position(of ssrc: UInt32) -> Int? {
    if let last, last.ssrc == ssrc { return last.position }
    guard let position = positions[ssrc] else { return nil }
    last = (ssrc, position)
    return position
  }

  /// A stream by its position; to change it, put a changed copy back (an accessor that lends it would allocate its
  /// coroutine in a debug build).
  subscript(position: Int) -> Stream {
    get { streams[position] }
    set { streams[position] = newValue }
  }

  /// Stores a stream that is not there yet and says where. The caller has looked at `isFull`.
  @discardableResult
  mutating func insert(_ stream: Stream, ssrc: UInt32) -> Int {
    let position: Int
    if let reused = free.popLast() {
      position = reused
      streams[reused] = stream
    } else {
      position = streams.count
      streams.append(stream)
    }
    positions[ssrc] = position
    last = (ssrc, position)
    return position
  }

  /// The stream for which `measure` is least. Looks at all of them.
  func least(_ measure: (Stream) -> UInt64) -> (ssrc: UInt32, stream: Stream)? {
    positions.min { measure(streams[$0.value]) < measure(streams[$1.value]) }.map { ($0.key, streams[$0.value]) }
  }

  mutating func remove(_ ssrc: UInt32) {
    guard let position = positions.removeValue(forKey: ssrc) else { return }
    free.append(position)
    last = nil
  }

  mutating func countRefusal() { refused &+= 1 }
}
