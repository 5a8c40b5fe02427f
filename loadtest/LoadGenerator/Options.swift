// The command line: words to `Options`, or a sentence that says what is wrong with them.

import Basics
import Configuration
import SyntheticParticipant

/// What the user asks for.
struct Options: Equatable {
  /// What is to be done.
  enum Task: Equatable {
    /// A scenario, or people from flags.
    case run
    /// The benchmark's scenarios one after the other; reports go to this directory.
    case bench(String)
    /// Runs at growing sizes; table and page go to this directory.
    case growth(String)
    /// Runs of many devices that wait, held against their bars; the figures go to this directory.
    case devices(String)
    /// Runs with growing coalescing windows; table and page go to this directory.
    case windows(String)
    /// The search for the most rooms that one worker carries.
    case roomsPerCore
    /// Runs of Roost and of Janus in turn; the table goes to this directory.
    case compare(String)
    /// Runs with and without floods in pairs; the figures go to this directory.
    case floods(String)
    /// Runs by other doors and by the native one in turn; the figures go to this directory.
    case doors(String)
    /// People who are moved from room to room; the figures go to this directory.
    case moves(String)
    case list, help
  }

  var task = Task.run
  var scenario: String?
  var duration: TimeDelta?
  var ramp: TimeDelta?
  /// How everybody tells of their line, whatever the scenario says.
  var feedback: BandwidthFeedback?
  var rooms: Int?
  /// How often the benchmark's scenarios are run.
  var rounds: Int?
  /// The room to go to, where there is only one.
  var room: String?
  var people = PeopleFlags()
  var json: String?
  var html: String?
  var environment = Environment()

  /// Who comes where no scenario says it; nil where nothing was said.
  struct PeopleFlags: Equatable {
    var publishers: Int?
    var subscribers: Int?
    var bitrate: Int?
    var frameRate: Int?
    var layers: Int?
    var isSilent = false
    var isReal = false
  }

  /// What `media.coalesce` of rooms.yaml is to be.
  struct Coalesce: Equatable {
    /// Up to 10 ms, for an audience 40; that of an audience nil where nothing was said of it.
    var video: TimeDelta
    var audio: TimeDelta
    var audience: TimeDelta?

    /// Numbers of milliseconds with commas between, `video,audio` or `video,audio,audience`; nil when that is not what it says.
    init?(_ text: String) {
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard parts.count == 2 || parts.count == 3, let video = parts[0], let audio = parts[1], (0...10).contains(video),
        (0...10).contains(audio)
      else { return nil }
      if parts.count == 3 {
        guard let audience = parts[2], (0...40).contains(audience) else { return nil }
        self.audience = Self.time(audience)
      }
      self.video = Self.time(video)
      self.audio = Self.time(audio)
    }

    private static func time(_ milliseconds: Double) -> TimeDelta { .microseconds(Int(milliseconds * 1_000)) }
  }

  /// With what, and how strictly.
  struct Environment: Equatable {
    /// A server that runs already: its web or signalling address.
    var server: String?
    /// The program to start when there is none.
    var roost: String?
    /// Where a Janus gateway is unpacked, to be loaded in Roost's place.
    var janus: String?
    /// How many threads its connections share.
    var janusEventLoops: Int?
    var threads: Int?
    var fault: ServerFault?
    /// Whether the yardstick is left out.
    var skipsLimit = false
    /// Whether a target that is missed fails the run.
    var isStrict = false
    /// Whether the server has the first CPU for itself, and the participants the others.
    var isPinned = false
    /// Whether one participant in sixteen is enough to have libsrtp2's SRTP.
    var isLight = false
    /// How long our own server's packets may wait for company; its default without.
    var coalesce: Coalesce?
  }
}

/// What is wrong with the command line.
struct UsageError: Error, Equatable, CustomStringConvertible {
  var description: String
}

