// docs/operations.md lists the metrics: those that a running server has, no more and no fewer.

import Basics
import Configuration
import Foundation
import FoundationNetworking
import Logging
import Server
import TestSupport
import Testing

@Suite struct OperationsDocumentTests {
  @Test func everyMetricIsExplained() async throws {
    let root = SourceFiles.root
    let text = try String(contentsOf: root.appending(path: "docs/operations.md"), encoding: .utf8)
    let documented = Set(text.matches(of: /`(roost_[a-z_]+)`/).map { String($0.1) })

    var configuration = ServerConfiguration()
    configuration.listen.address = SocketAddress(v4: 0x7f00_0001, port: 0)
    configuration.media.port = 0
    configuration.storage.path = nil
    configuration.media.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
    let server = try RoostServer.start(configuration, log: Logger(sink: { _ in }))
    defer { server.stop() }
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/metrics"))
    var (metrics, served) = ("", Set<String>())
    // A thread that does not answer in time is missing from the first answers: on a busy machine that is no fault.
    _ = await eventually(every: .milliseconds(200)) {
      guard let (body, _) = try? await URLSession.shared.data(from: url) else { return false }
      metrics = String(decoding: body, as: UTF8.self)
      let types = metrics.split(separator: "\n").filter { $0.hasPrefix("# TYPE roost_") }
      served = Set(types.map { String($0.split(separator: " ")[2]) })
      return served == documented
    }

    #expect(served.subtracting(documented) == [], "served, and not in docs/operations.md")
    #expect(documented.subtracting(served) == [], "in docs/operations.md, and not served")
    for gauge in ["transports", "producers", "consumers"] {
      #expect(metrics.contains("roost_worker_\(gauge){worker=\"0\"} 0\n"))
    }
    #expect(metrics.contains("\nroost_websockets 0\n") && !metrics.contains("\nroost_connections 0\n"))
  }
}
