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
    #expect(parsed == ServerConfiguration())
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
    #expect(report.knownKeys.subtracting(report.presentKeys).sorted() == [])
    #expect(report.knownKeys.count > 60)
    #expect(full.listen.tls?.key == "/etc/roost/privkey.pem")
    #expect(full.iceServers.first?.credential == "change me")
    #expect(full.rooms["demo"]?.videoLimit == 4 && full.rooms["demo"]?.media == .audio)
    #expect(full.media.advertise.map(\.host) == ["203.0.113.7", "2001:db8::7"])
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
