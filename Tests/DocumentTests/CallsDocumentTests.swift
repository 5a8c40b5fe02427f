// docs/calls.md draws the states of calls and members and maps their names: they must be those of the code.

import Foundation
import RoostProtocol
import Testing

@testable import Calls

@Suite struct CallsDocumentTests {
  private static let root = SourceFiles.root
  private let text: String
  private let names: String

  init() throws {
    text = try String(contentsOf: Self.root.appending(path: "docs/calls.md"), encoding: .utf8)
    names = try SourceFiles.text("RoostProtocol/OpenNames.swift")
  }

  /// The words of an open set, as its declarations have them.
  private func words(of type: String) throws -> Set<String> {
    let start = try #require(names.range(of: "public struct \(type): OpenName {"))
    let body = try #require(names[start.upperBound...].components(separatedBy: "\n}\n").first)
    return Set(body.matches(of: #/rawValue: "(\w+)"\)/#).map { String($0.output.1) })
  }

  private func between(_ start: String, _ end: String) throws -> Substring {
    let from = try #require(text.range(of: start), "no \(start)").upperBound
    let to = try #require(text.range(of: end, range: from..<text.endIndex), "no \(end)").lowerBound
    return text[from..<to]
  }

  @Test func theDiagramHasEveryStateAndNoOther() throws {
    let diagram = try between("## States\n\n```\n", "```")
    let (call, member) = try (words(of: "CallState"), words(of: "MemberState"))
    #expect(call.count == 4 && member.count > 10)
    let parts = diagram.components(separatedBy: " member ")
    try #require(parts.count == 2 && parts[0].hasPrefix(" call "))
    let drawn = { (part: String) in Set(part.matches(of: #/[a-z_]+/#).map { String($0.output) }) }
    #expect(drawn(parts[0]).subtracting(["call"]) == call)
    #expect(drawn(parts[1]) == member)
  }

  @Test func whoMayComeBackIsWhoTheTextNames() throws {
    let text = try between("Of their own accord (`call.join`)", "\n* A **member**")
    let parts = text.components(separatedBy: "; not by")
    try #require(parts.count == 2)
    let named = parts.map { part in Set(part.matches(of: #/`(\w+)`/#).map { String($0.output.1) }) }
    let members = try words(of: "MemberState").map { CallMember(user: "a", state: MemberState(rawValue: $0)) }
    let isIn: Set<MemberState> = [.inviting, .ringing, .busyRinging, .connecting, .joined, .reconnecting]
    let gone = members.filter { !isIn.contains($0.state) }
    #expect(named[0] == Set(gone.filter(\.mayComeBack).map(\.state.rawValue)))
    #expect(named[1] == Set(gone.filter { !$0.mayComeBack }.map(\.state.rawValue)))
  }

  @Test func theMapsHaveEveryNameAndNoOther() throws {
    let states = Document(text).rows(under: "### States").dropFirst().map { $0[0].components(separatedBy: " ") }
    let first = try #require(states.firstIndex { $0[0] == "member" })
    let word = { (cell: [String]) in (cell.last ?? "").trimmingCharacters(in: ["`"]) }
    #expect(try Set(states[..<first].map(word)) == words(of: "CallState"))
    #expect(try Set(states[first...].map(word)) == words(of: "MemberState"))

    let rows = Document(text).rows(under: "### Reasons").dropFirst().map { $0[0] }
    var mapped: [String: Int] = [:]
    for row in rows {
      // `a` 1, `b` 2, or several names with one code.
      let code = row.matches(of: #/\d{4}/#).last.flatMap { Int($0.output) }
      for match in row.matches(of: #/([a-z_]+)`? ?(\d{4})?/#) {
        mapped[String(match.output.1)] = match.output.2.flatMap { Int($0) } ?? code
      }
    }
    #expect(mapped == Dictionary(uniqueKeysWithValues: Reason.allCases.map { ($0.rawValue, $0.code) }))
  }
}
