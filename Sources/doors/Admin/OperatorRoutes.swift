// What an operator does over HTTP with the token of `admin.token`: looks at rooms and calls, closes rooms, puts people out.
// Which room, user or call it is about stands in the query.
//
//   GET    /admin/rooms                          rooms and calls, and who is in them
//   DELETE /admin/rooms?room=demo                puts everybody out of a room
//   PUT    /admin/media?room=demo&media=audio    lets a room go on without video, or with it again
//   DELETE /admin/people?room=demo&user=anna     puts somebody out of a room, or with call=… of a call
//   PUT    /admin/people?room=demo&user=anna&to=hall   moves somebody to another room, with what they publish
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
//
// All of them are about the realm `default`, or with realm=… about that one.
import Basics
import FoundationEssentials
import Members
import Names
import RoostProtocol
import WebSockets

/// The routes that change something, for whoever shows the token.
public struct OperatorRoutes: Sendable {
  /// Carries a wish about a realm out that comes from somewhere, and gives what has come of it to the closure, once, from any thread but that which owns the
  /// rooms.
  public typealias Perform =
    @Sendable (
      OperatorAction, Realm, SocketAddress?, @escaping @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void
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
    OperatorPath.allCases.map { path in
      HTTPRoute(.path(path.rawValue), methods: path.methods) { answer($0, to: path, $1) }
    }
  }

