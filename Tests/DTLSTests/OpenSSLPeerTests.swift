// The openssl command as an independent peer over loopback UDP: s_client against our server, s_server against our client.

import Basics
import Crypto
import DTLS
import Foundation
import Glibc
import TestSupport
import Testing

/// A UDP socket on 127.0.0.1 that waits at most 20 ms for a datagram.
private final class LoopbackSocket {
  let descriptor: Int32
  let port: UInt16
  private var peer: sockaddr_in?

  init(peerPort: UInt16? = nil) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    self.descriptor = descriptor
    var address = Self.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(bound)
    port = UInt16(bigEndian: address.sin_port)
    var wait = timeval(tv_sec: 0, tv_usec: 20_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    peer = peerPort.map { Self.loopback(port: $0) }
  }

  deinit { close(descriptor) }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }

  /// A datagram; nil when none came in time. The first sender becomes the peer.
  func receive() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 2_048)
    var sender = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let count = withUnsafeMutablePointer(to: &sender) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
      }
    }
    guard count >= 0 else { return nil }
    if peer == nil { peer = sender }
    return Array(buffer.prefix(count))
  }

  func send(_ datagram: [UInt8]) {
    guard var peer else { return }
    _ = withUnsafePointer(to: &peer) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, datagram, datagram.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

/// The openssl command, with a certificate of its own in a directory of its own.
private final class OpenSSLCommand {
  private let folder: TemporaryFolder
  private var process: Process?
  private let input = Pipe()
  private let output = Pipe()

  init() throws {
    folder = try TemporaryFolder()
    try folder.makeCertificate()
  }

  /// With a certificate of exactly so many bytes in DER. With RSA its signature has always the same length.
  init(bytes: Int) throws {
    folder = try TemporaryFolder()
    var (filling, made) = (bytes - 1_000, 0)
    for _ in 0..<4 where made != bytes {
      _ = try openssl([
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-set_serial", "1", "-subj", "/CN=roost",
        "-keyout",
        keyPath, "-out", certificatePath, "-addext", "nsComment=" + String(repeating: "x", count: filling),
      ])
      _ = try openssl(["x509", "-in", certificatePath, "-outform", "DER", "-out", folder.path("certificate.der")])
      made = try Data(contentsOf: URL(filePath: folder.path("certificate.der"))).count
      filling += bytes - made
    }
    try #require(made == bytes)
  }

  var keyPath: String { folder.path("key.pem") }
  var certificatePath: String { folder.path("certificate.pem") }

  /// The certificate's fingerprint in the command's own words.
  func fingerprint() throws -> CertificateFingerprint {
    let text = try openssl(["x509", "-in", certificatePath, "-noout", "-fingerprint", "-sha256"])
    let value = text.split(separator: "=").last.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) } ?? ""
    return try #require(CertificateFingerprint(algorithm: "sha-256", hex: value))
  }

  func start(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    self.process = process
  }

  func type(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

  /// Ends the command and gives everything it printed.
  func finish() -> String {
    try? input.fileHandleForWriting.close()
    process?.terminate()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process?.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
  }
}

private let clockStart = ContinuousClock.now

private func currentInstant() -> Instant {
  let elapsed = (ContinuousClock.now - clockStart).components
  return Instant(nanoseconds: elapsed.seconds * 1_000_000_000 + elapsed.attoseconds / 1_000_000_000)
}

/// Runs a connection over a socket until `done`, for at most ten seconds.
private func run(_ peer: Peer, _ socket: LoopbackSocket, until done: (Peer) -> Bool) -> Bool {
  let end = currentInstant() + .milliseconds(10_000)
  while currentInstant() < end {
    peer.poll(at: currentInstant())
    for datagram in peer.drain() { socket.send(datagram) }
    if done(peer) { return true }
    if let datagram = socket.receive() { peer.handle(datagram, at: currentInstant()) }
  }
  return false
}

private func hexText(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16).uppercased() }.joined()
}

struct ProfileChoice: Sendable {
  let offered: String
  let chosen: SRTPProfile
}

