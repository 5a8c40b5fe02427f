// Strangers at the media port, and a participant whose certificate is not the one it named.

import Basics
import CLinux
import ICE
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Strangers {
    @Test func aStrangersGarbageHarmsNobody() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        for (one, other) in [(anna, "ben"), (ben, "anna")] {
          #expect(await eventually { await one.received(other, "camera").frames >= 5 })
        }
        let ufrag = try #require(await offeredAttribute("ice-ufrag", by: server.url))
        var flood = try Flood(at: server.mediaAddress, ufrag: ufrag)
        for _ in 0..<100 {
          for kind in Flood.Kind.allCases { for _ in 0..<10 { flood.send(kind) } }
          // Not to fill the kernel's buffer: what is lost there the server never sees.
          try await Task.sleep(for: .milliseconds(5))
        }
        #expect(flood.sent > 4_000)
        for (one, other) in [(anna, "ben"), (ben, "anna")] {
          let before = await one.received(other, "camera").frames
          #expect(await eventually { await one.received(other, "camera").frames >= before + 5 })
          for label in ["camera", "microphone"] {
            let stream = await one.received(other, label)
            #expect(stream.wrongStream == 0 && stream.damaged == 0 && stream.unmarkedGaps == 0, "\(stream)")
            #expect(stream.malformedFrames == 0 && stream.duplicates == 0, "\(stream)")
          }
          #expect(await one.statistics.subscribe.unopened == 0)
          #expect(await one.incidents.allSatisfy { $0.kind == .connected })
        }
        // Somebody new still finds in.
        let carl = try SyntheticParticipant(.light(server, room: "demo", user: "carl"), driver: driver)
        try await carl.join()
        #expect(await carl.waitUntilConnected())
        for one in [anna, ben, carl] { await one.leave() }
        driver.stop()
      }
    }

    @Test func aWrongFingerprintFailsAndNoPacketPasses() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await ben.join()
        #expect(await ben.waitUntilConnected())
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "mallory")
        plan.misbehaviour = [.wrongFingerprint]
        let mallory = try SyntheticParticipant(plan, driver: driver)
        try await mallory.join()
        for connection in [RoostProtocol.PeerConnection.publish, .subscribe] {
          #expect(await eventually { await mallory.mediaFailures.contains { $0.pc == connection } })
        }
        #expect(
          await mallory.mediaFailures.allSatisfy { $0.step == .dtls && $0.reason?.contains("fingerprint") == true })
        // Long enough for frames to have come, if any could.
        let heard = await ben.statistics.subscribe.datagramsReceived
        #expect(await eventually { await ben.statistics.subscribe.datagramsReceived > heard })
        try await Task.sleep(for: .milliseconds(500))
        #expect(await ben.received("mallory", "camera").packets == 0)
        #expect(await ben.received("mallory", "microphone").packets == 0)
        #expect(await mallory.statistics.received.allSatisfy { $0.packets == 0 })
        await mallory.leave()
        await ben.leave()
        driver.stop()
      }
    }
  }
}

/// A socket that sends what nobody should.
struct Flood {
  enum Kind: CaseIterable {
    /// Random bytes of any length.
    case noise
    /// A well-formed check for a user name fragment that exists, under a wrong password.
    case forgedCheck
    /// RTP and RTCP headers with random bodies, without keys.
    case media
    /// The beginning of a ClientHello.
    case cutHandshake
    /// A whole ClientHello with TLS_RSA_WITH_NULL_SHA alone, which no server takes.
    case nullHello
    /// Bodies that claim lengths which they do not have.
    case liar
  }

  private let descriptor: Int32
  private let target: SocketAddress
  private let ufrag: String
  private var random = SystemRandomNumberGenerator()
  private(set) var sent = 0

  struct Failure: Error {}

  init(at target: SocketAddress, ufrag: String) throws {
    descriptor = clinux_udp_open(clinux_address(high: 0, low: 0xffff_7f00_0001, port: 0), clinux_udp_options())
    guard descriptor >= 0 else { throw Failure() }
    self.target = target
    self.ufrag = ufrag
  }

  mutating func send(_ kind: Kind) {
    let bytes = make(kind)
    let address = clinux_address(high: target.high, low: target.low, port: target.port)
    let status = bytes.withUnsafeBufferPointer { clinux_udp_send(descriptor, $0.baseAddress, $0.count, address) }
    if status >= 0 { sent += 1 }
  }

  private mutating func make(_ kind: Kind) -> [UInt8] {
    switch kind {
    case .noise: return noise(0...1_400)
    case .forgedCheck: return forgedCheck()
    case .media:
      return [[0x80, 0x6f], [0x90, 0x60], [0x81, 0xc8], [0x81, 0xce]].randomElement(using: &random).map {
        $0 + noise(0...1_200)
      } ?? []
    case .cutHandshake: return [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 1, 44, 1] + noise(0...100)
    case .nullHello:
      return [22, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 54, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0, 42, 0xfe, 0xfd]
        + (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) } + [0, 0, 0, 2, 0, 2, 1, 0]
    case .liar:
      return [[0, 1, 0xff, 0xfc, 0x21, 0x12, 0xa4, 0x42], [23, 0xfe, 0xfd, 0, 1], [0x9f, 0x60, 0xff, 0xff]]
        .randomElement(using: &random).map { $0 + noise(0...40) } ?? []
    }
  }

  private mutating func noise(_ lengths: ClosedRange<Int>) -> [UInt8] {
    (0..<Int.random(in: lengths, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private mutating func forgedCheck() -> [UInt8] {
    var agent = ICEClientAgent(
      local: ICECredentials(ufrag: "none", password: String(repeating: "x", count: 24)),
      remote: ICECredentials(ufrag: ufrag, password: String(repeating: "y", count: 24)), candidates: [target],
      tieBreaker: random.next(), seed: random.next())
    var request = [UInt8](repeating: 0, count: ICEClientAgent.requestCapacity)
    var span = request.mutableSpan
    guard case .send(let length, _) = agent.poll(at: .zero, request: &span) else { return [] }
    return Array(request.prefix(length))
  }
}
