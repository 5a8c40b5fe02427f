// The system call shim on the loopback interface: batches, segmentation, local addresses, epoll and eventfd; and malloc.
import Basics
import CLinux
import Glibc
import TestSupport
import Testing

private final class Socket {
  let fd: Int32
  let address: clinux_address

  init(_ host: String, _ options: clinux_udp_options = clinux_udp_options()) throws {
    let wanted = try #require(SocketAddress(host: host, port: 0))
    fd = clinux_udp_open(clinux_address(high: wanted.high, low: wanted.low, port: 0), options)
    try #require(fd >= 0)
    var bound = clinux_address()
    try #require(clinux_socket_address(fd, &bound) == 0)
    address = bound
  }

  deinit { _ = clinux_close(fd) }

  /// Everything that waits, each datagram with its bytes; GRO segments are not taken apart.
  func receive(stride: Int = 65_536) throws -> [(facts: clinux_datagram, bytes: [UInt8])] {
    var slab = [UInt8](repeating: 0, count: stride * 8)
    var facts = [clinux_datagram](repeating: clinux_datagram(), count: 8)
    let count = clinux_udp_receive(fd, &slab, stride, 8, &facts)
    try #require(count >= 0)
    return (0..<Int(count)).map { (facts[$0], Array(slab[($0 * stride)..<($0 * stride + Int(facts[$0].length))])) }
  }
}

private func at(_ host: String, _ port: UInt16) throws -> clinux_address {
  let address = try #require(SocketAddress(host: host, port: port))
  return clinux_address(high: address.high, low: address.low, port: address.port)
}

@Suite struct UDPTests {
  @Test(arguments: ["127.0.0.1", "::1"]) func aDatagramArrivesWithItsSource(host: String) throws {
    let a = try Socket(host)
    let b = try Socket(host)
    #expect(a.address.port != 0)
    #expect(clinux_udp_send(a.fd, [1, 2, 3], 3, b.address) == 3)
    let got = try b.receive()
    #expect(got.map(\.bytes) == [[1, 2, 3]])
    #expect(got[0].facts.source_port == a.address.port)
    #expect(got[0].facts.source_high == a.address.high && got[0].facts.source_low == a.address.low)
    #expect(got[0].facts.segment_size == 0 && got[0].facts.truncated == 0)
    #expect(try b.receive().isEmpty)
  }

  @Test func aDatagramLargerThanItsSlotIsMarked() throws {
    let a = try Socket("127.0.0.1")
    let b = try Socket("127.0.0.1")
    _ = clinux_udp_send(a.fd, [UInt8](repeating: 7, count: 100), 100, b.address)
    let got = try b.receive(stride: 64)
    #expect(got[0].facts.truncated == 1 && got[0].facts.length == 64 && got[0].facts.whole_length == 100)
  }

  @Test func aBatchKeepsItsOrderAndStopsAtTheFirstFailure() throws {
    let a = try Socket("127.0.0.1")
    let b = try Socket("127.0.0.1")
    let bytes = [UInt8](0..<100)
    let impossible = try at("::1", 9)
    let sent = bytes.withUnsafeBufferPointer { all -> Int32 in
      var entries = (0..<4).map { index in
        clinux_outgoing(
          bytes: all.baseAddress.map { $0 + index * 10 }, to: b.address, local_high: 0, local_low: 0,
          length: UInt32(10 + index), segment_size: 0)
      }
      entries[3].to = impossible
      let sent = clinux_udp_send_batch(a.fd, entries, 4)
      #expect(clinux_udp_send_batch(a.fd, [entries[3]], 1) < 0)
      return sent
    }
    #expect(sent == 3)
    #expect(try b.receive().map(\.bytes) == [Array(0..<10), Array(10..<21), Array(20..<32)])
  }

  /// Without GRO the receiver sees what a browser sees: single datagrams.
  @Test(arguments: [false, true]) func segmentsAreCutByTheKernel(gro: Bool) throws {
    var options = clinux_udp_options()
    options.gro = gro ? 1 : 0
    let a = try Socket("127.0.0.1")
    let b = try Socket("127.0.0.1", options)
    let bytes = (0..<2_500).map { UInt8(truncatingIfNeeded: $0 / 1_000) }
    let sent = bytes.withUnsafeBufferPointer { all in
      var entry = clinux_outgoing()
      entry.bytes = all.baseAddress
      entry.to = b.address
      entry.length = 2_500
      entry.segment_size = 1_000
      return clinux_udp_send_one(a.fd, &entry)
    }
    #expect(sent == 2_500)
    let got = try b.receive()
    #expect(got.flatMap(\.bytes) == bytes)
    #expect(got.map(\.facts.length) == (gro ? [2_500] : [1_000, 1_000, 500]))
    #expect(got[0].facts.segment_size == (gro ? 1_000 : 0))
  }

