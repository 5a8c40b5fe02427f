// What a load test does: who comes, what they send and do, and what must hold in the end. Read from scenarios/*.yaml or
// made from flags.

import Basics
import RoostProtocol
import SyntheticParticipant

/// A load test before it runs.
struct Scenario: Sendable, Equatable {
  /// The file's name without its ending.
  var name = "custom"
  /// One sentence for people.
  var about = "people as the flags say"
  /// The kind that rooms have on a server of our own; it is given the seats that the scenario needs.
  var roomKind = "group"
  /// Seats of that kind; nil leaves the kind as it is.
  var seats: Int?
  /// How long sound to an audience may wait on a server of our own (`media.coalesce.audience`); nil for its default.
  var audienceHold: TimeDelta?
  /// The one room's name; nil for names of our own.
  var room: String?
  /// Rooms with the same people in each.
  var rooms = 1
  /// Over how long joins are spread.
  var ramp = TimeDelta.seconds(3)
  /// How long is measured once everything flows.
  var duration = TimeDelta.seconds(20)
  /// Who is in each room, in the order of their coming.
  var people: [PeopleGroup] = []
  /// Parties of three who call each other.
  var calls = 0
  /// Devices that are connected and wait.
  var devices: DeviceCrowd?
  /// Calls a second between devices: start, ring, reject.
  var callsPerSecond: Double?
  /// How often a server of our own pings who only waits (`sessions.idle_ping`); nil for its default.
  var idlePing: TimeDelta?
  /// Whether a server of our own stores calls in a file.
  var stores = false
  /// What must hold besides what always must.
  var expect = Expect()
  /// What is aimed at: said to be reached or missed, but no reason to fail, since it depends on the machine.
  var targets = Bounds()

  /// People in all rooms, those who are to be refused not among them.
  var participants: Int { rooms * people.filter { $0.refused == nil }.reduce(0) { $0 + $1.count } }

  /// Whether everything is there from beginning to end, so that streams may have no interruption.
  var isSteady: Bool {
    people.allSatisfy {
      $0.habits.muteEvery == nil && $0.habits.away == nil && $0.network == Network() && $0.line?.up == nil
        && ($0.video?.layers ?? 1) == 1
    }
  }
}

extension Scenario {
  /// Whether anybody comes by this door.
  func hasPlayers(by door: PlayerPlan.Door) -> Bool { people.contains { $0.door == door } }

  /// Whether everybody comes by the native door.
  var isNative: Bool { people.allSatisfy { $0.door == nil } }

  /// Whether those who come by other doors have one person to play, and do nothing besides.
  var hasWhomToPlay: Bool {
    let publishers = people.filter { $0.tracks > 0 }
    return isNative
      || (publishers.count == 1 && publishers[0].count == 1 && publishers[0].door == nil
        && people.allSatisfy { $0.door == nil || ($0.receives && $0.refused == nil && $0.habits == Habits()) })
  }

  /// Whether everybody comes, is let in, and does nothing but send and receive.
  var isOfPeopleWhoStay: Bool {
    calls == 0 && devices == nil && people.allSatisfy { $0.refused == nil && $0.habits == Habits() }
  }
}

/// Devices that are connected and wait for calls.
struct DeviceCrowd: Sendable, Equatable {
  var count = 500
  /// Whether they speak TLS; the certificate is made for the run.
  var isTLS = false
  /// How long is measured what they cost while they only wait; nil for the scenario's `duration`.
  var rest: TimeDelta?
  /// Whether the server is started again in the end, to see how long they take to be back.
  var restarts = false
  /// How long there is no server then.
  var away = TimeDelta.zero
}

/// People of one sort.
struct PeopleGroup: Sendable, Equatable {
  var name = "person"
  /// How many in each room.
  var count = 1
  /// Sound, as bits per second; nil for none.
  var audio: Int?
  /// Pictures; nil for none.
  var video: VideoShape?
  /// Whether they send encoded pictures and sound, rather than packets that only look like them.
  var real = false
  /// The share of them that decode what they receive.
  var decodes = 0.0
  /// Whether they take what others send.
  var receives = true
  /// The door by which they come to play the room's one publisher; nil for the native one.
  var door: PlayerPlan.Door?
  /// They come last and must be refused with this error.
  var refused: String?
  /// What their network does once all are in.
  var network = Network()
  /// The line of each of them, from the beginning on; nil for none.
  var line: LineShape?
  /// How they tell the server about it.
  var feedback = BandwidthFeedback.twcc
  /// The layer that they ask for of each video; nil leaves it to the server.
  var definition: Definition?
  var habits = Habits()
}

/// What people do besides being there; nil where they do not.
struct Habits: Sendable, Equatable {
  /// Each mutes and unmutes a track this often.
  var muteEvery: TimeDelta?
  /// Each says something this often.
  var chatEvery: TimeDelta?
  /// Each leaves after having been there this long, and comes back.
  var stay: TimeDelta?
  /// How long they are away then.
  var away: TimeDelta?
  /// Whether they go without a word.
  var vanishes = false
}

/// A camera's stream.
struct VideoShape: Sendable, Equatable {
  /// Bits per second, of the highest layer.
  var bitrate = 1_200_000
  var framesPerSecond = 30
  /// Simulcast layers, 1 to 3; each lower one has a third of the bitrate.
  var layers = 1
  /// How many times an ordinary frame's size a keyframe has.
  var keyframeTimes = 4
}

/// A participant's bad network.
struct Network: Sendable, Equatable {
  /// Share of its media packets lost on the way to the server.
  var sendLoss = 0.0
  /// Share lost on the way from it.
  var receiveLoss = 0.0
  /// How much longer each of its media packets may take to the server; they overtake each other.
  var jitter = TimeDelta.zero
  /// How long it leaves its socket alone after each look.
  var readPause = TimeDelta.zero
}

/// What must hold.
struct Expect: Sendable, Equatable {
  /// Streams in all; nil where the scenario does not count them.
  var streams: Int?
  /// The largest share of packets that may be missing in the end.
  var loss = 0.0
  var duplicates = 0
  var freezes: Int?
  /// Share of its rate that each line with a bottleneck must carry, and freezes that nobody behind a line may see more of.
  var lineShare: Double?
  var lineFreezes: Int?
  /// Decibels that every compared picture must reach.
  var psnr: Double?
  var bounds = Bounds()
}

/// Upper bounds of what is measured in units of time, memory or the yardstick; nil where there is none.
struct Bounds: Sendable, Equatable {
  var audioP99: TimeDelta?
  var videoP99: TimeDelta?
  var joinP99: TimeDelta?
  var firstFrameP99: TimeDelta?
  var muteP99: TimeDelta?
  /// From the answer to a call until both hear each other.
  var answerP99: TimeDelta?
  /// The longest silence of a voice while a call becomes one with pictures.
  var upgradeGap: TimeDelta?
  /// Microseconds of the server's CPU for each forwarded packet.
  var cpuMicros: Double?
  /// That, divided by what the yardstick costs on the same machine.
  var ratioToLimit: Double?
  /// The server's resident memory in bytes.
  var rss: Int?
  /// Bytes of it that a connected device takes.
  var deviceRSS: Int?
  /// The server's share of a core while devices only wait.
  var idleCPU: Double?
  /// Microseconds of its CPU for one call that starts, rings and is rejected.
  var setUpMicros: Double?
  /// From `call.start` to `call.incoming`.
  var incomingP99: TimeDelta?
  /// Until all devices are back after the server was started again.
  var restart: TimeDelta?
}
