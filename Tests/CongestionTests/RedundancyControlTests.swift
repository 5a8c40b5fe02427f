import Basics
import RTP
import Testing

@testable import Congestion

@Suite struct RedundancyControlTests {
  /// Fifty packets a second of which so many are lost, decided upon each second. Returns what went along at each.
  private func seconds(
    _ losses: [Int], _ control: inout RedundancyControl, from start: Int = 0,
    room: (Int) -> RedundancyControl.Room = { _ in .init(sound: .kilobits(40), video: .zero, target: nil) }
  ) -> [Int] {
    var found: [Int] = []
    for (second, lost) in losses.enumerated() {
      let now = milliseconds((start + second + 1) * 1_000)
      control.count(50, lost: lost, at: now)
      control.decide(room(second), at: now)
      found.append(control.earlier)
    }
    return found
  }

  @Test func whatIsLostDecides() {
    var control = RedundancyControl()
    #expect(seconds([0, 0, 0], &control) == [0, 0, 0])
    // A fifth: one packet after a second, two after the next.
    #expect(seconds([10, 10, 10], &control, from: 3) == [2, 2, 2])
    #expect(abs(control.loss - 0.175) < 0.001)
    #expect(seconds([5, 5, 5], &control, from: 6) == [2, 2, 2])
    let calm = seconds([Int](repeating: 0, count: 60), &control, from: 9)
    #expect(calm[5] == 2 && calm[59] == 0)
    #expect(calm == calm.sorted(by: >), "it goes down step by step, and not up again")
    #expect(calm.contains(1))
  }

  @Test func aLittleLossChangesNothing() {
    var control = RedundancyControl()
    #expect(seconds([Int](repeating: 1, count: 30), &control).allSatisfy { $0 == 0 })
    // Between the loss that begins it and the loss that ends it, it stays as it is.
    var begun = RedundancyControl()
    _ = seconds([4, 4], &begun)
    #expect(begun.earlier == 1)
    #expect(seconds([Int](repeating: 1, count: 60), &begun, from: 2).allSatisfy { $0 == 1 })
  }

  /// A line whose share moves about what redundancy needs, each second: control, and the same without the hold.
  @Test func itDoesNotComeAndGoWithTheLinesShare() {
    var control = RedundancyControl()
    let moving: (Int) -> RedundancyControl.Room = { second in
      .init(sound: .kilobits(40), video: .kilobits(150), target: .kilobits(second % 4 < 2 ? 400 : 200))
    }
    let found = seconds([Int](repeating: 3, count: 600), &control, room: moving)
    let changes = zip(found, found.dropFirst()).count { $0 != $1 }
    #expect(changes > 2 && changes <= 20, "\(changes) in ten minutes")
    // A control that goes by room alone would change twice in four seconds.
    let alone = (0..<600).map { moving($0).fits(1, margin: 1) }
    #expect(zip(alone, alone.dropFirst()).count { $0 != $1 } > 250)
  }

  @Test func itTakesNoMoreThanThereIs() {
    func room(_ target: Double) -> (Int) -> RedundancyControl.Room {
      { _ in .init(sound: .kilobits(40), video: .kilobits(150), target: .kilobits(target)) }
    }
    var wide = RedundancyControl(), fair = RedundancyControl(), thin = RedundancyControl(),
      blind = RedundancyControl(seesRoom: false)
    #expect(seconds([10, 10, 10], &wide, room: room(2_000)).last == 2)
    #expect(seconds([10, 10, 10], &fair, room: room(260)).last == 1)
    #expect(seconds([10, 10, 10], &thin, room: room(200)).last == 0)
    #expect(seconds([10, 10, 10], &blind, room: room(200)).last == 2, "the control sees no room")
    // What has begun gives way when the line becomes thin, at once, and waits then.
    #expect(seconds([10, 10], &wide, from: 3, room: room(200)) == [0, 0])
    #expect(seconds([Int](repeating: 10, count: 9), &wide, from: 5, room: room(2_000)).last == 0)
    #expect(seconds([Int](repeating: 10, count: 12), &wide, from: 14, room: room(2_000)).last == 2)
  }

  @Test func whoTakesNoneIsOnlyMeasured() {
    var control = RedundancyControl(isTaken: false)
    #expect(seconds([10, 10, 10], &control) == [0, 0, 0])
    #expect(abs(control.remainingLoss - 0.175) < 0.001)
    control.isTaken = true
    #expect(seconds([10], &control, from: 3) == [2])
    #expect(control.remainingLoss < 0.01, "two of three packets in a row may be lost")
  }

  @Test func anEighthOfTheLineIsItsOwn() {
    let room = RedundancyControl.Room(sound: .kilobits(40), video: .kilobits(1_500), target: .kilobits(800))
    #expect(room.fits(2, margin: 1.25) && !room.fits(3, margin: 1.25) && room.fits(0, margin: 1))
  }

  /// Feedback about 100 numbers from `base` on, of which each fifth is missing.
  private func feedback(_ base: UInt16) -> FeedbackBytes {
    var arrivals: [Int: Int64] = [:]
    for index in 0..<100 where index % 5 != 0 { arrivals[index] = Int64(index) * 4 }
    return FeedbackBytes(base: base, count: 100, arrivals: arrivals)
  }

  @Test func feedbackSaysWhatTheLineLoses() {
    var control = RedundancyControl()
    // The first only says where it begins; the third was lost on its way back, and the sixth comes twice.
    for (step, block) in [0, 1, 3, 4, 5, 5, 6].enumerated() {
      let base = 65_000 &+ UInt16(block) &* 100
      feedback(base).read { control.heard($0, $1, newest: base &+ 120, at: milliseconds(step * 300)) }
    }
    #expect(abs(control.loss - 0.1) < 0.001, "half of a fifth, after the first second")
    #expect(control.isDue(at: milliseconds(1_800)))
  }

  @Test(arguments: [(UInt16(40_000), "minutes late"), (700, "never sent")])
  func whatCannotBeIsPassedOver(_ base: UInt16, _ what: String) {
    var control = RedundancyControl()
    feedback(0).read { control.heard($0, $1, newest: 200, at: milliseconds(100)) }
    for step in 1...50 {
      feedback(base).read { control.heard($0, $1, newest: 200, at: milliseconds(100 + step * 100)) }
    }
    #expect(control.loss == 0 && !control.isDue(at: milliseconds(10_000)), "\(what)")
  }
}
