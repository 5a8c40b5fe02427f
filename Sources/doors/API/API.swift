// A server's API over HTTP: what an application's own servers, and operators, ask of this one. docs/api.md says how it is used;
// docs/decisions/0025-servers-api.md why it is so.
//
//   request ─▶ key? ─▶ idempotency ─▶ APIPlan ─▶ perform(OperatorAction), or replay ─▶ JSON, or a problem
import Basics
import FoundationEssentials
import Members
import Names
import RoostProtocol
import Threads
import WebSockets

/// Events of a realm that were read again.
public struct EventReplay: Sendable {
  /// Each a JSON object, by number.
  public var events: [String]
  /// The newest number that there is; 0 without any.
  public var last: Int64
  /// What is missing before the first.
  public var lost: ClosedRange<Int64>?

  /// These.
  public init(events: [String], last: Int64, lost: ClosedRange<Int64>?) {
    (self.events, self.last, self.lost) = (events, last, lost)
  }
}

/// The routes of the API.
///
///     let api = API(keys: keys, replay: { after, realm, answer in … }) { wish, realm, name, peer, answer in … }
///     let server = try WebServer.start(configuration, routes: api.routes) { _ in }
public struct API: Sendable {
  /// A wish, in which realm, by whose key and from where. What has come of it is given to the closure, once, from any thread but that
  /// which owns the rooms.
  public typealias Perform =
    @Sendable (
      OperatorAction, Realm, _ key: String, SocketAddress?,
      @escaping @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void
    ) -> Void

  /// Events of a realm with numbers above this one, as many as fit into an answer; they are given to the closure, once, as with `Perform`.
  public typealias Replay =
    @Sendable (
      _ after: Int64, Realm, @escaping @Sendable (Result<EventReplay, ErrorObject>) -> Void
    ) -> Void

  /// Where all paths begin.
  public static let root = "/api/v1"
  /// Bytes that the content of a request may have.
  static let contentBytes = 64 << 10
  static let headers: [HTTPHeader] = [
    HTTPHeader("cache-control", "no-store"), HTTPHeader("x-content-type-options", "nosniff"),
  ]

  private let keys: APIKeys
  private let refused: @Sendable (HTTPRequest, String) -> Void
  private let perform: Perform
  private let replay: Replay
  private let clock: @Sendable () -> Instant
  private let window = Window()

  private final class Window: Sendable { let value = Locked(IdempotencyWindow()) }

