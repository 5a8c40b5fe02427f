// Who is let in: by tokens, by the word that everybody is, or by the place of a server that none but its own machine reaches.

import Basics
import Configuration
import Logging
import Signalling
import Threads
import WebSockets

extension RoostServer {
  /// Who is believed: whoever shows a token where there are keys, else everybody, where that is written or the server is local.
  static func identityVerifier(
    _ configuration: ServerConfiguration, _ log: Logger
  ) throws(StartError) -> LimitedTries {
    if let problem = configuration.accessProblem { throw StartError(problem, key: "access") }
    guard !configuration.access.keys.isEmpty else { return LimitedTries(OpenAccess(), log: log) }
    do throws(UnusableKey) {
      return LimitedTries(
        TokenAccess(try configuration.access.verifier(), wallClock: WallClock.milliseconds), log: log)
    } catch {
      throw StartError(error.message, key: error.field)
    }
  }
}

extension WebServerConfiguration {
  /// A server that is open by its place alone takes nothing from a proxy, which would bring strangers to it.
  mutating func refuseProxied(where isOpenByPlace: Bool, _ log: Logger) {
    refusesProxied = isOpenByPlace
    proxyRefused = { header, peer in
      log.warning(
        "proxy_refused",
        [
          "header": LogValue(header), "peer": LogValue(peer?.description ?? ""),
          "why": "without access.keys this server is for this machine alone, and a proxy would let in everybody",
          "remedy": "set access.keys in rooms.yaml, or write access: open",
        ])
    }
  }
}
