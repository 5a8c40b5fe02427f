// rooms.yaml as it is shipped: it says the defaults, and it shows every key.
import Basics
import Foundation
import Testing

@testable import Configuration

@Suite struct ShippedFileTests {
  private let shipped: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    shipped = try String(contentsOf: root.appending(path: "rooms.yaml"), encoding: .utf8)
  }

  @Test func saysExactlyTheDefaults() throws {
    let parsed = try ServerConfiguration.parse(Array(shipped.utf8), file: "rooms.yaml")
    var expected = ServerConfiguration()
    // The demo is open to everybody who reaches it, which has to be written.
    expected.access.isOpen = true
    #expect(parsed == expected)
  }

  @Test func anEmptyFileIsTheDefaultsToo() throws {
    #expect(try ServerConfiguration.parse([], file: "rooms.yaml") == ServerConfiguration())
    #expect(try ServerConfiguration.parse(Array("# nothing\n".utf8), file: "rooms.yaml") == ServerConfiguration())
  }

  /// With all examples taken in, the file still parses, and no key that the program knows is missing from it.
  @Test func showsEveryKey() throws {
    let report = ConfigurationReport(file: "rooms.yaml", interfaces: nil)
    let full = ServerConfiguration.parse(Array(takingExamplesIn(shipped).utf8), report: report)
    #expect(report.issues.map(\.description) == [])
    let missing = Set(report.knownKeys.map(ofDefault)).subtracting(report.presentKeys.map(ofDefault))
    #expect(missing.sorted() == [])
    #expect(report.knownKeys.count > 60)
    #expect(full.listen.tls?.key == "/etc/roost/privkey.pem")
    #expect(full.iceServers.first?.credential == "change me")
    #expect(full.rooms["demo"]?.videoLimit == 4 && full.rooms["demo"]?.media == .audio)
    #expect(full.access.keys.map(\.algorithm) == [.hs256, .hs256, .ed25519])
    #expect(full.access.keys.map(\.realm.name) == ["default", "default", "clinic"])
    #expect(full.realms.values.first?.quotas.participants == 200)
    #expect(full.media.advertise.map(\.host) == ["203.0.113.7", "2001:db8::7", "media.example.org"])
  }

  /// Each key that the program knows has a comment of its own right above it, whether it is set or an example.
  @Test func everyKeyHasACommentOfItsOwn() {
    let report = ConfigurationReport(file: "rooms.yaml", interfaces: nil)
    _ = ServerConfiguration.parse(Array(takingExamplesIn(shipped).utf8), report: report)
    // A room has the keys of its kind, and the file says so where rooms begin.
    let known = report.knownKeys.map(ofDefault).map {
      $0 == "rooms.*.kind" ? $0 : $0.replacing("rooms.*.", with: "kinds.*.")
    }
    #expect(Set(known).subtracting(commentedKeys(in: shipped)).sorted() == [])
  }

  @Test func aCommentBelongsToOneKeyAlone() {
    let text = """
      # Media.
      media:
        # One comment for two keys.
        port: 1
        workers: 2

        # Nobody's.

        cpus: []
        # An example's.
        #advertise: [a]
      # Kinds.
      kinds:
        group:
          # Of every kind.
          media: audio
      """
    #expect(commentedKeys(in: text) == ["media", "media.port", "media.advertise", "kinds", "kinds.*.media"])
  }

  /// A realm has rooms and webhooks with the keys that those at the top of the file have, and the file says so.
  private func ofDefault(_ key: String) -> String {
    for own in ["rooms", "unknown_rooms", "webhooks", "hooks"] where key.hasPrefix("realms.*.\(own)") {
      return key.replacing("realms.*.", with: "")
    }
    return key
  }

  /// Paths of the keys with a comment right above them; names of kinds and rooms are `*`.
  private func commentedKeys(in text: String) -> Set<String> {
    var commented: Set<String> = []
    var path: [(indent: Int, key: Substring)] = []
    var hasComment = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.firstMatch(of: /^ *#(?: |$)/) != nil {
        hasComment = true
        continue
      }
      if let key = line.firstMatch(of: /^( *)#?(- )?([A-Za-z_]+):/) {
        let indent = key.1.count + (key.2 == nil ? 0 : 2)
        path.removeAll { $0.indent >= indent }
        let isName = path.count == 1 && ["kinds", "rooms", "realms"].contains(path[0].key)
        path.append((indent, isName ? "*" : key.3))
        if hasComment { commented.insert(path.map(\.key).joined(separator: ".")) }
      }
      hasComment = false
    }
    return commented
  }

  /// An example is a line whose # has no space behind it; it takes the place of the line above if that has its key.
  private func takingExamplesIn(_ text: String) -> String {
    var lines: [Substring] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let indent = line.prefix { $0 == " " }
      let rest = line.dropFirst(indent.count)
      guard rest.first == "#", let second = rest.dropFirst().first, second != " " else {
        lines.append(line)
        continue
      }
      let example = indent + rest.dropFirst()
      if let colon = example.firstIndex(of: ":"), lines.last?.hasPrefix(example[...colon]) == true {
        lines.removeLast()
      }
      lines.append(Substring(example))
    }
    return lines.joined(separator: "\n")
  }
}