@Suite(.serialized) struct OpenSSLPeerTests {
  /// Arguments of s_client towards a port.
  private func client(_ command: OpenSSLCommand, _ port: UInt16, _ more: [String]) -> [String] {
    [
      "s_client", "-dtls1_2", "-connect", "127.0.0.1:\(port)", "-cert", command.certificatePath, "-key",
      command.keyPath,
    ]
      + more
  }

  /// Sixteen KiB of a message, of which six bytes are lengths (RFC 5246 §7.4.2).
  @Test(arguments: [(16 * 1024 - 6, true), (16 * 1024 - 5, false)])
  func aCertificateHasSoManyBytesAndNotOneMore(bytes: Int, isTaken: Bool) throws {
    let command = try OpenSSLCommand(bytes: bytes)
    let socket = try LoopbackSocket()
    let server = try Peer(.server)
    try command.start(
      client(command, socket.port, ["-mtu", "1400", "-use_srtp", "SRTP_AEAD_AES_128_GCM"]))
    #expect(run(server, socket) { $0.state != .handshaking })
    #expect((server.state == .connected) == isTaken, "\(server.state)")
    _ = command.finish()
  }

  @Test(arguments: [
    ProfileChoice(
      offered: "SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_256_GCM:SRTP_AEAD_AES_128_GCM", chosen: .aeadAES128GCM),
    ProfileChoice(offered: "SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_256_GCM", chosen: .aeadAES256GCM),
    ProfileChoice(offered: "SRTP_AES128_CM_SHA1_32:SRTP_AES128_CM_SHA1_80", chosen: .aes128CMSHA1_80),
  ])
  func ourOrderOfProfilesWinsAndKeysAgree(_ choice: ProfileChoice) throws {
    let command = try OpenSSLCommand()
    let socket = try LoopbackSocket()
    let server = try Peer(.server)
    let length = 2 * (choice.chosen.keyLength + choice.chosen.saltLength)
    try command.start(
      client(
        command, socket.port,
        ["-use_srtp", choice.offered, "-keymatexport", "EXTRACTOR-dtls_srtp", "-keymatexportlen", "\(length)"]))
    #expect(run(server, socket) { $0.state != .handshaking })
    let keys = try server.keys([command.fingerprint()])
    #expect(keys.profile == choice.chosen)
    // Data is not for us and does no harm.
    command.type("data\n")
    for _ in 0..<10 { if let datagram = socket.receive() { server.handle(datagram, at: currentInstant()) } }
    #expect(server.state == .connected)
    server.connection.close()
    #expect(run(server, socket) { $0.state == .closed })
    let printed = command.finish()
    let material = keys.remote.key + keys.local.key + keys.remote.salt + keys.local.salt
    #expect(printed.contains("Keying material: \(hexText(material))"))
  }

  @Test func aClientHelloInManyDatagramsIsPutTogether() throws {
    let command = try OpenSSLCommand()
    let socket = try LoopbackSocket()
    let server = try Peer(.server)
    // Names enough for a ClientHello of more than one datagram.
    let names = (0..<40).map { "protocol-number-\($0)" }.joined(separator: ",")
    try command.start(
      client(command, socket.port, ["-use_srtp", "SRTP_AEAD_AES_128_GCM", "-mtu", "300", "-alpn", names]))
    #expect(run(server, socket) { $0.state != .handshaking })
    #expect(try server.keys([command.fingerprint()]).profile == .aeadAES128GCM)
    _ = command.finish()
  }

  @Test func noCommonProfileIsAClearError() throws {
    for arguments in [[], ["-use_srtp", "SRTP_AES128_CM_SHA1_32"]] {
      let command = try OpenSSLCommand()
      let socket = try LoopbackSocket()
      let server = try Peer(.server)
      try command.start(client(command, socket.port, arguments))
      #expect(run(server, socket) { $0.state != .handshaking })
      #expect(server.state == .failed(.noCommonSRTPProfile))
      #expect(throws: DTLSError.noCommonSRTPProfile) { try server.keys([command.fingerprint()]) }
      _ = command.finish()
    }
  }

  @Test func aClientWithoutCertificateIsRefused() throws {
    let command = try OpenSSLCommand()
    let socket = try LoopbackSocket()
    let server = try Peer(.server)
    try command.start([
      "s_client", "-dtls1_2", "-connect", "127.0.0.1:\(socket.port)", "-use_srtp", "SRTP_AEAD_AES_128_GCM",
    ])
    #expect(run(server, socket) { $0.state != .handshaking })
    #expect(server.state == .failed(.noPeerCertificate))
    _ = command.finish()
  }

