// HTTP as the server's routes see it (RFC 9110): small resources, and requests with little content or none.
import Basics

/// What a request wants done with a resource.
public enum HTTPMethod: String, Sendable, Hashable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case put = "PUT"
  case patch = "PATCH"
  case delete = "DELETE"
  case options = "OPTIONS"

  /// Whether content is meant: then its length must be said, also where it is 0.
  var hasContent: Bool {
    switch self {
    case .post, .put, .patch: true
    case .get, .head, .delete, .options: false
    }
  }

  /// Whether the connection ends with the answer. After content that nobody reads, what follows must not be taken for a request.
  var endsConnection: Bool {
    switch self {
    case .post, .put, .patch, .delete: true
    case .get, .head, .options: false
    }
  }
}

/// One line of a head (RFC 9110 §5). Line breaks in it are dropped on the way out.
public struct HTTPHeader: Sendable, Equatable {
  /// The name: in a response in any case, in a request in small letters.
  public var name: String
  /// The value, in a request without blanks around it.
  public var value: String
  /// The header `name: value`.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// A request. A HEAD is answered as a GET; its body is left out on the way.
public struct HTTPRequest: Sendable, Equatable {
  /// What is to be done.
  public var method: HTTPMethod
  /// The path as it came, beginning with `/`: nothing of it is decoded, and nothing joined (`RequestTarget`).
  public var path: String
  /// The query as it came, without `?`; empty when there is none.
  public var query: String
  /// The parts of the query, decoded, by name; `&` and `;` part them. The first of a name counts, and of many the first sixteen.
  public var arguments: [String: String]
  /// Whether `arguments` is all of the query: not where a part has no `=`, a name comes twice, a part is longer than 2 KiB,
  /// or there are more than sixteen.
  public var isQueryWhole: Bool
  /// The `Host` header.
  public var host: String?
  /// The `If-None-Match` header, for answers with an `ETag`.
  public var ifNoneMatch: String?
  /// The `Authorization` header.
  public var authorization: String?
  /// The client's address, also where a trusted proxy has brought it; nil where that is unknown.
  public var peer: SocketAddress?
  /// Whether the client came by TLS, to the server or to a trusted proxy.
  public var isSecure = false
  /// All headers as they came, names in small letters.
  public var headers: [HTTPHeader] = []
  /// What stands in the path for the names of its route's pattern, decoded.
  public var segments: [String: String] = [:]
  /// What its connection's earlier credentials came to; where a trusted proxy brings it, what those of its client's network did.
  public var rank = TurnRank()
  /// The content, where the route has a `contentLimit`: at most so many bytes. Else it is not read.
  public var content: [UInt8] = []

  /// A request for `path`.
  public init(
    _ method: HTTPMethod = .get, path: String, query: String = "", arguments: [String: String] = [:],
    isQueryWhole: Bool = true, host: String? = nil, ifNoneMatch: String? = nil, authorization: String? = nil,
    peer: SocketAddress? = nil
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.arguments = arguments
    self.isQueryWhole = isQueryWhole
    self.host = host
    self.ifNoneMatch = ifNoneMatch
    self.authorization = authorization
    self.peer = peer
  }

