// What an operator does over HTTP with the token of `admin.token`: looks at rooms and calls, closes rooms, puts people out.
// Which room, user or call it is about stands in the query.
//
//   GET    /admin/rooms                          rooms and calls, and who is in them
//   DELETE /admin/rooms?room=demo                puts everybody out of a room
//   PUT    /admin/media?room=demo&media=audio    lets a room go on without video, or with it again
//   DELETE /admin/people?room=demo&user=anna     puts somebody out of a room, or with call=… of a call
//   DELETE /admin/calls?call=…                   ends a call
//   PUT    /admin/locks?room=demo                lets nobody more in; DELETE lets people in again
//   GET    /admin/bans?room=demo                 who is banned from a room; without room= from any
//   DELETE /admin/bans?room=demo&user=anna       takes a ban back
//   PUT    /admin/bans?address=203.0.113.7       keeps an address out of all rooms, with room=… of one, with until=… until then
//   PUT    /admin/bans?room=demo&user=anna       keeps the address out of a room that somebody is there from
//   DELETE /admin/bans?address=203.0.113.7       takes all bans of an address back, with room=… those of a room
//   GET    /admin/blocks?user=anna               whom a user has blocked; without user= how many each has
//   DELETE /admin/blocks?user=anna&blocked=ben   takes a block back; without blocked= all of that user
//   PUT    /admin/revoked?jti=ID                 takes a token back; GET shows those that are, DELETE believes it again
//   PUT    /admin/grants?user=anna&grants=join   leaves a user only these grants, with room=… in that room alone; GET shows to whom
//   DELETE /admin/grants?user=anna               gives them back, with room=… those of that room
import Basics
import Conference
import FoundationEssentials
import Members
import Names
import RoostProtocol
import WebSockets

/// The routes that change something, for whoever shows the token.
public struct OperatorRoutes: Sendable {
  /// Carries a wish out that comes from somewhere, and gives what has come of it to the closure, once, from any thread but that which owns the
  /// rooms.
  public typealias Perform =
    @Sendable (
      OperatorAction, SocketAddress?, @escaping @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void
    ) -> Void

  /// What a request's token allows.
  public enum Permission: Sendable, Equatable {
    case granted
    /// 403.
    case refused
    /// 429: too many wrong ones came from there. Seconds until it may be tried again.
    case refusedForNow(seconds: Int64)
  }

  private let permission: @Sendable (HTTPRequest) -> Permission
  private let refused: @Sendable (HTTPRequest, ErrorObject) -> Void
  private let perform: Perform

  /// The closures must not wait; all but `refused` are called on the web server's thread. Who shows nothing at all gets 401.
  /// - Parameter refused: hears of a wish of the operator's that is not carried out, and why.
  public init(
    permission: @escaping @Sendable (HTTPRequest) -> Permission,
    refused: @escaping @Sendable (HTTPRequest, ErrorObject) -> Void = { _, _ in }, perform: @escaping Perform
  ) {
    (self.permission, self.refused, self.perform) = (permission, refused, perform)
  }

  /// All of them. 200 with a JSON object; 400 where the query lacks something or says more than is understood, 404 for
  /// what is not there, 409 where no more can be kept or too many are there, with `{"error": …}` as on the wire.
  public var routes: [HTTPRoute] {
    [
      HTTPRoute(.path("/admin/rooms"), methods: [.get, .head, .delete], late: answer),
      HTTPRoute(.path("/admin/people"), methods: [.delete], late: answer),
      HTTPRoute(.path("/admin/calls"), methods: [.delete], late: answer),
      HTTPRoute(.path("/admin/locks"), methods: [.put, .delete], late: answer),
      HTTPRoute(.path("/admin/media"), methods: [.put], late: answer),
      HTTPRoute(.path("/admin/bans"), methods: [.get, .head, .put, .delete], late: answer),
      HTTPRoute(.path("/admin/revoked"), methods: [.get, .head, .put, .delete], late: answer),
      HTTPRoute(.path("/admin/grants"), methods: [.get, .head, .put, .delete], late: answer),
      HTTPRoute(.path("/admin/blocks"), methods: [.get, .head, .delete], late: answer),
    ]
  }

