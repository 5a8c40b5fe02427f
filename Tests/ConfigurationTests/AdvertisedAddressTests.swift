// What clients are told to send media to, and the pages that may connect.

import Basics
import Testing

@testable import Configuration

@Suite struct AdvertisedAddressTests {
  private func addresses(_ hosts: String) -> [SocketAddress] {
    hosts.split(separator: " ").compactMap { SocketAddress(host: String($0), port: 0) }
  }

  @Test(arguments: [
    // listen, bound, advertise, told
    ("127.0.0.1", "0.0.0.0 ::", "", "127.0.0.1 192.0.2.1 ::1 2001:db8::1"),
    ("0.0.0.0", "0.0.0.0 ::", "", "192.0.2.1 2001:db8::1"),
    ("0.0.0.0", "0.0.0.0", "", "192.0.2.1"),
    ("0.0.0.0", "127.0.0.1", "", "127.0.0.1"),
    ("0.0.0.0", "0.0.0.0", "203.0.113.7 2001:db8::7", "203.0.113.7 2001:db8::7"),
    ("127.0.0.1", "192.0.2.1 0.0.0.0", "", "192.0.2.1 127.0.0.1"),
    ("127.0.0.1", "::", "", "::1 2001:db8::1"),
  ]) func clientsAreToldWhatTheyCanReach(listen: String, bound: String, advertise: String, told: String) throws {
    var configuration = ServerConfiguration()
    configuration.listen.address = try #require(SocketAddress(host: listen, port: 1))
    configuration.media.addresses = addresses(bound)
    configuration.media.advertise = addresses(advertise).map { Advertised($0) }
    let interfaces = addresses("127.0.0.1 192.0.2.1 169.254.1.1 ::1 2001:db8::1 fe80::1")
    #expect(
      configuration.advertisedAddresses(interfaces: interfaces).map(\.host)
        == told.split(separator: " ").map(String.init))
  }

  /// Names are looked up, and what they stand for is told under the port that leads in (containers).
  @Test func clientsAreToldWhatANameStandsFor() throws {
    var configuration = ServerConfiguration()
    configuration.media.addresses = addresses("0.0.0.0")
    configuration.media.advertise = try ["media.example.org:50000", "203.0.113.7:60000", "b.example"].map {
      try #require(Advertised(text: $0))
    }
    let told = configuration.advertisedAddresses(interfaces: addresses("192.0.2.1")) { name in
      addresses(name == "b.example" ? "198.51.100.9" : "198.51.100.1 2001:db8::1")
    }
    #expect(told.map(\.description) == ["198.51.100.1:50000", "203.0.113.7:60000", "198.51.100.9:0"])
  }

  @Test(arguments: [
    ("203.0.113.7", "203.0.113.7"), ("\"2001:db8::7\"", "2001:db8::7"), ("\"203.0.113.7:50000\"", "203.0.113.7:50000"),
    ("\"[2001:db8::7]:50000\"", "[2001:db8::7]:50000"), ("media.example.org", "media.example.org"),
    ("\"media.example.org:1\"", "media.example.org:1"), ("host-1", "host-1"),
  ]) func namesAndPortsAreAdvertised(text: String, described: String) throws {
    let file = Array("media: {advertise: [\(text)]}".utf8)
    #expect(try ServerConfiguration.parse(file, file: "f").media.advertise.map(\.described) == [described])
  }

  @Test(arguments: [
    "\"203.0.113.7:0\"", "\"203.0.113.7:65536\"", "\"a.example:x\"", "203.0.113", "a..b", "-a.example", "\"a b\"",
    "\"https://a.example\"", "\"[203.0.113.7]:5\"", "\"[::1\"", "\":5\"", "\"224.0.0.1:5\"", "\"0.0.0.0:5\"",
  ]) func whatCannotBeAdvertisedIsTold(text: String) {
    let found = complaints("media: {advertise: [\(text)]}")
    #expect(found.count == 1 && found[0].hasPrefix("f:1:21: media.advertise[1]: "), "\(found)")
  }

  @Test func eachWorkerHasAPortThatIsTold() {
    #expect(complaints("media: {workers: 2, advertise: [\"203.0.113.7:65534\"]}") == [])
    let found = complaints("media: {workers: 2, advertise: [\"203.0.113.7:65535\"]}")
    #expect(found.count == 1 && found[0].contains("65535 leads to worker 0 of 2"), "\(found)")
  }

  /// Media is bound to IPv4: a name of IPv6 addresses stands for none, and the server says so instead of starting.
  @Test func aNameOfAnotherFamilyStandsForNothing() throws {
    var media = ServerConfiguration.Media()
    media.addresses = addresses("0.0.0.0")
    media.advertise = [try #require(Advertised(text: "six.example"))]
    let told = media.advertised(interfaces: addresses("192.0.2.1")) { _ in addresses("2001:db8::1") }
    #expect(told.map(\.addresses) == [[]])
  }

  /// Apps made of web pages, pages of files, and all names below one.
  @Test(arguments: [
    "capacitor://localhost", "ionic://localhost", "null", "https://*.example.org", "https://*.example.org:8443",
    "https://conf.example.org", "app.x-1+2://a", "http://127.0.0.1:3000", "*",
  ]) func originsOfAppsAreTaken(origin: String) {
    #expect(complaints("listen: {allowed_origins: [\"\(origin)\"]}") == [])
  }

  @Test(arguments: [
    "https://*.org", "https://*", "https://a.*.org", "*.example.org", "https://*.*.org", "https://*.1.2", "1a://x",
    "App://x",
    "https://example.org/", "capacitor://", "://a", "file", "https://.example.org/*", "https://*..org", "NULL",
  ]) func whatIsNoOriginIsTold(origin: String) {
    let found = complaints("listen: {allowed_origins: [\"\(origin)\"]}")
    #expect(found.count == 1 && found[0].contains("expected an origin"), "\(found)")
  }

  @Test func thisMachineHasALoopbackAddress() {
    #expect(interfaceAddresses().contains(SocketAddress(v4: 0x7f00_0001, port: 0)))
  }
}
