// What the doctor says about machines that are well and machines that are not.
import Basics
import CLinux
import Configuration
import Crypto
import Foundation
import TestSupport
import SRTP
import Testing

@testable import roost

private func address(_ host: String, _ port: UInt16 = 0) throws -> SocketAddress {
  try #require(SocketAddress(host: host, port: port))
}

@Suite struct PortFindingTests {
  @Test func aTakenUDPPortFailsAndIsFreeAgainAfterwards() throws {
    let loopback = try address("127.0.0.1")
    let taken = clinux_udp_open(loopback.shim, clinux_udp_options())
    try #require(taken >= 0)
    var bound = clinux_address()
    _ = clinux_socket_address(taken, &bound)
    var configuration = ServerConfiguration()
    configuration.media.addresses = [loopback]
    configuration.media.port = bound.port
    let busy = mediaPorts(configuration, interfaces: [], cpus: 1)
    #expect(busy.map(\.level) == [.failure])
    #expect(busy.first?.text == "media: UDP 127.0.0.1:\(bound.port): Address already in use")
    #expect(busy.first?.remedy?.contains("media.port") == true)
    _ = clinux_close(taken)
    #expect(mediaPorts(configuration, interfaces: [], cpus: 1).map(\.level) == [.ok])
  }

  @Test func aTakenOrForeignTCPPortFails() throws {
    var listen = ServerConfiguration.Listen()
    listen.address = try address("203.0.113.9", 65_000)
    let foreign = webPort(listen)
    #expect(foreign.level == .failure && foreign.remedy?.contains("listen.address") == true)
  }

  @Test func thePortForFlashphonersAppsIsLookedAtWhereThereIsOne() throws {
    var configuration = ServerConfiguration()
    #expect(flashphonerPort(configuration).isEmpty)
    configuration.listen.address = try address("203.0.113.9", 65_000)
    configuration.flashphoner.port = 65_001
    let foreign = flashphonerPort(configuration)
    #expect(foreign.map(\.level) == [.failure])
    #expect(foreign.first?.text.hasPrefix("flashphoner: TCP 203.0.113.9:65001") == true)
    let lines = summary(configuration, interfaces: [])
    #expect(lines.contains("flashphoner:   ws on port 65001, for the applications roomApp, defaultApp"))
  }

  @Test func aWildcardWithoutInterfacesFails() {
    let findings = mediaPorts(ServerConfiguration(), interfaces: [], cpus: 1)
    #expect(findings.map(\.level) == [.failure])
  }
}

@Suite struct NetworkFindingTests {
  @Test func buffersThatWereNotGrantedWarnWithTheSetting() {
    let media = ServerConfiguration.Media()
    #expect(bufferFinding(media, receive: 4 << 20, send: 8 << 20).level == .ok)
    let small = bufferFinding(media, receive: 212_992, send: 4 << 20)
    #expect(small.level == .warning && small.remedy == "as root: sysctl -w net.core.rmem_max=4194304")
  }

  @Test func thisKernelSegments() {
    #expect(segmentation().level == .ok && coalescing().level == .ok)
  }

  @Test(arguments: [
    // bound, advertised, interfaces, levels
    ("0.0.0.0", "", "127.0.0.1 192.0.2.1", [Finding.Level.ok]),
    ("127.0.0.1", "", "127.0.0.1 192.0.2.1", [.ok, .warning]),
    ("0.0.0.0", "203.0.113.7", "127.0.0.1 192.0.2.1", [.ok, .warning]),
    ("0.0.0.0", "192.0.2.1", "127.0.0.1 192.0.2.1", [.ok]),
    ("0.0.0.0", "2001:db8::7", "127.0.0.1 192.0.2.1", [.ok, .warning, .failure]),
    ("0.0.0.0", "", "", [.failure]),
  ]) func toldAddressesAreHeldAgainstTheMachine(
    bound: String, advertised: String, interfaces: String, levels: [Finding.Level]
  ) {
    func list(_ hosts: String) -> [SocketAddress] {
      hosts.split(separator: " ").compactMap { SocketAddress(host: String($0), port: 0) }
    }
    var configuration = ServerConfiguration()
    configuration.media.addresses = list(bound)
    configuration.media.advertise = list(advertised).map { Advertised($0) }
    #expect(advertisedAddresses(configuration, interfaces: list(interfaces)).map(\.level) == levels)
  }