extension Options {
  /// Reads the words after the program's name: `--name value`, `--name=value`, and switches.
  init(_ words: [String]) throws(UsageError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      if try takeSwitch(word) { continue }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let option = Self.values[parts[0]] else { throw Self.unknown(word) }
      guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
        throw UsageError(description: "\(parts[0]) needs a value")
      }
      if !option(&self, value) { throw UsageError(description: "\(parts[0]): \"\(value)\" is not a value for it") }
    }
  }

  private mutating func takeSwitch(_ word: String) throws(UsageError) -> Bool {
    switch word {
    case "-h", "--help": task = .help
    case "--list": task = .list
    case "--rooms-per-core": task = .roomsPerCore
    case "--no-limit": environment.skipsLimit = true
    case "--strict": environment.isStrict = true
    case "--pin": environment.isPinned = true
    case "--light": environment.isLight = true
    case "--no-audio": people.isSilent = true
    case "--real": people.isReal = true
    default: return false
    }
    return true
  }

  private static func unknown(_ word: String) -> UsageError {
    let switches = [
      "--help", "--list", "--no-limit", "--no-audio", "--real", "--strict", "--pin", "--light", "--rooms-per-core",
    ]
    let known = values.keys.sorted() + switches
    let hint = nearest(word, known).map { "; did you mean \($0)?" } ?? ""
    return UsageError(description: "\"\(word)\" is not expected\(hint)")
  }

  /// Stores a value; false when it is none.
  private typealias Store = @Sendable (inout Options, String) -> Bool

  private static func text(_ path: WritableKeyPath<Options, String?> & Sendable) -> Store {
    { options, value in
      options[keyPath: path] = value
      return true
    }
  }

  private static func number(_ path: WritableKeyPath<Options, Int?> & Sendable, _ range: ClosedRange<Int>) -> Store {
    { options, value in
      guard let number = Int(value), range.contains(number) else { return false }
      options[keyPath: path] = number
      return true
    }
  }

  private static func seconds(_ path: WritableKeyPath<Options, TimeDelta?> & Sendable) -> Store {
    { options, value in
      guard let number = Double(value), (0...86_400).contains(number) else { return false }
      options[keyPath: path] = .seconds(number)
      return true
    }
  }

  private static let values: [String: Store] = [
    "--scenario": text(\.scenario), "--room": text(\.room), "--json": text(\.json), "--html": text(\.html),
    "--server": text(\.environment.server), "--roost": text(\.environment.roost),
    "--janus": text(\.environment.janus), "--event-loops": number(\.environment.janusEventLoops, 1...64),
    "--compare": { options, value in
      options.task = .compare(value)
      return true
    },
    "--duration": seconds(\.duration), "--ramp": seconds(\.ramp), "--rooms": number(\.rooms, 1...10_000),
    "--rounds": number(\.rounds, 1...99),
    "--publishers": number(\.people.publishers, 0...10_000), "--subscribers": number(\.people.subscribers, 0...10_000),
    "--bitrate": number(\.people.bitrate, 50...100_000), "--frame-rate": number(\.people.frameRate, 1...120),
    "--layers": number(\.people.layers, 1...3), "--threads": number(\.environment.threads, 1...64),
    "--bench": { options, value in
      options.task = .bench(value)
      return true
    },
    "--doors": { options, value in
      options.task = .doors(value)
      return true
    },
    "--moves": { options, value in
      options.task = .moves(value)
      return true
    },
    "--growth": { options, value in
      options.task = .growth(value)
      return true
    },
    "--devices": { options, value in
      options.task = .devices(value)
      return true
    },
    "--windows": { options, value in
      options.task = .windows(value)
      return true
    },
    "--floods": { options, value in
      options.task = .floods(value)
      return true
    },
    "--feedback": { options, value in
      options.feedback = BandwidthFeedback(rawValue: value)
      return options.feedback != nil
    },
    "--fault": { options, value in
      options.environment.fault = ServerFault(rawValue: value)
      return options.environment.fault != nil
    },
    "--coalesce": { options, value in
      options.environment.coalesce = Coalesce(value)
      return options.environment.coalesce != nil
    },
  ]

  /// What --help says.
  static let help = """
    usage: loadtest --scenario NAME [--duration SECONDS] [--json FILE] [--html FILE] [--server URL]
           loadtest --bench DIRECTORY [--rounds N] [--duration SECONDS] [--rooms N]
           loadtest --growth DIRECTORY
           loadtest --devices DIRECTORY
           loadtest --windows DIRECTORY [--rounds N]
           loadtest --compare DIRECTORY --janus DIRECTORY [--rounds N]
           loadtest --floods DIRECTORY [--rounds N] [--duration SECONDS]
           loadtest --doors DIRECTORY [--rounds N] [--duration SECONDS]
           loadtest --moves DIRECTORY [--rounds N]
           loadtest --rooms-per-core [--rooms N] [--pin]
           loadtest --publishers N --subscribers N [--bitrate KBPS] [--frame-rate N] [--layers N] ...

    Fills a server with participants on real sockets, checks everything they receive, and says what it cost. Exits with
    status 0 when every expectation held, 1 when one did not, 2 for wrong usage.

      --scenario NAME     one of loadtest/scenarios, or the path of such a file; --list names them
      --bench DIRECTORY   run video16, audio32, broadcast, audience and many-rooms, in rounds, then look for the most rooms
                          as --rooms-per-core does; say the medians, and write them and a report of the middle run of each
                          into DIRECTORY
      --compare DIRECTORY run video16, audio32 and stage100 on Roost and on Janus in turn, in rounds, and write what both
                          cost into DIRECTORY
      --doors DIRECTORY   run whep16 and native16, flashphoner300 and native300 in turn, in rounds, and write what a packet
                          costs by each door into DIRECTORY; fails where one costs a tenth more than by the native one
      --moves DIRECTORY   move thirty people of one room to five others and back, in rounds (10), and hold the time to the
                          first picture against its bar; write the figures into DIRECTORY
      --rounds N          how many rounds (3)
      --growth DIRECTORY  run 1 to 8 rooms, 2 to 32 people and 500 to 15,000 devices that wait, and chart cost and memory
                          into DIRECTORY
      --devices DIRECTORY connect 15,000 devices, plain and with TLS, let them wait, call each other and come back after a
                          restart; hold what that costs against bars, and write the figures into DIRECTORY
      --windows DIRECTORY run video16 with coalescing windows from 0 to 2 ms (audio's twice as long), in rounds, and chart
                          cost and delay into DIRECTORY
      --floods DIRECTORY  send 30,000 datagrams a second of each kind at a server with rooms on it, a publisher's 200
                          Mbit/s, and 100,000 good checks a second; hold what the rooms notice against runs without, in pairs (5), and write the figures into
                          DIRECTORY
      --rooms-per-core    look for the most rooms of many-rooms that one worker carries with loss below 0.1 % and p99
                          below 5 ms: one more each run, from --rooms N on
      --light             one participant of each room checks everything; the others open one read in sixteen, count the
                          rest by their headers and ask for nothing: half of the generator's work less
      --pin               give the server the first CPU for itself, and the participants the others
      --duration SECONDS  how long to measure once everything flows
      --ramp SECONDS      over how long joins are spread
      --rooms N           rooms with the scenario's people in each
      --room NAME         the room to go to, where somebody may be already; its people are not counted on
      --json FILE         write the report as JSON
      --html FILE         write the report as a page of its own
      --server URL        load this server (http://HOST:PORT or ws://HOST:PORT/rtc) instead of starting one; its CPU is
                          measured only when it is our own
      --roost FILE        the program to start; without it roost beside loadtest
      --janus DIRECTORY   load a Janus gateway that scripts/janus unpacked there, instead of Roost: rooms whose people come,
                          publish and receive; in a network of its own (scripts/private-network loadtest --janus ...)
      --event-loops N     threads that Janus's connections share; without, each has its own, as is its default
      --coalesce V,A[,L]  how long its packets of video, of audio, and of audio to an audience that listens may wait for
                          company, in milliseconds (1,2,0)
      --feedback KIND     how everybody tells of their line: \(BandwidthFeedback.allCases.map(\.rawValue).joined(separator: ", "))
      --threads N         threads for the participants' media; one carries 150,000 packets a second (docs/benchmarks.md)
      --no-limit          leave out the yardstick of what this machine cannot go below
      --strict            fail where a scenario's target of cost, memory or delay is missed too

    Without --scenario, people are made from flags:
      --publishers N      people who send sound and pictures (2)
      --subscribers N     people who only watch (0)
      --bitrate KBPS      of the pictures (1200)    --frame-rate N   (30)    --layers N   simulcast, 1 to 3 (1)
      --no-audio          pictures only
      --real              encoded VP8 and Opus, which others can see and hear; everybody decodes

      --fault NAME        break what participants receive, to see the checks fail:
                          \(ServerFault.allCases.map(\.rawValue).joined(separator: ", "))
    """
}
