// What a receiver's budget lets go, and what becomes of the rest.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct BudgetTests {
  /// The packet that uses a budget up is the last. What is left waits in its order, and in front of what comes later.
  @Test func theRestWaitsInOrder() throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    let first = try stage.queue(.video, 4, for: stage.bert, due: now)
    let renewed = now + .milliseconds(5)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 1_000, renewedAt: renewed))])
    let bytes = try #require(stage.sent.first).bytes
    let gone = (1_000 + bytes - 1) / bytes
    #expect(gone >= 1 && gone < 4 && stage.numbers(stage.bert) == Array(first[..<gone]))
    #expect(stage.call.worker.egress.queue.count == 4 - gone)
    #expect(stage.call.worker.egress.queue.nextDue == renewed, "the loop sleeps until there is more")

    let later = try stage.queue(.video, 2, for: stage.bert, due: renewed)
    try stage.flush(at: renewed)
    #expect(stage.numbers(stage.bert) == first + later)
    #expect(stage.call.worker.egress.queue.count == 0 && stage.call.worker.egress.queue.nextDue == .distantFuture)
  }

  /// Whoever has a budget of its own, or none, is served in the same flush.
  @Test func othersAreNotHeldUp() throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    let held = try stage.queue(.video, 3, for: stage.bert, due: now)
    let free = try stage.queue(.video, 3, for: stage.cleo, due: now)
    let renewed = now + .milliseconds(5)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 0, renewedAt: renewed))])
    #expect(stage.numbers(stage.bert) == [] && stage.numbers(stage.cleo) == free)
    let more = try stage.queue(.video, 1, for: stage.cleo, due: now)
    try stage.flush(at: now + .milliseconds(1), [(stage.bert, SendBudget(bytes: -200, renewedAt: renewed))])
    #expect(stage.numbers(stage.bert) == [] && stage.numbers(stage.cleo) == free + more)
    try stage.flush(at: renewed)
    #expect(stage.numbers(stage.bert) == held)
  }

  /// Sound that is due leaves before the picture, and though nothing is left of the budget.
  @Test func soundWaitsForNoPicture() throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    let picture = try stage.queue(.video, 2, for: stage.bert, due: now)
    let sound = try stage.queue(.audio, 2, for: stage.bert, due: now)
    let renewed = now + .milliseconds(5)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 0, renewedAt: renewed))])
    #expect(stage.numbers(stage.bert) == sound)
    let late = try stage.queue(.audio, 1, for: stage.bert, due: renewed + .seconds(1))
    try stage.flush(at: renewed, [(stage.bert, SendBudget(bytes: 1, renewedAt: renewed))])
    #expect(stage.numbers(stage.bert) == sound + picture[..<1], "sound that may wait for more of it does")
    try stage.flush(at: renewed + .seconds(1))
    #expect(stage.numbers(stage.bert) == sound + picture + late)
  }

  /// Forty who feign a bad line of one who sends bursts of tiny packets fill no more than half of the queue. The other half is for what
  /// leaves at once, and who has little waiting keeps it.
  @Test func whatIsHeldForManyLeavesHalfOfTheQueue() throws {
    var stage = try BudgetStage(crowd: 40)
    let now = stage.call.now
    let nothing = SendBudget(bytes: 0, renewedAt: now + .seconds(60))
    let held = try stage.queue(.video, 20, for: stage.bert, due: now)
    for _ in 0..<3 {
      for peer in stage.crowd { _ = try stage.queue(.video, 800, for: peer, due: now) }
      try stage.flush(at: now, (stage.crowd + [stage.bert]).map { ($0, nothing) })
      #expect(stage.call.worker.egress.queue.count <= SendQueue.capacity / 2)
    }
    #expect(stage.call.worker.egress.queue.count > SendQueue.capacity / 8, "most of what may wait does")
    let sound = try stage.queue(.audio, 10, for: stage.cleo, due: now)
    try stage.flush(at: now + Egress.latest, stage.crowd.map { ($0, nothing) })
    #expect(stage.numbers(stage.cleo) == sound && stage.numbers(stage.bert) == held)
    let drops = stage.call.worker.counters.drops
    #expect(drops[.sendQueueFull] == 0 && drops[.congested] > 0)
  }

  /// So many wait for one receiver's line, and where there is one more all of them are dropped: their picture begins anew.
  @Test(arguments: [(2_048, true), (2_049, false)]) func soManyWaitForOne(count: Int, isKept: Bool) throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    let before = stage.call.worker.counters.drops[.congested]
    _ = try stage.queue(.video, count, for: stage.bert, due: now)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 0, renewedAt: now + .seconds(60)))])
    #expect(stage.call.worker.egress.queue.count == (isKept ? count : 0))
    #expect(stage.call.worker.counters.drops[.congested] - before == (isKept ? 0 : UInt64(count)))
  }

  /// STUN, DTLS and RTCP are nobody's budget.
  @Test func controlGoesFirstWithoutABudget() throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    _ = try stage.queue(.video, 1, for: stage.bert, due: now)
    stage.call.worker.egress.control.append([UInt8](repeating: 20, count: 40), to: stage.bert.path)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 0, renewedAt: now + .milliseconds(5)))])
    #expect(stage.sent.isEmpty && stage.others == 1)
  }

  /// What is kept back does not look like media that is sent: liveness goes by that.
  @Test func nothingSentIsNotSending() throws {
    var stage = try BudgetStage()
    let id = try stage.transport(stage.bert)
    let later = stage.call.now + .seconds(60)
    _ = try stage.queue(.video, 1, for: stage.bert, due: later)
    try stage.flush(at: later, [(stage.bert, SendBudget(bytes: 0, renewedAt: later + .seconds(1)))])
    #expect(stage.call.worker.ends.transports[id].sendingSince(at: later) == nil)
    try stage.flush(at: later + .seconds(1))
    #expect(stage.call.worker.ends.transports[id].sendingSince(at: later + .seconds(1)) == later + .seconds(1))
  }

  /// A budget that says nothing of use about its renewal neither has the loop turn for nothing nor is its receiver forgotten.
  @Test(arguments: [
    (Instant.zero, TimeDelta.milliseconds(1)), (.distantFuture, .seconds(1)),
  ]) func aReceiverIsLookedAtAgainInTime(renewed: Instant, after: TimeDelta) throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    let held = try stage.queue(.video, 2, for: stage.bert, due: now)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 0, renewedAt: renewed))])
    #expect(stage.call.worker.egress.queue.nextDue == now + after)
    try stage.flush(at: now + after)
    #expect(stage.numbers(stage.bert) == held)
  }

  /// What waits behind a budget goes with its receiver.
  @Test func whoLeavesTakesTheRestAlong() throws {
    var stage = try BudgetStage()
    let now = stage.call.now
    _ = try stage.queue(.video, 3, for: stage.bert, due: now)
    try stage.flush(at: now, [(stage.bert, SendBudget(bytes: 1, renewedAt: now + .milliseconds(5)))])
    let before = stage.call.worker.counters.drops[.transportDown]
    stage.call.apply(.closeTransport(stage.bert.key))
    #expect(stage.call.worker.counters.drops[.transportDown] == before + 2)
    #expect(stage.call.worker.egress.queue.count == 0 && stage.call.brokenRules() == [])
  }
}

