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
    try options.refuseOthersServer()
    try options.refuseMixtures()
    switch options.task {
    case .help: return say(Options.help)
    case .list: return try list()
    case .run: return try await runOne(options).passed ? 0 : 1
    case .bench(let directory): return try await bench(directory, options)
    case .growth(let directory): return try await growth(directory, options)
    case .devices(let directory): return try await devices(directory, options)
    case .windows(let directory): return try await windows(directory, options)
    case .floods(let directory): return try await floods(directory, options)
    case .roomsPerCore: return try await roomsPerCore(options)
    case .compare(let directory): return try await compare(directory, options)
    case .doors(let directory): return try await doors(directory, options)
    case .moves(let directory): return try await moves(directory, options)
    }
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
  let report = try await Run.run(try Scenario(options), RunSettings(options.environment))
  printProgressEnd()
  say(report.table)
  try write(report, options)
  return report
}

/// The scenarios by which servers are compared, one after the other, and all of them again for each round; then, of a server of
/// our own, how many rooms one worker carries. What is known is written after each run.
private func bench(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  var reports = [[Report]](repeating: [], count: Bench.scenarios.count)
  for round in 1...(options.rounds ?? Bench.usualRounds) {
    for (index, name) in Bench.scenarios.enumerated() {
      var one = options
      (one.scenario, one.rooms, one.json, one.html) = (name, nil, nil, nil)
      let report = try await runOne(one)
      reports[index].append(report)
      if !report.passed { try write(report, pages("\(directory)/\(name)-round\(round)", one)) }
      if let middle = Bench.middle(reports[index]) { try write(middle, pages("\(directory)/\(name)", one)) }
      try write([("\(directory)/bench.json", try json(Bench(reports.filter { !$0.isEmpty })))])
    }
  }
  var bench = Bench(reports)
  say(bench.table)
  guard options.environment.server == nil else { return bench.passed ? 0 : 1 }
  var one = options
  (one.scenario, one.rooms) = (nil, options.rooms ?? Bench.targetRooms)
  one.environment.isPinned = true
  bench.roomsPerWorker = try await searchRooms(one)
  try write([("\(directory)/bench.json", try json(bench))])
  if let verdict = bench.roomsVerdict { say(verdict) }
  return bench.passed ? 0 : 1
}

/// Roost and Janus, one after the other, in the scenarios that both can do.
private func compare(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  var options = options
  options.duration = options.duration ?? Comparison.usualDuration
  options.environment.skipsLimit = true
  var comparison = Comparison()
  for _ in 1...(options.rounds ?? Bench.usualRounds) {
    for name in Comparison.scenarios {
      options.scenario = name
      let scenario = try Scenario(options)
      for server in Comparison.Server.allCases {
        let report = try await Run.run(scenario, server.settings(RunSettings(options.environment)))
        printProgressEnd()
        say("\(server.rawValue): \(report.table)")
        comparison.add(report, of: server)
        try write([("\(directory)/compare.json", try json(comparison.rows))])
      }
    }
  }
  say(comparison.table)
  return comparison.passed ? 0 : 1
}

/// Each pair of scenarios, one after the other, and all of them again for each round.
private func doors(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  var options = options
  options.duration = options.duration ?? DoorCosts.usualDuration
  options.environment.skipsLimit = true
  var costs = DoorCosts()
  for _ in 1...(options.rounds ?? Bench.usualRounds) {
    for name in DoorCosts.pairs.flatMap({ [$0.native, $0.name] }) {
      options.scenario = name
      costs.add(try await runOne(options))
      try write([("\(directory)/doors.json", try json(costs.rows))])
    }
  }
  say(costs.table)
  return costs.passed ? 0 : 1
}

/// How soon who is moved to another room sees those there.
private func moves(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  guard let program = options.environment.roost ?? FindFiles.roost() else {
    throw ServerStartError(description: "there is no roost beside loadtest; name one with --roost FILE")
  }
  let found = try await Moves.measure(program, rounds: options.rounds ?? Moves.usualRounds)
  say(found.table)
  try write([("\(directory)/moves.json", try json(found))])
  return found.passed ? 0 : 1
}

