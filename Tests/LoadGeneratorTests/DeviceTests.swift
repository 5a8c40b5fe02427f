// Devices of the load test: their frames and messages in tables, and short runs against a server of our own, of which a good one
// passes and each way to be too dear or too slow is noticed.

import Basics
import Crypto
import Glibc
import TLSClient
import TestSupport
import Testing

@testable import Devices
@testable import LoadGenerator

@Suite struct DeviceFrameTests {
  @Test(arguments: [0, 5, 125, 126, 65_535, 65_536])
  func whatIsWrittenIsAFrameWithAMask(_ length: Int) {
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    var bytes: [UInt8] = []
    Frames.append(.text, payload, mask: 0x0102_0304, to: &bytes)
    let head = length < 126 ? 2 : length < 65_536 ? 4 : 10
    #expect(bytes[0] == 0x81 && bytes[1] & 0x80 != 0 && bytes.count == head + 4 + length)
    #expect(Array(bytes[head..<(head + 4)]) == [1, 2, 3, 4])
    #expect(bytes[(head + 4)...].enumerated().allSatisfy { $1 ^ UInt8($0 & 3 + 1) == payload[$0] })
  }

  @Test(arguments: [(0, 2), (125, 2), (126, 4), (65_536, 10)])
  func aFrameOfTheServerIsFoundOnceItIsWhole(_ length: Int, _ head: Int) {
    let lengths: [UInt8] =
      length < 126
      ? [UInt8(length)]
      : length < 65_536 ? [126, UInt8(length >> 8), UInt8(length & 255)] : [127, 0, 0, 0, 0, 0, 1, 0, 0]
    let bytes: [UInt8] = [0, 0x81] + lengths + [UInt8](repeating: 7, count: length)
    let frame = ServerFrame(opcode: .text, isFinal: true, payload: (head + 1)..<(head + 1 + length))
    #expect(Frames.read(bytes, at: 1) == .frame(frame))
    #expect(Frames.read(Array(bytes.dropLast()), at: 1) == (length == 0 ? .part : .part))
    #expect(Frames.read(Array(bytes.prefix(2)), at: 1) == .part)
  }

