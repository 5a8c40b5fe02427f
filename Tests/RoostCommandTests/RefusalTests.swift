// What the commands say of a file that is wrong: `check`, `serve` and `doctor` with the same words, and status 1.
import CLinux
import Foundation
import TestSupport
import Testing

@testable import roost

@Suite struct RefusalTests {
  /// What is written, and what is said of it behind the file's name.
  static let wrong: [(text: String, complaint: String)] = [
    ("chat:\n  burst: many", "2:10: chat.burst: expected a number from 1 to 100000, found many"),
    ("chats: {}", "1:1: chats: unknown key; did you mean \"chat\"?"),
    ("log: [", "2:1: not valid YAML: did not find expected node content while parsing a flow node"),
    (
      "media: {addresses: [127.0.0.1], advertise: [\"::1\"]}",
      "1:45: media.advertise[1]: media is bound to no IPv6 address; expected one of the family of media.addresses"
    ),
    (
      "calls: {ring_timeout: 10m}",
      "1:23: calls.ring_timeout: ring_timeout (10m) must not be longer than ring_timeout_max (3m)"
    ),
    (
      "rooms: {\" lobby\": {kind: demo}}",
      "1:9: rooms. lobby: not a name: expected 1 to 128 bytes of printable characters, without blanks at the ends, "
        + "that do not begin with call:"
    ),
    (
      "listen: {tls: {certificate: key.pem, key: key.pem}}",
      "1:29: listen.tls.certificate: DIR/key.pem holds no certificate; expected a PEM file that begins with the server's own"
    ),
    (
      "listen: {tls: {certificate: certificate.pem, key: other.pem}}",
      "1:51: listen.tls.key: DIR/other.pem is not the key of DIR/certificate.pem; expected the one that it was requested with"
    ),
  ]

  @Test(arguments: wrong) func aWrongFileIsRefusedByEveryCommand(text: String, complaint: String) throws {
    let folder = try TemporaryFolder()
    let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "TLS")
    for (name, copy) in [("certificate", "certificate"), ("key", "key"), ("other-key", "other")] {
      try FileManager.default.copyItem(
        at: tests.appending(path: name + ".pem"), to: folder.url.appending(path: copy + ".pem"))
    }
    let file = try folder.write(text)
    let said = "\(file):\(complaint.replacing("DIR", with: folder.path()))"
    for command in ["check", "serve"] {
      let outcome = try Outcome([command, "--config", file])
      #expect(outcome.status == 1 && outcome.errors == said + "\n" && outcome.output == "", "\(command)")
    }
    let doctor = try Outcome(["doctor", "--config", file])
    #expect(doctor.status == 1 && doctor.output == "FAIL  \(said)\n      → correct this in the file\n")
  }

  /// What only a start can find out has its place too.
  @Test func aTakenPortIsSaidWithItsPlace() throws {
    let taken = try TakenPort()
    let folder = try TemporaryFolder()
    let file = try folder.write(
      "listen: {port: \(try freePort())}\nmedia:\n  addresses: [127.0.0.1]\n  port: \(taken.number)\nstorage: {path: none}\n"
    )
    let outcome = try Outcome(["serve", "--config", file])
    #expect(outcome.status == 1)
    #expect(
      outcome.errors.contains("\n\(file):4:9: media.port: UDP 127.0.0.1:\(taken.number) is in use"), "\(outcome.errors)"
    )
  }

  @Test func anAddressOfAnotherMachineIsSaidWithItsPlace() throws {
    let folder = try TemporaryFolder()
    let web = try folder.write(
      "listen: {address: 203.0.113.9}\nmedia: {port: \(try freePort())}\nstorage: {path: none}\naccess: open")
    let refused = try Outcome(["serve", "--config", web])
    #expect(refused.status == 1 && refused.errors.contains("\n\(web):1:9: listen: cannot listen on 203.0.113.9:8080"))
    let media = try folder.write(
      "media:\n  port: \(try freePort())\n  addresses: [203.0.113.9]\nstorage: {path: none}\naccess: open",
      to: "media.yaml")
    let other = try Outcome(["serve", "--config", media])
    #expect(other.status == 1 && other.errors.contains("\n\(media):3:14: media.addresses: "), "\(other.errors)")
  }
}

/// A UDP port of loopback that is taken for as long as this lives.
final class TakenPort {
  let number: UInt16
  private let descriptor: Int32

  init() throws {
    descriptor = clinux_udp_open(clinux_address(high: 0, low: 0xffff_7f00_0001, port: 0), clinux_udp_options())
    try #require(descriptor >= 0)
    var address = clinux_address()
    _ = clinux_socket_address(descriptor, &address)
    number = address.port
  }

  deinit { _ = clinux_close(descriptor) }
}
