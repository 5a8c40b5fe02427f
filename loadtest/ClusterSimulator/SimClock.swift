// A machine's clock: it has an origin of its own, and is a little fast or slow.

import Basics

/// Readings of a clock at times that only the world knows.
struct SimClock {
  private let offset: TimeDelta
  private let partsPerMillion: Int64
  /// For how long it has stood.
  private var stood = TimeDelta.zero
  private var standsSince: Instant?

  init(offset: TimeDelta, partsPerMillion: Int) {
    (self.offset, self.partsPerMillion) = (offset, Int64(partsPerMillion))
  }

  var stands: Bool { standsSince != nil }

  func reading(at true: Instant) -> Instant {
    let ran = (standsSince ?? `true`) - .zero - stood
    return .zero + offset + ran + TimeDelta(nanoseconds: ran.nanoseconds * partsPerMillion / 1_000_000)
  }

  /// When it shows this, if it runs all the time; not earlier.
  func trueTime(of reading: Instant) -> Instant {
    let ran = (reading - .zero - offset).nanoseconds
    // Whatever is as far away as a year is never.
    guard ran > 0 else { return .zero }
    guard ran < 31_000_000_000_000_000 else { return .distantFuture }
    let through = ran / (1_000_000 + partsPerMillion) * 1_000_000
    let rest = ran % (1_000_000 + partsPerMillion) * 1_000_000 / (1_000_000 + partsPerMillion)
    return .zero + stood + TimeDelta(nanoseconds: through + rest + 2)
  }

  mutating func stand(at true: Instant) { standsSince = standsSince ?? `true` }
  mutating func goOn(at true: Instant) {
    guard let since = standsSince else { return }
    stood = stood + (`true` - since)
    standsSince = nil
  }
}
