// Log lines: one record is one line, whatever its values hold.
import Basics
import Foundation
import Logging
import Testing

@Suite struct LoggerTests {
  private func lines(
    _ level: LogLevel = .debug, _ format: LogFormat = .text, _ body: (Logger) -> Void
  ) -> [String] {
    let all = Locked<[String]>([])
    let log = Logger(
      level: level, format: format, sink: { line in all.withLock { $0.append(String(decoding: line, as: UTF8.self)) } },
      wallMilliseconds: { 1_769_860_800_123 })
    body(log)
    return all.withLock { $0 }
  }

  @Test func textAndJSON() {
    let fields: (Logger) -> Void = {
      $0.info("joined", ["room": "demo", "user": "Ann Lee", "count": 3, "load": 0.5, "new": true, "none": ""])
    }
    #expect(
      lines(.info, .text, fields) == [
        "2026-01-31T12:00:00.123Z info joined room=demo user=\"Ann Lee\" count=3 load=0.5 new=true none=\"\"\n"
      ])
    #expect(
      lines(.info, .json, fields) == [
        #"{"ts":"2026-01-31T12:00:00.123Z","level":"info","msg":"joined","room":"demo","user":"Ann Lee","count":3,"#
          + #""load":0.5,"new":true,"none":""}"# + "\n"
      ])
  }

  @Test(arguments: [
    "a\nb", "a\r\n2026-01-31T12:00:00Z error forged", "x=1 y=2", "\"quoted\" \\ back", "\u{1b}[31mred", "\u{202e}evil",
    "tab\tNUL\u{0}", "日本語 🙂", String(repeating: "long", count: 10_000),
  ])
  func hostileValuesStayInTheirPlace(value: String) throws {
    for format in LogFormat.allCases {
      let written = lines(.debug, format) { $0.warning("said", ["text": .string(value), "after": 1]) }
      let line = try #require(written.first)
      #expect(written.count == 1)
      #expect(line.utf8.count { $0 == 10 } == 1)
      #expect(line.utf8.allSatisfy { $0 == 10 || (0x20..<0x7f).contains($0) })
      #expect(line.utf8.count < 8192)
      #expect(line.hasSuffix(format == .json ? ",\"after\":1}\n" : " after=1\n"))
      if format == .json {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        let text = try #require(object?["text"] as? String)
        #expect(value.utf8.count > 1024 ? value.hasPrefix(text.dropLast(3)) : text == value)
      }
    }
  }

  @Test func aValueHasAKilobyteAndNotOneByteMore() throws {
    for (bytes, shown) in [(1_024, 1_024), (1_025, 1_024)] {
      let value = String(repeating: "v", count: bytes)
      let line = try #require(lines(.debug, .json) { $0.warning("said", ["text": .string(value)]) }.first)
      let wanted = String(repeating: "v", count: shown) + (bytes > shown ? "..." : "")
      #expect(line.hasSuffix("\"text\":\"\(wanted)\"}\n"), "\(bytes)")
    }
  }

  @Test func levelsThatAreOffCostNothing() {
    var evaluated = 0
    func costly() -> String {
      evaluated += 1
      return "x"
    }
    for level in LogLevel.allCases {
      evaluated = 0
      let written = lines(level) { log in
        log.debug(costly(), ["a": .string(costly())])
        log.info(costly())
        log.warning(costly())
        log.error(costly())
      }
      let expected = LogLevel.allCases.count { $0 >= level }
      #expect(written.count == expected)
      #expect(evaluated == (level == .debug ? expected + 1 : expected))
    }
    #expect(!Logger.disabled.isEnabled(.warning))
  }

  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (1_709_251_199_001, "2024-02-29T23:59:59.001Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (-1, "1969-12-31T23:59:59.999Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (Int64.max, "9999-12-31T23:59:59.999Z"),
      (Int64.min, "0000-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func timeStamps(milliseconds: Int64, text: String) {
    #expect(Timestamp.rfc3339(wallMilliseconds: milliseconds) == text)
  }

  @Test func linesOfManyThreadsDoNotMix() async {
    let all = Locked<[UInt8]>([])
    let log = Logger(sink: { line in all.withLock { $0 += line } })
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask { for n in 0..<200 { log.info("line", ["task": LogValue(task), "n": LogValue(n)]) } }
      }
    }
    let lines = String(decoding: all.withLock { $0 }, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 1600)
    #expect(lines.allSatisfy { $0.contains(" info line task=") })
  }
}
