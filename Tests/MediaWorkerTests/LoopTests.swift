// Turns of a worker's loop over real sockets: how much each reads, and what it sleeps on.

import Basics
import CAllocationCounter
import Crypto
import Forwarding
import Media
import Testing

@testable import MediaWorker

private let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)

private func sockets() throws -> UDPSockets {
  try UDPSockets(addresses: [loopback], receiveBuffer: 4 << 20, sendBuffer: 1 << 20)
}

struct LoopTests {
  private func loop(_ sockets: consuming UDPSockets, _ mailbox: Mailbox<MediaWorker.Message>) throws -> WorkerLoop {
    let waits = try LoopWaits(sockets, mailbox: mailbox.descriptor)
    return WorkerLoop(
      index: 0, Handover(waits: waits, sockets: sockets), mailbox: mailbox,
      certificate: try Certificate(wallMilliseconds: 1_760_000_000_000), settings: WorkerState.Settings(),
      deliver: { _ in })
  }

  /// A turn ends before all is read, so that timers and sends are not kept waiting: the next must look again at once, and not
  /// rest first.
  @Test func aTurnThatLeavesDatagramsBehindIsFollowedAtOnce() throws {
    let ours = try sockets()
    let to = Path(remote: ours.boundAddress(0), socket: 0)
    let mailbox = Mailbox<MediaWorker.Message>()
    var loop = try loop(ours, mailbox)
    var sender = try sockets()
    // Fewer than the kernel's buffer holds whatever its limit. Of different sizes, so that it joins none.
    let count = WorkerLoop.datagramsPerTurn + 20
    for number in 0..<count {
      let refusal = [UInt8](repeating: 0xff, count: 10 + number % 7).withUnsafeBytes {
        sender.send($0, segment: $0.count, to: to)
      }
      #expect(refusal == nil)
    }
    loop.turn()
    let (first, isLeft) = (loop.datagrams, loop.hasMore)
    #expect(isLeft && first >= UInt64(WorkerLoop.datagramsPerTurn) && first < UInt64(count))
    loop.turn()
    let (all, isStillLeft) = (loop.datagrams, loop.hasMore)
    #expect(all == UInt64(count) && !isStillLeft)
  }

  /// The other half of a packet's way is in MediaTests.AllocationTests: between the datagrams that arrive and those that leave.
  @Test func aTurnThatReadsAndASendAllocateNothing() throws {
    let ours = try sockets()
    let to = Path(remote: ours.boundAddress(0), socket: 0)
    let mailbox = Mailbox<MediaWorker.Message>()
    var loop = try loop(ours, mailbox)
    var sender = try sockets()
    let segments = [UInt8](repeating: 0xff, count: 5 * 1_200)
    var refusals = 0
    // The first rounds make what is kept.
    var before: UInt = 0
    for round in 0..<40 {
      if round == 20 { before = roost_thread_allocations() }
      for _ in 0..<8 where segments.withUnsafeBytes({ sender.send($0, segment: 1_200, to: to) }) != nil {
        refusals += 1
      }
      loop.turn()
    }
    let allocated = roost_thread_allocations() - before
    let read = loop.datagrams
    #expect(refusals == 0 && read == 40 * 8 * 5)
    #expect(allocated == 0)
  }

  /// With datagrams there, waiting for them returns and resting does not see them; a message ends both.
  @Test func aRestIsEndedByMessagesAlone() throws {
    let ours = try sockets()
    var sender = try sockets()
    let mailbox = Mailbox<Int>()
    let waits = try LoopWaits(ours, mailbox: mailbox.descriptor)
    let to = Path(remote: ours.boundAddress(0), socket: 0)
    let refusal = [UInt8](repeating: 0xff, count: 10).withUnsafeBytes { sender.send($0, segment: 10, to: to) }
    #expect(refusal == nil)
    let ready = waits.wait(nanoseconds: 60_000_000_000)
    #expect(ready.has(0) && !ready.mail)
    let rested = waits.rest(nanoseconds: 1_000_000)
    #expect(!rested.has(0) && !rested.mail)
    mailbox.post(1)
    #expect(waits.rest(nanoseconds: 60_000_000_000).mail)
    let both = waits.wait(nanoseconds: 60_000_000_000)
    #expect(both.has(0) && both.mail)
  }

  @Test func whatCannotBeWaitedForIsSaidBeforeTheThreadStarts() throws {
    #expect(throws: SocketError.self) {
      let ours = try sockets()
      _ = try LoopWaits(ours, mailbox: -1)
    }
    for code in [23, 24] as [Int32] {
      let text = SocketError(address: loopback, code: code).description
      #expect(text == "No file descriptor is left: raise the limit of open files (LimitNOFILE=)")
    }
    #expect(SocketError(address: nil, code: 9).description == "The media worker cannot wait for its sockets: error 9")
  }
}