  private func answer(
    _ request: HTTPRequest, to path: OperatorPath, _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) {
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
      let realm = try request.realm()
      perform(try OperatorAction(request, to: path), realm ?? .default, request.peer) {
        if case .failure(let error) = $0 { refused(request, error) }
        answer(Self.response($0.map { InRealm($0, realm) }))
      }
    } catch {
      refused(request, error)
      answer(Self.response(Result<InRealm<OperatorAnswer>, ErrorObject>.failure(error)))
    }
  }

  private static func response(_ result: Result<InRealm<OperatorAnswer>, ErrorObject>) -> HTTPResponse {
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

/// What operators have routes for.
private enum OperatorPath: String, CaseIterable {
  case rooms = "/admin/rooms"
  case people = "/admin/people"
  case calls = "/admin/calls"
  case locks = "/admin/locks"
  case media = "/admin/media"
  case bans = "/admin/bans"
  case revoked = "/admin/revoked"
  case grants = "/admin/grants"
  case blocks = "/admin/blocks"

  /// What may be done there.
  var methods: [HTTPMethod] {
    switch self {
    case .rooms, .blocks: [.get, .head, .delete]
    case .people: [.put, .delete]
    case .calls: [.delete]
    case .locks: [.put, .delete]
    case .media: [.put]
    case .bans, .revoked, .grants: [.get, .head, .put, .delete]
    }
  }
}

/// What a method means there.
private enum OperatorVerb {
  case look, put, delete

  init(_ method: HTTPMethod) {
    switch method {
    case .put: self = .put
    case .delete: self = .delete
    // No route has the last three.
    case .get, .head, .post, .patch, .options: self = .look
    }
  }
}

extension OperatorAction {
  /// - Throws: −32602 naming what the query lacks or has too much: it may mean another room than the one that was understood.
  fileprivate init(_ request: HTTPRequest, to path: OperatorPath) throws(ErrorObject) {
    guard request.isQueryWhole else {
      throw .parameter("query", expected: "NAME=VALUE once for each name, percent-encoded: %26 for &, %3B for ;")
    }
    let verb = OperatorVerb(request.method)
    let known = path.names(verb, request) + ["realm"]
    if let stranger = request.arguments.keys.filter({ !known.contains($0) }).min() {
      throw .parameter("query", expected: "\(known.joined(separator: ", ")) alone, not \(stranger.prefix(64))")
    }
    switch path {
    case .rooms: self = verb == .delete ? .closeRoom(try request.argument("room")) : .look
    case .people where verb == .put:
      self = .move(
        user: try request.argument("user"), room: try request.argument("room"), to: try request.argument("to"))
    case .people where request.arguments["call"] != nil:
      self = .removeFromCall(user: try request.argument("user"), call: try request.argument("call"))
    case .people: self = .remove(user: try request.argument("user"), room: try request.argument("room"))
    case .calls: self = .endCall(try request.argument("call"))
    case .locks: self = .setLocked(verb == .put, room: try request.argument("room"))
    case .media: self = .setMedia(try request.media(), room: try request.argument("room"))
    case .bans: self = try .bans(verb, request)
    case .revoked: self = try .revoked(verb, request)
    case .grants: self = try .grants(verb, request)
    case .blocks: self = try .blocks(verb, request)
    }
  }

  private static func bans(_ verb: OperatorVerb, _ request: HTTPRequest) throws(ErrorObject) -> OperatorAction {
    switch verb {
    case .look: return .bans(room: try request.optional("room"), page: try request.page())
    case .put where request.arguments["user"] != nil:
      return .banAddressOf(
        user: try request.argument("user"), room: try request.argument("room"), until: try request.time("until"))
    case .put:
      return .banAddress(
        try request.address(), room: try request.optional("room"), until: try request.time("until"))
    case .delete where request.arguments["address"] != nil:
      return .liftAddress(try request.address(), room: try request.optional("room"))
    case .delete: return .liftBan(user: try request.argument("user"), room: try request.argument("room"))
    }
  }

  private static func revoked(_ verb: OperatorVerb, _ request: HTTPRequest) throws(ErrorObject) -> OperatorAction {
    switch verb {
    case .look: .revoked(page: try request.page())
    case .put: .revoke(try request.argument("jti"))
    case .delete: .liftRevocation(try request.argument("jti"))
    }
  }

  private static func grants(_ verb: OperatorVerb, _ request: HTTPRequest) throws(ErrorObject) -> OperatorAction {
    switch verb {
    case .look: .narrowings(of: try request.optional("user"), page: try request.page())
    case .put:
      .narrow(user: try request.argument("user"), to: try request.rights(), room: try request.optional("room"))
    case .delete: .liftNarrowings(of: try request.argument("user"), room: try request.optional("room"))
    }
  }

  private static func blocks(_ verb: OperatorVerb, _ request: HTTPRequest) throws(ErrorObject) -> OperatorAction {
    if verb == .delete {
      return .liftBlocks(of: try request.argument("user"), blocked: try request.optional("blocked"))
    }
    if request.arguments["user"] != nil { return .blocks(of: try request.argument("user")) }
    return .blockCounts(page: try request.page())
  }
}

extension OperatorPath {
  /// What a query may say.
  func names(_ verb: OperatorVerb, _ request: HTTPRequest) -> [String] {
    switch self {
    case .rooms, .locks: ["room"]
    case .people where verb == .put: ["room", "to", "user"]
    case .people: [request.arguments["call"] == nil ? "room" : "call", "user"]
    case .calls: ["call"]
    case .media: ["room", "media"]
    case .bans where verb == .put: [request.arguments["user"] == nil ? "address" : "user", "room", "until"]
    case .bans where verb == .delete: ["room", request.arguments["address"] == nil ? "user" : "address"]
    case .bans: ["room", "page"]
    case .revoked: verb == .look ? ["page"] : ["jti"]
    case .grants where verb == .put: ["user", "grants", "room"]
    case .grants: ["user", verb == .delete ? "room" : "page"]
    case .blocks where verb == .delete: ["user", "blocked"]
    case .blocks: request.arguments["user"] == nil ? ["user", "page"] : ["user"]
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

  /// The realm that it is about; nil without a word.
  fileprivate func realm() throws(ErrorObject) -> Realm? {
    guard let name = arguments["realm"] else { return nil }
    guard let realm = Realm(name) else { throw .parameter("realm", expected: Realm.rule) }
    return realm
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
