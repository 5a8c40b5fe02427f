// Floods at the media port: what one who may not, and one who may, can make the server do, and that others do not notice.

import Basics
import DTLS
import Forwarding
import ICE
import RTP
import Testing

@testable import Media

struct FloodTests {
  /// Anna publishes; bert and cleo watch.
  private func room() throws -> (call: Call, video: ProducerKey, bert: ConsumerKey, cleo: ConsumerKey) {
    let call = try Call()
    let anna = try call.join("anna")
    let (bert, cleo) = (try call.join("bert"), try call.join("cleo"))
    let video = call.publish(anna, .video, layers: [3])
    let consumers = (call.subscribe(bert, to: video), call.subscribe(cleo, to: video))
    call.run(.seconds(1))
    return (call, video, consumers.0, consumers.1)
  }

  private func stranger(_ number: Int) -> Path {
    Path(remote: SocketAddress(v4: 0x0b00_0000 + UInt32(number), port: UInt16(1_024 + number % 60_000)), socket: 0)
  }

  private func clientHello(at now: Instant) throws -> [UInt8] {
    var client = try DTLSConnection(role: .client, certificate: try #require(Call.peerCertificate))
    client.poll(at: now)
    let datagram = client.nextDatagram()
    return try #require(datagram)
  }

  private func expectClean(_ call: Call, _ consumer: ConsumerKey, frames: Int) throws {
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count >= frames)
    #expect(call.brokenRules() == [])
  }

  /// He has seen both user names, on an unprotected signalling path say, and knows no password.
  @Test func checksWithTheRightNamesAndTheWrongPassword() throws {
    let (call, _, bert, cleo) = try room()
    let peer = call.peers[1]
    let names = (local: peer.local, remote: peer.remote)
    let before = (call.worker.counters.drops[.badSTUN], call.worker.directory.paths.count)
    var sent = 0
    var longest = 0
    call.onDatagram = { [unowned call] path, bytes in
      if !call.peers.contains(where: { $0.path == path }) { longest = max(longest, bytes.count) }
    }
    for turn in 0..<200 {
      for number in 0..<25 {
        let guess = ICECredentials(ufrag: names.remote.ufrag, password: String(repeating: "x", count: 24))
        guard let check = PlainCheck.make(from: names.local, to: guess) else { continue }
        // From strangers' addresses, and from bert's own as if forged.
        call.inject(check, from: number % 5 == 0 ? peer.path : stranger(turn * 25 + number))
        sent += 1
      }
      call.run(.milliseconds(5))
    }
    #expect(sent == 5_000)
    #expect(call.worker.counters.drops[.badSTUN] - before.0 == UInt64(sent))
    #expect(call.worker.directory.paths.count == before.1)
    // Each gets a short error: nothing to amplify.
    #expect((1...ICELiteAgent.replyCapacity).contains(longest))
    for consumer in [bert, cleo] { try expectClean(call, consumer, frames: 45) }
    #expect(call.count { if case .transportFailed = $0 { true } else { false } } == 0)
  }

  /// A handshake is begun for nobody who has not shown the password: no state, no answer.
  @Test func clientHellosOfStrangers() throws {
    let (call, _, bert, cleo) = try room()
    let datagram = try clientHello(at: call.now)
    let before = call.worker.counters.drops[.unknownSource]
    var answers = 0
    call.onDatagram = { [unowned call] path, _ in
      if !call.peers.contains(where: { $0.path == path }) { answers += 1 }
    }
    for turn in 0..<100 {
      for number in 0..<50 { call.inject(datagram, from: stranger(turn * 50 + number)) }
      call.run(.milliseconds(5))
    }
    #expect(call.worker.counters.drops[.unknownSource] - before == 5_000 && answers == 0)
    #expect(call.worker.counters.transports == 3)
    for consumer in [bert, cleo] { try expectClean(call, consumer, frames: 35) }
  }

  /// One with a transport of his own begins a thousand handshakes: there is one state for him, and it ends.
  @Test func clientHellosOfOneWhoMay() throws {
    let (call, _, bert, _) = try room()
    let mallory = try call.join("mallory") { $0.shakesHands = false }
    call.run(.milliseconds(500))
    let datagrams = try (0..<20).map { _ in try clientHello(at: call.now) }
    var answers = 0
    call.onDatagram = { path, bytes in
      if path == mallory.path, PacketClass.classify(bytes.span) == .dtls { answers += 1 }
    }
    for turn in 0..<150 {
      for number in 0..<20 { call.inject(datagrams[(turn + number) % 20], from: mallory.path) }
      call.run(.milliseconds(5))
    }
    let failures = call.count { if case .transportFailed(mallory.key, .handshake) = $0 { true } else { false } }
    #expect(failures == 1)
    #expect(answers < 3_000)
    let id = try #require(call.worker.directory.transports[mallory.key])
    let isReady = call.worker.ends.transports[id].security.isReady
    #expect(!isReady)
    try expectClean(call, bert, frames: 40)
    // Somebody new still comes in.
    let dora = try call.join("dora")
    call.run(.seconds(1))
    #expect(call.isConnected(dora))
  }

