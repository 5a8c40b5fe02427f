// Values of the right kind that could never work: names, addresses, URLs and files are told before a port is opened.
import Basics
import Foundation
import TestSupport
import Testing

@testable import Configuration

@Suite struct ImpossibleValueTests {
  /// No request and no token may say such a name, so nobody could have it.
  @Test(arguments: ["\u{212a}im", "Rene\u{301}", "\u{301}a", "\u{1100}\u{1161}"])
  func namesAreInFormC(name: String) {
    let key = "{kid: %, alg: HS256, secret: 7f3a90c17f3a90c17f3a90c17f3a90c1}"
    let texts = [
      "rooms: {%: {kind: group}}", "kinds: {%: {media: audio}}", "access: {keys: [\(key)]}",
      "access: {keys: [{alg: HS256, secret: 7f3a90c17f3a90c17f3a90c17f3a90c1}], revoked: [%]}",
      "access: {issuer: %, keys: [{alg: HS256, secret: 7f3a90c17f3a90c17f3a90c17f3a90c1}]}",
      "access: {audience: %, keys: [{alg: HS256, secret: 7f3a90c17f3a90c17f3a90c17f3a90c1}]}",
    ]
    for text in texts {
      let found = complaints(text.replacing("%", with: name))
      #expect(found.count == 1 && found.first?.contains("in Unicode form C") == true, "\(text): \(found)")
      #expect(complaints(text.replacing("%", with: "Ren\u{e9}")).isEmpty, "\(text)")
    }
  }

  /// Such a room would be listed, and nobody could join it: the protocol takes no such name.
  @Test(arguments: [
    "\" lobby\"", "\"lobby \"", "\"\"", "\"a\\u202eb\"", "\"a\\u0085b\"", "\"a\\nb\"", "\"\\u200d\"",
    String(repeating: "名", count: 43), String(repeating: "a", count: 129), "\"call:x\"",
  ]) func aNameThatNobodyCouldJoinIsTold(name: String) {
    for (section, rest) in [("rooms", "{kind: demo}"), ("kinds", "{}")] {
      let found = complaints("\(section):\n  \(name): \(rest)")
      // Bytes, because a joiner at a name's beginning would be one character with the point before it.
      let place = Array("f:2:3: \(section).".utf8)
      #expect(found.count == 1 && found[0].utf8.starts(with: place), "\(found)")
      #expect(found.first?.contains(": not a name: expected 1 to 128 bytes") == true)
    }
  }

  @Test(arguments: [String(repeating: "名", count: 42), String(repeating: "a", count: 128), "a room", "\"42\""])
  func aNameThatCanBeJoinedIsTaken(name: String) {
    #expect(complaints("rooms: {\(name): {kind: demo}}") == [])
  }

  @Test(arguments: [
    "224.0.0.1", "239.1.2.3", "255.255.255.255", "240.0.0.1", "0.1.2.3", "\"ff02::1\"", "\"fe80::1\"",
  ]) func anAddressThatNobodyCanHaveIsTold(address: String) {
    let places = [
      ("media: {advertise: [\(address)]}", "f:1:21: media.advertise[1]: "),
      ("media: {addresses: [\(address)]}", "f:1:21: media.addresses[1]: "),
      ("listen: {address: \(address)}", "f:1:19: listen.address: "),
    ]
    for (text, place) in places {
      let found = complaints(text)
      #expect(found.count == 1 && found[0].hasPrefix(place) && found[0].contains("; expected "), "\(found)")
    }
  }

