// The worker's sockets: datagrams that the kernel joins come apart again, and who refuses segments is remembered.

import Basics
import Forwarding
import Glibc
import Media
import Testing

@testable import MediaWorker

private let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)

private func wallNanoseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

private func sockets() throws -> UDPSockets {
  try UDPSockets(addresses: [loopback], receiveBuffer: 1 << 20, sendBuffer: 1 << 20)
}

struct UDPSocketsTests {
  struct Joined: Sendable, CustomTestStringConvertible {
    let what: String
    let length: Int
    let segment: Int
    let parts: [Int]
    var datagrams: Int?
    var testDescription: String { what }
  }

  @Test(arguments: [
    Joined(what: "one datagram", length: 100, segment: 0, parts: [100]),
    Joined(what: "an empty one", length: 0, segment: 0, parts: [0]),
    Joined(what: "equal ones", length: 300, segment: 100, parts: [100, 100, 100]),
    Joined(what: "a shorter one at the end", length: 250, segment: 100, parts: [100, 100, 50]),
    Joined(what: "a segment longer than all", length: 50, segment: 100, parts: [50]),
    Joined(what: "the longest", length: 2_048, segment: 0, parts: [2_048]),
    Joined(what: "one that is nobody's", length: 2_049, segment: 0, parts: [], datagrams: 1),
    Joined(what: "long ones with a short one behind", length: 6_001, segment: 3_000, parts: [1], datagrams: 3),
  ])
  func joinedDatagramsComeApart(_ joined: Joined) {
    var bytes = [UInt8](repeating: 0, count: joined.length)
    var parts: [Int] = []
    let count = bytes.withUnsafeMutableBytes { bytes in
      UDPSockets.split(bytes, segment: joined.segment) { parts.append($0.count) }
    }
    #expect(parts == joined.parts)
    #expect(count == joined.datagrams ?? joined.parts.count)
  }

  /// Segments out, joined by the kernel, apart again: with the right bytes and the right sender.
  @Test func whatIsSentInSegmentsArrivesOneByOne() throws {
    var sender = try sockets()
    var receiver = try sockets()
    let (from, to) = (sender.boundAddress(0), Path(remote: receiver.boundAddress(0), socket: 0))
    let sizes = [1_200, 1_200, 1_200, 700]
    let bytes = sizes.enumerated().flatMap { number, size in [UInt8](repeating: UInt8(number), count: size) }
    let refusal = bytes.withUnsafeBytes { sender.send($0, segment: 1_200, to: to) }
    #expect(refusal == nil)
    var got: [(bytes: [UInt8], source: SocketAddress)] = []
    // Loopback delivers before the send returns.
    let batch = receiver.receive(0) { bytes, source, _ in got.append((Array(bytes), source)) }
    #expect(got.map(\.bytes.count) == sizes)
    #expect(got.enumerated().allSatisfy { number, datagram in datagram.bytes.allSatisfy { $0 == UInt8(number) } })
    #expect(got.allSatisfy { $0.source == from })
    #expect(batch.datagrams == 4)
    let rest = receiver.receive(0) { _, _, _ in }
    #expect(rest.slots == 0)
  }

  /// The kernel tells when each came in, however late it is looked at. It begins to stamp a moment after the first socket of
  /// the machine has asked for it; until then the stamp is the time of reading.
  @Test func datagramsCarryTheTimeOfTheirArrival() throws {
    var sender = try sockets()
    var receiver = try sockets()
    let to = Path(remote: receiver.boundAddress(0), socket: 0)
    let start = wallNanoseconds()
    var rounds = 0
    var isStamped = false
    while !isStamped && rounds < 500 {
      rounds += 1
      let before = wallNanoseconds()
      let refusal = [UInt8](repeating: 1, count: 100).withUnsafeBytes { sender.send($0, segment: 100, to: to) }
      #expect(refusal == nil)
      let after = wallNanoseconds()
      usleep(2_000)
      var stamps: [Int64] = []
      _ = receiver.receive(0) { stamps.append($2) }
      #expect(stamps.allSatisfy { $0 >= start })
      isStamped = stamps.count == 1 && (before...after).contains(stamps[0])
    }
    #expect(isStamped, "in none of \(rounds) rounds before the send had returned")
  }