  @Test func anOlderDTLSVersionIsRefused() throws {
    let command = try OpenSSLCommand()
    let socket = try LoopbackSocket()
    let server = try Peer(.server)
    try command.start([
      "s_client", "-dtls1", "-cipher", "ALL:@SECLEVEL=0", "-connect", "127.0.0.1:\(socket.port)", "-use_srtp",
      "SRTP_AES128_CM_SHA1_80",
    ])
    #expect(run(server, socket) { $0.state != .handshaking })
    guard case .failed(.protocolFailure) = server.state else {
      Issue.record("state \(server.state)")
      return
    }
    _ = command.finish()
  }

  /// Suites without forward secrecy, with CBC, without encryption or without a certificate: the server's key would do for the first
  /// and third (ASVS 5.0, 17.2.2).
  @Test(arguments: [
    "ECDHE-ECDSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256:AES256-SHA",
    "ECDHE-ECDSA-NULL-SHA:NULL-SHA256:eNULL", "aNULL", "ECDHE-ECDSA-AES128-CCM8:ECDHE-ECDSA-CHACHA20-POLY1305",
  ])
  func otherSuitesAreRefused(_ suites: String) throws {
    let server = try meet(["-cipher", "\(suites):@SECLEVEL=0"])
    guard case .failed(.protocolFailure(let text)) = server.state else {
      Issue.record("state \(server.state)")
      return
    }
    #expect(text.contains("no shared cipher"))
  }

  /// The control: the same client with a suite, and groups, that the server has.
  @Test(arguments: ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"])
  func ourSuitesAreTaken(_ suite: String) throws {
    #expect(try meet(["-cipher", "\(suite):@SECLEVEL=0"]).state == .connected)
    #expect(try meet(["-cipher", suite, "-groups", "P-256"]).state == .connected)
  }

  @Test func otherGroupsAreRefused() throws {
    let server = try meet(["-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256", "-groups", "P-224:P-384:P-521"])
    guard case .failed(.protocolFailure) = server.state else {
      Issue.record("state \(server.state)")
      return
    }
  }

  /// A server that has met s_client.
  private func meet(_ more: [String]) throws -> Peer {
    let command = try OpenSSLCommand()
    let socket = try LoopbackSocket()
    let server = try Peer(.server)
    try command.start(client(command, socket.port, ["-use_srtp", "SRTP_AEAD_AES_128_GCM"] + more))
    #expect(run(server, socket) { $0.state != .handshaking })
    _ = command.finish()
    return server
  }

  @Test func ourClientAgainstSServer() throws {
    let command = try OpenSSLCommand()
    // A port that was free a moment ago.
    let port = try LoopbackSocket().port
    try command.start([
      "s_server", "-dtls1_2", "-accept", "127.0.0.1:\(port)", "-cert", command.certificatePath, "-key", command.keyPath,
      "-use_srtp", "SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_256_GCM", "-Verify", "1", "-keymatexport",
      "EXTRACTOR-dtls_srtp",
      "-keymatexportlen", "\(2 * (SRTPProfile.aes128CMSHA1_80.keyLength + SRTPProfile.aes128CMSHA1_80.saltLength))",
    ])
    let socket = try LoopbackSocket(peerPort: port)
    let client = try Peer(.client)
    #expect(run(client, socket) { $0.state != .handshaking })
    let keys = try client.keys([command.fingerprint()])
    // The server's own order decides.
    #expect(keys.profile == .aes128CMSHA1_80)
    client.connection.close()
    #expect(run(client, socket) { $0.state == .closed })
    let printed = command.finish()
    #expect(printed.contains("SRTP Extension negotiated, profile=SRTP_AES128_CM_SHA1_80"))
    // Our half is the client's (RFC 5764 §4.2): its key and salt come first.
    let material = keys.local.key + keys.remote.key + keys.local.salt + keys.remote.salt
    #expect(printed.contains("Keying material: \(hexText(material))"), "\(printed)")
  }
}
