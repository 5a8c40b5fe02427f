// scenarios/*.yaml to `Scenario`: which keys there are, of which kind, within which bounds. Complaints say file, line, column
// and key, as those about rooms.yaml do.

import Basics
import Configuration
import RoostProtocol
import SyntheticParticipant

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
    if !scenario.hasWhomToPlay {
      root.complain("people", "who comes by whep or flashphoner only plays, and plays the one person who publishes")
    }
    scenario.readDevices(&root)
    root.section("expect") { scenario.expect.read(&$0) }
    root.section("targets") { scenario.targets.read(&$0) }
    if ["people", "calls", "devices"].allSatisfy({ root.mark(of: $0) == nil }) {
      root.complain("people", "a scenario needs people, calls or devices")
    }
    return scenario
  }

  private mutating func readDevices(_ root: inout Section) {
    if root.mark(of: "devices") != nil {
      var crowd = DeviceCrowd()
      root.section("devices") {
        $0.read("count", .integer(2...100_000), &crowd.count)
        $0.read("tls", .boolean, &crowd.isTLS)
        $0.read("rest", .duration(.seconds(1)...hour), &crowd.rest)
        $0.read("restart", .boolean, &crowd.restarts)
      }
      devices = crowd
    }
    callsPerSecond = root.value("calls_per_second", .decimal(0.1...100_000))
    root.read("idle_ping", .duration(.seconds(1)...hour), &idlePing)
    root.read("storage", .boolean, &stores)
    if callsPerSecond != nil, devices == nil {
      root.complain("calls_per_second", "it is devices who call: name them with devices: {count: 500}")
    }
    if devices?.isTLS == true, !people.isEmpty || calls > 0 {
      root.complain(
        "devices", "people cannot come with TLS, for they would not take a certificate that is made for the run")
    }
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
      group.door = keys.value("door", .oneOf)
      keys.read("refused", .errorName, &group.refused)
      keys.section("network") { group.network.read(&$0) }
      if keys.mark(of: "line") != nil {
        var line = LineShape()
        keys.section("line") { line.read(&$0) }
        group.line = line
      }
      keys.read("feedback", .oneOf, &group.feedback)
      group.definition = keys.value("definition", .oneOf)
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

extension LineShape {
  fileprivate mutating func read(_ keys: inout Section) {
    down = keys.value("rate", .bitrate(30_000...10_000_000_000))
    up = keys.value("up", .bitrate(30_000...10_000_000_000))
    keys.read("delay", .duration(.zero...TimeDelta.seconds(5)), &delay)
    keys.read("loss", .share, &loss)
    keys.read("queue", .duration(moment...TimeDelta.seconds(10)), &queue)
  }
}

extension ValueKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of the names of an enumeration.
  fileprivate static var oneOf: Self {
    Self { node, context in
      let names = Value.allCases.map(\.rawValue)
      if let value = node.text.flatMap(Value.init(rawValue:)) { return value }
      context.complain(node, expected: "one of \(names.joined(separator: ", "))")
      return nil
    }
  }
}

extension Expect {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("streams", .integer(0...10_000_000), &streams)
    keys.read("loss", .share, &loss)
    keys.read("duplicates", .integer(0...1_000_000), &duplicates)
    keys.read("freezes", .integer(0...1_000_000), &freezes)
    keys.read("psnr", .decimal(1...100), &psnr)
    lineShare = keys.value("line_share", .share)
    keys.read("line_freezes", .integer(0...1_000_000), &lineFreezes)
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
    keys.read("device_rss", .bytes(1...(1 << 30)), &deviceRSS)
    idleCPU = keys.value("idle_cpu", .share)
    keys.read("setup_micros", .decimal(0.1...1_000_000), &setUpMicros)
    keys.read("incoming_p99", .duration(moment...hour), &incomingP99)
    keys.read("restart", .duration(moment...hour), &restart)
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
