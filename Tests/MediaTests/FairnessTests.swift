// Rooms on a worker that cannot send all that is offered: who loses, and when it is over.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct FairnessTests {
  /// A room, and what its people have sent to each other and got so far.
  private final class Company {
    let call: Call
    let people: Int
    let peers: [VirtualPeer]
    private var tracks: [(key: ProducerKey, kind: MediaKind)] = []
    private var streams: [ConsumerKey] = []
    private var before: [MediaKind: (sent: Int, received: Int)] = [:]

    /// Of `people` the first `publishers` send sound and pictures of `packets` each; everybody is sent all, and `asks` for what
    /// does not come.
    init(_ call: Call, room: UInt64, people: Int, publishers: Int, packets: Int, asks: Bool) throws {
      (self.call, self.people) = (call, people)
      peers = try (0..<people).map { try call.join("room\(room)-\($0)", room: room) }
      for (index, peer) in peers.prefix(publishers).enumerated() {
        for kind in [MediaKind.video, .audio] {
          let track = call.publish(peer, kind, layers: [packets])
          tracks.append((track, kind))
          for (other, receiver) in peers.enumerated() where other != index {
            streams.append(call.subscribe(receiver, to: track))
          }
        }
      }
      for peer in peers {
        for stream in peer.streams.indices { peer.streams[stream].asksAgain = asks }
      }
    }

    private func totals(of kind: MediaKind) -> (sent: Int, received: Int) {
      let sent = tracks.filter { $0.kind == kind }.flatMap { call.layers($0.key) }.reduce(0) { $0 + Int($1.packets) }
      let received = streams.compactMap { call.stream($0) }.filter { $0.kind == kind }.reduce(0) {
        $0 + $1.packets.count
      }
      return (sent * (people - 1), received)
    }

    func beginCounting() { before = [.audio: totals(of: .audio), .video: totals(of: .video)] }

    /// What arrived of what was sent to somebody since counting began, of one kind or of both.
    func share(of kind: MediaKind? = nil) -> Double {
      let kinds = kind.map { [$0] } ?? [.audio, .video]
      let found = kinds.map { kind in
        let (now, then) = (totals(of: kind), before[kind] ?? (0, 0))
        return (sent: now.sent - then.sent, received: now.received - then.received)
      }
      return Double(found.reduce(0) { $0 + $1.received }) / Double(max(found.reduce(0) { $0 + $1.sent }, 1))
    }

    /// Of both kinds.
    var share: Double { share() }

    func silence() { for track in tracks { call.track(track.key) { $0.isSending = false } } }
  }

  /// Twelve people who get three to four times what the worker can send; two talk beside them.
  private func overloaded(tells: Bool, share: Double = 1) throws -> (call: Call, crowd: Company, talk: Company) {
    let call = try Call(seed: 3)
    let crowd = try Company(call, room: 1, people: 12, publishers: 2, packets: 12, asks: true)
    let talk = try Company(call, room: 2, people: 2, publishers: 2, packets: 2, asks: false)
    #expect(call.run(atMost: .seconds(5)) { call.peers.allSatisfy { call.isConnected($0) } })
    call.run(.seconds(1))
    for company in [crowd, talk] { company.beginCounting() }
    // 9,200 packets a second are to leave, and a second has room for 2,400.
    var machine = Machine()
    machine.costs = (incoming: .microseconds(40), outgoing: .microseconds(400))
    machine.tells = tells
    machine.share = share
    call.machine = machine
    call.run(.seconds(3))
    return (call, crowd, talk)
  }

  /// Reports are all that a receiver without checks has to show that it is there. Those of a room beyond its share are not read, but
  /// they are heard.
  @Test func reportsKeepTheReceiversOfARoomBeyondItsShare() throws {
    let (call, crowd, _) = try overloaded(tells: true)
    let receivers = crowd.peers.suffix(10)
    for peer in receivers {
      peer.checksConsent = false
      for stream in peer.streams.indices { peer.streams[stream].asksAgain = false }
    }
    for _ in 0..<3 {
      for peer in receivers { peer.sendReport() }
      call.run(.seconds(4))
    }
    #expect(call.worker.counters.drops[.roomOverShare] > 1_000)
    let lost = call.count { if case .transportLost = $0 { true } else { false } }
    #expect(lost == 0)
  }

  /// Whether the worker has the processor to itself or others have it for most of the time.
  @Test(arguments: [1, 0.2]) func aRoomThatFloodsTakesNothingFromTwoWhoTalk(_ share: Double) throws {
    let (call, crowd, talk) = try overloaded(tells: true, share: share)
    #expect(call.worker.counters.drops[.roomOverShare] > 1_000)
    crowd.silence()
    talk.silence()
    call.run(.seconds(2))
    #expect(talk.share > 0.99)
    #expect(crowd.share > 0.15 && crowd.share < 0.5)
    // And all is as before when it is over.
    let isCounting = call.worker.tracks.shares.isCounting
    #expect(!isCounting)
    #expect(call.brokenRules() == [])
  }

  /// Eight people on a machine whose other programs have the processor in turns: their room is alone, and nothing of it is refused.
  /// The control is a worker as late that has the processor to itself: it is behind.
  @Test(arguments: [(share: 0.2, isRefused: false), (1, true)])
  func othersThatHaveTheProcessorInTurnsCostARoomNothing(_ share: Double, _ isRefused: Bool) throws {
    let call = try Call(seed: 5)
    let room = try Company(call, room: 1, people: 8, publishers: 8, packets: 3, asks: false)
    #expect(call.run(atMost: .seconds(5)) { call.peers.allSatisfy { call.isConnected($0) } })
    call.run(.seconds(1))
    var machine = Machine()
    machine.other = .milliseconds(45)
    machine.share = share
    call.machine = machine
    call.run(.seconds(5))
    room.silence()
    call.machine = nil
    #expect((call.worker.counters.drops[.roomOverShare] > 0) == isRefused)
  }

  /// Certificates, handshakes, commands: the worker is late, and the two who talk are not the reason.
  @Test(arguments: [100, 300, 700]) func whoSendsLittleIsNotRefusedWhereSomethingElseTakesTheTime(_ turn: Int) throws {
    let call = try Call(seed: 4)
    let talk = try Company(call, room: 1, people: 2, publishers: 2, packets: 6, asks: false)
    #expect(call.run(atMost: .seconds(5)) { call.peers.allSatisfy { call.isConnected($0) } })
    call.run(.seconds(1))
    talk.beginCounting()
    var machine = Machine()
    machine.other = .milliseconds(turn)
    call.machine = machine
    call.run(.seconds(10))
    talk.silence()
    call.machine = nil
    #expect(call.worker.counters.drops[.roomOverShare] == 0)
  }

  /// A room beyond its share loses pictures before it loses sound. Where the limit counted all kinds together, both would lose alike.
  @Test func soundIsRefusedLast() throws {
    let (call, crowd, _) = try overloaded(tells: true)
    crowd.beginCounting()
    call.run(.seconds(3))
    let (sound, pictures) = (crowd.share(of: .audio), crowd.share(of: .video))
    #expect(sound > 0.9 && pictures < 0.6, "\(sound) \(pictures)")
  }

  /// What the test above is about: the kernel's queue alone lets both lose.
  @Test func firstComeFirstServedWouldTakeFromBoth() throws {
    let (call, _, talk) = try overloaded(tells: false)
    #expect(talk.share < 0.6)
    #expect(call.worker.counters.drops[.roomOverShare] == 0)
  }
}