  /// The closures must not wait; they are called on the web server's thread, or where `perform` gives its answers.
  /// - Parameter refused: hears of a request that shows no key that there is, and of a wish that is not carried out, with the reason.
  public init(
    keys: [APIKey], clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() },
    refused: @escaping @Sendable (HTTPRequest, String) -> Void = { _, _ in }, replay: @escaping Replay,
    perform: @escaping Perform
  ) {
    self.keys = APIKeys(keys, clock: clock)
    (self.clock, self.refused, self.replay, self.perform) = (clock, refused, replay, perform)
  }

  /// All of them, and a problem for every other path.
  public var routes: [HTTPRoute] {
    let paths = Dictionary(grouping: APIOperation.allCases) { $0.route.path }
    let served = paths.sorted { $0.key < $1.key }.map { path, operations in
      HTTPRoute(
        path.contains("{") ? .pattern(PathPattern(Self.root + path, endsExactly: true)) : .path(Self.root + path),
        methods: operations.compactMap(\.method),
        contentLimit: operations.contains { $0.method?.isRead == false } ? Self.contentBytes : nil
      ) { request, answer in
        guard let operation = operations.first(where: { $0.method == request.method }) else {
          return answer(APIProblem(404, "there is nothing here").response())
        }
        self.answer(request, operation, answer)
      }
    }
    let document = HTTPRoute(.path(Self.root + "/openapi.json"), methods: [.get]) { _, answer in
      answer(HTTPResponse(contentType: "application/json", headers: Self.headers, body: Array(apiDocument.utf8)))
    }
    let nothing = HTTPRoute(.prefix("/"), methods: [.get, .post, .put, .patch, .delete]) { _, answer in
      answer(APIProblem(404, "there is nothing here; \(Self.root)/openapi.json says what there is").response())
    }
    return served + [document, nothing]
  }

  // MARK: - One request

  private func answer(
    _ request: HTTPRequest, _ operation: APIOperation, _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    switch keys.permission(of: request) {
    case .refused:
      if request.authorization != nil { refused(request, "unknown key") }
      let problem = APIProblem(401, "show the secret of a key of api.keys: Authorization: Bearer SECRET")
      answer(problem.response([HTTPHeader("www-authenticate", "Bearer")]))
    case .refusedForNow(let seconds):
      let problem = APIProblem(429, "too many unknown keys came from this address")
      answer(problem.response([HTTPHeader("retry-after", String(seconds))]))
    case .granted(let key):
      guard operation.route.body == nil || request.isJSON else {
        return answer(APIProblem(415, "the content is JSON: Content-Type: application/json").response())
      }
      guard operation.route.condition != .required || request.header("if-match") != nil else {
        refused(request, "no If-Match")
        return answer(APIProblem(428, "If-Match must have the ETag of what is to be changed, or *").response())
      }
      once(request, key, answer) { carryOut(operation, request, key, $0) }
    }
  }

  /// Does a POST once that has an `Idempotency-Key`, and everything else each time.
  private func once(
    _ request: HTTPRequest, _ key: APIKey, _ answer: @escaping @Sendable (HTTPResponse) -> Void,
    _ carryOut: (@escaping @Sendable (HTTPResponse) -> Void) -> Void
  ) {
    guard request.method == .post, let text = request.header("idempotency-key") else { return carryOut(answer) }
    guard (1...IdempotencyWindow.longestKey).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else {
      let most = IdempotencyWindow.longestKey
      return answer(APIProblem(400, "Idempotency-Key has 1 to \(most) letters, digits and signs of ASCII").response())
    }
    let (name, window) = (IdempotencyWindow.Name(key: key.name, text: text), window)
    let print = IdempotencyWindow.print(of: request)
    switch window.value.withLock({ $0.begin(name, print: print, at: clock()) }) {
    case .new:
      carryOut { response in
        window.value.withLock { $0.finish(name, print: print, response) }
        answer(response)
      }
    case .inFlight: answer(APIProblem(409, "the request with this Idempotency-Key is being done").response())
    case .other: answer(APIProblem(422, "another request had this Idempotency-Key").response())
    case .answered(let response): answer(response)
    case .full: answer(APIProblem(503, "too many requests of this key are being done").response())
    }
  }

  private func carryOut(
    _ operation: APIOperation, _ request: HTTPRequest, _ key: APIKey,
    _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    do throws(ErrorObject) {
      let asked = try APIRequest(request, operation.route)
      let named = try asked.realm()
      if let own = key.realm, let named, named != own {
        throw ErrorObject(.forbidden, "This key is another realm's.")
      }
      let realm = key.realm ?? named ?? .default
      switch try APIPlan(operation, asked) {
      case .perform(let wish, let result):
        perform(wish, realm, key.name, request.peer) { outcome in
          if case .success(.outdated(let tag)) = outcome { return refuse(request, outdated: tag, answer) }
          answerWith(request, answer) { () throws(ErrorObject) in
            try Self.response(try result(try outcome.get()), status: operation.route.status)
          }
        }
      case .replay(let after):
        replay(after, realm) { outcome in
          answerWith(request, answer) { () throws(ErrorObject) in
            Self.json(ReplayPage.text(try outcome.get()), status: operation.route.status)
          }
        }
      }
    } catch {
      refuse(request, error, answer)
    }
  }

  private func answerWith(
    _ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void,
    _ response: () throws(ErrorObject) -> HTTPResponse
  ) {
    do throws(ErrorObject) {
      answer(try response())
    } catch {
      refuse(request, error, answer)
    }
  }

  /// The answer with a value; settings have their version as ETag, too.
  private static func response(_ value: APIPlan.Result, status: Int) throws(ErrorObject) -> HTTPResponse {
    guard let body = text(value) else { throw ErrorObject(.internalError) }
    let version = (value as? RoomDefinition)?.version
    return json(body, status: status, version.map { [etag($0)] } ?? [])
  }

  private static func json(_ body: [UInt8], status: Int, _ more: [HTTPHeader] = []) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", headers: headers + more, body: body)
  }

  /// A strong tag (RFC 9110 §8.8.3).
  private static func etag(_ version: String) -> HTTPHeader { HTTPHeader("etag", "\"\(version)\"") }

  private func refuse(
    _ request: HTTPRequest, _ error: ErrorObject, _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    refused(request, error.data.name)
    answer(APIProblem(error).response())
  }

  /// Somebody else was first: what is there by now stands in the answer, so that it need not be asked for.
  private func refuse(
    _ request: HTTPRequest, outdated tag: String, _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    refused(request, "OUTDATED")
    answer(APIProblem(412, "it was changed meanwhile: these are not its settings any more").response([Self.etag(tag)]))
  }

  /// JSON, with a line end.
  static func text(_ value: any Encodable) -> [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { Array($0) + [0x0a] }
  }
}

extension APIOperation {
  fileprivate var method: HTTPMethod? { HTTPMethod(rawValue: route.method) }
}

extension HTTPMethod {
  /// Whether it changes nothing.
  fileprivate var isRead: Bool {
    switch self {
    case .get, .head, .options: true
    case .post, .put, .patch, .delete: false
    }
  }
}

extension HTTPRequest {
  /// Whether its content says that it is JSON (RFC 9110 §8.3.1).
  fileprivate var isJSON: Bool {
    let type = header("content-type")?.split(separator: ";").first ?? ""
    return type.lowercased().filter { $0 != " " } == "application/json"
  }
}
