// The yardstick: what sealing and sending cost on this machine with nothing around them. A packet is sealed by the fastest
// SRTP backend there is, and goes out with UDP_SEGMENT, four at a time and to all receivers with one system call; they are as
// browsers are: asleep in epoll, one plain socket each. Loopback bills most of the delivery to the sender, so the receivers matter.

import Basics
import CLinux
import Glibc
import SRTP
import Threads

enum Yardstick {
  /// Segments a send. More is cheaper, but few receivers have more than four packets waiting at a time.
  static let segments = 4
  private static let receivers = 15
  /// Rounds of sending in a block, and blocks. A virtual machine changes its speed within seconds: what is measured in half of
  /// one says little of the twenty before it.
  private static let rounds = 100
  private static let blocks = 8
  private static let pauseMicros: UInt32 = 400_000

  /// Measures for packets of `packetBytes` before sealing. Takes about four seconds; nil where the sockets cannot be had.
  static func measure(packetBytes: Int) -> Report.Limit? {
    let bytes = min(max(packetBytes, 60), 1_400)
    guard let crypto = fastestBackend(bytes), let send = sendCost(bytes + 16) else { return nil }
    return Report.Limit(
      cryptoMicros: crypto.micros, sendMicros: send, microsPerPacket: crypto.micros + send, backend: crypto.name,
      packetBytes: bytes)
  }

  /// Nanoseconds of CPU that this thread has used.
  private static var cpuNanoseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  // MARK: Sealing

  private static func fastestBackend(_ bytes: Int) -> (name: String, micros: Double)? {
    SRTPBackend.allCases
      .compactMap { backend in sealCost(backend, bytes).map { (backend.rawValue, $0) } }
      .min { $0.1 < $1.1 }
  }

  /// Microseconds to seal one packet with AEAD_AES_128_GCM; nil where the backend cannot.
  private static func sealCost(_ backend: SRTPBackend, _ bytes: Int) -> Double? {
    let profile = SRTPProfile.aeadAES128GCM
    guard
      let key = SRTPMasterKey(
        profile: profile, key: Array(repeating: 7, count: profile.keyLength),
        salt: Array(repeating: 9, count: profile.saltLength)),
      var sender = try? SRTPSender(key: key, backend: backend)
    else { return nil }
    var packet = [UInt8](repeating: 0x80, count: bytes + 64)
    var best = Double.infinity
    var sequence: UInt16 = 0
    // The best of some rounds: whatever else runs on the machine can only add.
    for _ in 0..<7 {
      let start = cpuNanoseconds
      for _ in 0..<2_000 {
        var span = packet.mutableSpan
        span.store(UInt16(0x8060), at: 0)
        span.store(sequence, at: 2)
        span.store(UInt32(7), at: 8)
        sequence &+= 1
        guard (try? sender.protectRTP(&span, length: bytes)) != nil else { return nil }
      }
      best = min(best, Double(cpuNanoseconds - start) / 2_000_000)
    }
    return best
  }

  // MARK: Sending

  /// Microseconds to send one of four packets of `bytes` bytes to a sleeping receiver; nil without sockets.
  private static func sendCost(_ bytes: Int) -> Double? {
    guard let sleepers = Sleepers(receivers) else { return nil }
    defer { sleepers.stop() }
    let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)
    var options = clinux_udp_options()
    options.unfragmented = 1
    let sender = clinux_udp_open(clinux_address(high: loopback.high, low: loopback.low, port: 0), options)
    guard sender >= 0 else { return nil }
    defer { _ = clinux_close(sender) }
    let payload = [UInt8](repeating: 0x55, count: bytes * segments)
    return payload.withUnsafeBufferPointer { buffer in
      let entries = sleepers.addresses.map { address in
        var entry = clinux_outgoing()
        entry.bytes = buffer.baseAddress
        entry.to = address
        entry.length = UInt32(buffer.count)
        entry.segment_size = UInt16(bytes)
        return entry
      }
      return sendCost(sender, entries)
    }
  }

  /// Microseconds a packet, of rounds in which all entries are sent with one system call: the mean over the blocks, as a server's
  /// cost is a mean over its seconds.
  private static func sendCost(_ sender: Int32, _ entries: [clinux_outgoing]) -> Double? {
    var sum = 0.0
    for block in 0..<blocks {
      if block > 0 { usleep(pauseMicros) }
      guard let cost = blockCost(sender, entries) else { return nil }
      sum += cost
    }
    return sum / Double(blocks)
  }

  private static func blockCost(_ sender: Int32, _ entries: [clinux_outgoing]) -> Double? {
    var costs: [Double] = []
    for _ in 0..<rounds {
      let start = cpuNanoseconds
      guard clinux_udp_send_batch(sender, entries, Int32(entries.count)) == entries.count else { return nil }
      costs.append(Double(cpuNanoseconds - start) / 1_000 / Double(segments * receivers))
      // Long enough for the receivers to read everything and fall asleep again.
      usleep(1_000)
    }
    // The median: a round in which the machine did something else does not count.
    return costs.sorted()[costs.count / 2]
  }
}

/// Receivers that sleep in epoll, on a thread of their own.
private final class Sleepers: Sendable {
  let addresses: [clinux_address]
  private let sockets: [Int32]
  private let wake: WakeEvent
  private let thread = Locked<OwnerThread?>(nil)

  init?(_ count: Int) {
    let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)
    var options = clinux_udp_options()
    options.receive_buffer = 1 << 20
    sockets = (0..<count).map { _ in
      clinux_udp_open(clinux_address(high: loopback.high, low: loopback.low, port: 0), options)
    }
    addresses = sockets.map { socket in
      var address = clinux_address()
      return clinux_socket_address(socket, &address) == 0 ? address : clinux_address()
    }
    guard let wake = try? WakeEvent() else { return nil }
    self.wake = wake
    guard sockets.allSatisfy({ $0 >= 0 }) else { return nil }
    thread.withLock { $0 = OwnerThread(name: "sleepers") { [self] in receive() } }
  }

  func stop() {
    wake.signal()
    thread.withLock { $0 }?.join()
    for socket in sockets { _ = clinux_close(socket) }
  }

  private func receive() {
    let epoll = clinux_epoll_create()
    defer { _ = clinux_close(epoll) }
    _ = clinux_epoll_add(epoll, wake.descriptor, clinux_readable, .max)
    for (index, socket) in sockets.enumerated() { _ = clinux_epoll_add(epoll, socket, clinux_readable, UInt64(index)) }
    var events = [clinux_event](repeating: clinux_event(), count: 64)
    var slab = [UInt8](repeating: 0, count: 16 * 2_048)
    var datagrams = [clinux_datagram](repeating: clinux_datagram(), count: 16)
    while true {
      let count = Int(clinux_epoll_wait(epoll, &events, 64, -1))
      for event in events.prefix(max(0, count)) {
        guard event.data != .max else { return }
        _ = clinux_udp_receive(sockets[Int(event.data)], &slab, 2_048, 16, &datagrams)
      }
    }
  }
}