  /// Thirty-two datagrams are one receive, and one more is for the next: nothing of it is lost, and no turn takes longer.
  @Test(arguments: [32, 33]) func aReceiveTakesThirtyTwoAndLeavesTheRest(count: Int) throws {
    var sender = try sockets()
    var receiver = try sockets()
    let to = Path(remote: receiver.boundAddress(0), socket: 0)
    var isSeen = false
    // On a busy machine the kernel may deliver a moment later, and then the first receive has less.
    for _ in 0..<500 where !isSeen {
      for number in 0..<count {
        let refusal = [UInt8(number)].withUnsafeBytes { sender.send($0, segment: 1, to: to) }
        #expect(refusal == nil)
      }
      usleep(2_000)
      var numbers: [UInt8] = []
      var slots: [Int] = []
      while numbers.count < count {
        slots.append(receiver.receive(0) { bytes, _, _ in numbers.append(bytes[0]) }.slots)
      }
      #expect(numbers == (0..<count).map { UInt8($0) } && slots.allSatisfy { $0 <= UDPSockets.batch })
      isSeen = slots == (count == 32 ? [32] : [32, 1])
    }
    #expect(isSeen)
  }

  /// What comes while nobody reads is lost when the buffer is full, and counted.
  @Test func whatFindsNoRoomIsCounted() throws {
    var sender = try sockets()
    var receiver = try UDPSockets(addresses: [loopback], receiveBuffer: 16_384, sendBuffer: 1 << 20)
    let to = Path(remote: receiver.boundAddress(0), socket: 0)
    var (sent, came) = (0, 0)
    for _ in 0..<2 {
      for _ in 0..<100 {
        let refusal = [UInt8](repeating: 1, count: 1_000).withUnsafeBytes { sender.send($0, segment: 1_000, to: to) }
        if refusal == nil { sent += 1 }
      }
      var lost: UInt64 = 0
      // On a busy machine the kernel may deliver a moment later.
      for _ in 0..<2_000 where came + Int(lost) < sent {
        if lost > 0 { usleep(5_000) }
        while true {
          let batch = receiver.receive(0) { _, _, _ in }
          came += batch.datagrams
          if batch.slots == 0 { break }
        }
        lost = receiver.dropped()
      }
      #expect(came < sent && lost == UInt64(sent - came))
    }
    let (calls, again) = (sender.takeSent().calls, sender.takeSent().calls)
    #expect(sent == 200 && calls == 200 && again == 0)
  }

  /// A path with a small MTU refuses segments (here: larger than any interface takes) and loses nothing but them.
  @Test func pathsThatRefuseSegmentsGetSingleDatagrams() throws {
    var sender = try sockets()
    var receiver = try sockets()
    let to = Path(remote: receiver.boundAddress(0), socket: 0)
    // More segments than the kernel takes on any path (64, 128 since Linux 6.7): EINVAL, as older ones say of a segment above
    // the path's MTU.
    let bytes = [UInt8](repeating: 7, count: 200 * 100)
    let refusal = bytes.withUnsafeBytes { sender.send($0, segment: 100, to: to) }
    #expect(refusal == nil)
    var count = 0
    while true {
      let batch = receiver.receive(0) { bytes, _, _ in if bytes.count == 100 { count += 1 } }
      if batch.slots == 0 { break }
    }
    #expect(count == 200)
  }

