// `roost doctor`: looks at the machine with the eyes of the configuration. Each look gives findings; none changes
// anything that outlives it.
import Basics
import CLinux
import Configuration
import Threads

/// One thing that was looked at.
struct Finding: Equatable {
  enum Level: String {
    /// As it should be.
    case ok = "OK"
    /// Works, but not as well or for as many as it could.
    case warning = "WARN"
    /// Does not work.
    case failure = "FAIL"
  }

  var level: Level
  /// What was found.
  var text: String
  /// How to mend it; nil where nothing is wrong.
  var remedy: String?

  static func ok(_ text: String) -> Finding { Finding(level: .ok, text: text) }
  static func warning(_ text: String, mend remedy: String) -> Finding {
    Finding(level: .warning, text: text, remedy: remedy)
  }
  static func failure(_ text: String, mend remedy: String) -> Finding {
    Finding(level: .failure, text: text, remedy: remedy)
  }

  /// A setting that cannot be meant.
  static func advice(_ advice: ConfigurationAdvice) -> Finding {
    .warning("\(advice.key): \(advice.message)", mend: "correct this in the configuration")
  }

  /// The lines that people read.
  var lines: [String] {
    let head = level.rawValue.padded(to: 6) + text
    return remedy.map { [head, "      → " + $0] } ?? [head]
  }
}

/// Looks at everything and prints it. Returns 1 when anything fails.
func doctor(_ source: ConfigurationSource) -> Int32 {
  let loaded: Loaded
  do {
    loaded = try source.load()
  } catch {
    for issue in error.issues { printFinding(.failure(issue.description, mend: "correct this in the file")) }
    return 1
  }
  printFinding(.ok("configuration: \(source.described)"))
  let findings =
    access(loaded.configuration) + loaded.advice.map(Finding.advice) + examine(loaded.configuration)
  findings.forEach(printFinding)
  let failures = findings.count { $0.level == .failure }
  let warnings = findings.count { $0.level == .warning }
  print("\(findings.count + 1) looked at, \(warnings) WARN, \(failures) FAIL")
  return failures > 0 ? 1 : 0
}

/// Why a server with this configuration would not start, whatever the machine is like.
private func access(_ configuration: ServerConfiguration) -> [Finding] {
  guard let problem = configuration.accessProblem else { return [] }
  return [.failure("access: strangers would need no token", mend: problem)]
}

private func printFinding(_ finding: Finding) {
  for line in finding.lines { print(line) }
}

/// All findings about this machine, in the order in which a packet meets things.
func examine(_ configuration: ServerConfiguration) -> [Finding] {
  let interfaces = interfaceAddresses()
  let cpus = Int(clinux_cpu_count())
  return [webPort(configuration.listen)] + flashphonerPort(configuration) + adminPort(configuration.admin)
    + apiPort(configuration.api)
    + tlsFiles(configuration, wallMilliseconds: WallClock.milliseconds())
    + mediaPorts(configuration, interfaces: interfaces, cpus: cpus)
    + examineStorage(configuration.storage)
    + examineWebhooks(configuration)
    + advertisedAddresses(configuration, interfaces: interfaces)
    + [socketBuffers(configuration.media), segmentation(), coalescing()]
    + [cryptography(cpuInfo: readText("/proc/cpuinfo")), mediaEncryption(configuration.media.srtp)]
    + [workers(configuration.media, cpus: cpus), descriptors(configuration, cpus: cpus, limit: descriptorLimit())]
}

extension String {
  /// The text with spaces behind it up to a width.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
