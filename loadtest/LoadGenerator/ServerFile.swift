// The rooms.yaml of a server that we start ourselves: loopback, free ports, one worker, no limit that a load test meets.

import Basics
import CLinux
import Glibc

enum ServerFile {
  /// Names of files beside it, which paths in it are relative to.
  static let certificate = "certificate.pem"
  static let key = "key.pem"

  /// The text of the file. `flashphonerPort`: where apps of Flashphoner's SDKs arrive; nil for no such listener. `boundsChecks`: whether
  /// the checks of a connection are bounded.
  static func text(
    for scenario: Scenario, _ coalesce: Options.Coalesce? = nil, flashphonerPort: UInt16? = nil,
    boundsChecks: Bool = true
  ) throws -> String {
    let people = max(100, scenario.people.reduce(0) { $0 + $1.count } * scenario.rooms + (scenario.devices?.count ?? 0))
    let tls = scenario.devices?.isTLS == true ? ", tls: {certificate: \(certificate), key: \(key)}" : ""
    let window = Self.window(scenario, coalesce).map { ", coalesce: \($0)" } ?? ""
    let checks = boundsChecks ? "" : ", checks_per_second: 0"
    return """
      access: open
      listen: {address: 127.0.0.1, port: \(try freePort(SOCK_STREAM))\(tls)}
      media: {port: \(try freePort(SOCK_DGRAM)), workers: 1, addresses: [127.0.0.1], max_bitrate: 20Mbps\(window)\(checks)}
      \(kind(scenario))
      unknown_rooms: {create: \(scenario.roomKind)}
      chat: {messages_per_second: 10000, burst: 100000}
      limits:
        rooms: 100000
        sessions: \(people * 2)
        sessions_per_address: \(people * 2)
        rooms_per_address: 100000
        connections: \(people * 2)
        connections_per_address: \(people * 2)
        requests_per_second: 100000
        request_burst: 1000000
        user_requests_per_second: 100000
        user_request_burst: 1000000
        address_requests_per_second: 10000000
        address_request_burst: 100000000
        outbox_bytes: 64MiB
      calls: {caller_grace: 1s, rings_per_caller: 0, rings_per_callee: 0, rings_per_pair: 0}
      \(flashphonerPort.map { "flashphoner: {port: \($0)}" } ?? "")
      \(scenario.idlePing.map { sessions(idlePing: $0) } ?? "")
      storage: {path: \(scenario.stores ? "roost.db" : "none")}
      log: {level: warning}

      """
  }

  /// What was said on the command line, otherwise what the scenario says; nil for the server's defaults.
  private static func window(_ scenario: Scenario, _ coalesce: Options.Coalesce?) -> String? {
    let times = [
      ("video", coalesce?.video), ("audio", coalesce?.audio), ("audience", coalesce?.audience ?? scenario.audienceHold),
    ]
    let said = times.compactMap { key, time in time.map { "\(key): \(Double($0.nanoseconds) / 1_000_000)ms" } }
    return said.isEmpty ? nil : "{" + said.joined(separator: ", ") + "}"
  }

  /// How often who only waits is pinged; others no less often.
  private static func sessions(idlePing: TimeDelta) -> String {
    let often = min(idlePing, .seconds(5))
    return "sessions: {idle_ping: \(idlePing.milliseconds)ms, ping_interval: \(often.milliseconds)ms}"
  }

  private static func kind(_ scenario: Scenario) -> String {
    guard let seats = scenario.seats else { return "" }
    return "kinds: {\(scenario.roomKind): {limits: {video: \(seats), audio: \(seats)}}}"
  }

  /// A port of 127.0.0.1 that nobody has at the moment.
  static func freePort(_ type: __socket_type) throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var found = clinux_address()
    guard bound == 0, clinux_socket_address(descriptor, &found) == 0 else {
      throw ServerStartError(description: "no free port on 127.0.0.1")
    }
    return found.port
  }
}
