// Faults do to packets what their names say, and nothing to the others.

import Basics
import RTP
import Testing

@testable import SyntheticParticipant

@Suite struct ServerFaultTests {
  /// Packets `numbers` of one stream through a fault: what comes out, in order, as sequence numbers.
  private func run(_ fault: ServerFault, _ numbers: ClosedRange<UInt16>) -> [UInt16] {
    var injector = FaultInjector(fault)
    var result: [UInt16] = []
    for number in numbers {
      var bytes = packet(number, ssrc: 7, fill: 1)
      var span = bytes.mutableSpan
      let outcome = injector.apply(&span, length: span.count, at: .zero)
      let now = span.span.uint16(at: 2)
      switch outcome {
      case .never: break
      case .once: result.append(now)
      case .twice: result += [now, now]
      }
    }
    return result
  }

  private func packet(_ number: UInt16, ssrc: UInt32, fill: UInt8) -> [UInt8] {
    var bytes: [UInt8] = [0x80, 96, UInt8(number >> 8), UInt8(number & 255), 0, 0, 0, 0]
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> UInt32(24 - 8 * $0)) }
    return bytes + Array(repeating: fill, count: 20)
  }

  @Test func dropHidesTheGap() {
    let period = UInt16(FaultInjector.period)
    let out = run(.drop, 1...(period * 2 + 10))
    #expect(out == Array(1...(period * 2 + 8)))
  }

  @Test func duplicateRepeatsSome() {
    let out = run(.duplicate, 1...UInt16(FaultInjector.period * 2))
    #expect(out.count == FaultInjector.period * 2 + 2)
    #expect(Set(out).count == FaultInjector.period * 2)
  }

  @Test func leakTouchesNothing() { #expect(run(.leak, 1...300) == Array(1...300)) }

  @Test func lateKeepsOrderAndWaits() {
    var injector = FaultInjector(.late)
    for number: UInt16 in 1...3 {
      var bytes = packet(number, ssrc: 7, fill: 1)
      var span = bytes.mutableSpan
      let outcome = injector.apply(&span, length: span.count, at: Instant.zero + .milliseconds(Int(number)))
      #expect(outcome == .never)
    }
    #expect(injector.nextDeadline == Instant.zero + .milliseconds(1) + FaultInjector.delay)
    let early = injector.takeDue(at: Instant.zero + .milliseconds(200))
    #expect(early == nil)
    var out: [[UInt8]] = []
    while let bytes = injector.takeDue(at: Instant.zero + .seconds(1)) { out.append(bytes) }
    #expect(out == (1...3).map { packet($0, ssrc: 7, fill: 1) })
    #expect(injector.nextDeadline == .distantFuture)
  }

  @Test func swapPutsOneStreamsPayloadIntoAnother() {
    var injector = FaultInjector(.swap)
    var swapped = 0
    for number: UInt16 in 1...400 {
      let ssrc: UInt32 = number % 2 == 0 ? 7 : 8
      var bytes = packet(number, ssrc: ssrc, fill: UInt8(ssrc))
      var span = bytes.mutableSpan
      let outcome = injector.apply(&span, length: span.count, at: .zero)
      #expect(outcome == .once)
      if bytes[12] != UInt8(ssrc) { swapped += 1 }
    }
    #expect(swapped > 1)
  }
}