  /// Clients would be told an address to which no socket belongs, and offered none instead.
  @Test func anAdvertisedAddressWithoutASocketIsTold() {
    let words = "address; expected one of the family of media.addresses"
    #expect(
      complaints("media: {addresses: [127.0.0.1], advertise: [192.0.2.1, \"::1\"]}")
        == ["f:1:56: media.advertise[2]: media is bound to no IPv6 \(words)"])
    #expect(
      complaints("media:\n  advertise: [192.0.2.1]\n  addresses: [\"::\"]")
        == ["f:2:15: media.advertise[1]: media is bound to no IPv4 \(words)"])
    #expect(complaints("media: {advertise: [192.0.2.1, \"2001:db8::1\"]}") == [])
  }

  /// What a wildcard stands for is the machine's to say.
  @Test func aFamilyThatTheMachineHasNotIsTold() throws {
    func complaints(_ text: String, _ hosts: [String]) -> [String] {
      let interfaces = hosts.compactMap { SocketAddress(host: $0, port: 0) }
      do {
        _ = try ServerConfiguration.parse(Array(text.utf8), file: "f", interfaces: interfaces)
        return []
      } catch {
        return error.issues.map(\.description)
      }
    }
    let text = "media: {advertise: [\"2001:db8::7\"]}"
    #expect(complaints(text, ["127.0.0.1", "fe80::1"]).count == 1)
    #expect(complaints(text, ["127.0.0.1", "2001:db8::1"]) == [])
    #expect(
      complaints("media: {addresses: [\"::\"]}", ["127.0.0.1"])
        == ["f:1:20: media.addresses: this machine has none of these addresses"])
    #expect(complaints("", ["127.0.0.1"]) == [])
  }

  @Test(arguments: [
    "stun:", "stun:a b", "stun:a:99999", "stun:a?transport=udp", "turn:a?transport=sctp", "turn:[::1", "stun://a",
    "turn:a:",
  ]) func aURLThatABrowserWouldRefuseIsTold(url: String) {
    let found = complaints("ice_servers: [{urls: [\"\(url)\"], username: u, credential: p}]")
    #expect(found.count == 1 && found[0].hasPrefix("f:1:23: ice_servers[1].urls[1]: expected a URL"), "\(found)")
  }

  @Test(arguments: [
    "stun:[2001:db8::1]:3478", "stuns:a.b", "turn:192.0.2.1?transport=tcp", "turns:a.b:443?transport=udp",
  ])
  func aURLThatBrowsersKnowIsTaken(url: String) {
    #expect(complaints("ice_servers: [{urls: [\"\(url)\"], username: u, credential: p}]") == [])
  }

  @Test(arguments: [
    "https://", "https://:80/x", "https://a:0/x", "https://a:99999", "https:///x", "ftp://a", "http://a b/",
  ])
  func aWebServerThatNobodyCanReachIsTold(url: String) {
    let found = complaints("webhooks: {push: {url: \"\(url)\", secret: sixteen characters}}")
    #expect(found.count == 1 && found[0].hasPrefix("f:1:24: webhooks.push.url: expected a URL"), "\(found)")
  }

  /// Where records can be kept by nobody, a start would go on without them.
  @Test func aPlaceWhereNoFileCanBeIsTold() throws {
    let folder = try TemporaryFolder()
    let file = folder.path("rooms.yaml")
    func load(_ path: String) throws -> String? {
      try folder.write("storage: {path: \(path)}")
      return try ServerConfiguration.load(file: file).storage.path
    }
    #expect(try load("roost.db") == folder.path("roost.db") && load("none") == nil)
    let place = "\(file):1:17: storage.path: \(folder.path())/"
    #expect { try load(".") } throws: { "\($0)" == place + ". is a directory; expected the path of a file" }
    #expect { try load("gone/roost.db") } throws: {
      "\($0)" == place + "gone/roost.db cannot be made: \(folder.path("gone"))/ is no directory; "
        + "expected a file in one that exists"
    }
    #expect { try load("rooms.yaml/roost.db") } throws: {
      "\($0)".hasPrefix(place + "rooms.yaml/roost.db cannot be made")
    }
  }

  /// Files that are there and do not serve are told before a port is opened.
  @Test(arguments: [
    ("rooms.yaml", "rooms.yaml", "1:29: listen.tls.certificate: DIR/rooms.yaml holds no certificate"),
    ("certificate.pem", "rooms.yaml", "1:51: listen.tls.key: DIR/rooms.yaml holds no private key"),
    ("certificate.pem", "locked-key.pem", "1:51: listen.tls.key: DIR/locked-key.pem holds no private key"),
    (
      "certificate.pem", "other-key.pem",
      "1:51: listen.tls.key: DIR/other-key.pem is not the key of DIR/certificate.pem"
    ),
    ("certificate.pem", "key.pem", nil),
  ]) func tlsFilesThatDoNotServeAreTold(certificate: String, key: String, complaint: String?) throws {
    let folder = try TemporaryFolder()
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    for name in Set([certificate, key]).subtracting(["rooms.yaml"]) {
      try FileManager.default.copyItem(
        at: tests.appending(path: "RoostCommandTests/TLS/\(name)"), to: folder.url.appending(path: name))
    }
    let file = try folder.write("listen: {tls: {certificate: \(certificate), key: \(key)}}")
    do {
      let tls = try ServerConfiguration.load(file: file).listen.tls
      #expect(complaint == nil && tls?.key == folder.path("key.pem"))
    } catch {
      let expected = "\(file):" + (complaint ?? "nothing").replacing("DIR", with: folder.path()) + "; expected "
      #expect(error.issues.count == 1)
      #expect("\(error)".hasPrefix(expected), "\(error)")
    }
  }
}
