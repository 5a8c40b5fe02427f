// Carries a command line out. Exit status: 0 every expectation held, 1 one did not or there was no server, 2 wrong usage.

import Basics
import Configuration
import FoundationEssentials
import Glibc

/// Runs `loadtest` with the words after the program's name and returns the exit status.
public func loadtest(_ words: [String]) async -> Int32 {
  signal(SIGPIPE, SIG_IGN)
  do {
    let options = try Options(words)
    if options.wantsHelp { return say(Options.help) }
    if options.wantsList { return try list() }
    if let directory = options.bench { return try await bench(directory, options) }
    return try await runOne(options).passed ? 0 : 1
  } catch let error as UsageError {
    complain("loadtest: \(error)\nTry: loadtest --help")
    return 2
  } catch {
    complain("\(error)")
    return 1
  }
}

/// Runs what the options say, prints its table and writes its files.
@discardableResult
private func runOne(_ options: Options) async throws -> Report {
  let report = try await Run.run(try Scenario(options), RunSettings(options))
  printProgressEnd()
  say(report.table)
  try write(report, options)
  return report
}

/// The scenarios by which servers are compared, one after the other.
private func bench(_ directory: String, _ options: Options) async throws -> Int32 {
  mkdir("out", 0o755)
  mkdir(directory, 0o755)
  var reports: [Report] = []
  for name in Report.benchmarks {
    var one = options
    one.scenario = name
    one.json = "\(directory)/\(name).json"
    one.html = "\(directory)/\(name).html"
    reports.append(try await runOne(one))
  }
  say(Report.comparison(reports))
  return reports.allSatisfy(\.passed) ? 0 : 1
}

private func list() throws -> Int32 {
  for name in FindFiles.scenarios {
    guard let file = FindFiles.scenario(name) else { continue }
    let scenario = try Scenario.load(file: file, name: name)
    say("\(name): \(scenario.about)")
  }
  return 0
}

private func write(_ report: Report, _ options: Options) throws {
  if let path = options.json {
    guard writeFile(path, try report.json) else { throw ServerStartError(description: "cannot write \(path)") }
  }
  if let path = options.html {
    guard writeFile(path, report.html) else { throw ServerStartError(description: "cannot write \(path)") }
  }
}

extension Report {
  /// The report as JSON, keys in order.
  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }
  }
}

@discardableResult
private func say(_ text: String) -> Int32 {
  print(text)
  fflush(nil)
  return 0
}

private func complain(_ text: String) {
  let line = Array((text + "\n").utf8)
  _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

// MARK: Progress

private let isTerminal = isatty(STDERR_FILENO) == 1

/// In a terminal one line that changes; elsewhere a line each time.
private func printProgress(_ progress: Progress) {
  if isTerminal {
    let line = Array("\r\u{1b}[K\(progress.line)".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  } else {
    complain(progress.line)
  }
}

private func printProgressEnd() { if isTerminal { complain("") } }

// MARK: From options

extension RunSettings {
  init(_ options: Options) {
    self.init()
    server = options.server
    roost = options.roost
    threads = options.threads
    fault = options.fault
    measuresLimit = !options.skipsLimit
    progress = printProgress
  }
}

extension Scenario {
  /// The scenario's file, or people made from flags; flags that both may have change the file's.
  init(_ options: Options) throws {
    if let name = options.scenario {
      guard let file = FindFiles.scenario(name) else { throw Self.unknown(name) }
      try options.refuseFlagsOfPeople()
      self = try Scenario.load(file: file, name: Self.name(ofFile: file))
    } else {
      self = try Scenario(people: options)
    }
    ramp = options.ramp ?? ramp
    duration = options.duration ?? duration
    rooms = options.rooms ?? rooms
    room = options.room
    if duration < .seconds(1) { throw UsageError(description: "--duration: at least one second") }
    if options.rooms != nil { expect.streams = nil }
  }

  private static func unknown(_ name: String) -> UsageError {
    let known = FindFiles.scenarios
    let hint = nearest(name, known).map { "; did you mean \($0)?" } ?? "; there are \(known.joined(separator: ", "))"
    return UsageError(description: "no scenario \"\(name)\"\(hint)")
  }

  private static func name(ofFile path: String) -> String {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return file.hasSuffix(".yaml") ? String(file.dropLast(5)) : file
  }

  private init(people options: Options) throws(UsageError) {
    self.init()
    var publisher = PeopleGroup(name: "publisher", count: options.publishers ?? 2)
    publisher.audio = options.isSilent ? nil : 32_000
    (publisher.real, publisher.decodes) = (options.isReal, options.isReal ? 1 : 0)
    publisher.video = VideoShape(
      bitrate: (options.bitrate ?? 1_200) * 1_000, framesPerSecond: options.frameRate ?? 30, layers: options.layers ?? 1
    )
    let subscriber = PeopleGroup(name: "subscriber", count: options.subscribers ?? 0)
    people = [publisher, subscriber].filter { $0.count > 0 }
    if people.isEmpty { throw UsageError(description: "--publishers and --subscribers: somebody must come") }
    seats = people.reduce(0) { $0 + $1.count }
  }
}

extension Options {
  /// A scenario says who comes.
  fileprivate func refuseFlagsOfPeople() throws(UsageError) {
    let given = [
      ("--publishers", publishers), ("--subscribers", subscribers), ("--bitrate", bitrate), ("--frame-rate", frameRate),
      ("--layers", layers), ("--no-audio", isSilent ? 1 : nil), ("--real", isReal ? 1 : nil),
    ].first { $0.1 != nil }
    if let given { throw UsageError(description: "\(given.0) does not go with --scenario, which says who comes") }
  }
}
