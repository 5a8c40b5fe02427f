// No rule and no door has a `default:` over a vocabulary of our own: whoever adds a case hears from the compiler where it is meant. Numbers,
// bytes, words and the constants of C libraries have no such end, and may have one.

import Foundation
import Testing

struct DefaultTests {
  /// Patterns of the switch that each `default:` ends which name a case or a constant of ours. `@unknown default` is the compiler's wish.
  private static func faults(in text: String) -> [String] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let pattern = /case (?:let )?\(?(?:_, )*(?:\.[a-z]|[A-Z]\w*\.[a-z]|is )/
    var faults: [String] = []
    for (index, line) in lines.enumerated() where line.trimmingPrefix(/\ +/).hasPrefix("default:") {
      let indent = line.prefix { $0 == " " }
      for earlier in lines[..<index].reversed() where earlier.prefix(while: { $0 == " " }) == indent {
        if earlier.dropFirst(indent.count).firstMatch(of: pattern) != nil { faults.append(String(earlier)) }
        if earlier.contains("switch ") { break }
      }
    }
    return faults
  }

  @Test func nothingOfOurOwnIsPassedOver() throws {
    let files = SourceFiles.paths.values.filter { $0.hasPrefix("Sources/rules/") || $0.hasPrefix("Sources/doors/") }
    #expect(files.count > 150)
    // Categories of characters are Unicode's.
    for path in files.sorted() where !path.hasSuffix("Names/NameForm.swift") {
      let text = try String(contentsOf: SourceFiles.root.appending(path: path), encoding: .utf8)
      #expect(Self.faults(in: text).isEmpty, "\(path)")
    }
  }

  @Test(arguments: [
    "case .publish: .publish", "case (.delete, \"/admin/rooms\"): 1", "case (_, .rooms): 1",
    "case TrackSource.camera.rawValue: isCamera", "case let .reply(key): 1",
  ])
  func aCaseOfOursIsSeen(_ pattern: String) {
    #expect(Self.faults(in: "  switch x {\n  \(pattern)\n    go()\n  case 7: 1\n  default: nil\n  }").count == 1)
  }

  @Test(arguments: [
    "case 0x30...0x39, UInt8(ascii: \"-\"): true", "case \"ping\": .ping", "case LWS_CALLBACK_HTTP: 1",
    "case Int32(LWSHUMETH_GET): 1",
  ])
  func whatHasNoEndMayHaveOne(_ pattern: String) {
    #expect(Self.faults(in: "  switch x {\n  \(pattern)\n  default: nil\n  }").isEmpty)
    #expect(Self.faults(in: "  switch x {\n  case .a: 1\n  }\n  switch y {\n  \(pattern)\n  default: nil\n  }").isEmpty)
  }
}
