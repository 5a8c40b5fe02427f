// The recorded session of docs/protocol.md, played against a real server: the same messages in the same order on each
// socket, with the same keys and types; ids, tokens, times and SSRCs differ.

import Basics
import Configuration
import Foundation
import Logging
import RoostProtocol
import Server
import Testing

@Suite(.serialized) struct ReplayTests {
  private static func startServer(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws -> RoostServer {
    var configuration = ServerConfiguration()
    configuration.listen.address = SocketAddress(v4: 0x7f00_0001, port: 0)
    configuration.media.port = 0
    configuration.storage.path = nil
    configuration.media.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
    change(&configuration)
    return try RoostServer.start(configuration, log: .disabled)
  }

  @Test func theRecordedSessionHappensAgain() async throws {
    let document = Document.shared
    let steps = document.examples.filter { $0.client != nil }
    #expect(steps.count >= 40)
    let server = try Self.startServer()
    defer { server.stop() }
    var sockets: [String: TestSocket] = [:]
    var translation = Translation()
    for step in steps {
      let client = step.client ?? ""
      let message = try document.message(step)
      if sockets[client] == nil { sockets[client] = try TestSocket(port: server.port) }
      let socket = try #require(sockets[client])
      if step.kind == "request" {
        socket.send(try JSON.bytes(translation.toLive(message)))
        continue
      }
      guard let live = try await socket.next() else {
        Issue.record("\(step): nothing came")
        return
      }
      #expect(live["method"] as? String == message["method"] as? String, "\(step)")
      #expect(live["id"] as? Int == message["id"] as? Int, "\(step)")
      #expect(JSON.shape(live) == JSON.shape(message), "\(step)")
      try compareDescriptions(message, live, step)
      translation.learn(document: message, live: live)
    }
    for (_, socket) in sockets { #expect(try await socket.next() == nil, "more came than is documented") }
  }

  /// A description of the server has the same lines, whatever their values.
  private func compareDescriptions(_ message: [String: Any], _ live: [String: Any], _ step: Document.Example) throws {
    func lines(_ frame: [String: Any]) -> [String] {
      let body = (frame["params"] ?? frame["result"]) as? [String: Any]
      let values: Set<String> = [
        "a=candidate", "a=ice-ufrag", "a=ice-pwd", "a=fingerprint", "a=ssrc", "a=ssrc-group", "a=msid",
      ]
      return ((body?["sdp"] as? String) ?? "").split(separator: "\r\n").map { line in
        let name = String(line.prefix { $0 != ":" })
        return line.hasPrefix("o=") ? "o=" : values.contains(name) ? name : String(line)
      }
    }
    #expect(lines(live) == lines(message), "\(step)")
  }
}

/// From the names and numbers of the document to those of the running server.
private struct Translation {
  private static let keys: Set<String> = [
    "resumeToken", "participantId", "trackId", "subscriptionId", "msgId", "offerId", "self", "sessionId",
  ]
  private var live: [String: Any] = [:]

  mutating func learn(document: Any, live value: Any) {
    if let document = document as? [String: Any], let value = value as? [String: Any] {
      for (key, inner) in document {
        guard let other = value[key] else { continue }
        if Self.keys.contains(key) { live["\(key)=\(inner)"] = other } else { learn(document: inner, live: other) }
      }
    } else if let document = document as? [Any], let value = value as? [Any] {
      for (inner, other) in zip(document, value) { learn(document: inner, live: other) }
    }
  }

  func toLive(_ message: [String: Any]) -> [String: Any] {
    var result = message
    for (key, inner) in message {
      if Self.keys.contains(key) {
        result[key] = live["\(key)=\(inner)"] ?? inner
      } else if let inner = inner as? [String: Any] {
        result[key] = toLive(inner)
      }
    }
    return result
  }
}
