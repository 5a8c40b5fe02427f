// The routes of the API: who is let in, what is asked of the conference, and how answers and refusals read.
import Basics
import Foundation
import RoostProtocol
import Testing
import WebSockets

@testable import API
@testable import Members
@testable import Names

private let secret = "0123456789abcdefghijklmnopqrstuvwxyz"
private let clinic = Realm("clinic")

/// What was asked of a conference that answers with what it is given.
final class Asked: Sendable {
  let wishes = Locked<[(action: OperatorAction, realm: Realm, key: String)]>([])
  let replays = Locked<[(after: Int64, realm: Realm)]>([])
}

struct Asker {
  var keys = [
    APIKey(name: "shop", secret: Array(secret.utf8), realm: .default),
    APIKey(name: "clinic", secret: Array(secret.utf8.reversed()), realm: clinic),
    APIKey(name: "admin.token", secret: Array("a long random text".utf8), realm: nil),
  ]
  var answer: @Sendable (OperatorAction) -> Result<OperatorAnswer, ErrorObject> = { _ in .success(.removed(1)) }
  var replay: Result<EventReplay, ErrorObject> = .failure(ErrorObject(.overloaded))
  let asked = Asked()

  func api() -> API {
    let (asked, answer, replay) = (asked, answer, replay)
    return API(
      keys: keys, clock: { Instant(nanoseconds: 1) },
      replay: { after, realm, reply in
        asked.replays.withLock { $0.append((after, realm)) }
        reply(replay)
      }
    ) { action, realm, key, _, reply in
      asked.wishes.withLock { $0.append((action, realm, key)) }
      reply(answer(action))
    }
  }

  func ask(
    _ method: HTTPMethod, _ pattern: String, segments: [String: String] = [:], query: [String: String] = [:],
    body: String = "", headers: [String: String] = [:], secret shown: String? = secret, on api: API? = nil
  ) async throws -> HTTPResponse {
    let match =
      pattern.contains("{")
      ? HTTPRoute.Match.pattern(PathPattern(API.root + pattern, endsExactly: true)) : .path(API.root + pattern)
    let route = try #require((api ?? self.api()).routes.first { $0.match == match })
    #expect(route.methods.contains(method))
    var request = HTTPRequest(
      method, path: API.root + pattern, arguments: query, authorization: shown.map { "Bearer \($0)" })
    (request.segments, request.content) = (segments, Array(body.utf8))
    let type = ["content-type": "application/json"].merging(headers) { $1 }
    request.headers = type.map { HTTPHeader($0.key, $0.value) }
    return await withCheckedContinuation { answered in
      route.handler(request) { answered.resume(returning: $0) }
    }
  }
}

extension HTTPResponse {
  var text: String { String(decoding: body, as: UTF8.self) }
  func problem() throws -> APIProblem { try JSONDecoder().decode(APIProblem.self, from: Data(body)) }
}

@Suite struct APITests {
  private func plan(kind: String, seats: Int, media: RoomPlan.Media) -> RoomPlan {
    var plan = RoomPlan(kind: kind)
    (plan.videoLimit, plan.media) = (seats, media)
    return plan
  }

