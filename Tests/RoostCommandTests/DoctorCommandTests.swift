// `roost doctor` as it is run: every look is there, and the exit status says whether anything fails.
import Foundation
import TestSupport
import Testing
import TinyHTTP

@testable import roost

@Suite struct DoctorCommandTests {
  /// What is looked at, in this order.
  static let looks = [
    "configuration: ", "web: TCP 127.0.0.1:", "TLS: ", "media: UDP ", "storage: ", "webhooks.push: ",
    "clients are told: ",
    "only loopback is told", "UDP buffers: ", "UDP_SEGMENT (GSO)", "UDP_GRO: ", "cryptography: ", "SRTP: ", "workers: ",
    "descriptors: ",
  ]

  private func configuration(in folder: TemporaryFolder, media: UInt16, push: UInt16, key: String = "key.pem") throws
    -> String
  {
    try folder.makeCertificate()
    let file = try folder.write(
      """
      listen: {port: \(try freePort()), tls: {certificate: certificate.pem, key: \(key)}}
      media: {port: \(media), addresses: [127.0.0.1]}
      storage: {path: roost.db}
      webhooks: {push: {url: "http://127.0.0.1:\(push)/push", secret: a secret of sixteen}}
      """)
    // Nobody else reads what has secrets in it.
    for name in folder.names { chmod(folder.path(name), 0o600) }
    return file
  }

  /// Level and text of each finding; remedies are left out.
  private func findings(_ output: String) -> [(level: String, text: String)] {
    output.split(separator: "\n").compactMap { line in
      ["OK", "WARN", "FAIL"].first { line.hasPrefix($0.padded(to: 6)) }.map { ($0, String(line.dropFirst(6))) }
    }
  }

  @Test func everythingIsLookedAtAndNothingFails() throws {
    let hook = try TinyServer { _ in "200 OK" }
    defer { hook.stop() }
    let folder = try TemporaryFolder()
    let file = try configuration(in: folder, media: freePort(), push: hook.port)
    let outcome = try Outcome(["doctor", "--config", file])
    let found = findings(outcome.output)
    #expect(found.count == Self.looks.count, "\(outcome.output)")
    for (finding, look) in zip(found, Self.looks) { #expect(finding.text.hasPrefix(look), "\(finding)") }
    #expect(found.allSatisfy { $0.level != "FAIL" } && outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    let warnings = found.count { $0.level == "WARN" }
    #expect(outcome.output.hasSuffix("\n\(found.count) looked at, \(warnings) WARN, 0 FAIL\n"))
    #expect(warnings >= 1, "only this machine is told an address")
    #expect(folder.names == ["certificate.pem", "key.pem", "rooms.yaml"], "a look leaves nothing behind")
  }

  @Test func oneFailureIsEnoughForStatusOneAndTheRestIsLookedAt() throws {
    let hook = try TinyServer { _ in "200 OK" }
    defer { hook.stop() }
    let (folder, taken) = (try TemporaryFolder(), try TakenPort())
    let outcome = try Outcome(["doctor", "--config", configuration(in: folder, media: taken.number, push: hook.port)])
    let found = findings(outcome.output)
    #expect(
      found.filter { $0.level == "FAIL" }.map(\.text) == [
        "media: UDP 127.0.0.1:\(taken.number): Address already in use"
      ])
    #expect(found.count == Self.looks.count && outcome.status == 1)
    #expect(outcome.output.contains("1 FAIL") && outcome.output.contains("\n      → "))
  }

  @Test func aBrokenTLSFileIsAFailure() throws {
    let folder = try TemporaryFolder()
    let file = try configuration(in: folder, media: freePort(), push: 9, key: "rooms.yaml")
    let outcome = try Outcome(["doctor", "--config", file])
    #expect(outcome.status == 1)
    #expect(findings(outcome.output).map(\.level) == ["FAIL"])
    #expect(outcome.output.contains("\(file):1:") && outcome.output.contains(": listen.tls.key: "), "\(outcome.output)")
  }
}
