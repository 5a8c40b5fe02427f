// What a Janus gateway of our own is started with: a free port of the loopback for its WebSocket API, and the video room. Its media
// has the machine's other addresses, since it leaves out the loopback; scripts/private-network gives it one that is nobody's.

import CLinux
import Glibc

struct JanusFiles: Sendable {
  /// Its WebSocket API.
  let url: String
  /// `env` and its arguments.
  let command: [String]
  private let folder: String
  private static let libraries = "usr/lib/\(architecture)-linux-gnu"

  #if arch(x86_64)
    private static let architecture = "x86_64"
  #else
    private static let architecture = "aarch64"
  #endif

  /// Writes the files, for a gateway that was unpacked into `root` as Debian has it.
  /// `eventLoops`: threads that its connections share; without, each has one of its own, Janus's default.
  init(root given: String, eventLoops: Int?) throws {
    guard let path = realpath(given + "/usr/bin/janus", nil) else {
      throw ServerStartError(description: "there is no \(given)/usr/bin/janus: scripts/janus \(given) unpacks Debian's")
    }
    defer { free(path) }
    let program = String(cString: path)
    let root = String(program.dropLast("/usr/bin/janus".count))
    var template = Array("/tmp/roost-loadtest-janus-\(getpid())-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ServerStartError(description: "cannot make a folder in /tmp") }
    let port = try ServerFile.freePort(SOCK_STREAM)
    url = "ws://127.0.0.1:\(port)/"
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    command = [
      "env", "LD_LIBRARY_PATH=\(root)/\(Self.libraries)", program, "--config=\(folder)/janus.jcfg",
      "--configs-folder=\(folder)", "--disable-colors", "--session-timeout=0", "--ice-lite", "--interface=127.0.0.1",
    ]
    let files = [
      (
        "janus.jcfg",
        """
        general: {
          plugins_folder = "\(folder)/plugins"
          transports_folder = "\(folder)/transports"
          events_folder = "\(folder)/none"
          loggers_folder = "\(folder)/none"
          \(eventLoops.map { "event_loops = \($0)" } ?? "")
        }

        """
      ),
      (
        "janus.transport.websockets.jcfg",
        "general: { json = \"compact\", ws = true, ws_port = \(port), ws_ip = \"127.0.0.1\", wss = false }\n"
      ),
      ("janus.plugin.videoroom.jcfg", "general: { string_ids = true }\n"),
    ]
    do {
      try write(files, libraries: "\(root)/\(Self.libraries)/janus")
    } catch {
      remove()
      throw error
    }
  }

  private func write(_ files: [(name: String, text: String)], libraries: String) throws {
    for part in ["/plugins", "/transports", "/none"] { mkdir(folder + part, 0o755) }
    for (name, text) in files where !writeFile("\(folder)/\(name)", text) {
      throw ServerStartError(description: "cannot write \(folder)/\(name)")
    }
    for name in ["plugins/libjanus_videoroom.so", "transports/libjanus_websockets.so"] {
      guard symlink("\(libraries)/\(name)", "\(folder)/\(name)") == 0 else {
        throw ServerStartError(description: "cannot make \(folder)/\(name)")
      }
    }
  }

  /// Removes them; a gateway that listens has read them.
  func remove() {
    for part in ["/plugins", "/transports", "/none", ""] {
      for name in namesIn(folder + part) { unlink("\(folder)\(part)/\(name)") }
      rmdir(folder + part)
    }
  }
}