/// Anna's picture and sound go to Bert and Cleo, and to as many more as are wished. Nothing waits for anybody.
private struct BudgetStage {
  let call: Call
  let (bert, cleo): (VirtualPeer, VirtualPeer)
  let crowd: [VirtualPeer]
  private let (picture, sound): (ProducerKey, ProducerKey)
  private var subscriptions: [TransportKey: (picture: ConsumerKey, sound: ConsumerKey)] = [:]
  /// Numbers given to each subscription beyond those of its stream.
  private var given: [ConsumerKey: UInt16] = [:]
  /// What was decided for each of a track's newest packet.
  private var decided: [ConsumerKey: Rewrite] = [:]
  /// Media that left, by the numbers in its headers.
  private(set) var sent: [(path: Path, sequence: UInt16, bytes: Int)] = []
  /// Other datagrams that left.
  private(set) var others = 0

  init(crowd size: Int = 0) throws {
    call = try Call()
    let anna = try call.join("anna")
    (bert, cleo) = (try call.join("bert"), try call.join("cleo"))
    var others: [VirtualPeer] = []
    for number in 0..<size { others.append(try call.join("p\(number)")) }
    crowd = others
    (picture, sound) = (call.publish(anna, .video), call.publish(anna, .audio))
    for peer in [bert, cleo] + crowd {
      subscriptions[peer.key] = (call.subscribe(peer, to: picture), call.subscribe(peer, to: sound))
    }
    call.run(.milliseconds(1_010))
    try #require(call.worker.egress.queue.count == 0)
  }