  /// Many runs share a system call. One that the kernel refuses is told of by itself and keeps nobody else's, wherever it is.
  @Test(arguments: [[], [0], [7], [63, 64], [0, 1, 149], Array(0..<150)])
  func whatTheKernelRefusesCostsTheOthersNothing(_ refused: [Int]) throws {
    var sender = try sockets()
    var receiver = try sockets()
    let to = Path(remote: receiver.boundAddress(0), socket: 0)
    // No datagram is as long as this (EMSGSIZE).
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 70_000, alignment: 8)
    defer { bytes.deallocate() }
    for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index / 100) }
    let runs = (0..<150).map { number in
      if refused.contains(number) {
        return OutgoingRun(path: to, bytes: UnsafeRawBufferPointer(bytes), segment: 70_000, count: 1)
      }
      // Some of three datagrams, some of one; the last of them has the run's number.
      let count = number % 2 == 0 ? 3 : 1
      let start = (number + 1 - count) * 100
      let part = UnsafeRawBufferPointer(rebasing: bytes[max(0, start)..<((number + 1) * 100)])
      return OutgoingRun(path: to, bytes: part, segment: 100, count: part.count / 100)
    }
    var told: [Bool] = []
    sender.send(runs.span) { run, failure in
      told.append(failure == nil)
      #expect(failure == nil || failure == .sendFailed && run.bytes.count == 70_000)
    }
    #expect(told == (0..<150).map { !refused.contains($0) })
    var numbers: [Int] = []
    while receiver.receive(0, { bytes, _, _ in numbers.append(Int(bytes[0])) }).slots > 0 {}
    let expected = (0..<150).filter { !refused.contains($0) }
      .flatMap { number in Array(max(0, number % 2 == 0 ? number - 2 : number)...number) }
    #expect(numbers == expected)
  }

  /// A path that takes no segments is in the middle of a call's runs, and again in the next call.
  @Test func aPathWithoutSegmentsGetsSingleDatagramsAmongOthers() throws {
    var sender = try sockets()
    var first = try sockets()
    var second = try sockets()
    let paths = [first.boundAddress(0), second.boundAddress(0)].map { Path(remote: $0, socket: 0) }
    let bytes = [UInt8](repeating: 7, count: 200 * 100)
    for _ in 0..<2 {
      bytes.withUnsafeBytes { bytes in
        // More segments than the kernel takes on any path.
        let few = OutgoingRun(
          path: paths[0], bytes: UnsafeRawBufferPointer(rebasing: bytes[..<200]), segment: 100, count: 2)
        let many = OutgoingRun(path: paths[1], bytes: bytes, segment: 100, count: 200)
        var told: [DropReason?] = []
        sender.send([few, many, few].span) { told.append($1) }
        #expect(told == [nil, nil, nil])
      }
    }
    var counts = [0, 0]
    while first.receive(0, { _, _, _ in counts[0] += 1 }).slots > 0 {}
    while second.receive(0, { _, _, _ in counts[1] += 1 }).slots > 0 {}
    #expect(counts == [8, 400])
  }

  /// Runs of two sockets take turns in what is sent: each leaves by its own, in order.
  @Test func eachRunLeavesByItsOwnSocket() throws {
    var sender = try UDPSockets(addresses: [loopback, loopback], receiveBuffer: 1 << 20, sendBuffer: 1 << 20)
    var receiver = try sockets()
    let (to, sources) = (receiver.boundAddress(0), [sender.boundAddress(0), sender.boundAddress(1)])
    let bytes = (0..<20).map { UInt8($0) }
    var told = 0
    bytes.withUnsafeBytes { bytes in
      let runs = (0..<20).map { number in
        OutgoingRun(
          path: Path(remote: to, socket: UInt8(number / 3 % 2)),
          bytes: UnsafeRawBufferPointer(rebasing: bytes[number..<(number + 1)]), segment: 1, count: 1)
      }
      sender.send(runs.span) { if $1 == nil { told += 1 } }
    }
    var got: [(number: UInt8, source: SocketAddress)] = []
    while receiver.receive(0, { bytes, source, _ in got.append((bytes[0], source)) }).slots > 0 {}
    #expect(told == 20 && got.map(\.number) == bytes)
    #expect(got.allSatisfy { $0.source == sources[Int($0.number) / 3 % 2] })
  }

  @Test func aSocketThatThereIsNotSendsNothing() throws {
    var sender = try sockets()
    let to = sender.boundAddress(0)
    var told: [DropReason?] = []
    [UInt8](repeating: 1, count: 10).withUnsafeBytes { bytes in
      let runs = [UInt8(0), 1, 0].map {
        OutgoingRun(path: Path(remote: to, socket: $0), bytes: bytes, segment: 10, count: 1)
      }
      sender.send(runs.span) { told.append($1) }
    }
    #expect(told == [nil, .sendFailed, nil])
  }
}

struct SegmentationMemoryTests {
  private func path(_ number: UInt16, socket: UInt8 = 0) -> Path {
    Path(remote: SocketAddress(v4: 0x0a00_0001, port: number), socket: socket)
  }

  /// EINVAL, and EMSGSIZE since Linux 6.14.
  @Test(arguments: [-22, -90] as [Int32]) func oneRefusingPathCostsTheOthersNothing(_ status: Int32) {
    var memory = SegmentationMemory()
    #expect(memory.allows(path(1)))
    let verdict = memory.refused(status, path(1))
    #expect(verdict == .sendSingly)
    #expect(!memory.allows(path(1)) && memory.allows(path(2)))
  }

  @Test func aRefusingDeviceHoldsForItsSocket() {
    var memory = SegmentationMemory()
    let verdict = memory.refused(-5, path(1))
    #expect(verdict == .sendSingly)
    #expect(!memory.allows(path(1)) && !memory.allows(path(2)) && memory.allows(path(1, socket: 1)))
  }

  @Test func otherErrorsSayNothingAboutSegments() {
    var memory = SegmentationMemory()
    let verdict = memory.refused(-1, path(1))
    #expect(verdict == .other && memory.allows(path(1)))
  }

  @Test func theMemoryIsBounded() {
    var memory = SegmentationMemory()
    for number in 0...SegmentationMemory.capacity { _ = memory.refused(-22, path(UInt16(number))) }
    #expect(memory.allows(path(0)) && !memory.allows(path(UInt16(SegmentationMemory.capacity))))
  }
}

extension UDPSockets {
  /// Receives one batch and hands out all of it.
  fileprivate mutating func receive(
    _ socket: Int, _ body: (_ bytes: UnsafeMutableRawBufferPointer, _ source: SocketAddress, _ stamp: Int64) -> Void
  ) -> (slots: Int, datagrams: Int) {
    let slots = receive(socket)
    return (slots, (0..<slots).reduce(0) { $0 + forEachDatagram(in: $1, body) })
  }
}