  /// The values of a header, in their order, with a comma between them (RFC 9110 §5.3); nil where there is none. `name` is in small
  /// letters.
  public func header(_ name: String) -> String? {
    let values = headers.filter { $0.name == name }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

/// What a request's credentials have come to. With the third of a connection that fails it ends.
public enum Credentials: Sendable, Hashable {
  /// There are none, or they were not asked for.
  case unseen
  case accepted
  case failed
  /// They were not looked at, and may come again.
  case sentAway
}

/// An answer: status, headers, body. `Content-Length` is added on the way out.
public struct HTTPResponse: Sendable, Equatable {
  /// One line of the head.
  public typealias Header = HTTPHeader

  /// The status code, 200 … 599.
  public var status: Int
  /// Further headers: caching, security and so on are the handler's business. At most 8 KiB in all.
  public var headers: [Header]
  /// The body.
  public var body: [UInt8]
  /// What has come of the credentials that the request showed.
  public var credentials = Credentials.unseen
  /// Who sends what comes instead of a body; nil as a rule. See `events`.
  var stream: EventStreamOwner?

  /// An answer with all its parts.
  public init(status: Int, headers: [Header] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// An answer of one content type.
  public init(status: Int = 200, contentType: String, headers: [Header] = [], body: [UInt8]) {
    self.init(status: status, headers: [Header("content-type", contentType)] + headers, body: body)
  }

  /// Why a request is refused, as problem details (RFC 9457): what programs read as well. `detail` is a text of ours, without quotation
  /// marks.
  static func problem(_ status: Int, _ title: String, _ detail: String) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "application/problem+json",
      headers: [Header("cache-control", "no-store"), Header("x-content-type-options", "nosniff")],
      body: Array(#"{"status":\#(status),"title":"\#(title)","detail":"\#(detail)"}"#.utf8))
  }

  /// A line of plain text that is not to be cached.
  public static func text(_ status: Int, _ line: String) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "text/plain; charset=utf-8",
      headers: [Header("cache-control", "no-store"), Header("x-content-type-options", "nosniff")],
      body: Array((line + "\n").utf8))
  }
}

/// A path and who answers for it.
public struct HTTPRoute: Sendable {
  /// Which paths a route serves.
  public enum Match: Sendable, Hashable {
    /// This path alone.
    case path(String)
    /// Every path that begins so; the longest matching prefix wins, and an exact path wins over all.
    case prefix(String)
    /// Paths with segments that vary. The first pattern that matches wins, over all prefixes.
    case pattern(PathPattern)
  }
  /// Answers a request. Called on the service thread, so it must be quick and must not wait.
  public typealias Handler = @Sendable (HTTPRequest) -> HTTPResponse
  /// Answers a request by calling the closure, once, from any thread and at any time before the server's patience with a
  /// silent client is over (`handshakeSeconds`): then the connection is closed. Is itself called on the service thread.
  public typealias LateHandler = @Sendable (HTTPRequest, @escaping @Sendable (HTTPResponse) -> Void) -> Void

  /// Which paths are served.
  public var match: Match
  /// What may be asked of them; anything else is answered with 405. Where OPTIONS is among them the answer gets an `Allow`.
  public var methods: [HTTPMethod] = [.get, .head]
  /// Bytes that the content of a request may have; a longer one is refused with 413. Nil where content is not read. It has to come
  /// within the server's patience with a silent client (`handshakeSeconds`).
  public var contentLimit: Int?
  /// Who answers.
  public var handler: LateHandler

  /// `handler` answers for `match`.
  public init(_ match: Match, handler: @escaping Handler) {
    self.init(match, late: { request, answer in answer(handler(request)) })
  }

  /// `handler` answers for `match`, when it can.
  public init(
    _ match: Match, methods: [HTTPMethod] = [.get, .head], contentLimit: Int? = nil, late handler: @escaping LateHandler
  ) {
    self.match = match
    self.methods = methods
    self.contentLimit = contentLimit
    self.handler = handler
  }

  /// `handler` answers for exactly `path`.
  public static func get(_ path: String, handler: @escaping Handler) -> HTTPRoute {
    HTTPRoute(.path(path), handler: handler)
  }
}

/// The routes of a server, for look-up by path.
struct RouteTable: Sendable {
  private var exact: [String: HTTPRoute] = [:]
  /// Bytes of the longest of them. What is longer is not looked up: hashing a letter with many accents takes time with their square.
  private var longestExact = 0
  private var patterns: [(pattern: PathPattern, route: HTTPRoute)] = []
  private var prefixes: [(prefix: String, route: HTTPRoute)] = []

  /// What a path leads to.
  enum Found {
    case route(HTTPRoute, segments: [String: String])
    case nothing
    /// A pattern's, with a segment that is none.
    case malformed
  }

  init(_ routes: [HTTPRoute]) {
    for route in routes {
      switch route.match {
      case .path(let path):
        exact[path] = route
        longestExact = max(longestExact, path.utf8.count)
      case .prefix(let prefix): prefixes.append((prefix, route))
      case .pattern(let pattern): patterns.append((pattern, route))
      }
    }
    prefixes.sort { $0.prefix.utf8.count > $1.prefix.utf8.count }
  }

  /// `path` is as it came. Nothing of it is decoded but the segments of patterns: `/%61` is not `/a` here.
  func find(_ path: String) -> Found {
    if path.utf8.count <= longestExact, let route = exact[path] { return .route(route, segments: [:]) }
    for (pattern, route) in patterns {
      switch pattern.match(path) {
      case .other: continue
      case .found(let segments): return .route(route, segments: segments)
      case .malformed: return .malformed
      }
    }
    return prefixes.first { path.utf8.starts(with: $0.prefix.utf8) }.map { .route($0.route, segments: [:]) } ?? .nothing
  }
}
