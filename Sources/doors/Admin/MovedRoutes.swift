// Where `/admin` has gone, for the one version in which it still answers (docs/decisions/0025-servers-api.md).
import Basics
import WebSockets

/// The routes of operators on a server that has an API: 308 (RFC 9110 §15.4.9) where method and query say all that the API needs, else 410.
public struct MovedRoutes: Sendable {
  private let port: UInt16
  private let isSecure: Bool
  private let isLoopback: Bool

  /// The API's port, whether it speaks TLS, and whether it listens for this machine alone.
  public init(port: UInt16, isSecure: Bool, isLoopback: Bool = false) {
    (self.port, self.isSecure, self.isLoopback) = (port, isSecure, isLoopback)
  }

  /// All of them. They do nothing, and say nothing that is not in docs/api.md: so nobody has to show a token.
  public var routes: [HTTPRoute] {
    [
      HTTPRoute(.prefix("/admin/"), methods: [.get, .head, .put, .delete]) { request, answer in
        answer(self.answer(request))
      }
    ]
  }

  private func answer(_ request: HTTPRequest) -> HTTPResponse {
    // Nobody is sent from TLS to a connection without it, on which some clients would show their token; nor where nothing can be reached.
    guard let place = Self.place(of: request), let host = Self.name(in: request.host), isSecure || !request.isSecure,
      !isLoopback || Self.isThisMachine(host)
    else {
      return .text(410, "This is at /api/v1 now, on the port of api.port: docs/api.md.")
    }
    var response = HTTPResponse.text(308, "This is at /api/v1 now: docs/api.md.")
    response.headers.append(.init("location", "\(isSecure ? "https" : "http")://\(host):\(port)/api/v1\(place)"))
    return response
  }

  /// The path and query of the API; nil where the request says what the API has in its content.
  private static func place(of request: HTTPRequest) -> String? {
    var left = request.arguments
    // Clients resolve a segment of dots before they send it: it would be another request.
    func take(_ name: String) -> String? {
      left.removeValue(forKey: name).flatMap { ["", ".", ".."].contains($0) ? nil : $0.percentEncoded }
    }
    guard request.isQueryWhole, let path = path(of: request, take) else { return nil }
    let query = left.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.percentEncoded)" }
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  private static func path(of request: HTTPRequest, _ take: (String) -> String?) -> String? {
    let isLook = request.method == .get || request.method == .head
    let isEnd = request.method == .delete
    switch request.path {
    case "/admin/rooms" where isLook: return "/rooms"
    case "/admin/rooms" where isEnd: return take("room").map { "/rooms/\($0)" }
    case "/admin/people" where isEnd:
      guard let user = take("user") else { return nil }
      if let call = take("call") { return "/calls/\(call)/participants/\(user)" }
      return take("room").map { "/rooms/\($0)/participants/\(user)" }
    case "/admin/calls" where isEnd: return take("call").map { "/calls/\($0)" }
    case "/admin/bans" where isLook: return "/bans"
    case "/admin/bans" where isEnd:
      if let address = take("address") { return "/bans/\(address)" }
      guard let user = take("user"), let room = take("room") else { return nil }
      return "/rooms/\(room)/bans/\(user)"
    case "/admin/blocks" where isLook: return take("user").map { "/users/\($0)/blocks" } ?? "/blocks"
    case "/admin/blocks" where isEnd:
      guard let user = take("user") else { return nil }
      return "/users/\(user)/blocks" + (take("blocked").map { "/\($0)" } ?? "")
    case "/admin/revoked" where isLook: return "/revoked"
    case "/admin/revoked": return take("jti").map { "/revoked/\($0)" }
    case "/admin/grants" where isLook: return take("user").map { "/users/\($0)/grants" } ?? "/grants"
    case "/admin/grants" where isEnd: return take("user").map { "/users/\($0)/grants" }
    default: return nil
    }
  }

  private static func isThisMachine(_ host: Substring) -> Bool {
    host.isExactly("localhost") || host.isExactly("[::1]") || host.begins(with: "127.")
  }

  /// The host without its port.
  private static func name(in host: String?) -> Substring? {
    guard let host, !host.isEmpty else { return nil }
    if host.utf8.first == UInt8(ascii: "[") { return host.firstIndex(of: "]").map { host[...$0] } }
    return host.prefix { $0 != ":" }
  }
}
