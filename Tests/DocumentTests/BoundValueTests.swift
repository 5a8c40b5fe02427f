// docs/security.md says how much each bound is: as much as the source says.

import Foundation
import Testing

@Suite struct BoundValueTests {
  /// Bounds that the line of their constant does not say in one number: in words, of several parts, or by another constant.
  private static let others: Set = [
    "content of an HTTP request", "the same of the token of `/admin", "the same of secrets of the API",
    "messages of a Flashphoner client, by weight; what they ask for counts for their user as above",
    "streams that a user begins over all connections, by weight", "a chat message, as how many it counts",
    "time of a moderator's ban of an address", "time of an operator's", "width of a network that an operator bans",
    "knocks of one user, with all sessions", "changes of one's name or metadata in a room or call", "seats of a room",
    "WHEP players beside the seats of a room", "participants of a room that publish at once", "views of a seat",
    "candidates of the server on the line that carries the bundle, and on each other line",
    "the same in bytes, for each of them",
    "SDP: bytes, lines, SSRCs of a section", "video of a publisher, for each track", "life of a token",
    "log lines about a publisher above its bound",
    "packets left out by a publisher that receivers' numbers leave out as well", "packets kept for NACK",
    "packets that are asked for again", "pictures before which they are put again",
    "packets of them that are held back for receivers' lines",
  ]

  @Test func eachBoundIsTheOneOfTheSource() throws {
    let root = SourceFiles.root
    let text = try String(contentsOf: root.appending(path: "docs/security.md"), encoding: .utf8)
    let rows = Document(text).rows(under: "## Everything that is read is bounded").dropFirst()
    var left = Self.others
    for row in rows {
      let source = try SourceFiles.text(row[3])
      let values = source.split(separator: "\n").compactMap { Self.value(of: row[2], in: $0) }
      guard left.remove(row[0]) == nil else { continue }
      let stated = try #require(Self.stated(row[1]), "\(row[0]): \(row[1])")
      #expect(values.contains(stated), "\(row[0]): \(row[1]), and \(row[2]) is \(values)")
    }
    #expect(left == [], "no such rows")
  }

  /// The first number of a cell.
  private static func stated(_ cell: String) -> Double? {
    guard let match = cell.firstMatch(of: /(\d[\d,]*(?:\.\d+)?)(?:\s*(KiB|MiB|Mbit))?/),
      let number = Double(match.1.replacing(",", with: ""))
    else { return nil }
    let units = ["KiB": 1024.0, "MiB": 1_048_576, "Mbit": 1_000_000]
    return number * (match.2.flatMap { units[String($0)] } ?? 1)
  }

  /// What a line gives a constant: a number, or numbers that are multiplied or shifted; times in seconds.
  private static func value(of constant: String, in line: Substring) -> Double? {
    for match in line.matches(
      of: /(\w+)(?:: ?\w+)? ?(?:=|\{) ?(?:TimeDelta)?(?:\.seconds\()?([\d_.]+(?: (?:\*|<<) [\d_]+)*)/)
    where match.1 == constant {
      var words = match.2.replacing("_", with: "").split(separator: " ")[...]
      guard var value = words.popFirst().flatMap({ Double($0) }) else { continue }
      while let sign = words.popFirst(), let next = words.popFirst().flatMap({ Double($0) }) {
        value = sign == "*" ? value * next : value * exp2(next)
      }
      return value
    }
    return nil
  }
}