struct RoomSharesTests {
  private let second: UInt64 = 1_000_000_000

  /// `intervals` of 50 ms, each one turn, with what rooms sent in them.
  private func shares(
    _ intervals: [(waited: TimeDelta, sent: [Int])], busy share: Double = 1, processor: Double = 1,
    leaves: Bool = false, drops: UInt64 = 0
  ) -> RoomShares {
    var shares = RoomShares()
    for (number, interval) in intervals.enumerated() {
      let now = Instant.zero + RoomShares.interval * Int64(number + 1)
      let busy = UInt64(Double(now.nanoseconds) * share)
      let ran = TimeDelta(nanoseconds: Int64(Double(now.nanoseconds) * processor))
      let used = WorkerUse(processor: ran, dropped: drops * UInt64(number))
      let found = shares.turn(waited: interval.waited, leaves: leaves, busy: busy, used: used, at: now)
      if found?.hasQueue == true || shares.isCounting { shares.judge(interval.sent) }
    }
    return shares
  }

  private func limit(_ shares: RoomShares) -> Int? {
    var shares = shares
    for sent in 0...100_000 where !shares.admits(after: sent) { return sent }
    return nil
  }

  private let late = TimeDelta.milliseconds(21)

  @Test func whatPassesIsNoOverload() {
    #expect(!shares([(late, []), (.zero, []), (late, []), (.milliseconds(20), [])]).isCounting)
    #expect(shares([(late, [])]).isCounting)
    #expect(limit(shares([(late, [])])) == nil, "counted, not refused")
    #expect(!shares([(late, []), (.zero, [4_000])]).isCounting)
    #expect(!shares([(late, []), (late, [])]).isCounting, "nobody sends: the time goes elsewhere")
    #expect(!shares([(late, []), (late, [9_000])], busy: 0.85).isCounting, "others have the CPU")
    #expect(
      !shares([(late, []), (late, [9_000])], processor: 0.49).isCounting, "others have it in the middle of turns")
  }

  /// All are to send an eighth less together.
  @Test(arguments: [
    (sent: [8_000], limit: 7_000), ([4_000, 4_000], 3_500), ([100, 7_900], 6_900), ([7_900, 100, 800, 800], 6_700),
    ([10, 20], RoomShares.least),
  ])
  func theLargestGiveWay(_ sent: [Int], _ expected: Int) {
    #expect(limit(shares([(late, []), (late, sent)])) == expected)
  }

  /// Beside other programs a worker is behind where its turns do not take all that has come, or the kernel has no room for it.
  @Test(arguments: [(leaves: true, drops: UInt64(0)), (false, 1)])
  func aQueueThatGrowsIsSharedBesideOtherProgramsToo(_ leaves: Bool, _ drops: UInt64) {
    // Of the first interval nothing was dropped yet.
    let overload: [(waited: TimeDelta, sent: [Int])] = [(.zero, []), (late, []), (late, [8_000])]
    #expect(limit(shares(overload, processor: 0.1, leaves: leaves, drops: drops)) == 7_000)
    #expect(limit(shares(overload, processor: 0.1)) == nil)
  }

  @Test func aLongIntervalCountsForItsLength() {
    var shares = RoomShares()
    let (before, after) = (WorkerUse(processor: .seconds(1)), WorkerUse(processor: .seconds(2)))
    _ = shares.turn(waited: late, leaves: false, busy: second, used: before, at: .zero + .milliseconds(50))
    shares.judge([])
    let isOver = shares.turn(
      waited: late, leaves: false, busy: second * 2, used: after, at: .zero + .milliseconds(250))
    #expect(isOver?.hasQueue == true && isOver?.ran == .seconds(1))
    shares.judge([32_000])
    #expect(limit(shares) == 7_000)
  }

  @Test func theLimitFollows() {
    let begun: [(waited: TimeDelta, sent: [Int])] = [(late, []), (late, [8_000])]
    #expect(limit(shares(begun + [(late, [7_000])])) == 5_250)
    #expect(limit(shares(begun + Array(repeating: (late, [7_000]), count: 20))) == 1_750, "less would help nobody")
    #expect(!shares(begun + [(.zero, [3_000])]).isCounting, "nobody wanted more")
    var shares = shares(begun)
    let isAdmitted = shares.admits(after: 7_000)
    #expect(!isAdmitted)
    let used = WorkerUse(processor: .seconds(1))
    _ = shares.turn(waited: .zero, leaves: false, busy: second, used: used, at: .zero + .milliseconds(150))
    shares.judge([7_000])
    #expect(limit(shares) == 7_875)
  }
}