  @Sendable private func answer(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    guard request.authorization != nil else {
      var refusal = HTTPResponse.text(401, "Show the token of admin.token: Authorization: Bearer TOKEN.")
      refusal.headers.append(.init("www-authenticate", "Bearer"))
      return answer(refusal)
    }
    switch permission(request) {
    case .granted: break
    case .refused: return answer(.text(403, "This is not the token of admin.token."))
    case .refusedForNow(let seconds):
      var refusal = HTTPResponse.text(429, "Too many wrong tokens came from this address.")
      refusal.headers.append(.init("retry-after", String(seconds)))
      return answer(refusal)
    }
    do throws(ErrorObject) {
      perform(try OperatorAction(request), request.peer) {
        if case .failure(let error) = $0 { refused(request, error) }
        answer(Self.response($0))
      }
    } catch {
      refused(request, error)
      answer(Self.response(.failure(error)))
    }
  }

  private static func response(_ result: Result<OperatorAnswer, ErrorObject>) -> HTTPResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    switch result {
    case .success(let answer): return json(200, try? encoder.encode(answer))
    case .failure(let error): return json(error.code.form.operatorStatus, try? encoder.encode(["error": error]))
    }
  }

  private static func json(_ status: Int, _ body: Data?) -> HTTPResponse {
    guard let body else { return .text(500, "The answer could not be written.") }
    return HTTPResponse(
      status: status, contentType: "application/json", headers: AdminRoutes.headers, body: Array(body) + [0x0a])
  }
}

extension OperatorAction {
  /// - Throws: −32602 naming what the query lacks or has too much: it may mean another room than the one that was understood.
  fileprivate init(_ request: HTTPRequest) throws(ErrorObject) {
    guard request.isQueryWhole else {
      throw .parameter("query", expected: "NAME=VALUE once for each name, percent-encoded: %26 for &, %3B for ;")
    }
    let known = Self.names(request)
    if let stranger = request.arguments.keys.filter({ !known.contains($0) }).min() {
      throw .parameter("query", expected: "\(known.joined(separator: ", ")) alone, not \(stranger.prefix(64))")
    }
    switch (request.method, request.path) {
    case (.delete, "/admin/rooms"): self = .closeRoom(try request.argument("room"))
    case (.delete, "/admin/people") where request.arguments["call"] != nil:
      self = .removeFromCall(user: try request.argument("user"), call: try request.argument("call"))
    case (.delete, "/admin/people"):
      self = .remove(user: try request.argument("user"), room: try request.argument("room"))
    case (.delete, "/admin/calls"): self = .endCall(try request.argument("call"))
    case (.put, "/admin/locks"): self = .setLocked(true, room: try request.argument("room"))
    case (.delete, "/admin/locks"): self = .setLocked(false, room: try request.argument("room"))
    case (_, "/admin/media"): self = .setMedia(try request.media(), room: try request.argument("room"))
    case (.put, "/admin/bans") where request.arguments["user"] != nil:
      self = .banAddressOf(
        user: try request.argument("user"), room: try request.argument("room"), until: try request.time("until"))
    case (.put, "/admin/bans"):
      self = .banAddress(
        try request.address(), room: try request.optional("room"), until: try request.time("until"))
    case (.delete, "/admin/bans") where request.arguments["address"] != nil:
      self = .liftAddress(try request.address(), room: try request.optional("room"))
    case (.delete, "/admin/bans"):
      self = .liftBan(user: try request.argument("user"), room: try request.argument("room"))
    case (_, "/admin/bans"): self = .bans(room: try request.optional("room"), page: try request.page())
    case (.put, "/admin/revoked"): self = .revoke(try request.argument("jti"))
    case (.delete, "/admin/revoked"): self = .liftRevocation(try request.argument("jti"))
    case (_, "/admin/revoked"): self = .revoked(page: try request.page())
    case (.delete, "/admin/grants"):
      self = .liftNarrowings(of: try request.argument("user"), room: try request.optional("room"))
    case (.get, "/admin/grants"), (.head, "/admin/grants"):
      self = .narrowings(of: try request.optional("user"), page: try request.page())
    case (_, "/admin/grants"):
      self = .narrow(
        user: try request.argument("user"), to: try request.rights(), room: try request.optional("room"))
    case (.delete, "/admin/blocks"):
      self = .liftBlocks(of: try request.argument("user"), blocked: try request.optional("blocked"))
    case (_, "/admin/blocks") where request.arguments["user"] != nil: self = .blocks(of: try request.argument("user"))
    case (_, "/admin/blocks"): self = .blockCounts(page: try request.page())
    default: self = .look
    }
  }

