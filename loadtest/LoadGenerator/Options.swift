// The command line: words to `Options`, or a sentence that says what is wrong with them.

import Basics
import Configuration
import SyntheticParticipant

/// What the user asks for.
struct Options: Equatable {
  var scenario: String?
  /// A directory: the benchmark's scenarios run one after the other, and their reports go there.
  var bench: String?
  var duration: TimeDelta?
  var ramp: TimeDelta?
  var rooms: Int?
  var publishers: Int?
  var subscribers: Int?
  var bitrate: Int?
  var frameRate: Int?
  var layers: Int?
  var isSilent = false
  var isReal = false
  /// The room to go to, where there is only one.
  var room: String?
  var json: String?
  var html: String?
  /// A server that runs already: its web or signalling address.
  var server: String?
  /// The program to start when there is none.
  var roost: String?
  var threads: Int?
  var fault: ServerFault?
  /// Whether the yardstick is left out.
  var skipsLimit = false
  var wantsHelp = false
  var wantsList = false
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
    case "-h", "--help": wantsHelp = true
    case "--list": wantsList = true
    case "--no-limit": skipsLimit = true
    case "--no-audio": isSilent = true
    case "--real": isReal = true
    default: return false
    }
    return true
  }

  private static func unknown(_ word: String) -> UsageError {
    let known = values.keys.sorted() + ["--help", "--list", "--no-limit", "--no-audio", "--real"]
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
    "--scenario": text(\.scenario), "--bench": text(\.bench), "--json": text(\.json), "--html": text(\.html),
    "--server": text(\.server),
    "--roost": text(\.roost), "--room": text(\.room), "--duration": seconds(\.duration), "--ramp": seconds(\.ramp),
    "--rooms": number(\.rooms, 1...10_000), "--publishers": number(\.publishers, 0...10_000),
    "--subscribers": number(\.subscribers, 0...10_000), "--bitrate": number(\.bitrate, 50...100_000),
    "--frame-rate": number(\.frameRate, 1...120), "--layers": number(\.layers, 1...3),
    "--threads": number(\.threads, 1...64),
    "--fault": { options, value in
      options.fault = ServerFault(rawValue: value)
      return options.fault != nil
    },
  ]

  /// What --help says.
  static let help = """
    usage: loadtest --scenario NAME [--duration SECONDS] [--json FILE] [--html FILE] [--server URL]
           loadtest --bench DIRECTORY [--duration SECONDS]
           loadtest --publishers N --subscribers N [--bitrate KBPS] [--frame-rate N] [--layers N] ...

    Fills a server with participants on real sockets, checks everything they receive, and says what it cost. Exits with
    status 0 when every expectation held, 1 when one did not, 2 for wrong usage.

      --scenario NAME     one of loadtest/scenarios, or the path of such a file; --list names them
      --bench DIRECTORY   run video16, audio32, broadcast and many-rooms, and write a report of each into DIRECTORY
      --duration SECONDS  how long to measure once everything flows
      --ramp SECONDS      over how long joins are spread
      --rooms N           rooms with the scenario's people in each
      --room NAME         the room to go to, where somebody may be already; its people are not counted on
      --json FILE         write the report as JSON
      --html FILE         write the report as a page of its own
      --server URL        load this server (http://HOST:PORT or ws://HOST:PORT/rtc) instead of starting one; its CPU is
                          measured only when it is our own
      --roost FILE        the program to start; without it roost beside loadtest
      --threads N         threads for the participants' media; one carries some 100,000 packets a second
      --no-limit          leave out the yardstick of what this machine cannot go below

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
