// What an operator's program asks over HTTP: any method, path, query and token, of a conference with people in it.
import Admin
import Basics
import Conference
import FoundationEssentials
import Members
import RoostProtocol
import WebSockets

@Sendable func runAdmin(_ input: Span<UInt8>) {
  var script = Script(input)
  let conference = Locked(busyConference())
  let asked = Locked(0)
  let operators = OperatorRoutes(permission: { permission($0) }) { action, _, _, answer in
    asked.withLock { $0 += 1 }
    answer(conference.withLock { $0.operate(action, at: adminTime).0 })
  }
  while let step = script.next() {
    let before = (asked.withLock { $0 }, conference.withLock { $0.gauges })
    let request = script.operatorRequest(step)
    guard let route = operators.routes.first(where: { $0.match == .path(request.path) }) else { continue }
    // What a route does not serve the web server refuses.
    guard route.methods.contains(request.method) else { continue }
    let answers = Locked<[HTTPResponse]>([])
    route.handler(request) { response in answers.withLock { $0.append(response) } }
    let response = answers.withLock { $0 }
    precondition(response.count == 1, "a request has one answer")
    check(response[0], of: request, asked: asked.withLock { $0 } - before.0)
    if request.method == .get || response[0].status != 200 {
      precondition(conference.withLock { $0.gauges } == before.1, "who looks, or is refused, changes nothing")
    }
  }
}

private let adminTime = Now(instant: .zero + .seconds(1), wallMilliseconds: 1_700_000_000_000)

private func permission(_ request: HTTPRequest) -> OperatorRoutes.Permission {
  switch request.authorization {
  case "Bearer right": .granted
  case "Bearer often": .refusedForNow(seconds: 9)
  default: .refused
  }
}

private func check(_ response: HTTPResponse, of request: HTTPRequest, asked: Int) {
  let isRight = request.authorization == "Bearer right"
  switch response.status {
  case 200: precondition(isRight && asked == 1 && request.isQueryWhole, "what is done was allowed and understood")
  case 400: precondition(isRight, "who shows no token learns nothing of the query")
  case 404, 409: precondition(isRight && asked == 1)
  case 401: precondition(request.authorization == nil && asked == 0)
  case 403, 429: precondition(!isRight && asked == 0)
  default: preconditionFailure("an answer that is not in the book: \(response.status)")
  }
  let isJSON = response.headers.contains { $0.value == "application/json" }
  precondition(isJSON == [200, 400, 404, 409].contains(response.status), "what is answered says what it is")
  guard isJSON else { return }
  precondition((try? JSONDecoder().decode(JSONValue.self, from: Data(response.body))) != nil, "and can be read")
}

/// Two people in a room, and one who is called.
private func busyConference() -> ConferenceCore {
  var rules = ConferenceRules()
  rules.rooms["demo"] = RoomRules(kind: "demo")
  var core = ConferenceCore(rules: rules, random: SplitMix64(seed: 1))
  for (number, user) in ["anna", "bert", "carl"].enumerated() {
    let connection = ConnectionID(UInt64(number) + 1)
    let identity = Identity(user: user, device: "d", displayName: user, rights: .all, isVerified: true)
    _ = core.apply(.hello(connection, .number(1), HelloParams(user: user), identity), at: adminTime)
    let request: Request =
      user == "carl"
      ? .call(.start(CallStartParams(to: ["anna"], kind: .oneToOne, media: .audio)))
      : .room(.join(RoomJoinParams(room: "demo")))
    _ = core.apply(.request(connection, .number(2), request), at: adminTime)
  }
  return core
}

extension Script {
  private static let paths = [
    "/admin/rooms", "/admin/people", "/admin/calls", "/admin/locks", "/admin", "/admin/rooms/", "/admin/bans",
    "/admin/blocks",
  ]
  private static let methods: [HTTPMethod] = [.get, .delete, .put, .head, .delete, .post, .patch, .options]
  private static let names = ["room", "user", "call", "address", "", "page", "blocked"]
  private static let values = ["demo", "anna", "bert", "call:1", "", "203.0.113.7", "2", "x"]

  /// A request, its words from a list or from the script.
  fileprivate mutating func operatorRequest(_ step: UInt8) -> HTTPRequest {
    let who = next() ?? 0
    var arguments: [String: String] = [:]
    for _ in 0..<(who >> 6) {
      let choice = next() ?? 0
      let name = choice & 7 < 7 ? Self.names[Int(choice & 7)] : word()
      arguments[name] = choice & 128 == 0 ? Self.values[Int(choice >> 3) & 7] : word()
    }
    let tokens: [String?] = ["Bearer right", "Bearer right", "Bearer right", nil, "Bearer often", "Bearer wrong", ""]
    let authorization = who & 7 == 7 ? word() : tokens[Int(who & 7)]
    return HTTPRequest(
      Self.methods[Int(step & 7)], path: Self.paths[Int(step >> 3) % Self.paths.count], arguments: arguments,
      isQueryWhole: who & 8 == 0, authorization: authorization)
  }

  private mutating func word() -> String { String(decoding: take(Int(next() ?? 0)), as: UTF8.self) }
}