/// The options with which a report is written to `path` with `.json` and `.html` behind it.
private func pages(_ path: String, _ options: Options) -> Options {
  var options = options
  (options.json, options.html) = (path + ".json", path + ".html")
  return options
}

/// What rooms and people cost as they become more.
private func growth(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  var options = options
  options.scenario = options.scenario ?? "growth"
  let settings = RunSettings(options.environment)
  var growth = try await Growth.measure(try Scenario(options), settings) { step in
    printProgressEnd()
    complain(
      "\(step.rooms) rooms, \(step.participants) people: \(rounded(step.cpuMicrosPerForwardedPacket)) µs a packet")
  }
  growth.devices = try await DeviceGrowth.measure(settings) { step in
    printProgressEnd()
    complain("\(step.devices) devices: \(rounded(step.idleCPU * 100)) % of a core")
  }
  say(growth.table)
  try write([("\(directory)/growth.json", try json(growth)), ("\(directory)/growth.html", growth.html)])
  return growth.passed ? 0 : 1
}

/// Whether devices that wait keep within their bars.
private func devices(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  let bars = try await DeviceBars.measure(RunSettings(options.environment)) { name, report in
    printProgressEnd()
    complain("\(name):\(report.table)")
  }
  say(bars.table)
  try write([("\(directory)/devices.json", try json(bars.rows))])
  return bars.passed ? 0 : 1
}

/// What floods cost others.
private func floods(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  var options = options
  options.scenario = options.scenario ?? "floods"
  let pairs = options.rounds ?? Floods.usualPairs
  let found = try await Floods.measure(try Scenario(options), pairs: pairs, RunSettings(options.environment)) {
    printProgressEnd()
    complain("\($0?.rawValue ?? "none"): lost \(rounded($1.lossRatio * 100)) %, \($1.flooded.sent) datagrams")
  }
  say(found.table)
  try write([("\(directory)/floods.json", try json(found))])
  return found.passed ? 0 : 1
}

/// What waiting for company costs and buys.
private func windows(_ directory: String, _ options: Options) async throws -> Int32 {
  makeDirectory(directory)
  var options = options
  options.scenario = options.scenario ?? "video16"
  options.duration = options.duration ?? Windows.usualDuration
  options.environment.skipsLimit = true
  let rounds = options.rounds ?? Bench.usualRounds
  let found = try await Windows.measure(try Scenario(options), rounds: rounds, RunSettings(options.environment)) {
    printProgressEnd()
    complain("video may wait \(rounded($0)) ms: \(rounded($1.server?.cpuMicrosPerForwardedPacket ?? 0)) µs a packet")
  }
  say(found.table)
  try write([("\(directory)/windows.json", try json(found)), ("\(directory)/windows.html", found.html)])
  return found.passed ? 0 : 1
}

/// How many rooms one worker carries.
private func roomsPerCore(_ options: Options) async throws -> Int32 {
  let search = try await searchRooms(options)
  say(search.verdict)
  if let path = options.json { try write([(path, try json(search))]) }
  return search.most > 0 ? 0 : 1
}

/// Looks for the most rooms that one worker carries, and says each run in a line.
private func searchRooms(_ options: Options) async throws -> RoomSearch {
  var options = options
  options.scenario = options.scenario ?? "many-rooms"
  options.environment.isLight = true
  let settings = RunSettings(options.environment)
  return try await RoomSearch.find(try Scenario(options), from: options.rooms ?? 1, settings) { result in
    printProgressEnd()
    say(result.line)
  }
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
  if let path = options.json { try write([(path, try json(report))]) }
  if let path = options.html { try write([(path, report.html)]) }
}

private func write(_ files: [(path: String, text: String)]) throws {
  for (path, text) in files where !writeFile(path, text) {
    throw ServerStartError(description: "cannot write \(path)")
  }
}

/// Makes a directory and those above it, where they are missing.
private func makeDirectory(_ path: String) {
  for (index, character) in path.enumerated() where character == "/" && index > 0 {
    mkdir(String(path.prefix(index)), 0o755)
  }
  mkdir(path, 0o755)
}

