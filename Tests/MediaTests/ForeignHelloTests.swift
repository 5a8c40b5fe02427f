// Somebody else's ClientHello with a cipher that no server takes: before the peer's description is there, between it and the first check,
// before and in the middle of the handshake, in the call; from the peer's own address as if forged, and from another. Servers that took it
// for the peer's ended the call (CVE-2023-49786, CVE-2023-51443).

import Basics
import DTLS
import RTP
import Testing

@testable import Media

struct ForeignHelloTests {
  enum Moment: CaseIterable {
    case beforeTheDescription, beforeTheFirstCheck, beforeTheHandshake, inTheHandshake, inTheCall
  }

  /// TLS_RSA_WITH_NULL_SHA, and no extension.
  private static let hello: [UInt8] = {
    let body: [UInt8] = [0xfe, 0xfd] + [UInt8](repeating: 0x41, count: 32) + [0, 0, 0, 2, 0, 2, 1, 0]
    let length = UInt8(body.count)
    let message: [UInt8] = [1, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length] + body
    return [22, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(message.count)] + message
  }()

  /// Forty calls for each moment and each address: four hundred.
  @Test(arguments: Moment.allCases, [true, false]) func noneIsHurt(moment: Moment, fromTheirs: Bool) throws {
    let call = try Call(seed: 11)
    var answered: Set<Path> = []
    call.onDatagram = { path, bytes in if PacketClass.classify(bytes.span) == .dtls { answered.insert(path) } }
    let elsewhere = Path(remote: SocketAddress(v4: 0x0b00_0001, port: 9_999), socket: 0)
    for number in 0..<40 {
      let peer = try call.join("p\(number)", remote: moment == .beforeTheDescription ? .later : .known)
      let id = try #require(call.worker.directory.transports[peer.key])
      let path = fromTheirs ? peer.path : elsewhere
      func inject() { for _ in 0..<3 { call.inject(Self.hello, from: path) } }
      switch moment {
      case .beforeTheDescription:
        inject()
        call.answer(peer)
      case .beforeTheFirstCheck: inject()
      case .beforeTheHandshake:
        let hasChecked = call.run(atMost: .seconds(5)) { call.worker.ends.transports[id].controlPath != nil }
        #expect(hasChecked)
        inject()
      case .inTheHandshake:
        #expect(call.run(atMost: .seconds(5)) { answered.contains(peer.path) })
        let isReady = call.worker.ends.transports[id].security.isReady
        #expect(!isReady)
        inject()
      case .inTheCall: break
      }
      let video = call.publish(peer, .video)
      let watched = call.subscribe(peer, to: video)
      call.run(.milliseconds(500))
      if moment == .inTheCall { inject() }
      call.run(.milliseconds(500))
      #expect(call.isConnected(peer))
      #expect((call.stream(watched)?.frames.count ?? 0) > 10, "call \(number)")
      call.apply(.closeTransport(peer.key))
      call.run(.milliseconds(50))
      peer.isGone = true
    }
    #expect(call.count { if case .transportFailed = $0 { true } else { false } } == 0)
    #expect(call.count { if case .transportLost = $0 { true } else { false } } == 0)
    #expect(call.brokenRules() == [])
  }

  /// Who sends nothing better hears why, a few seconds later.
  @Test func whoSendsNothingBetterFails() throws {
    let call = try Call(seed: 12)
    let mallory = try call.join("mallory") { $0.shakesHands = false }
    let id = try #require(call.worker.directory.transports[mallory.key])
    let hasChecked = call.run(atMost: .seconds(5)) { call.worker.ends.transports[id].controlPath != nil }
    #expect(hasChecked)
    var answers = 0
    call.onDatagram = { _, bytes in if PacketClass.classify(bytes.span) == .dtls { answers += 1 } }
    func failures(_ peer: VirtualPeer? = nil) -> Int {
      let key = (peer ?? mallory).key
      return call.count { if case .transportFailed(key, .handshake) = $0 { true } else { false } }
    }
    let began = call.now
    call.inject(Self.hello, from: mallory.path)
    call.run(.milliseconds(2_900))
    #expect(failures() == 0)
    #expect(call.run(atMost: .seconds(1)) { failures() == 1 })
    #expect(call.now - began < .milliseconds(3_200) && answers == 0)
    // A thousand at once end it at once.
    let other = try call.join("oscar") { $0.shakesHands = false }
    let otherID = try #require(call.worker.directory.transports[other.key])
    let otherHasChecked = call.run(atMost: .seconds(5)) { call.worker.ends.transports[otherID].controlPath != nil }
    #expect(otherHasChecked)
    for _ in 0..<999 { call.inject(Self.hello, from: other.path) }
    call.turn()
    #expect(failures(other) == 0)
    call.inject(Self.hello, from: other.path)
    call.turn()
    #expect(failures(other) == 1)
  }
}
