// A BIO that keeps datagram boundaries: each read is one datagram fed in, each write is one datagram to be sent. OpenSSL's
// own memory BIO is a stream and would glue flights together.

internal import COpenSSL

/// What stands behind one connection's BIO. OpenSSL calls the thunks below only from inside calls that its owner makes.
final class DatagramQueue {
  /// The datagram that OpenSSL has yet to read; borrowed for the length of one call into OpenSSL.
  var incoming: UnsafeRawBufferPointer?
  /// Datagrams that OpenSSL wrote, oldest first.
  var outgoing: [[UInt8]] = []
  /// The same flight again in new records, one entry for each time that it may have to be sent again.
  var copies: [[[UInt8]]] = []
  let mtu: Int
  private var timerCalls = 0

  init(mtu: Int) { self.mtu = mtu }

  /// How often OpenSSL writes a flight besides the first time; it would give up after the twelfth.
  static let copyLimit = 11
  /// More than any flight needs (a flight is 2 to 4 datagrams). Beyond it a write is lost, as on a network.
  static let outgoingLimit = 64

  /// A new BIO on this queue; it holds no reference, so the queue must outlive it.
  func makeBIO() -> OpaquePointer? {
    guard let method = Self.method, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  /// Made once and only read after that.
  nonisolated(unsafe) private static let method: OpaquePointer? = {
    guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagram queue") else { return nil }
    BIO_meth_set_read(method, readThunk)
    BIO_meth_set_write(method, writeThunk)
    BIO_meth_set_ctrl(method, controlThunk)
    return method
  }()

  static func of(_ bio: OpaquePointer?) -> DatagramQueue? {
    BIO_get_data(bio).map { Unmanaged<DatagramQueue>.fromOpaque($0).takeUnretainedValue() }
  }

  /// As recv(2): what does not fit the buffer is lost.
  fileprivate func read(_ buffer: UnsafeMutableRawPointer, _ capacity: Int) -> Int? {
    guard let datagram = incoming else { return nil }
    incoming = nil
    let count = min(capacity, datagram.count)
    if let base = datagram.baseAddress { buffer.copyMemory(from: base, byteCount: count) }
    return count
  }

  fileprivate func write(_ bytes: UnsafeRawBufferPointer) {
    if copies.isEmpty {
      guard outgoing.count < Self.outgoingLimit else { return }
      outgoing.append(Array(bytes))
    } else {
      guard copies[copies.count - 1].count < Self.outgoingLimit else { return }
      copies[copies.count - 1].append(Array(bytes))
    }
  }

  /// OpenSSL has begun to wait for an answer to a flight, or is about to write the flight once more: how long to wait, in
  /// microseconds. While copies are made the wait is none, so that the next is written at once.
  func nextTimeout() -> UInt32 {
    timerCalls += 1
    if timerCalls > 1 { copies.append([]) }
    return timerCalls <= Self.copyLimit ? 0 : 3_600_000_000
  }

  /// The next flight is a new one.
  func beginStep() {
    copies = []
    timerCalls = 0
  }

  /// Every question OpenSSL puts to a datagram BIO. What is not listed is answered 0, "not supported".
  fileprivate func control(_ command: Int32, _ number: Int) -> Int {
    switch command {
    case BIO_CTRL_FLUSH, BIO_CTRL_DUP, BIO_CTRL_SET_CLOSE: 1
    case BIO_CTRL_PENDING: incoming?.count ?? 0
    case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: mtu
    case BIO_CTRL_DGRAM_SET_MTU: number
    // IPv4 and UDP headers. The MTU we state is that of the UDP payload, so nothing depends on it.
    case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: 28
    // Timers are ours (virtual time): no read or write of this BIO ever timed out, and a deadline is not taken.
    case BIO_CTRL_DGRAM_GET_RECV_TIMER_EXP, BIO_CTRL_DGRAM_GET_SEND_TIMER_EXP, BIO_CTRL_DGRAM_MTU_EXCEEDED: 0
    case BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT: 0
    default: 0
    }
  }
}

private let readThunk: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 = {
  bio, buffer, capacity in
  roost_bio_clear_retry(bio)
  guard let queue = DatagramQueue.of(bio), let buffer, capacity > 0 else { return -1 }
  guard let count = queue.read(buffer, Int(capacity)) else {
    roost_bio_retry_read(bio)
    return -1
  }
  return Int32(clamping: count)
}

private let writeThunk: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
  bio, buffer, count in
  roost_bio_clear_retry(bio)
  guard let queue = DatagramQueue.of(bio), let buffer, count >= 0 else { return -1 }
  queue.write(UnsafeRawBufferPointer(start: buffer, count: Int(count)))
  return count
}

private let controlThunk: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int = {
  bio, command, number, _ in
  DatagramQueue.of(bio)?.control(command, number) ?? 0
}
