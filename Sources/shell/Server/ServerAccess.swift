// Who is let in: by tokens, by the word that everybody is, or by the place of a server that none but its own machine reaches.

import Admin
import Basics
import Configuration
import Crypto
import Logging
import DoorKit
import Threads
import WebSockets

extension RoostServer {
  /// Who is believed: whoever shows a token where there are keys, else everybody, where that is written or the server is local.
  static func tokenGate(
    _ configuration: ServerConfiguration, _ revoked: RevokedTokens, _ log: Logger
  ) throws(StartError) -> TokenGate {
    if let problem = configuration.accessProblem { throw StartError(problem, key: "access") }
    guard !configuration.access.keys.isEmpty else { return TokenGate(OpenAccess(), log: log) }
    let limits = TokenGate.limits(perSecond: configuration.limits.addressTokensPerSecond)
    do throws(UnusableKey) {
      return TokenGate(
        TokenAccess(try configuration.access.verifier(), revoked: revoked, wallClock: WallClock.milliseconds), log: log,
        limits: limits)
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

/// Who may change something from outside: whoever shows the token. Wrong ones are written to the log with their address, ten at once and
/// six a minute. The right one is taken at any time: somebody else's guesses must not keep the operator out.
final class OperatorToken: Sendable {
  private let expected: [UInt8]
  private let log: Logger
  private let failures = Locked(NetworkBuckets(burst: 10, perSecond: 0.1))

  init(_ token: String, log: Logger) { (expected, self.log) = (Array(token.utf8), log) }

  /// What this request may, by what it shows. The scheme's name is written in any case, with any
  /// number of blanks behind it (RFC 9110 §11.1, §11.4).
  func permission(of request: HTTPRequest) -> OperatorRoutes.Permission {
    let words = (request.authorization ?? "").split(separator: " ", maxSplits: 1)
    let isBearer = words.count == 2 && words[0].lowercased() == "bearer"
    let shown = isBearer ? Array(words[1].utf8.drop { $0 == UInt8(ascii: " ") }) : []
    let expected = expected
    let isRight = constantTimeEquals(shown.span, expected.span)
    if isRight { return .granted }
    let wait = failures.withLock { $0.take(PeerNetwork(request.peer), at: MonotonicClock.now()) }
    if let wait { return .refusedForNow(seconds: (wait + 999) / 1000) }
    log.warning(
      "admin_token_refused",
      ["peer": LogValue(request.peer?.description ?? ""), "path": LogValue(request.path)])
    return .refused
  }
}
