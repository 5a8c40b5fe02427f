// Two DTLS connections over a seeded network that loses, delays, duplicates, cuts and invents datagrams, in virtual time.

import Basics
import Crypto
import DTLS

/// One end: the connection and everything it has sent.
final class Peer {
  var connection: DTLSConnection
  let certificate: Certificate
  var sent: [[UInt8]] = []

  init(_ role: DTLSRole, timing: DTLSTiming = DTLSTiming()) throws {
    certificate = try Certificate(wallMilliseconds: 1_700_000_000_000)
    connection = try DTLSConnection(role: role, certificate: certificate, timing: timing)
  }

  var state: DTLSConnection.State { connection.state }
  var nextDeadline: Instant { connection.nextDeadline }

  func handle(_ datagram: [UInt8], at now: Instant) { connection.handle(datagram.span, at: now) }
  func poll(at now: Instant) { connection.poll(at: now) }

  func drain() -> [[UInt8]] {
    var datagrams: [[UInt8]] = []
    while let datagram = connection.nextDatagram() { datagrams.append(datagram) }
    sent += datagrams
    return datagrams
  }

  func fingerprint(_ algorithm: CertificateFingerprint.Algorithm = .sha256) -> CertificateFingerprint? {
    connection.peerFingerprint(algorithm)
  }
  var cipherName: String? { connection.cipherName }
  var ignoredDatagrams: Int { connection.ignoredDatagrams }

  func keys(_ fingerprints: [CertificateFingerprint]) throws -> DTLSKeys {
    try connection.verifiedKeys(against: fingerprints)
  }
}

struct Weather: Sendable {
  var loss = 0.0
  var duplication = 0.0
  /// Delay beyond the least one, drawn evenly: reorders when it is longer than the time between datagrams.
  var jitter = TimeDelta.zero
  var truncation = 0.0
  /// Probability that a datagram is followed by one of noise.
  var noise = 0.0
}

/// The network between a client and a server.
final class Network {
  let client: Peer
  let server: Peer
  var now = Instant.zero
  var weather: Weather
  /// Returns false for a datagram that shall be lost: (from the client, datagram).
  var passes: (Bool, [UInt8]) -> Bool = { _, _ in true }
  private var generator: SplitMix64
  private var flying: [(at: Instant, order: Int, toServer: Bool, datagram: [UInt8])] = []
  private var order = 0

  init(seed: UInt64 = 1, weather: Weather = Weather(), timing: DTLSTiming = DTLSTiming()) throws {
    client = try Peer(.client, timing: timing)
    server = try Peer(.server, timing: timing)
    self.weather = weather
    generator = SplitMix64(seed: seed)
  }

  var bothConnected: Bool { client.state == .connected && server.state == .connected }

  /// Runs until `done`, or `limit` has passed; says whether it was done.
  func run(until limit: TimeDelta = .milliseconds(60_000), _ done: (Network) -> Bool = { $0.bothConnected }) -> Bool {
    let end = now + limit
    while !done(self) {
      client.poll(at: now)
      server.poll(at: now)
      flush()
      let next = min(flying.map(\.at).min() ?? .distantFuture, client.nextDeadline, server.nextDeadline)
      guard next <= end else { return done(self) }
      now = max(now, next)
      deliver()
      flush()
    }
    return true
  }

  private func flush() {
    for datagram in client.drain() { launch(datagram, toServer: true) }
    for datagram in server.drain() { launch(datagram, toServer: false) }
  }

  private func launch(_ datagram: [UInt8], toServer: Bool) {
    guard passes(toServer, datagram) else { return }
    if generator.chance(weather.loss) { return }
    var datagram = datagram
    if generator.chance(weather.truncation) {
      datagram.removeLast(Int.random(in: 1...datagram.count, using: &generator))
    }
    add(datagram, toServer)
    if generator.chance(weather.duplication) { add(datagram, toServer) }
    if generator.chance(weather.noise) {
      var noise = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      // Half of it begins like DTLS.
      if noise.count > 13, generator.chance(0.5) {
        noise.replaceSubrange(0..<3, with: [22, 0xfe, 0xfd])
        noise[3] = 0xff
      }
      add(noise, toServer)
    }
  }

  private func add(_ datagram: [UInt8], _ toServer: Bool) {
    let jitter =
      weather.jitter.nanoseconds > 0 ? Int64.random(in: 0...weather.jitter.nanoseconds, using: &generator) : 0
    order += 1
    flying.append((now + .milliseconds(10) + TimeDelta(nanoseconds: jitter), order, toServer, datagram))
  }

  private func deliver() {
    let due = flying.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
    flying.removeAll { $0.at <= now }
    for item in due { (item.toServer ? server : client).handle(item.datagram, at: now) }
  }
}

/// The unencrypted or encrypted records of a datagram: type, epoch, number, fragment.
func records(_ datagram: [UInt8]) -> [(type: UInt8, epoch: Int, number: UInt64, fragment: [UInt8])] {
  var result: [(type: UInt8, epoch: Int, number: UInt64, fragment: [UInt8])] = []
  var start = 0
  while start + 13 <= datagram.count {
    let length = Int(datagram[start + 11]) << 8 | Int(datagram[start + 12])
    let end = min(start + 13 + length, datagram.count)
    result.append(
      (
        datagram[start], Int(datagram[start + 3]) << 8 | Int(datagram[start + 4]),
        datagram[(start + 5)..<(start + 11)].reduce(0) { $0 << 8 | UInt64($1) }, Array(datagram[(start + 13)..<end])
      ))
    start = end
  }
  return result
}

/// A record of epoch 0.
func record(type: UInt8, number: UInt64, _ fragment: [UInt8]) -> [UInt8] {
  [type, 0xfe, 0xfd, 0, 0] + (0..<6).map { UInt8(truncatingIfNeeded: number >> UInt64(40 - 8 * $0)) }
    + [UInt8(fragment.count >> 8), UInt8(fragment.count & 0xff)] + fragment
}
