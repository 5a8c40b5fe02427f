// Truncated, mangled and random input: an error or a description that writes and reads as itself, never a trap.

import Basics
import SDP
import Testing

@Suite struct RobustnessTests {
  /// Whether the bytes were taken; if so, what they say must survive writing.
  private func check(_ bytes: [UInt8]) -> Bool {
    guard let parsed = try? SessionDescription.parse(bytes) else { return false }
    let again = try? SessionDescription.parse(parsed.serialized())
    #expect(again == parsed)
    return true
  }

  @Test(arguments: ["chromium-simulcast-offer", "firefox-simulcast-offer", "pion-offer"])
  func truncation(name: String) throws {
    let bytes = Array(try Fixture.text(name).utf8)
    var taken = 0
    for length in stride(from: 0, to: bytes.count, by: 61) where check(Array(bytes[..<length])) { taken += 1 }
    #expect(taken > 0)
  }

  @Test(arguments: Array(Fixture.names.enumerated()))
  func mutation(seed: Int, name: String) throws {
    let original = Array(try Fixture.text(name).utf8)
    var random = SplitMix64(seed: UInt64(seed))
    var refused = 0
    for _ in 0..<60 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let position = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: position)
        case 2: bytes.insert([0x0a, 0x20, 0x3a, 0x2f, 0x3b, 0x7e].randomElement(using: &random) ?? 0, at: position)
        default: bytes[position] = (0x20...0x7e).randomElement(using: &random) ?? 0x20
        }
      }
      if !check(bytes) { refused += 1 }
    }
    #expect(refused > 0)
  }

  @Test func garbage() {
    var random = SplitMix64(seed: 7)
    let head = Array("v=0\no=- 1 2 IN IP4 0.0.0.0\nm=video 9 RTP/SAVPF 96\n".utf8)
    let names = [
      "rtpmap", "fmtp", "rtcp-fb", "extmap", "ssrc", "ssrc-group", "rid", "simulcast", "msid", "mid", "candidate",
      "fingerprint", "setup", "ice-ufrag", "ice-pwd", "ice-options", "group",
    ]
    let alphabet = Array("0123456789abz:;,=~/ -*.".utf8)
    var taken = 0
    for _ in 0..<4000 {
      let value = (0..<Int.random(in: 0...24, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
      let name = names.randomElement(using: &random) ?? ""
      if check(head + Array("a=\(name):".utf8) + value) { taken += 1 }
    }
    #expect(taken > 0 && taken < 4000)
    for length in 0..<200 {
      let noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(!check(noise))
    }
  }
}
