// Scenario files: the ones we ship are right, and a mistake is told with file, line and key.

import Basics
import Configuration
import SyntheticParticipant
import Testing

@testable import LoadGenerator

@Suite struct ScenarioTests {
  @Test func allShippedScenariosAreRight() throws {
    let names = FindFiles.scenarios
    #expect(names.contains("video16") && names.contains("demo3"))
    for name in names {
      let file = try #require(FindFiles.scenario(name))
      let scenario = try Scenario.load(file: file, name: name)
      #expect(scenario.participants > 0 || scenario.calls > 0 || scenario.devices != nil, "\(name)")
      #expect(!scenario.about.isEmpty, "\(name)")
    }
  }

  /// What the comparison with other servers is about: packets a second out of the server.
  @Test(arguments: [("video16", 42_000), ("audio32", 49_600), ("broadcast", 87_500)])
  func theComparedScenariosHaveTheirFigures(_ name: String, _ packetsPerSecond: Int) throws {
    let scenario = try Scenario.load(file: try #require(FindFiles.scenario(name)), name: name)
    #expect(scenario.rooms == 1)
    var sum = 0
    for group in scenario.people {
      let receivers = scenario.people.filter(\.receives).reduce(0) { $0 + $1.count } - (group.receives ? 1 : 0)
      var each = group.audio == nil ? 0 : 50
      if let plan = group.video?.plan {
        #expect(plan.layers.map(\.packetBytes) == [1_200])
        each += plan.framesPerSecond * plan.layers[0].packetsPerFrame
      }
      sum += group.count * receivers * each
    }
    #expect(sum == packetsPerSecond)
    let crowd = scenario.people
    #expect(scenario.expect.streams == streams(crowd))
  }

  private func streams(_ people: [PeopleGroup]) -> Int {
    let receivers = people.filter(\.receives).reduce(0) { $0 + $1.count }
    return people.reduce(0) { $0 + $1.count * $1.tracks * (receivers - ($1.receives ? 1 : 0)) }
  }

  @Test func readsEveryKey() throws {
    let scenario = try Scenario.parse(
      """
      about: all of it
      room_kind: broadcast
      seats: 9
      rooms: 2
      ramp: 500ms
      duration: 5s
      coalesce: {audience: 15ms}
      people:
        - name: a
          count: 3
          audio: 24kbps
          video: 1Mbps
          frames_per_second: 20
          layers: 3
          keyframe_times: 6
          receives: false
          network: {send_loss: 2%, receive_loss: 0.01, jitter: 5ms, read_pause: 20ms}
          mute_every: 2s
          chat_every: 100ms
          stay: 3s
          away: 1s
          vanishes: true
        - {name: b, refused: ROOM_FULL}
      expect: {streams: 7, loss: 1%, duplicates: 2, audio_p99: 10ms, video_p99: 20ms, join_p99: 1s, first_frame_p99: 2s,
        mute_p99: 100ms, answer_p99: 3s, upgrade_gap: 200ms, freezes: 3, psnr: 30, cpu_micros: 2.5}
      targets: {ratio_to_limit: 1.5, rss: 40MiB}
      """, name: "all")
    let group = try #require(scenario.people.first)
    #expect(scenario.seats == 9 && scenario.rooms == 2 && scenario.ramp == .milliseconds(500))
    #expect(scenario.audienceHold == .milliseconds(15))
    #expect(group.video == VideoShape(bitrate: 1_000_000, framesPerSecond: 20, layers: 3, keyframeTimes: 6))
    #expect(
      group.network
        == Network(sendLoss: 0.02, receiveLoss: 0.01, jitter: .milliseconds(5), readPause: .milliseconds(20)))
    #expect(!group.receives)
    #expect(
      group.habits
        == Habits(
          muteEvery: .seconds(2), chatEvery: .milliseconds(100), stay: .seconds(3), away: .seconds(1), vanishes: true))
    #expect(scenario.people[1].refused == "ROOM_FULL")
    #expect(scenario.expect.streams == 7 && scenario.expect.loss == 0.01 && scenario.expect.duplicates == 2)
    #expect(scenario.expect.freezes == 3 && scenario.expect.psnr == 30)
    var bounds = Bounds()
    (bounds.audioP99, bounds.videoP99) = (.milliseconds(10), .milliseconds(20))
    (bounds.joinP99, bounds.firstFrameP99, bounds.muteP99) = (.seconds(1), .seconds(2), .milliseconds(100))
    (bounds.answerP99, bounds.upgradeGap, bounds.cpuMicros) = (.seconds(3), .milliseconds(200), 2.5)
    #expect(scenario.expect.bounds == bounds)
    #expect(scenario.targets.ratioToLimit == 1.5 && scenario.targets.rss == 40 << 20)
    #expect(scenario.participants == 6 && !scenario.isSteady)
  }

  @Test func readsDevices() throws {
    let scenario = try Scenario.parse(
      """
      devices: {count: 15000, tls: true, rest: 30s, restart: true}
      calls_per_second: 0.5
      idle_ping: 30s
      storage: true
      expect: {device_rss: 10KiB, idle_cpu: 3%, setup_micros: 300, incoming_p99: 20ms, restart: 15s}
      """, name: "devices")
    #expect(scenario.devices == DeviceCrowd(count: 15_000, isTLS: true, rest: .seconds(30), restarts: true))
    #expect(scenario.callsPerSecond == 0.5 && scenario.idlePing == .seconds(30) && scenario.stores)
    var bounds = Bounds()
    (bounds.deviceRSS, bounds.idleCPU, bounds.setUpMicros) = (10 << 10, 0.03, 300)
    (bounds.incomingP99, bounds.restart) = (.milliseconds(20), .seconds(15))
    #expect(scenario.expect.bounds == bounds && scenario.participants == 0)
    let text = try ServerFile.text(for: scenario)
    #expect(text.contains("tls: {certificate: certificate.pem, key: key.pem}") && text.contains("path: roost.db"))
    #expect(
      text.contains("idle_ping: 30000ms") && text.contains("sessions: 30000")
        && text.contains("connections_per_address: 30000"))
  }

  @Test func readsLines() throws {
    let scenario = try Scenario.parse(
      """
      people:
        - {name: a, line: {rate: 600kbps, up: 1Mbps, delay: 40ms, loss: 1%, queue: 200ms}, feedback: remb, definition: low}
        - {name: b, line: {}}
      expect: {line_share: 50%, line_freezes: 2}
      """, name: "lines")
    var line = LineShape()
    (line.down, line.up, line.delay, line.loss) = (600_000, 1_000_000, .milliseconds(40), 0.01)
    line.queue = .milliseconds(200)
    #expect(scenario.people[0].line == line && scenario.people[0].feedback == .remb)
    #expect(scenario.people[0].definition == .low && scenario.people[1].line == LineShape())
    #expect(scenario.expect.lineShare == 0.5 && scenario.expect.lineFreezes == 2 && scenario.hasLines)
  }

  @Test(arguments: [
    (
      "people: [{feedback: rembrandt}]\n",
      "x.yaml:1:21: people[1].feedback: expected one of twcc, remb, none, found rembrandt"
    ),
    ("people:\n  - count: many\n", "x.yaml:2:12: people[1].count: expected a number from 1 to 10000, found many"),
    ("people:\n  - cuont: 3\n", "x.yaml:2:5: people[1].cuont: unknown key; did you mean \"count\"?"),
    (
      "people:\n  - refused: ROOM_FUL\n",
      "x.yaml:2:14: people[1].refused: expected the name of an error such as ROOM_FULL, found ROOM_FUL; did you mean ROOM_FULL?"
    ),
    ("people:\n  - stay: 3s\n", "x.yaml:2:11: people[1].stay: needs away beside it, and away needs stay"),
    (
      "people: [{count: 1}]\nexpect: {loss: 200%}",
      "x.yaml:2:16: expect.loss: expected a share such as 0.02 or 2%, found 200%"
    ),
    ("rooms: 2\n", "x.yaml:1:1: people: a scenario needs people, calls or devices"),
    (
      "people: [{count: 1}]\ncalls_per_second: 5\n",
      "x.yaml:2:19: calls_per_second: it is devices who call: name them with devices: {count: 500}"
    ),
    (
      "people: [{count: 1}]\ndevices: {tls: true}\n",
      "x.yaml:2:10: devices: people cannot come with TLS, for they would not take a certificate that is made for the run"
    ),
    ("people: [{door: front}]\n", "x.yaml:1:17: people[1].door: expected one of whep, flashphoner, found front"),
    (
      "people:\n  - {count: 2, audio: 32kbps}\n  - {door: whep}\n",
      "x.yaml:2:3: people: who comes by whep or flashphoner only plays, and plays the one person who publishes"
    ),
    ("devices: {count: 1}\n", "x.yaml:1:18: devices.count: expected a number from 2 to 100000, found 1"),
  ])
  func saysWhatIsWrong(_ text: String, _ message: String) {
    do {
      _ = try Scenario.parse(text, name: "x")
      Issue.record("taken")
    } catch {
      #expect(error.description == message)
    }
  }
}
