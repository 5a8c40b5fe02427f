// Carries a command out. Exit status: 0 fine, 1 something is wrong with the configuration or the machine, 2 wrong usage.
import Configuration
import Glibc
import Logging

/// Runs the command that `words` (without the program's name) ask for, and returns the exit status.
func run(_ words: [String]) -> Int32 {
  do {
    switch try Command(words) {
    case .serve(let config): return try serve(ConfigurationSource(config).load())
    case .check(let config): return try check(ConfigurationSource(config).load())
    case .doctor(let config): return doctor(ConfigurationSource(config))
    case .token(let request, let config): return try makeToken(request, ConfigurationSource(config).load())
    case .version: print("roost \(roostVersion)")
    case .help(let topic): print(Command.help(about: topic))
    }
    return 0
  } catch let error as UsageError {
    let help = error.topic.map { "roost \($0.rawValue) --help" } ?? "roost --help"
    complain("roost: \(error.message)\nTry: \(help)")
    return 2
  } catch {
    complain("\(error)")
    return 1
  }
}

/// Writes a line to standard error.
func complain(_ text: String) {
  let line = Array((text + "\n").utf8)
  _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Writes a line among those of the log, without blocking: a slow reader must not keep the server from stopping.
func mention(_ text: String) {
  LineWriter.standardError.write(Array((text + "\n").utf8)) { Array("roost: \($0) lines of the log were lost\n".utf8) }
}

/// Where the configuration comes from.
enum ConfigurationSource: Equatable {
  case file(String)
  case defaults

  /// The file that was asked for, else the first of the usual ones that exists, else the defaults.
  init(_ config: String?, usual: [String] = ["./rooms.yaml", "/etc/roost/rooms.yaml"]) {
    self = (config ?? usual.first { access($0, F_OK) == 0 }).map(ConfigurationSource.file) ?? .defaults
  }

  /// The configuration with its source. Throws everything that is wrong with the file.
  func load() throws(InvalidConfiguration) -> Loaded {
    guard case .file(let path) = self else { return Loaded(configuration: .withoutFile, source: self) }
    let (configuration, locations) = try ServerConfiguration.loadWithLocations(file: path)
    return Loaded(configuration: configuration, source: self, locations: locations)
  }

  /// For people: `rooms.yaml`, or that there is no file.
  var described: String {
    switch self {
    case .file(let path): path
    case .defaults: "the defaults (no ./rooms.yaml, no /etc/roost/rooms.yaml)"
    }
  }
}

/// A valid configuration and where it came from.
struct Loaded {
  var configuration: ServerConfiguration
  var source: ConfigurationSource
  /// Where its keys stand; nil where there is no file.
  var locations: ConfigurationLocations?

  /// Everything worth a word about it.
  var advice: [ConfigurationAdvice] {
    if case .file(let path) = source { configuration.advice(readFrom: path) } else { configuration.advice }
  }
}