  /// A subscriber asks for everything again and again: he gets what he has earned, the publisher hears of it a few times
  /// and then twice a second.
  @Test func aStormOfRequestsHarmsNobodyElse() throws {
    let (call, video, bert, cleo) = try room()
    let requests = call.layers(video)[0].requests
    let before = (call.worker.counters.retransmitted, call.worker.counters.forwarded)
    for _ in 0..<300 {
      call.peers[1].storm(2)
      call.run(.milliseconds(10))
    }
    let seconds = 3
    #expect(call.layers(video)[0].requests - requests <= KeyframeThrottle.burst + 2 * seconds)
    let repeated = call.worker.counters.retransmitted - before.0
    let sent = (call.worker.counters.forwarded - before.1) / 2
    #expect(repeated <= sent + 512, "each packet sent earns one repetition")
    #expect(call.worker.counters.drops[.retransmissionLimit] > 1_000)
    for consumer in [bert, cleo] { try expectClean(call, consumer, frames: 100) }
    // What is refused takes no number of the RTX stream: that would look like a loss, and soon like a wrap.
    let numbers = try #require(call.stream(bert)).repairNumbers
    let (first, last) = (try #require(numbers.min()), try #require(numbers.max()))
    #expect(Int(last - first) < numbers.count + 10, "\(numbers.count) of \(Int(last - first) + 1)")
    let newest = try #require(call.stream(cleo)?.ordered.last)
    #expect(call.now - newest.arrival < .milliseconds(60))
  }

  /// All that it may in one second, at once, and not one more.
  @Test func twentyThousandAreLookedAtAtOnceAndNotOneMore() throws {
    let (call, _, _, _) = try room()
    let peer = call.peers[1]
    /// Asks for so many at one moment. Returns how many of them were looked at, and how often it was refused.
    func ask(_ counts: [UInt16]) -> [UInt64] {
      let before = (call.worker.counters.nacksReceived, call.worker.counters.drops[.tooManyRequests])
      for count in counts { peer.claim(count) }
      for (bytes, _) in peer.outbox { call.inject(bytes, from: peer.path) }
      peer.outbox.removeAll()
      return [call.worker.counters.nacksReceived - before.0, call.worker.counters.drops[.tooManyRequests] - before.1]
    }
    #expect(ask([4_760, 4_760, 4_760, 4_760, 960]) == [20_000, 0])
    call.run(.seconds(2))
    #expect(ask([4_760, 4_760, 4_760, 4_760, 961]) == [20_000, 1])
  }

  /// To look up a number costs time that others wait for: there are so many in a second for a peer, whatever he asks for.
  @Test func claimsBeyondMeasureAreNotLookedAt() throws {
    let (call, video, bert, cleo) = try room()
    let before = call.worker.counters.nacksReceived
    for _ in 0..<300 {
      call.peers[1].claimEverything()
      call.run(.milliseconds(10))
    }
    let (seconds, limit) = (3, Transport.maxFeedbackItemsPerSecond)
    let lookedAt = Int(call.worker.counters.nacksReceived - before)
    #expect((limit...(limit * (seconds + 1))).contains(lookedAt))
    let ignored = call.worker.counters.drops[.tooManyRequests]
    #expect(ignored > 250)
    // Keyframes are asked for from the same purse, and it fills again.
    call.peers[1].storm(1)
    call.run(.seconds(1))
    let (asked, refused) = (call.layers(video)[0].requests, call.worker.counters.drops[.tooManyRequests])
    #expect(refused > ignored)
    call.peers[1].storm(1)
    call.run(.seconds(1))
    #expect(call.layers(video)[0].requests > asked && call.worker.counters.drops[.tooManyRequests] == refused)
    for consumer in [bert, cleo] { try expectClean(call, consumer, frames: 100) }
  }
  /// A wish that was put off and said again is heard when its time comes, unless a keyframe has come since it was said last.
  @Test(arguments: [true, false]) func aWishSaidAgainIsNotLost(_ isSaidAgain: Bool) throws {
    let (call, video, bert, _) = try room()
    let peer = call.peers[1]
    call.run(.seconds(10))
    for _ in 0..<4 {
      peer.requestKeyframe(bert)
      call.run(.milliseconds(50))
    }
    let before = call.worker.counters.drops[.tooManyRequests]
    peer.requestKeyframe(bert)
    call.run(.milliseconds(300))
    #expect(call.worker.counters.drops[.tooManyRequests] == before + 1, "it is put off")
    // A keyframe for somebody else, which this one loses.
    call.track(video) { $0.layers[0].wantsKeyframe = true }
    call.run(.milliseconds(300))
    let requests = call.layers(video)[0].requests
    if isSaidAgain { peer.requestKeyframe(bert) }
    call.run(.seconds(3))
    #expect(call.layers(video)[0].requests == requests + (isSaidAgain ? 1 : 0))
  }
}