  func transport(_ peer: VirtualPeer) throws -> TransportID { try #require(call.worker.directory.transports[peer.key]) }

  /// Queues a track's newest packet `count` times, under numbers that were not sent yet, and returns these.
  mutating func queue(_ kind: MediaKind, _ count: Int, for peer: VirtualPeer, due: Instant) throws -> [UInt16] {
    let subscription = try #require(subscriptions[peer.key])
    let key = kind == .video ? subscription.picture : subscription.sound
    let consumer = try #require(call.worker.directory.consumers[key])
    let producer = try #require(call.worker.directory.producers[kind == .video ? picture : sound])
    let encoding = call.worker.tracks.producers[producer].encodings[0]
    let newest = call.worker.tracks.encodings[encoding].encoding.newest
    let found = call.worker.tracks.encodings[encoding].encoding.cache.find(newest)
    let packet = try #require(found)
    if decided[key] == nil {
      let decision = call.worker.forwarder.consumers[consumer].consumer.decide(packet, layer: 0, alignment: nil)
      guard case .forward(let rewrite) = decision else { throw Refused(decision: decision) }
      decided[key] = rewrite
    }
    var rewrite = try #require(decided[key])
    rewrite.sequence &+= given[key, default: 0]
    given[key, default: 0] += UInt16(count)
    let transport = try transport(peer)
    return (0..<count).map { _ in
      rewrite.sequence &+= 1
      let entry = SendEntry(
        encoding: encoding, consumer: consumer, sequence: newest, due: due, rewrite: rewrite, length: packet.length)
      call.worker.enqueue(entry, kind, to: transport)
      return rewrite.sequence
    }
  }

  private struct Refused: Error { let decision: Decision }

  /// A flush in which these receivers have budgets; all others may be sent everything.
  mutating func flush(at now: Instant, _ budgets: [(peer: VirtualPeer, budget: SendBudget)] = []) throws {
    var limits: [TransportKey: SendBudget] = [:]
    for (peer, budget) in budgets { limits[peer.key] = budget }
    var sink = CollectingSink()
    call.worker.flush(at: now, limits, into: &sink)
    for (path, bytes) in sink.datagrams {
      switch PacketClass.classify(bytes.span) {
      case .rtp: sent.append((path, UInt16(bytes[2]) << 8 | UInt16(bytes[3]), bytes.count))
      case .stun, .dtls, .rtcp, .turnChannel, .unknown: others += 1
      }
    }
  }

  func numbers(_ peer: VirtualPeer) -> [UInt16] { sent.filter { $0.path == peer.path }.map(\.sequence) }
}

extension WorkerState {
  fileprivate mutating func enqueue(_ entry: SendEntry, _ kind: MediaKind, to transport: TransportID) {
    egress.enqueue(entry, kind, to: .transport(transport), &ends)
  }

  fileprivate mutating func flush(
    at now: Instant, _ budgets: [TransportKey: SendBudget], into sink: inout CollectingSink
  ) {
    begin(at: now)
    egress.flush(&tracks, &forwarder, &ends, into: &sink, &turn, GivenBudgets(budgets: budgets))
  }
}

/// Budgets that a test gives; all others may be sent everything.
private struct GivenBudgets: SendBudgets {
  let budgets: [TransportKey: SendBudget]

  func budget(for transport: inout Transport, waiting: Int, at now: Instant) -> SendBudget {
    budgets[transport.key] ?? .unlimited
  }
}
