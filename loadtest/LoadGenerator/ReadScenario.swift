// scenarios/*.yaml to `Scenario`: which keys there are, of which kind, within which bounds. Complaints say file, line, column
// and key, as those about rooms.yaml do.

import Basics
import Configuration
import RoostProtocol

extension Scenario {
  /// Reads a file. Throws everything that is wrong with it.
  static func load(file: String, name: String) throws(InvalidConfiguration) -> Scenario {
    try readDocument(file: file) { read(&$0, name) }
  }

  /// Reads a text that stands for the file of that name.
  static func parse(_ text: String, name: String) throws(InvalidConfiguration) -> Scenario {
    try readDocument(Array(text.utf8), file: "\(name).yaml") { read(&$0, name) }
  }

  private static func read(_ root: inout Section, _ name: String) -> Scenario {
    var scenario = Scenario()
    scenario.name = name
    root.read("about", .text(), &scenario.about)
    root.read("room_kind", .text(64), &scenario.roomKind)
    root.read("seats", .integer(1...100_000), &scenario.seats)
    root.read("rooms", .integer(1...10_000), &scenario.rooms)
    root.section("coalesce") { $0.read("audience", .duration(.zero...(moment * 40)), &scenario.audienceHold) }
    root.read("ramp", .duration(.zero...hour), &scenario.ramp)
    root.read("duration", .duration(.seconds(1)...(hour * 24)), &scenario.duration)
    root.read("people", .list(of: .group, atLeast: 1, atMost: 16), &scenario.people)
    root.read("calls", .integer(1...1_000), &scenario.calls)
    root.section("expect") { scenario.expect.read(&$0) }
    root.section("targets") { scenario.targets.read(&$0) }
    if root.mark(of: "people") == nil, root.mark(of: "calls") == nil {
      root.complain("people", "a scenario needs people, or calls")
    }
    return scenario
  }
}

private let hour = TimeDelta.seconds(3_600)
private let moment = TimeDelta.milliseconds(1)

extension ValueKind where Value == PeopleGroup {
  fileprivate static var group: Self {
    Self { node, context in
      var keys = Section(element: node, context)
      var group = PeopleGroup()
      keys.read("name", .text(32), &group.name)
      keys.read("count", .integer(1...10_000), &group.count)
      keys.read("audio", .bitrate(16_000...500_000), &group.audio)
      group.video = VideoShape.read(&keys)
      keys.read("real", .boolean, &group.real)
      keys.read("decodes", .share, &group.decodes)
      keys.read("receives", .boolean, &group.receives)
      keys.read("refused", .errorName, &group.refused)
      keys.section("network") { group.network.read(&$0) }
      group.habits.read(&keys)
      keys.finish()
      return group
    }
  }
}

extension Habits {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("mute_every", .duration(.milliseconds(500)...hour), &muteEvery)
    keys.read("chat_every", .duration(moment...hour), &chatEvery)
    keys.read("stay", .duration(.milliseconds(100)...hour), &stay)
    keys.read("away", .duration(moment...hour), &away)
    keys.read("vanishes", .boolean, &vanishes)
    if (stay == nil) != (away == nil) { keys.complain("stay", "needs away beside it, and away needs stay") }
  }
}

extension VideoShape {
  /// The keys about pictures; nil when `video` is not among them.
  fileprivate static func read(_ keys: inout Section) -> VideoShape? {
    var shape = VideoShape()
    let bitrate = keys.value("video", .bitrate(50_000...100_000_000))
    keys.read("frames_per_second", .integer(1...120), &shape.framesPerSecond)
    keys.read("layers", .integer(1...3), &shape.layers)
    keys.read("keyframe_times", .integer(1...50), &shape.keyframeTimes)
    guard let bitrate else { return nil }
    shape.bitrate = bitrate
    return shape
  }
}

extension Network {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("send_loss", .share, &sendLoss)
    keys.read("receive_loss", .share, &receiveLoss)
    keys.read("jitter", .duration(.zero...TimeDelta.seconds(1)), &jitter)
    keys.read("read_pause", .duration(.zero...TimeDelta.seconds(10)), &readPause)
  }
}

extension Expect {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("streams", .integer(0...10_000_000), &streams)
    keys.read("loss", .share, &loss)
    keys.read("duplicates", .integer(0...1_000_000), &duplicates)
    keys.read("freezes", .integer(0...1_000_000), &freezes)
    keys.read("psnr", .decimal(1...100), &psnr)
    bounds.read(&keys)
  }
}

extension Bounds {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("audio_p99", .duration(moment...hour), &audioP99)
    keys.read("video_p99", .duration(moment...hour), &videoP99)
    keys.read("join_p99", .duration(moment...hour), &joinP99)
    keys.read("first_frame_p99", .duration(moment...hour), &firstFrameP99)
    keys.read("mute_p99", .duration(moment...hour), &muteP99)
    keys.read("answer_p99", .duration(moment...hour), &answerP99)
    keys.read("upgrade_gap", .duration(moment...hour), &upgradeGap)
    keys.read("cpu_micros", .decimal(0.01...1_000), &cpuMicros)
    keys.read("ratio_to_limit", .decimal(0.01...1_000), &ratioToLimit)
    keys.read("rss", .bytes(1...(1 << 40)), &rss)
  }
}

extension ValueKind where Value == Double {
  /// A number with or without a fraction.
  fileprivate static func decimal(_ range: ClosedRange<Double>) -> Self {
    Self { node, context in
      if let value = node.plain.flatMap(Double.init), range.contains(value) { return value }
      context.complain(node, expected: "a number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
  }

  /// A share of a whole: `0.02` or `2%`.
  fileprivate static var share: Self {
    Self { node, context in
      let text = node.plain ?? ""
      let value = text.hasSuffix("%") ? Double(text.dropLast()).map { $0 / 100 } : Double(text)
      if let value, (0...1).contains(value) { return value }
      context.complain(node, expected: "a share such as 0.02 or 2%")
      return nil
    }
  }
}

extension ValueKind where Value == String {
  /// The name of one of the protocol's errors.
  fileprivate static var errorName: Self {
    Self { node, context in
      let names = ErrorCode.allCases.map(\.name)
      if let text = node.text, names.contains(text) { return text }
      let hint = node.text.flatMap { nearest($0, names) }.map { "; did you mean \($0)?" } ?? ""
      context.complain(node, "expected the name of an error such as ROOM_FULL, found \(node.described)\(hint)")
      return nil
    }
  }
}
