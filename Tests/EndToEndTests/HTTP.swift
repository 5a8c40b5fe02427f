// The server's HTTP door as tests knock at it, its metrics, and what is read of webhooks.

import Foundation
import FoundationNetworking
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP

/// What the server answers to one request.
struct HTTPAnswer {
  let response: HTTPURLResponse
  let bytes: [UInt8]
  var status: Int { response.statusCode }
  var body: String { String(decoding: bytes, as: UTF8.self) }
  func header(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }

  /// Whether it is a problem document (RFC 9457) of this status, and of this code where one is named.
  func isProblem(_ status: Int, _ code: String? = nil) -> Bool {
    self.status == status && header("Content-Type") == "application/problem+json"
      && body.contains(#""status":\#(status)"#) && (code.map { body.contains($0) } ?? true)
  }
}

extension TestServer {
  /// A request with a body.
  func send(
    _ method: String, _ path: String, _ body: String, headers: [String: String]
  ) async throws -> HTTPAnswer {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)")))
    request.httpMethod = method
    request.allHTTPHeaderFields = headers
    request.httpBody = Data(body.utf8)
    let (bytes, response) = try await URLSession.shared.data(for: request)
    return HTTPAnswer(response: try #require(response as? HTTPURLResponse), bytes: Array(bytes))
  }

  /// The path of a session's URL, which must be absolute and begin with `folder`.
  func path(of answer: HTTPAnswer, in folder: String) throws -> String {
    let location = try #require(answer.header("Location"))
    let base = "http://127.0.0.1:\(server.port)"
    #expect(location.hasPrefix(base + folder), "absolute: \(location)")
    return String(location.dropFirst(base.utf8.count))
  }

  /// `base`: another of its listeners than that of the page.
  func ask(
    _ path: String, method: String = "GET", headers: [String: String] = [:], content: String? = nil,
    at base: String? = nil
  ) async throws -> HTTPAnswer {
    let base = base ?? "http://127.0.0.1:\(server.port)"
    var request = URLRequest(url: try #require(URL(string: base + path)))
    request.httpMethod = method
    request.allHTTPHeaderFields = headers
    request.httpBody = content.map { Data($0.utf8) }
    let (body, response) = try await URLSession.shared.data(for: request)
    return HTTPAnswer(response: try #require(response as? HTTPURLResponse), bytes: Array(body))
  }

  /// All metrics, by name and labels as they stand: `roost_packets_dropped_total{reason="malformed"}`.
  func metrics() async throws -> [String: Double] {
    let page = try await ask("/metrics")
    #expect(page.status == 200)
    let samples = page.body.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
      line.lastIndex(of: " ").flatMap { space in
        Double(line[line.index(after: space)...]).map { (Self.withoutDefault(String(line[..<space])), $0) }
      }
    }
    return Dictionary(samples) { first, _ in first }
  }

  /// The name of a sample; of that of the realm `default` as it would be without realms: few tests have others.
  private static func withoutDefault(_ name: String) -> String {
    name.replacing(#"{realm="default"}"#, with: "").replacing(#"{realm="default","#, with: "{")
  }

  /// Waits until each of these metrics is as wanted, or at least so (`>=`): a thread that is busy for long is shown as it was
  /// last.
  func shows(
    _ wanted: [String: Double], _ isSo: (Double, Double) -> Bool = { $0 == $1 },
    at location: SourceLocation = #_sourceLocation
  ) async {
    var seen: [String: Double] = [:]
    let areSo = await eventually(every: .milliseconds(50)) {
      seen = ((try? await metrics()) ?? [:]).filter { wanted.keys.contains($0.key) }
      return wanted.allSatisfy { name, value in seen[name].map { isSo($0, value) } ?? false }
    }
    #expect(areSo, "\(seen) for \(wanted)", sourceLocation: location)
  }
}

extension TinyRequest {
  /// The JSON of a webhook.
  var value: JSONValue? { try? JSONDecoder().decode(JSONValue.self, from: Data(body)) }

  /// A text of a webhook.
  subscript(_ key: String) -> String? {
    guard case .object(let object) = value, case .string(let text)? = object[key] else { return nil }
    return text
  }
}

extension Receiver {
  /// Waits for the first that is wanted.
  func first(_ isWanted: @Sendable (TinyRequest) -> Bool) async -> TinyRequest? {
    _ = await eventually { all.contains(where: isWanted) }
    return all.first(where: isWanted)
  }
}