  @Test(arguments: [
    ("0.0.0.0", "127.0.0.2"), ("::", "::1"), ("::", "127.0.0.2"),
  ]) func aWildcardSocketAnswersFromTheAddressThatWasAsked(bound: String, asked: String) throws {
    var options = clinux_udp_options()
    options.packet_info = 1
    let server = try Socket(bound, options)
    let client = try Socket(asked == "::1" ? "::1" : "127.0.0.1")
    #expect(clinux_udp_send(client.fd, [1], 1, try at(asked, server.address.port)) == 1)
    let facts = try #require(try server.receive().first).facts
    let expected = try at(asked, 0)
    #expect(facts.local_high == expected.high && facts.local_low == expected.low)

    let reply: [UInt8] = [2]
    let sent = reply.withUnsafeBufferPointer { bytes in
      var entry = clinux_outgoing()
      entry.bytes = bytes.baseAddress
      entry.length = 1
      entry.to = clinux_address(high: facts.source_high, low: facts.source_low, port: facts.source_port)
      entry.local_high = facts.local_high
      entry.local_low = facts.local_low
      return clinux_udp_send_batch(server.fd, &entry, 1)
    }
    #expect(sent == 1)
    let answer = try #require(try client.receive().first).facts
    #expect(answer.source_low == expected.low && answer.source_port == server.address.port)
  }

  @Test func anAddressInUseIsRefusedAndV6OnlyLeavesIPv4Alone() throws {
    let a = try Socket("127.0.0.1")
    #expect(clinux_udp_open(a.address, clinux_udp_options()) == -98)  // EADDRINUSE
    var options = clinux_udp_options()
    options.v6_only = 1
    let wildcard = clinux_udp_open(clinux_address(high: 0, low: 0, port: a.address.port), options)
    #expect(wildcard >= 0)
    _ = clinux_close(wildcard)
  }

  /// IP_MTU_DISCOVER: 1 is the system's default (IP_PMTUDISC_WANT), 2 refuses what is too long (IP_PMTUDISC_DO).
  @Test func aSocketFragmentsOnceItMay() throws {
    func discovery(_ socket: Socket) -> Int32 {
      var (how, length) = (Int32(-1), socklen_t(4))
      getsockopt(socket.fd, Int32(IPPROTO_IP), 10, &how, &length)
      return how
    }
    var options = clinux_udp_options()
    let usual = discovery(try Socket("127.0.0.1", options))
    options.unfragmented = 1
    let socket = try Socket("127.0.0.1", options)
    // A system that discovers no MTUs is left as it is.
    #expect(discovery(socket) == (usual == 1 ? 2 : usual))
    #expect(clinux_udp_allow_fragments(socket.fd) == 0 && discovery(socket) == usual)
  }

  @Test func buffersAreReportedAsAskedFor() throws {
    var options = clinux_udp_options()
    options.receive_buffer = 100_000
    options.send_buffer = 90_000
    let a = try Socket("127.0.0.1", options)
    var receive: Int32 = 0
    var send: Int32 = 0
    #expect(clinux_socket_buffers(a.fd, &receive, &send) == 0)
    #expect(receive == 100_000 && send == 90_000)
  }
}

@Suite struct EventTests {
  @Test func eventsCarryTheirDataAndAnEventfdDrains() throws {
    let epoll = clinux_epoll_create()
    let event = clinux_eventfd_create()
    defer {
      _ = clinux_close(epoll)
      _ = clinux_close(event)
    }
    #expect(clinux_epoll_add(epoll, event, clinux_readable, 0xfeed_0000_0000_0001) == 0)
    var events = [clinux_event](repeating: clinux_event(), count: 4)
    #expect(clinux_epoll_wait(epoll, &events, 4, 0) == 0)
    #expect(clinux_eventfd_signal(event) == 0 && clinux_eventfd_signal(event) == 0)
    #expect(clinux_epoll_wait(epoll, &events, 4, -1) == 1)
    #expect(events[0].data == 0xfeed_0000_0000_0001 && events[0].events == clinux_readable)
    #expect(clinux_eventfd_drain(event) == 1 && clinux_eventfd_drain(event) == 0)
    #expect(clinux_epoll_remove(epoll, event) == 0)
    #expect(clinux_epoll_wait(epoll, &events, 4, 1_000) == 0)
    #expect(clinux_epoll_remove(epoll, event) == -2)  // ENOENT
  }