  /// What each operation wants, of room A, user anna, call c and token t.
  private func wish(
    _ operation: APIOperation
  ) throws -> (body: String, query: [String: String], action: OperatorAction?) {
    let address = try #require(AddressRange("203.0.113.7"))
    let (user, room) = ("anna", "A")
    return switch operation {
    case .listRooms, .listCalls: ("", ["page": "2"], .look)
    case .readCall: ("", [:], .call("c"))
    case .readUser: ("", [:], .user(user))
    case .readHistory: ("", ["before": "d"], .history(of: user, before: "d"))
    case .seeMissed: ("", [:], .see(user))
    case .readRoom: ("", [:], .lookAt(room: room))
    case .changeRoom:
      (#"{"locked": false, "media": "audio"}"#, [:], .change(room: room, media: .audio, locked: false))
    case .endRoom: ("", [:], .closeRoom(room))
    case .listSettings: ("", ["page": "2"], .allSettings(page: 2))
    case .makeRoom:
      (
        #"{"room": "A", "kind": "group", "videoLimit": 4, "media": "first_joiner", "lobby": true}"#, [:],
        .makeRoom(room, plan(kind: "group", seats: 4, media: .firstJoiner), locked: false, lobby: true)
      )
    case .readSettings: ("", [:], .settings(of: room))
    case .replaceSettings:
      (
        #"{"kind": "group", "videoLimit": 4, "media": "audio"}"#, [:],
        .replaceSettings(of: room, plan(kind: "group", seats: 4, media: .audio), .any)
      )
    case .takeBackSettings: ("", [:], .takeBackSettings(of: room, .any))
    case .moveParticipant: (#"{"to": "B"}"#, [:], .move(user: user, room: room, to: "B"))
    case .removeParticipant: ("", [:], .remove(user: user, room: room))
    case .moderate:
      (
        #"{"action": "mute", "user": "anna", "hold": true}"#, [:],
        .moderate(ModerateParams(room: room, action: .mute, user: user, hold: true))
      )
    case .say:
      (
        #"{"text": "Hello", "displayName": "House", "to": ["anna"]}"#, [:],
        .say("Hello", as: "House", room: room, to: [user])
      )
    case .sendMessage:
      (
        #"{"topic": "notice", "data": {"at": 1.50}, "to": ["anna"], "displayName": "House"}"#, [:],
        .send(
          MessageSendParams(room: room, to: [user], topic: "notice", data: RawJSON(text: #"{"at": 1.50}"#) ?? nil),
          as: "House")
      )
    case .sendCallMessage:
      (
        #"{"topic": "notice", "data": 1}"#, [:],
        .send(MessageSendParams(callId: "c", topic: "notice", data: 1), as: nil)
      )
    case .liftBan: ("", [:], .liftBan(user: user, room: room))
    case .listBans: ("", ["room": "B", "page": "3"], .bans(room: "B", page: 3))
    case .banAddress:
      (#"{"user": "anna", "room": "A", "until": 5}"#, [:], .banAddressOf(user: user, room: room, until: 5))
    case .liftAddress: ("", ["room": "B"], .liftAddress(address, room: "B"))
    case .listBlocks: ("", [:], .blockCounts())
    case .readBlocks: ("", [:], .blocks(of: user))
    case .liftBlocks: ("", [:], .liftBlocks(of: user, blocked: nil))
    case .liftBlock: ("", [:], .liftBlocks(of: user, blocked: "ben"))
    case .listRevoked: ("", ["page": "2"], .revoked(page: 2))
    case .revokeToken: ("", [:], .revoke("t"))
    case .restoreToken: ("", [:], .liftRevocation("t"))
    case .listGrants: ("", [:], .narrowings(of: nil))
    case .readGrants: ("", [:], .narrowings(of: user))
    case .narrowGrants: (#"{"grants": ["join"], "room": "B"}"#, [:], .narrow(user: user, to: [.join], room: "B"))
    case .restoreGrants: ("", ["room": "B"], .liftNarrowings(of: user, room: "B"))
    case .startCall:
      (
        #"{"from": "anna", "to": ["ben"], "media": "audio", "extra": {"b": 1.0, "a": 2}}"#, [:],
        .startCall(
          CallStartParams(
            to: ["ben"], kind: .oneToOne, media: .audio, extra: RawJSON(text: #"{"b": 1.0, "a": 2}"#)), of: user)
      )
    case .invite:
      (
        #"{"users": ["ben"], "from": "anna", "ringTimeoutMs": 6000}"#, [:],
        .invite(CallInviteParams(callId: "c", users: ["ben"], ringTimeoutMs: 6_000), as: user)
      )
    case .withdrawInvitation: ("", [:], .withdraw(user: user, call: "c"))
    case .endCall: ("", [:], .endCall("c"))
    case .removeFromCall: ("", [:], .removeFromCall(user: user, call: "c"))
    // It asks the record file.
    case .listEvents: ("", ["after": "7"], nil)
    }
  }

  @Test(arguments: APIOperation.allCases) func eachOperationIsItsWish(_ operation: APIOperation) async throws {
    let (body, query, action) = try wish(operation)
    let asker = Asker(answer: { _ in .failure(ErrorObject(.roomNotFound)) })
    let segments = ["room": "A", "user": "anna", "blocked": "ben", "jti": "t", "call": "c", "address": "203.0.113.7"]
    let method = try #require(HTTPMethod(rawValue: operation.route.method))
    let answer = try await asker.ask(
      method, operation.route.path, segments: segments, query: query, body: body, headers: ["if-match": "*"])
    guard let action else {
      #expect(answer.status == 503 && asker.asked.wishes.withLock { $0.isEmpty })
      return
    }
    #expect(answer.status == 404)
    #expect(asker.asked.wishes.withLock { $0.map(\.action) } == [action])
    #expect(asker.asked.wishes.withLock { $0.map(\.key) } == ["shop"])
    guard operation.route.body == nil, method != .get else { return }
    // Whoever sends more than is read means something else.
    let more = try await asker.ask(
      method, operation.route.path, segments: segments, query: query, body: #"{"room": "A"}"#)
    #expect(try more.status == 400 && more.problem().field == "body")
    #expect(asker.asked.wishes.withLock { $0.count } == 1)
  }

  @Test func answersAreObjects() async throws {
    let moved = Asker(answer: { _ in .success(.moved(1)) })
    let segments = ["room": "A", "user": "anna"]
    let path = "/rooms/{room}/participants/{user}"
    let answer = try await moved.ask(.post, path + "/move", segments: segments, body: #"{"to": "B"}"#)
    #expect(answer.status == 200 && answer.text == "{\"moved\":1}\n")
    let removed = try await Asker().ask(.delete, path, segments: segments)
    #expect(removed.status == 200 && removed.text == "{\"removed\":1}\n")
    let presence = UserPresence(user: "anna", reachable: false, inCall: true, devices: 1, capabilities: [])
    let user = Asker(answer: { _ in .success(.user(presence, call: "c", missed: 2)) })
    let shown = try await user.ask(.get, "/users/{user}", segments: segments)
    #expect(
      shown.text == #"{"call":"c","devices":1,"missed":2,"online":true,"reachable":false,"user":"anna"}"# + "\n")
    let range = try #require(AddressRange("203.0.113.0/24"))
    let bans = Asker(answer: { _ in .success(.bans([])) })
    let banned = try await bans.ask(.post, "/bans", body: #"{"address": "203.0.113.0/24", "until": 5}"#)
    #expect(banned.status == 200 && banned.text == "{\"bans\":[]}\n")
    #expect(bans.asked.wishes.withLock { $0.map(\.action) } == [.banAddress(range, room: nil, until: 5)])
  }

  @Test func eventsAreReadAgainAsTheyWereTold() async throws {
    var asker = Asker()
    // Numbers and keys that a decoder would change.
    let (first, second) = (#"{"number":8,"x":1.10}"#, #"{"number":9,"b":1,"a":2}"#)
    asker.replay = .success(EventReplay(events: [first, second], last: 12, lost: 4...7))
    let answer = try await asker.ask(.get, "/events", query: ["after": "3"], secret: String(secret.reversed()))
    let whole = #"{"events":[\#(first),\#(second)],"last":12,"lost":{"from":4,"to":7}}"#
    #expect(answer.status == 200 && answer.text == whole + "\n")
    asker.replay = .success(EventReplay(events: [], last: 0, lost: nil))
    let none = try await asker.ask(.get, "/events", query: ["after": "9007199254740991"])
    #expect(none.status == 200 && none.text == #"{"events":[],"last":0}"# + "\n")
    _ = try await asker.ask(.get, "/events")
    #expect(asker.asked.replays.withLock { $0.map(\.after) } == [3, 9_007_199_254_740_991, 0])
    #expect(asker.asked.replays.withLock { $0.map(\.realm) } == [clinic, .default, .default])
    for wrong in ["-1", "+1", "", "1.0", "9007199254740992", "99999999999999999999"] {
      #expect(try await asker.ask(.get, "/events", query: ["after": wrong]).problem().field == "after", "\(wrong)")
    }
    #expect(asker.asked.replays.withLock { $0.count } == 3)
  }

  @Test func aCallIsMadeAndAnsweredAsOne() async throws {
    let call = Call(
      callId: "c", room: "call:c", kind: .oneToOne, media: .audio, answerPolicy: .firstWins, rejectPolicy: .anyEnds,
      busyPolicy: .reject, state: .ringing, rev: 1, caller: "anna", members: [], createdAt: 1)
    let asker = Asker(answer: { _ in .success(.call(call)) })
    let made = try await asker.ask(.post, "/calls", body: #"{"to": ["anna", "ben"]}"#)
    #expect(made.status == 201 && made.text.contains(#""callId":"c""#))
    for (body, field) in [
      (#"{"to": []}"#, "to"), (#"{"to": ["ben"], "ringTimeoutMs": 4}"#, "ringTimeoutMs"), (#"{"kind": "group"}"#, "to"),
      (#"{"to": ["ben"], "from": ""}"#, "from"), (#"{"to": ["ben"], "extra": null}"#, "extra"),
    ] {
      let refused = try await asker.ask(.post, "/calls", body: body)
      #expect(try refused.status == 400 && refused.problem().field == field, "\(body)")
    }
    #expect(asker.asked.wishes.withLock { $0.count } == 1)
    let busy = Asker(answer: { _ in .failure(ErrorObject(.selfBusy)) })
    #expect(try await busy.ask(.post, "/calls", body: #"{"to": ["anna", "ben"]}"#).status == 409)
  }

  /// `DELETE /rooms/A/participants/..`, as clients resolve it before they send it: not the whole room.
  @Test func aSegmentOfDotsIsNoOtherRequest() {
    for route in Asker().api().routes {
      guard case .pattern(let pattern) = route.match else { continue }
      #expect(pattern.match("/api/v1/rooms/A/") != .found(["room": "A"]))
      #expect(pattern.match("/api/v1/calls/c/") != .found(["call": "c"]))
    }
    #expect(PathPattern("/rooms/{room}").match("/rooms/A/") == .found(["room": "A"]), "the control")
  }

  @Test func aKeySeesItsOwnRealmAndAdminTokenAll() async throws {
    let asker = Asker()
    let reversed = String(secret.reversed())
    let path = "/rooms/{room}"
    func status(_ shown: String, _ query: [String: String] = [:]) async throws -> Int {
      try await asker.ask(.delete, path, segments: ["room": "A"], query: query, secret: shown).status
    }
    #expect(try await status(secret) == 200)
    #expect(try await status(secret, ["realm": "clinic"]) == 403, "another's realm")
    #expect(try await status(reversed) == 200)
    #expect(try await status(reversed, ["realm": "clinic"]) == 200)
    #expect(try await status(reversed, ["realm": "default"]) == 403)
    #expect(try await status("a long random text") == 200)
    #expect(try await status("a long random text", ["realm": "clinic"]) == 200)
    #expect(try await status(secret, ["realm": "no such name"]) == 400)
    let realms = asker.asked.wishes.withLock { $0.map(\.realm.name) }
    #expect(realms == ["default", "clinic", "clinic", "default", "clinic"])
  }

  /// Better nothing than something else than what was meant.
  @Test(
    arguments: [
      (#"{"lokced": true}"#, [:], "lokced"), (#"{"locked": null}"#, [:], "locked"), (#"{"locked": 1}"#, [:], "locked"),
      ("{}", [:], "body"), ("[]", [:], "body"), (#"{"locked": true}"#, ["page": "2"], "page"),
      (#"{"media": "smell"}"#, [:], "media"),
    ] as [(String, [String: String], String)])
  func whatIsNotUnderstoodDoesNothing(_ body: String, _ query: [String: String], _ field: String) async throws {
    let asker = Asker()
    let answer = try await asker.ask(.patch, "/rooms/{room}", segments: ["room": "A"], query: query, body: body)
    let problem = try answer.problem()
    #expect(answer.status == 400 && problem.status == 400 && problem.code == -32602 && problem.field == field)
    #expect(asker.asked.wishes.withLock { $0.isEmpty })
  }

  /// Names are compared as Swift does, which agrees with bytes in this form alone. At the wire's door it is the same.
  @Test(arguments: ["e\u{301}va", "\u{e9}va"]) func recipientsHaveTheFormOfNames(name: String) async throws {
    let (asker, isTaken) = (Asker(), name.utf8.count == 4)
    for (path, segment, body) in [
      ("/rooms/{room}/messages", "room", #"{"text": "x", "displayName": "House", "to": ["\#(name)"]}"#),
      ("/rooms/{room}/data", "room", #"{"topic": "x", "data": 1, "to": ["\#(name)"]}"#),
      ("/calls/{call}/data", "call", #"{"topic": "x", "data": 1, "to": ["\#(name)"]}"#),
    ] {
      let answer = try await asker.ask(.post, path, segments: [segment: "A"], body: body)
      #expect((answer.status == 400) != isTaken, "\(path) \(answer.text)")
    }
    #expect(asker.asked.wishes.withLock { $0.count } == (isTaken ? 3 : 0))
  }

  @Test func whatTheConferenceRefusesIsAProblem() async throws {
    let asker = Asker(answer: { _ in .failure(.limit(.roomFull, limit: 16, count: 20)) })
    let body = #"{"locked": true, "media": "video"}"#
    let answer = try await asker.ask(.patch, "/rooms/{room}", segments: ["room": "A"], body: body)
    let problem = try answer.problem()
    #expect(answer.status == 409 && problem.code == 2002 && problem.name == "ROOM_FULL")
    #expect(asker.asked.wishes.withLock { $0.count } == 1, "both in one step")
  }

  @Test func whatIsTooLargeIsRefused() throws {
    let routes = Asker().api().routes
    let limits = Set(routes.filter { $0.methods.contains(.post) && $0.match != .prefix("/") }.map(\.contentLimit))
    #expect(limits == [64 << 10])
  }

  @Test func contentThatIsNoJSONIsRefused() async throws {
    let asker = Asker(answer: { _ in .success(.bans([])) })
    let body = #"{"address": "203.0.113.7"}"#
    for type in ["text/plain", "application/xml", ""] {
      #expect(try await asker.ask(.post, "/bans", body: body, headers: ["content-type": type]).status == 415)
    }
    let type = "Application/JSON; charset=utf-8"
    #expect(try await asker.ask(.post, "/bans", body: body, headers: ["content-type": type]).status == 200)
    #expect(try await asker.ask(.post, "/bans", body: "{").problem().code == -32700)
  }

  @Test func aKeyForIdempotencyIsPrintable() async throws {
    let asker = Asker(answer: { _ in .success(.bans([])) })
    let api = asker.api()
    func ask(_ key: String, _ address: String) async throws -> Int {
      try await asker.ask(
        .post, "/bans", body: #"{"address": "\#(address)"}"#, headers: ["idempotency-key": key], on: api
      ).status
    }
    for key in ["", "a b", "ä", String(repeating: "k", count: 256)] {
      #expect(try await ask(key, "203.0.113.7") == 400, "\(key)")
    }
    #expect(asker.asked.wishes.withLock { $0.isEmpty })
    let longest = String(repeating: "k", count: 255)
    #expect(try await ask(longest, "203.0.113.7") == 200)
    #expect(try await ask(longest, "203.0.113.7") == 200)
    #expect(asker.asked.wishes.withLock { $0.count } == 1)
    #expect(try await ask(longest, "203.0.113.8") == 422)
  }
}

extension APITests {
  @Test func wrongSecretsAreLookedAtTenTimesAndTheRightOneAlways() async throws {
    let asker = Asker()
    let api = asker.api()
    func status(_ shown: String?) async throws -> (Int, HTTPResponse) {
      let answer = try await asker.ask(.delete, "/rooms/{room}", segments: ["room": "A"], secret: shown, on: api)
      return (answer.status, answer)
    }
    for _ in 0..<20 { #expect(try await status(nil).0 == 401, "who shows nothing guesses nothing") }
    for _ in 0..<10 { #expect(try await status(String(secret.dropLast())).0 == 401) }
    let (late, answer) = try await status("wrong")
    #expect(late == 429 && answer.headers.contains { $0.name == "retry-after" && $0.value == "10" })
    #expect(try await status(secret).0 == 200)
    #expect(asker.asked.wishes.withLock { $0.count } == 1)
  }

  @Test(arguments: ["Basic \(secret)", secret, "Bearer", "Bearer ", "Bearer  x\(secret)"])
  func anythingElseIsNoKey(_ shown: String) {
    let keys = APIKeys(Asker().keys) { Instant(nanoseconds: 1) }
    guard case .refused = keys.permission(of: HTTPRequest(path: "/", authorization: shown)) else {
      Issue.record("\(shown) is let in")
      return
    }
    guard case .granted(let key) = keys.permission(of: HTTPRequest(path: "/", authorization: "bearer  \(secret)"))
    else {
      Issue.record("the control")
      return
    }
    #expect(key.name == "shop")
  }
}
