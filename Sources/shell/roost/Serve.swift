// `roost serve`: prepares the process, starts the server, and stops it when a signal says so.
import Basics
import CLinux
import Configuration
import Glibc
import Logging
import Server

func serve(_ loaded: Loaded) throws -> Int32 {
  Signals.block()
  let needed = descriptorsToStart(loaded.configuration, cpus: Int(clinux_cpu_count()))
  raiseDescriptorLimit(to: needed + loaded.configuration.limits.connections)
  guard descriptorLimit() >= needed else {
    complain(
      "roost: this process may have \(descriptorLimit()) open files, and needs \(needed) to start: "
        + "raise the limit (ulimit -Hn, LimitNOFILE= in systemd)")
    return 1
  }
  complain("roost \(roostVersion): configuration from \(loaded.source.described)")
  let stop = try StopRequest()
  try Signals.watch { stop.make() }
  do {
    try runServer(loaded.configuration, until: stop)
  } catch let error as Server.StartError {
    guard let key = error.key, let locations = loaded.locations else { throw error }
    throw locations.issue(key, error.message)
  }
  return 0
}

/// Runs the server until `stop` is made, then stops it cleanly. Throws when it cannot start.
private func runServer(_ configuration: ServerConfiguration, until stop: StopRequest) throws {
  let log = Logger(configuration.log)
  // A slow reader of the log does not keep the server from ending.
  defer { log.flush(within: .seconds(1)) }
  let server = try RoostServer.start(configuration, log: log)
  print("Open \(server.url)")
  fflush(nil)
  stop.wait()
  server.stop(answering: goodbye)
}

/// How long clients that are told to go are still answered: what they asked before they knew, and what became of their calls.
private let goodbye = TimeDelta.milliseconds(500)

/// Connections and sockets need descriptors: takes what they need, as far as the hard limit gives it. No more: the web server has a
/// table of so many (docs/decisions).
private func raiseDescriptorLimit(to needed: Int) {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
  // Some to spare, for what looks things up or writes files.
  limit.rlim_cur = min(limit.rlim_max, rlim_t(needed + 512))
  _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