/// A value as JSON, keys in order.
func json(_ value: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
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
  init(_ environment: Options.Environment) {
    self.init()
    server = environment.server
    roost = environment.roost
    janus = environment.janus
    janusEventLoops = environment.janusEventLoops
    threads = environment.threads
    fault = environment.fault
    measuresLimit = !environment.skipsLimit
    isStrict = environment.isStrict
    isPinned = environment.isPinned
    isLight = environment.isLight
    coalesce = environment.coalesce
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
      self = try Scenario(options.people)
    }
    ramp = options.ramp ?? ramp
    if let feedback = options.feedback { for index in people.indices { people[index].feedback = feedback } }
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

  private init(_ flags: Options.PeopleFlags) throws(UsageError) {
    self.init()
    var publisher = PeopleGroup(name: "publisher", count: flags.publishers ?? 2)
    publisher.audio = flags.isSilent ? nil : 32_000
    (publisher.real, publisher.decodes) = (flags.isReal, flags.isReal ? 1 : 0)
    publisher.video = VideoShape(
      bitrate: (flags.bitrate ?? 1_200) * 1_000, framesPerSecond: flags.frameRate ?? 30, layers: flags.layers ?? 1
    )
    let subscriber = PeopleGroup(name: "subscriber", count: flags.subscribers ?? 0)
    people = [publisher, subscriber].filter { $0.count > 0 }
    if people.isEmpty { throw UsageError(description: "--publishers and --subscribers: somebody must come") }
    seats = people.reduce(0) { $0 + $1.count }
  }
}

extension Options {
  /// Cost, memory and CPUs are those of a server of our own.
  fileprivate func refuseOthersServer() throws(UsageError) {
    guard environment.server != nil else { return }
    let about =
      switch task {
      case .growth: "--growth"
      case .devices: "--devices"
      case .windows: "--windows"
      case .roomsPerCore: "--rooms-per-core"
      case .compare: "--compare"
      case .doors: "--doors"
      case .floods: "--floods"
      case .bench where rooms != nil: "--bench with --rooms"
      default:
        environment.isPinned
          ? "--pin" : environment.coalesce != nil ? "--coalesce" : environment.janus != nil ? "--janus" : nil
      }
    if let about {
      throw UsageError(description: "\(about) does not go with --server: it is about a server of our own")
    }
  }

  /// Roost's window and program say nothing to Janus, nor its event loops to Roost.
  func refuseMixtures() throws(UsageError) {
    let janus = environment.janus != nil
    let loops = environment.janusEventLoops != nil
    switch task {
    case .compare:
      if !janus { throw UsageError(description: "--compare needs --janus: where scripts/janus has unpacked Janus") }
      if loops { throw UsageError(description: "--event-loops does not go with --compare, which runs Janus both ways") }
      if scenario != nil || json != nil || html != nil || people != PeopleFlags() {
        throw UsageError(
          description: "--compare has its own scenarios and files: leave out --scenario, --json, --html and people")
      }
    case .run:
      if janus, environment.coalesce != nil || environment.roost != nil {
        throw UsageError(description: "--coalesce and --roost do not go with --janus: they are about Roost")
      }
    case .windows where environment.coalesce != nil:
      throw UsageError(description: "--coalesce does not go with --windows, which tries several")
    default:
      if janus { throw UsageError(description: "--janus goes with a scenario or with --compare") }
    }
    if loops, !janus { throw UsageError(description: "--event-loops goes with --janus alone") }
  }

  /// A scenario says who comes.
  fileprivate func refuseFlagsOfPeople() throws(UsageError) {
    let given = [
      ("--publishers", people.publishers), ("--subscribers", people.subscribers), ("--bitrate", people.bitrate),
      ("--frame-rate", people.frameRate), ("--layers", people.layers), ("--no-audio", people.isSilent ? 1 : nil),
      ("--real", people.isReal ? 1 : nil),
    ].first { $0.1 != nil }
    if let given { throw UsageError(description: "\(given.0) does not go with --scenario, which says who comes") }
  }
}
