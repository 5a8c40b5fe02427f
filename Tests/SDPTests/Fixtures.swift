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
