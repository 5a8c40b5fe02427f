// The operator's routes over a real socket, and the text that Prometheus reads.
import Basics
import Foundation
import FoundationNetworking
import Testing
import WebSockets

@testable import Admin
@testable import DoorKit

@Suite struct AdminTests {
  private func get(
    _ path: String, readiness: Readiness = .ready, snapshot: MetricsSnapshot = MetricsSnapshot(), mayKnow: Bool = true
  ) async throws -> (status: Int, headers: [AnyHashable: Any], body: String) {
    let admin = AdminRoutes(readiness: { readiness }, metrics: { $0(snapshot) }, mayReadReasons: { _ in mayKnow })
    let route = try #require(admin.routes.first { $0.match == .path(path) })
    let response = await withCheckedContinuation { answered in
      route.handler(HTTPRequest(path: path)) { answered.resume(returning: $0) }
    }
    let headers = Dictionary(uniqueKeysWithValues: response.headers.map { ($0.name as AnyHashable, $0.value as Any) })
    return (response.status, headers, String(decoding: response.body, as: UTF8.self))
  }

  @Test func healthIsServedOverHTTP() async throws {
    let admin = AdminRoutes(readiness: { .ready }, metrics: { $0(MetricsSnapshot()) })
    let server = try WebServer.start(
      WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)]), routes: admin.routes,
      handler: { _ in })
    defer { server.stop() }
    for path in ["healthz", "readyz", "metrics"] {
      let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/\(path)"))
      let (body, response) = try await URLSession.shared.data(from: url)
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      #expect(!body.isEmpty)
    }
  }

  @Test(arguments: [
    (Readiness.ready, 200, #"{"status":"ready"}"#),
    (.starting("media ports"), 503, #"{"status":"starting","reason":"media ports"}"#),
    (.draining("SIGTERM \"now\"\n"), 503, #"{"status":"draining","reason":"SIGTERM \"now\"\u000a"}"#),
    (.failing("a\\b"), 503, #"{"status":"failing","reason":"a\\b"}"#),
  ])
  func readiness(readiness: Readiness, status: Int, body: String) async throws {
    let answer = try await get("/readyz", readiness: readiness)
    #expect(answer.status == status)
    #expect(answer.body == body + "\n")
    #expect(answer.headers["cache-control"] as? String == "no-store")
    let json = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: String]
    #expect(json?["reason"] == readiness.reason)
  }

  /// Whatever it is that the server lacks: strangers learn nothing of it but that it is not ready.
  @Test(arguments: [Readiness.starting("media ports"), .draining("SIGTERM"), .failing("/var/lib/roost is full")])
  func strangersAreToldNoReasons(readiness: Readiness) async throws {
    let answer = try await get("/readyz", readiness: readiness, mayKnow: false)
    #expect(answer.status == 503 && answer.body == #"{"status":"not ready"}"# + "\n")
    #expect(try await get("/readyz", mayKnow: false).body == #"{"status":"ready"}"# + "\n")
  }

  @Test func metricsAsPrometheusReadsThem() {
    var histogram = Histogram(bounds: [0.1, 1])
    for value in [0.05, 0.1, 0.5, 3] { histogram.observe(value) }
    var snapshot = MetricsSnapshot()
    snapshot.add(.gauge("roost_rooms", help: "Rooms with somebody in them.", 3))
    snapshot.add(
      Metric(
        "roost_drops_total", .counter, help: "Dropped\npackets \\ reasons.",
        [.init(7, ["reason": "a\"b\\c\nd"]), .init(UInt64(1) << 40, ["reason": "x", "0bad-name": ""])]))
    snapshot.add(Metric("roost_join_seconds", .histogram, help: "Joins.", [.init(histogram, ["kind": "demo"])]))
    snapshot.add(.counter("roost_rooms", help: "Again.", 4))
    snapshot.add(
      Metric("odd", .gauge, help: "", [.init(Double.nan), .init(-Double.infinity), .init(0.25), .init(1e20)]))
    let expected = """
      # HELP roost_rooms Rooms with somebody in them.
      # TYPE roost_rooms gauge
      roost_rooms 3
      roost_rooms 4
      # HELP roost_drops_total Dropped\\npackets \\\\ reasons.
      # TYPE roost_drops_total counter
      roost_drops_total{reason="a\\"b\\\\c\\nd"} 7
      roost_drops_total{reason="x",_0bad_name=""} 1099511627776
      # HELP roost_join_seconds Joins.
      # TYPE roost_join_seconds histogram
      roost_join_seconds_bucket{kind="demo",le="0.1"} 2
      roost_join_seconds_bucket{kind="demo",le="1"} 3
      roost_join_seconds_bucket{kind="demo",le="+Inf"} 4
      roost_join_seconds_sum{kind="demo"} 3.65
      roost_join_seconds_count{kind="demo"} 4
      # HELP odd 
      # TYPE odd gauge
      odd NaN
      odd -Inf
      odd 0.25
      odd 1e+20

      """
    #expect(String(decoding: snapshot.prometheusText(), as: UTF8.self) == expected)
  }

  @Test func foreignCountsFitTheBounds() {
    let histogram = Histogram(bounds: [1, 2], counts: [1, 2, 3, 4], sum: 9)
    #expect(histogram.counts == [1, 2, 7])
    #expect(Histogram(bounds: [1, 2], counts: [5], sum: 1).counts == [5, 0, 0])
  }

  @Test func theProcessIsMeasured() throws {
    let metrics = ProcessMetrics.read()
    func value(_ name: String) throws -> Double {
      let metric = try #require(metrics.first { $0.name == name }, "\(name)")
      guard case .value(let value) = try #require(metric.samples.first).content else { throw CancellationError() }
      return value
    }
    #expect(try value("roost_process_cpu_seconds_total") >= 0)
    #expect(try value("roost_process_resident_memory_bytes") > 1_000_000)
    #expect(try value("roost_process_open_fds") >= 3)
    #expect(try value("roost_process_max_fds") >= value("roost_process_open_fds"))
    let start = try value("roost_process_start_time_seconds")
    let now = Date().timeIntervalSince1970
    #expect(start < now + 2 && start > now - 86_400)
  }

  @Test func aProgramsNameMayHoldAnything() throws {
    let text = "1 (a) b) c) S 1 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 7 0 12345 1000 3 18446744073709551615\n"
    let status = try #require(ProcessMetrics.Status(text, ticks: 100, page: 4096))
    #expect(status.cpuSeconds == 3)
    #expect(status.threads == 7)
    #expect(status.startSeconds == 123.45)
    #expect(status.residentBytes == 12_288)
    #expect(ProcessMetrics.Status("", ticks: 100, page: 4096) == nil)
    #expect(ProcessMetrics.Status("1 (x) S 1", ticks: 100, page: 4096) == nil)
  }

  @Test func memoryWithoutFilesIsWhatIsResidentLessWhatIsShared() throws {
    #expect(ProcessMetrics.anonymousBytes("1000 40 15 7 0 300 0\n", page: 4096) == 25 * 4096)
    for text in ["", "1000 40", "1000 40 x", "1000 15 40 7 0 300 0"] {
      #expect(ProcessMetrics.anonymousBytes(text, page: 4096) == nil, "\(text)")
    }
    #expect(try #require(ProcessMetrics.anonymousBytes()) > 1 << 20)
  }
}