  /// Firefox pairs no address of its own with one of the loopback: that is said where there is nothing else.
  @Test func loopbackAloneIsNothingForFirefox() throws {
    let (lonely, usual) = (["127.0.0.1"], ["127.0.0.1", "192.0.2.1"])
    var bound = ServerConfiguration()
    bound.media.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
    for (configuration, hosts, remedy) in [
      (ServerConfiguration.withoutFile, lonely, "network"), (.withoutFile, usual, nil),
      (bound, usual, "media.addresses"),
    ] as [(ServerConfiguration, [String], String?)] {
      let interfaces = hosts.compactMap { SocketAddress(host: $0, port: 0) }
      let finding = advertisedAddresses(configuration, interfaces: interfaces).first { $0.level != .ok }
      #expect((finding == nil) == (remedy == nil))
      if let remedy { #expect(finding?.text.contains("Firefox") == true && finding?.remedy?.contains(remedy) == true) }
    }
  }

  /// What a name stands for is said, and that it is looked up once; a name that stands for nothing would stop the start.
  @Test func advertisedNamesAreLookedUp() throws {
    var configuration = ServerConfiguration()
    configuration.media.addresses = [SocketAddress(v4: 0, port: 0)]
    configuration.media.advertise = [Advertised(host: "media.example.org", port: 50_000)]
    let address = try #require(SocketAddress(host: "192.0.2.1", port: 0))
    let found = advertisedAddresses(configuration, interfaces: [address]) { _ in [address] }
    #expect(found.map(\.level) == [.ok, .ok])
    #expect(found.map(\.text).joined().contains("192.0.2.1:50000"))
    #expect(found.map(\.text).joined().contains("media.example.org is 192.0.2.1 now"))
    let nothing = advertisedAddresses(configuration, interfaces: [address]) { _ in [] }
    #expect(nothing.map(\.level) == [.failure])
  }
}

@Suite struct MachineFindingTests {
  private let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "TLS").path
  private let begin: Int64 = 1_795_245_750_000  // of certificate.pem: 2026-11-21 07:22:30 UTC
  private let end: Int64 = 2_110_605_750_000  // 2036-11-18 07:22:30 UTC
  private let day: Int64 = 86_400_000

  private func facts(_ key: String, _ now: Int64, certificate: String = "certificate.pem") throws -> TLSFileFacts {
    try inspectTLSFiles(
      certificate: "\(directory)/\(certificate)", key: "\(directory)/\(key)", wallMilliseconds: now)
  }

