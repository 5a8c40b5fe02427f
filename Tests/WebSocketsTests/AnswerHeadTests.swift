// The head of an answer: as long as it may be, and one byte longer.
import Basics
import TestSupport
import Testing

@testable import WebSockets

@Suite(.timeLimit(.minutes(2))) struct AnswerHeadTests {
  /// Answers with a header of as many bytes as the query says.
  private let routes: [HTTPRoute] = [
    .get("/fill") { request in
      var response = HTTPResponse.text(200, "whole")
      response.headers.append(.init("x-fill", String(repeating: "x", count: Int(request.arguments["n"] ?? "") ?? 0)))
      return response
    }
  ]

  private func ask(_ server: WebServer, _ bytes: Int) async throws -> String {
    let raw = try RawConnection(port: server.port)
    raw.write("GET /fill?n=\(bytes) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return await raw.readToEnd()
  }

  /// Routes of the server's own make no such heads. One that did would be cut off, and nobody else.
  @Test func headsOfAnswersAreBounded() async throws {
    let server = try startEcho(routes: routes)
    defer { server.stop() }
    var (fits, fails) = (0, 12_289)
    while fails - fits > 1 {
      let middle = (fits + fails) / 2
      let answer = try await ask(server, middle)
      if answer.isEmpty { fails = middle } else { fits = middle }
    }
    let longest = try await ask(server, fits)
    let head = try #require(longest.split(separator: "\r\n\r\n").first)
    #expect(longest.hasPrefix("HTTP/1.1 200 ") && longest.hasSuffix("\r\n\r\nwhole\n"))
    #expect(longest.contains("x-fill: \(String(repeating: "x", count: fits))\r\n"))
    // The library leaves some bytes for the end of a head.
    #expect((12_288 - 32...12_288).contains(head.utf8.count + 4), "\(head.utf8.count + 4)")
    #expect(try await ask(server, fits + 1) == "", "the connection is closed without an answer")
    #expect(try await ask(server, 0).hasPrefix("HTTP/1.1 200 "))
  }
}
