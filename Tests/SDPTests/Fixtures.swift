// Real session descriptions from Tests/Fixtures/sdp, and a random source that repeats.

import Foundation

enum Fixture {
  static let names = [
    "aiortc-offer", "aiortc-subscribe-answer", "chromium-max-bundle-data-offer", "chromium-max-compat-offer",
    "chromium-offer", "chromium-simulcast-offer", "chromium-subscribe-answer", "chromium-subscribe-empty-answer",
    "firefox-offer", "firefox-simulcast-offer", "firefox-subscribe-answer", "gstreamer-offer",
    "gstreamer-subscribe-answer", "pion-offer", "pion-subscribe-answer", "safari-offer",
  ]

  static func text(_ name: String) throws -> String {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appendingPathComponent("Fixtures/sdp/\(name).sdp"))
    return String(decoding: data, as: UTF8.self)
  }
}

/// SplitMix64.
struct SeededRandom: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
