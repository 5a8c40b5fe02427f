// What the threads that post to web servers outside have in common: a request that is signed, and how they sleep.

import Basics
import Configuration
import Webhooks

extension HTTPPost {
  /// A message in JSON, signed with each of `secrets` (docs/webhooks.md, "The request").
  /// - Parameter attempt: from 1 on.
  init(
    to url: String, id: String, attempt: Int, _ body: [UInt8], secrets: [[UInt8]], at now: Now, timeout: TimeDelta,
    mostAnswerBytes: Int = 0
  ) {
    self.init(
      url: url,
      headers: [
        ("content-type", "application/json"), ("user-agent", "roost/\(roostVersion)"), ("expect", ""),
        ("roost-delivery", id), ("roost-attempt", "\(attempt)"),
        ("roost-signature", signature(of: body, secrets: secrets, seconds: now.wallMilliseconds / 1000)),
      ], body: body, timeout: timeout, mostAnswerBytes: mostAnswerBytes)
  }
}

extension HTTPSender {
  /// Sleeps until a request moves, `descriptor` becomes readable, or it is `deadline`. An hour where there is none: a wake-up costs nothing.
  mutating func wait(descriptor: Int32, until deadline: Instant?) {
    let left = deadline.map { $0 - Now.read().instant } ?? .seconds(3600)
    wait(descriptor: descriptor, milliseconds: Int(clamping: max(left.milliseconds + 1, 0)))
  }
}