  @Test func aPollSaysWhichOfItsDescriptorsAreReady() {
    let events = [clinux_eventfd_create(), clinux_eventfd_create()]
    defer { for event in events { _ = clinux_close(event) } }
    var watched = events.map { clinux_watch(fd: $0, events: Int16(clinux_readable), ready: -1) }
    #expect(clinux_poll(&watched, 2, 0) == 0 && watched.allSatisfy { $0.ready == 0 })
    let before = clinux_monotonic_ns()
    #expect(clinux_poll(&watched, 2, 1_500_000) == 0 && clinux_monotonic_ns() >= before + 1_500_000)
    #expect(clinux_eventfd_signal(events[1]) == 0)
    #expect(clinux_poll(&watched, 2, -1) == 1)
    #expect(watched[0].ready == 0 && watched[1].ready == Int16(clinux_readable))
    #expect(clinux_poll(&watched, 1, 0) == 0)
  }

  @Test func aSleepEndsAtItsMoment() {
    let until = clinux_monotonic_ns() + 1_500_000
    #expect(clinux_sleep_until(until) == 0 && clinux_monotonic_ns() >= until)
    #expect(clinux_sleep_until(until) == 0)
  }

  @Test func clocksAndUsageMoveForward() {
    let before = clinux_monotonic_ns()
    var first = clinux_usage()
    var second = clinux_usage()
    #expect(clinux_thread_usage(&first) == 0)
    while clinux_monotonic_ns() - before < 2_000_000 {}
    #expect(clinux_thread_usage(&second) == 0)
    #expect(second.user_ns + second.system_ns >= first.user_ns + first.system_ns)
    #expect(clinux_wall_ms() > 1_700_000_000_000)
    #expect(clinux_cpu_count() >= 1)
    #expect(clinux_thread_pin(100_000) == -22)  // EINVAL
    let preferred = clinux_thread_prefer()
    #expect(preferred == 0 || preferred == -13)  // EACCES
    let numbers = (0..<clinux_cpu_count()).map { clinux_cpu_number($0) }
    #expect(numbers.allSatisfy { $0 >= 0 } && numbers == numbers.sorted() && Set(numbers).count == numbers.count)
    #expect(clinux_cpu_number(Int32(numbers.count)) == -22 && clinux_cpu_number(-1) == -22)
  }
}

/// Sanitizers have a malloc of their own.
private let isGlibcsMalloc = dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

@Suite(.serialized, .enabled(if: isGlibcsMalloc)) struct MemoryTests {
  private let piece = 1_000

  /// Many pieces of which all but every hundredth are freed, so that malloc cannot give back from the end: those that are kept.
  private func leavePieces(_ count: Int) -> [UnsafeMutableRawPointer] {
    let pieces = (0..<count).compactMap { _ in malloc(piece) }
    for one in pieces { memset(one, 1, piece) }
    for (index, one) in pieces.enumerated() where index % 100 != 0 { free(one) }
    return stride(from: 0, to: pieces.count, by: 100).map { pieces[$0] }
  }

  @Test func piecesAreGivenBack() {
    let kept = leavePieces(60_000)
    defer { for one in kept { free(one) } }
    let before = residentBytes()
    #expect(clinux_memory_give_back() == 1)
    let after = residentBytes()
    // 60 MB were freed; each piece that is kept holds a page or two of them.
    #expect(before >= after + 30 << 20, "\(before) \(after)")
  }

  /// The control: they stay where nobody asks for them.
  @Test func piecesStay() {
    let kept = leavePieces(60_000)
    defer { for one in kept { free(one) } }
    let before = residentBytes()
    usleep(100_000)
    let after = residentBytes()
    #expect(before < after + 15 << 20, "\(before) \(after)")
    clinux_memory_give_back()
  }

  @Test func whatIsInUseIsCounted() throws {
    let before = clinux_memory_in_use()
    // One piece that malloc maps by itself, and many that it does not.
    let pieces = (0..<20_000).compactMap { _ in malloc(piece) } + [try #require(malloc(40 << 20))]
    let with = clinux_memory_in_use()
    for one in pieces { free(one) }
    #expect(with >= before + 55 << 20 && with <= before + 75 << 20, "\(before) \(with)")
    #expect(clinux_memory_in_use() <= before + 5 << 20)
  }
}
