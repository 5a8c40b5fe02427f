// The operator's front door: is it alive, does it take people in, what has it counted.
import DoorKit
import WebSockets

/// Whether the server takes people in.
public enum Readiness: Sendable, Equatable {
  /// It does.
  case ready
  /// Not yet; the reason is for people.
  case starting(String)
  /// No longer; the reason is for people.
  case draining(String)
  /// It cannot; the reason is for people.
  case failing(String)

  var word: String {
    switch self {
    case .ready: "ready"
    case .starting: "starting"
    case .draining: "draining"
    case .failing: "failing"
    }
  }

  var reason: String? {
    switch self {
    case .ready: nil
    case .starting(let reason), .draining(let reason), .failing(let reason): reason
    }
  }
}

/// The routes for operators.
///
///     let admin = AdminRoutes(readiness: { state.readiness }, metrics: { answer in collector.collect(answer) })
///     let server = try WebServer.start(configuration, routes: admin.routes + page.routes) { … }
public struct AdminRoutes: Sendable {
  /// Gives a snapshot to the closure, once, from any thread.
  public typealias MetricsSource = @Sendable (@escaping @Sendable (MetricsSnapshot) -> Void) -> Void

  private let readiness: @Sendable () -> Readiness
  private let metrics: MetricsSource
  private let mayReadMetrics: @Sendable (HTTPRequest) -> Bool
  private let mayReadReasons: @Sendable (HTTPRequest) -> Bool

  /// All closures are called on the web server's thread: they must be quick and must not wait. The process's own
  /// metrics are added to what `metrics` gives. Whom `mayReadMetrics` refuses gets 404, and whom `mayReadReasons` refuses is told that the
  /// server is not ready, and not why.
  public init(
    readiness: @escaping @Sendable () -> Readiness, metrics: @escaping MetricsSource,
    mayReadMetrics: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true },
    mayReadReasons: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false }
  ) {
    self.readiness = readiness
    self.metrics = metrics
    self.mayReadMetrics = mayReadMetrics
    self.mayReadReasons = mayReadReasons
  }

  /// Those of health, and `/metrics`: Prometheus text.
  public var routes: [HTTPRoute] { healthRoutes + [HTTPRoute(.path("/metrics"), late: answerMetrics)] }

  /// `/healthz`: 200 while the process lives. `/readyz`: 200 or 503, with a JSON object that says why to whoever may know.
  public var healthRoutes: [HTTPRoute] {
    [
      .get("/healthz") { _ in Self.json(200, #"{"status":"ok"}"#) },
      .get("/readyz") { request in Self.answer(readiness(), mayKnow: mayReadReasons(request)) },
    ]
  }

  /// For a listener where there is nothing for operators: 404, whatever is asked for under their names.
  public static var noRoutes: [HTTPRoute] {
    [HTTPRoute.Match.path("/metrics"), .path("/admin"), .prefix("/admin/")].map { match in
      HTTPRoute(match, methods: [.get, .head, .post, .put, .patch, .delete, .options]) { _, answer in
        answer(.text(404, "Not found."))
      }
    }
  }

  @Sendable private func answerMetrics(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    guard mayReadMetrics(request) else { return answer(.text(404, "Not found.")) }
    metrics { snapshot in
      var snapshot = snapshot
      snapshot.add(contentsOf: ProcessMetrics.read())
      answer(
        HTTPResponse(
          contentType: "text/plain; version=0.0.4; charset=utf-8", headers: Self.headers,
          body: snapshot.prometheusText()))
    }
  }

  static let headers: [HTTPResponse.Header] = [
    .init("cache-control", "no-store"), .init("x-content-type-options", "nosniff"),
  ]

  private static func answer(_ readiness: Readiness, mayKnow: Bool) -> HTTPResponse {
    guard let reason = readiness.reason else { return json(200, #"{"status":"ready"}"#) }
    guard mayKnow else { return json(503, #"{"status":"not ready"}"#) }
    return json(503, #"{"status":"\#(readiness.word)","reason":\#(quote(reason))}"#)
  }

  private static func json(_ status: Int, _ text: String) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", headers: headers, body: Array((text + "\n").utf8))
  }

  /// A JSON string (RFC 8259 §7).
  private static func quote(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