  @Test func timesOfACertificateAreRead() throws {
    #expect(
      try facts("key.pem", begin + day)
        == TLSFileFacts(secondsLeft: Int((end - begin - day) / 1000), secondsValid: 86_400))
    #expect(try facts("key.pem", begin - 1000).secondsValid == -1)
    #expect(try facts("key.pem", end + 1000).secondsLeft == -1)
  }

  @Test(arguments: [
    ("certificate.pem", "other-key.pem", TLSFileError.mismatch),
    ("certificate.pem", "locked-key.pem", .key),
    ("certificate.pem", "certificate.pem", .key),
    ("key.pem", "key.pem", .certificate),
    ("none.pem", "key.pem", .certificate),
  ]) func filesThatDoNotServeAreToldApart(certificate: String, key: String, error: TLSFileError) {
    #expect(throws: error) { try facts(key, begin, certificate: certificate) }
    let files = ServerConfiguration.TLSFiles(certificate: "\(directory)/\(certificate)", key: "\(directory)/\(key)")
    #expect(tlsFiles(files, wallMilliseconds: begin).map(\.level) == [.failure])
  }

  @Test func bothListenersAreLookedAt() {
    let good = ServerConfiguration.TLSFiles(certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
    let wrong = ServerConfiguration.TLSFiles(
      certificate: "\(directory)/certificate.pem", key: "\(directory)/other-key.pem")
    var configuration = ServerConfiguration()
    configuration.listen.tls = good
    configuration.flashphoner.tls = wrong
    #expect(tlsFiles(configuration, wallMilliseconds: begin + day).map(\.level) == [.ok], "there is no such listener")
    configuration.flashphoner.port = 8443
    let findings = tlsFiles(configuration, wallMilliseconds: begin + day)
    #expect(findings.map(\.level) == [.ok, .failure])
    #expect(findings.last?.remedy?.contains("flashphoner.tls.key") == true)
    configuration.flashphoner.tls = good
    #expect(tlsFiles(configuration, wallMilliseconds: begin + day).map(\.level) == [.ok], "the same files once")
    configuration.listen.tls = nil
    #expect(
      tlsFiles(configuration, wallMilliseconds: begin + day).map(\.text) == [
        "TLS: certificate and key of flashphoner.tls fit, valid for \((end - begin - day) / day) days"
      ])
  }

  @Test(arguments: [
    (-1, 1, Finding.Level.failure), (86_400, -1, .failure), (86_400, 1, .warning), (90 * 86_400, 1, .ok),
  ]) func aCertificateNearItsEndWarns(left: Int, valid: Int, level: Finding.Level) {
    #expect(expiry(TLSFileFacts(secondsLeft: left, secondsValid: valid), of: "c.pem").level == level)
  }

  @Test func aCPUWithoutAESWarns() {
    #expect(cryptography(cpuInfo: "processor\t: 0\nflags\t\t: fpu aes sse2\n").level == .ok)
    #expect(cryptography(cpuInfo: "Features\t: fp asimd aes\n").level == .ok)
    #expect(cryptography(cpuInfo: "flags\t\t: fpu sse2\n").level == .warning)
    #expect(cryptography(cpuInfo: "").level == .warning)
    #expect(mediaEncryption(.auto).level == .ok)
    #expect(mediaEncryption(.libSRTP).level == .warning, "works, but costs more")
    let costs = [
      SRTPCost(backend: .ipsecMB, perPacket: TimeDelta(nanoseconds: 590)),
      SRTPCost(backend: .openSSL, perPacket: TimeDelta(nanoseconds: 300)),
    ]
    let finding = mediaEncryption(.auto, costs: costs)
    #expect(finding.level == .ok && finding.text.contains("OpenSSL"), "where it is the cheapest, it is taken")
    #expect(finding.text.contains("ipsec-mb 590 ns, openssl 300 ns"))
    #expect(mediaEncryption(.ipsecMB, costs: costs).level == .warning)
  }

  @Test func moreWorkersThanCPUsWarn() {
    var media = ServerConfiguration.Media()
    media.workers = 4
    #expect(workers(media, cpus: 2).level == .warning && workers(media, cpus: 4).level == .ok)
    media.workers = 0
    #expect(workers(media, cpus: 2) == .ok("workers: 2 on 2 CPUs"))
  }

  @Test func tooFewDescriptorsWarn() {
    let configuration = ServerConfiguration()
    #expect(descriptors(configuration, cpus: 1, limit: 1024).level == .warning)
    #expect(descriptors(configuration, cpus: 1, limit: .max) == .ok("descriptors: unlimited, at most 6074 needed"))
  }

  @Test func aFindingShowsItsRemedyBelow() {
    #expect(Finding.ok("a").lines == ["OK    a"])
    #expect(Finding.warning("a", mend: "b").lines == ["WARN  a", "      → b"])
  }
}

@Suite struct CheckTests {
  @Test func theSummaryNamesWhatIsServed() throws {
    let interfaces = [try address("127.0.0.1"), try address("192.0.2.1")]
    var configuration = ServerConfiguration()
    configuration.media.workers = 2
    configuration.rooms["stage"] = .broadcast
    #expect(
      summary(configuration, interfaces: interfaces) == [
        "web:           http://127.0.0.1:8080",
        "media:         UDP 40000–40001 on 0.0.0.0, ::",
        "clients use:   127.0.0.1, 192.0.2.1",
        "codecs:        VP8, VP9, H264, AV1, opus",
        "storage:       roost.db",
        "access:        whoever is on this machine, under any name",
        "room:          demo: demo, 3 seats, video",
        "room:          stage: broadcast, 501 seats, video, 1 may publish",
        "other names:   group, 16 seats with video or 32 with audio only, as the first to join wants",
      ])
    configuration.unknownRooms = .refuse
    #expect(summary(configuration, interfaces: interfaces).last == "other names:   refused")
  }
}

@Suite struct StorageFindingTests {
  private func look(_ path: String?) -> Finding? {
    var storage = ServerConfiguration.Storage()
    storage.path = path
    return examineStorage(storage).first
  }

  @Test func aUsablePlaceIsFineAndIsLeftAsItWas() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("roost.db")
    let finding = look(path)
    #expect(finding?.level == .ok && finding?.text.contains(path) == true)
    #expect(folder.names == [])
    try Data("not a database at all, and long enough to be read as one".utf8).write(to: URL(filePath: path))
    let damaged = look(path)
    #expect(damaged?.level == .warning && damaged?.text.contains("damaged") == true)
    #expect(FileManager.default.contents(atPath: path)?.count == 56, "a look changes nothing")
  }

  @Test func aPlaceThatDoesNotExistFailsAndNoPlaceIsAWarning() {
    #expect(look("/nonexistent/roost.db")?.level == .failure)
    #expect(look(nil)?.level == .warning)
  }
}