  @Test(
    arguments: [
      [0x81, 0x85, 0, 0, 0, 0], [0xc1, 0], [0x83, 0], [0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255],
    ] as [[UInt8]])
  func whatNoServerMaySendIsBroken(_ bytes: [UInt8]) { #expect(Frames.read(bytes, at: 0) == .broken) }

  @Test(arguments: [
    (#"{"jsonrpc":"2.0","id":7,"result":{"id":9,"method":"x"}}"#, Heard.reply(id: 7, code: nil)),
    (#"{"id":8,"jsonrpc":"2.0","error":{"code":3011,"message":"a \"} b"}}"#, .reply(id: 8, code: 3011)),
    (#"{"error":{"code":-32600,"message":""},"id":1}"#, .reply(id: 1, code: -32600)),
    (#"{"params":{"text":"{\"method\":\"no\"","seq":4},"method":"chat.message"}"#, .event("chat.message")),
    (#"{"result":{}}"#, .other), ("", .other), (#"{"id":"#, .other), (#"{"method":"abc"#, .event("ab")),
  ])
  func aMessageIsKnownByItsOutermostKeys(_ text: String, _ wanted: Heard) {
    let bytes = Array("..\(text)".utf8)
    #expect(Messages.kind(bytes, 2..<bytes.count) == wanted)
  }

  @Test func namesAndNumbersAreFound() {
    let bytes = Array(#"{"params":{"seq":12,"call":{"callId":"ab-1","rev":-3}}}"#.utf8)
    #expect(Messages.text("callId", bytes, bytes.indices) == "ab-1")
    #expect(Messages.number("\"rev\":", bytes, bytes.indices) == -3)
    #expect(Messages.text("callId", bytes, 0..<20) == nil && Messages.number("\"rev\":", bytes, 0..<3) == nil)
  }

  @Test func aPaceIsEvenAndGivesUpWhatIsLongPast() {
    var pace = CallPace(perSecond: 100, from: .zero)
    #expect(!pace.isDue(at: .zero) && pace.isDue(at: .zero + .milliseconds(10)))
    #expect(pace.advance(at: .zero + .milliseconds(15)) == .zero + .milliseconds(10))
    #expect(pace.next == .zero + .milliseconds(20))
    _ = pace.advance(at: .zero + .seconds(9))
    #expect(pace.next == .zero + .seconds(8))
    #expect(CallPace().next == .distantFuture && CallPace(perSecond: 0, from: .zero).next == .distantFuture)
  }

  @Test func aServersCertificateIsOneThatServersTake() throws {
    let made = try #require(ServerCertificate(name: "127.0.0.1"))
    let base = "/tmp/roost-certificate-\(getpid())"
    defer { for ending in ["pem", "key"] { unlink("\(base).\(ending)") } }
    #expect(writeFile("\(base).pem", made.certificate) && writeFile("\(base).key", made.key))
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let facts = try inspectTLSFiles(
      certificate: "\(base).pem", key: "\(base).key", wallMilliseconds: Int64(time.tv_sec) * 1_000)
    #expect(facts.secondsLeft > 80_000 && facts.secondsValid > 3_000)
  }
}

@Suite(.serialized, .timeLimit(.minutes(5))) struct DeviceRunTests {
  private static func run(_ count: Int, _ change: (inout Scenario) -> Void = { _ in }) async throws -> Report {
    var scenario = Scenario()
    (scenario.name, scenario.people, scenario.duration) = ("short", [], .seconds(2))
    scenario.devices = DeviceCrowd(count: count, rest: .seconds(1))
    change(&scenario)
    var settings = RunSettings()
    let roost: String = try #require(Programs.path("roost"))
    settings.roost = roost
    settings.threads = 1
    return try await Run.run(scenario, settings)
  }

  @Test func devicesWaitAreCalledAndComeBack() async throws {
    let report = try await Self.run(60) {
      $0.callsPerSecond = 10
      $0.stores = true
      $0.devices?.restarts = true
      $0.idlePing = .seconds(1)
      $0.expect.bounds.deviceRSS = 1 << 30
      $0.expect.bounds.idleCPU = 1
      $0.expect.bounds.setUpMicros = 1_000_000
      $0.expect.bounds.incomingP99 = .seconds(5)
      $0.expect.bounds.restart = .seconds(60)
    }
    #expect(report.passed, "\(report.table)")
    let devices = try #require(report.devices)
    #expect(devices.connected == 60 && devices.lost == 0 && devices.connectSeconds > 0 && devices.pingsPerSecond > 10)
    #expect(devices.rssBytesPerDevice > 0 && devices.idleCPU > 0 && devices.idleCPU < 1)
    let calls = try #require(devices.calls)
    #expect(calls.ended == calls.started && calls.ended > 12 && calls.failed == 0)
    #expect((calls.cpuMicros ?? 0) > 10 && (calls.incomingMs?.p50 ?? 0) > 0)
    let restart = try #require(devices.restart)
    #expect(restart.back == 60 && (restart.backSeconds ?? 0) >= restart.startSeconds)
    #expect(report.html.contains("server CPU a call set-up") && report.table.contains("start to incoming"))
  }

  @Test func devicesWithTLSDoTheSame() async throws {
    let report = try await Self.run(40) {
      $0.callsPerSecond = 10
      $0.devices?.isTLS = true
      $0.devices?.restarts = true
    }
    #expect(report.passed, "\(report.table)")
    #expect(report.devices?.isTLS == true && (report.devices?.calls?.ended ?? 0) > 12)
  }

  /// Bounds that nothing can keep: each is named, and nothing else.
  @Test func whatIsTooDearIsNoticed() async throws {
    let report = try await Self.run(30) {
      $0.callsPerSecond = 5
      $0.duration = .seconds(1)
      $0.devices?.restarts = true
      $0.expect.bounds.deviceRSS = 1
      $0.expect.bounds.idleCPU = 0
      $0.expect.bounds.setUpMicros = 0.1
      $0.expect.bounds.incomingP99 = .microseconds(1)
      $0.expect.bounds.restart = .microseconds(1)
    }
    #expect(
      Set(report.expectations.filter { !$0.held }.map(\.name)) == [
        "memory of a device", "CPU of idle devices", "CPU of a call set-up", "start to incoming, p99",
        "back after a restart",
      ])
  }

  /// More calls than two devices can be in: the pace is not reached, and that is said.
  @Test func anEasierLoadThanAskedForIsNoticed() async throws {
    let report = try await Self.run(2) { $0.callsPerSecond = 20_000 }
    #expect(report.expectations.contains { $0.name == "calls come at the asked pace" && !$0.held }, "\(report.table)")
    #expect(report.devices?.calls?.failed == 0)
  }

  @Test func devicesNeedAServerOfOurOwn() async throws {
    var scenario = Scenario()
    scenario.devices = DeviceCrowd()
    var settings = RunSettings()
    settings.server = "http://127.0.0.1:1"
    await #expect(throws: UsageError.self) { try await Run.run(scenario, settings) }
  }
}