  /// What a query may say.
  private static func names(_ request: HTTPRequest) -> [String] {
    switch request.path {
    case "/admin/people": [request.arguments["call"] == nil ? "room" : "call", "user"]
    case "/admin/calls": ["call"]
    case "/admin/media": ["room", "media"]
    case "/admin/bans" where request.method == .put:
      [request.arguments["user"] == nil ? "address" : "user", "room", "until"]
    case "/admin/bans" where request.method == .delete:
      ["room", request.arguments["address"] == nil ? "user" : "address"]
    case "/admin/bans": ["room", "page"]
    case "/admin/revoked": request.method == .put || request.method == .delete ? ["jti"] : ["page"]
    case "/admin/grants" where request.method == .put: ["user", "grants", "room"]
    case "/admin/grants" where request.method == .delete: ["user", "room"]
    case "/admin/grants": ["user", "page"]
    case "/admin/blocks" where request.method == .delete: ["user", "blocked"]
    case "/admin/blocks": request.arguments["user"] == nil ? ["user", "page"] : ["user"]
    default: ["room"]
    }
  }
}

extension HTTPRequest {
  fileprivate func argument(_ name: String) throws(ErrorObject) -> String {
    guard let value = arguments[name], !value.isEmpty else {
      throw .parameter(name, expected: "it in the query, as in ?\(name)=…")
    }
    try NameForm.check(value, name)
    return value
  }

  /// - Throws: −32602 where it is there and empty: something was meant.
  fileprivate func optional(_ name: String) throws(ErrorObject) -> String? {
    arguments[name] == nil ? nil : try argument(name)
  }

  /// Which page is asked for, 1 without a word.
  fileprivate func page() throws(ErrorObject) -> Int {
    guard let text = arguments["page"] else { return 1 }
    guard let page = Self.number(text, digits: 6), page > 0 else {
      throw .parameter("page", expected: "a number from 1 on")
    }
    return Int(page)
  }

  /// When something ends.
  fileprivate func time(_ name: String) throws(ErrorObject) -> Int64? {
    guard let text = arguments[name] else { return nil }
    guard let time = Self.number(text, digits: 15) else {
      throw .parameter(name, expected: "milliseconds since 1970")
    }
    return time
  }

  /// Names of grants with commas between them, or `none`.
  fileprivate func rights() throws(ErrorObject) -> Rights {
    let text = try argument("grants")
    let grants = text == "none" ? [] : text.split(separator: ",").map { Grant(rawValue: String($0)) }
    guard grants.allSatisfy(Grant.known.contains) else {
      let names = Grant.known.map(\.rawValue).joined(separator: ", ")
      throw .parameter("grants", expected: "some of \(names), with commas between them, or none")
    }
    return Rights(grants)
  }

  fileprivate func media() throws(ErrorObject) -> MediaClass {
    guard let media = MediaClass(rawValue: try argument("media")) else {
      throw .parameter("media", expected: MediaClass.allCases.map(\.rawValue).joined(separator: " or "))
    }
    return media
  }

  fileprivate func address() throws(ErrorObject) -> AddressRange {
    guard let range = AddressRange(try argument("address")) else {
      throw .parameter("address", expected: "an address of IPv4 or IPv6, or a network such as 203.0.113.0/24")
    }
    return range
  }

  private static func number(_ text: String, digits: Int) -> Int64? {
    guard text.utf8.count <= digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
