// Who forges tokens at an address, and what it costs others there and elsewhere: at each door, for each kind of signature, and once without
// the bound for control. The server is one of our own; nobody sends media.

import Basics
import SyntheticParticipant
import Threads
import Tokens

struct TokenFloods: Encodable, Sendable {
  /// Connections of whoever forges.
  static let sockets = 900
  /// How long somebody forges, in seconds.
  static let seconds = 6.0
  /// How long the slowest of a hundred pings may take, in milliseconds.
  static let mostPing = 50.0
  /// How long a good hello may take elsewhere, in milliseconds …
  static let mostHello = 200.0
  /// … and at the address itself, where it heeds what it is told.
  static let mostHelloThere = 5_000.0
  /// Good hellos at the address.
  static let hellos = 20
  /// Tokens that may be looked at of the address: what it has at once, what comes back in the time, and good ones.
  static let mostLooked = 500.0 + 50 * (seconds + 3) + Double(hellos)

  enum Door: String, Encodable, CaseIterable { case native, whip, flashphoner }

  struct Row: Encodable, Sendable, Equatable {
    var door: String
    var algorithm: String
    var isBounded: Bool
    /// The slowest of a hundred pings elsewhere and at the address, in milliseconds.
    var pingElsewhere = 0.0
    var pingThere = 0.0
    /// The slowest good hello elsewhere and at the address, in milliseconds.
    var helloElsewhere = 0.0
    var helloThere = 0.0
    /// Good hellos at the address that were let in.
    var letIn = 0
    /// Forged tokens that were looked at.
    var looked = 0.0

    /// Everything that missed its bar. Without the bound all of it may, and more must have been looked at: else nothing was shown.
    var complaints: [String] {
      let name = "tokens, \(door) \(algorithm)"
      guard isBounded else {
        return looked > TokenFloods.mostLooked ? [] : ["\(name): without a bound only \(Int(looked)) were looked at"]
      }
      var found: [String] = []
      if pingElsewhere > TokenFloods.mostPing {
        found.append("\(name): p99 of pings elsewhere \(rounded(pingElsewhere)) ms")
      }
      if pingThere > TokenFloods.mostPing { found.append("\(name): p99 of pings there \(rounded(pingThere)) ms") }
      if helloElsewhere > TokenFloods.mostHello {
        found.append("\(name): a hello elsewhere took \(rounded(helloElsewhere)) ms")
      }
      if letIn < TokenFloods.hellos {
        found.append("\(name): \(letIn) of \(TokenFloods.hellos) good hellos were let in")
      }
      if helloThere > TokenFloods.mostHelloThere {
        found.append("\(name): a hello there took \(rounded(helloThere)) ms")
      }
      if looked < 100 { found.append("\(name): \(Int(looked)) forged tokens are no flood") }
      if looked > TokenFloods.mostLooked { found.append("\(name): \(Int(looked)) forged tokens were looked at") }
      return found
    }
  }

  private(set) var rows: [Row] = []

  /// Everything that missed its bar.
  var complaints: [String] { rows.flatMap(\.complaints) }

  /// One row a door and signature.
  var table: String {
    let head = ["forged tokens", "ping there", "elsewhere", "hello there", "elsewhere", "let in", "looked at"]
    let lines = rows.map { row in
      [
        "\(row.door) \(row.algorithm)\(row.isBounded ? "" : ", no bound")", rounded(row.pingThere),
        rounded(row.pingElsewhere),
        rounded(row.helloThere), rounded(row.helloElsewhere), "\(row.letIn)", "\(Int(row.looked))",
      ].map { "\($0)" }
    }
    return aligned([head] + lines)
  }

  /// Makes the runs, each with a server of its own. `program` is the path of `roost`.
  static func measure(_ program: String) async throws -> TokenFloods {
    var found = TokenFloods()
    for door in Door.allCases {
      for signer in try Signer.all() { found.rows.append(try await run(program, door, signer, isBounded: true)) }
    }
    found.rows.append(try await run(program, .native, try Signer.all()[1], isBounded: false))
    return found
  }

  // MARK: One run

  private static func run(_ program: String, _ door: Door, _ signer: Signer, isBounded: Bool) async throws -> Row {
    let folder = try ServerFolder(forTokens: isBounded ? 50 : 0)
    let server = try await ServerProcess.start(program, in: folder)
    defer { folder.remove() }
    let run = TokenFloodRun(port: folder.webPort, flashphonerPort: folder.flashphonerPort ?? 0, door, signer)
    var row = Row(door: door.rawValue, algorithm: signer.name, isBounded: isBounded)
    run.measure(&row)
    let page = await MetricsPage.text(at: "http://127.0.0.1:\(folder.webPort)")
    row.looked = page.flatMap { Self.failures(in: $0) } ?? 0
    await server.stop()
    return row
  }

  /// How many tokens were looked at and refused, by a server's page for Prometheus.
  static func failures(in page: String) -> Double? {
    let name = #"roost_token_failures_total{what="refused"} "#
    return page.split(separator: "\n").first { $0.hasPrefix(name) }.flatMap { Double($0.dropFirst(name.count)) }
  }

  /// Somebody whose tokens a server believes.
  struct Signer {
    let name: String
    private let signer: TokenSigner

    /// One of each algorithm. The keys are these measurements' alone.
    static func all() throws -> [Signer] {
      [
        Signer(name: "HS256", signer: TokenSigner(id: "h", secret: Array(FloodKeys.secret.utf8))),
        Signer(name: "ES256", signer: try TokenSigner(id: "e", privateKey: Array(FloodKeys.p256.utf8))),
        Signer(name: "EdDSA", signer: try TokenSigner(id: "d", privateKey: Array(FloodKeys.ed25519.utf8))),
      ]
    }

    func token(_ user: String) -> String {
      let claims = TokenClaims(user: user, grants: [.join, .chat], expiresAt: WallClock.milliseconds() + 600_000)
      return (try? signer.sign(claims)) ?? ""
    }

    /// One whose signature has as many bytes and is another.
    var forged: String {
      let parts = token("mallory").split(separator: ".")
      return parts.dropLast().joined(separator: ".") + "." + String(parts.last?.reversed() ?? [])
    }
  }
}
