// The operator's routes: who is let in, what is asked of the conference, and how its answer reads.
import Basics
import Calls
import Foundation
import RoostProtocol
import Testing
import WebSockets

@testable import Admin
@testable import Members

private let here = range("203.0.113.7")
private let wide = range("2001:db8::/32")

private func range(_ text: String) -> AddressRange {
  guard let range = AddressRange(text) else { preconditionFailure("\(text) is a range") }
  return range
}

@Suite struct OperatorRoutesTests {
  private func ask(
    _ method: HTTPMethod, _ path: String, _ arguments: [String: String] = [:], isWhole: Bool = true,
    authorization: String? = "Bearer right",
    answer: Result<OperatorAnswer, ErrorObject> = .success(.removed(1))
  ) async throws -> (status: Int, body: String, action: OperatorAction?) {
    let asked = Asked()
    let operators = OperatorRoutes(permission: { $0.authorization == "Bearer right" ? .granted : .refused }) {
      action, _, _, reply in
      asked.action.withLock { $0 = action }
      reply(answer)
    }
    let route = try #require(operators.routes.first { $0.match == .path(path) })
    #expect(route.methods.contains(method))
    let request = HTTPRequest(
      method, path: path, arguments: arguments, isQueryWhole: isWhole, authorization: authorization)
    let response = await withCheckedContinuation { answered in
      route.handler(request) { answered.resume(returning: $0) }
    }
    return (response.status, String(decoding: response.body, as: UTF8.self), asked.action.withLock { $0 })
  }

  private final class Asked: Sendable { let action = Locked<OperatorAction?>(nil) }

  @Test(
    arguments: [
      (HTTPMethod.get, "/admin/rooms", [:], OperatorAction.look),
      (.delete, "/admin/rooms", ["room": "demo"], .closeRoom("demo")),
      (.delete, "/admin/people", ["room": "demo", "user": "anna"], .remove(user: "anna", room: "demo")),
      (.delete, "/admin/people", ["call": "c1", "user": "anna"], .removeFromCall(user: "anna", call: "c1")),
      (.delete, "/admin/calls", ["call": "c1"], .endCall("c1")),
      (.put, "/admin/locks", ["room": "demo"], .setLocked(true, room: "demo")),
      (.delete, "/admin/locks", ["room": "demo"], .setLocked(false, room: "demo")),
      (.get, "/admin/bans", ["room": "demo"], .bans(room: "demo")),
      (.delete, "/admin/bans", ["room": "demo", "user": "anna"], .liftBan(user: "anna", room: "demo")),
      (.get, "/admin/bans", [:], .bans(room: nil)),
      (.put, "/admin/bans", ["address": "203.0.113.7"], .banAddress(here, room: nil, until: nil)),
      (
        .put, "/admin/bans", ["address": "2001:db8::/32", "room": "demo", "until": "5"],
        .banAddress(wide, room: "demo", until: 5)
      ),
      (
        .put, "/admin/bans", ["user": "anna", "room": "demo", "until": "5"],
        .banAddressOf(user: "anna", room: "demo", until: 5)
      ),
      (.delete, "/admin/bans", ["address": "203.0.113.7"], .liftAddress(here, room: nil)),
      (.delete, "/admin/bans", ["address": "203.0.113.7", "room": "demo"], .liftAddress(here, room: "demo")),
      (.get, "/admin/bans", ["room": "demo", "page": "2"], .bans(room: "demo", page: 2)),
      (.get, "/admin/blocks", [:], .blockCounts()),
      (.get, "/admin/blocks", ["page": "3"], .blockCounts(page: 3)),
      (.get, "/admin/blocks", ["user": "anna"], .blocks(of: "anna")),
      (.put, "/admin/revoked", ["jti": "t-1"], .revoke("t-1")), (.get, "/admin/revoked", [:], .revoked()),
      (.get, "/admin/revoked", ["page": "2"], .revoked(page: 2)),
      (.delete, "/admin/revoked", ["jti": "t-1"], .liftRevocation("t-1")),
      (
        .put, "/admin/grants", ["user": "anna", "grants": "join,publish:audio"],
        .narrow(user: "anna", to: [.join, .publishAudio], room: nil)
      ),
      (
        .put, "/admin/grants", ["user": "anna", "grants": "none", "room": "demo"],
        .narrow(user: "anna", to: [], room: "demo")
      ),
      (.put, "/admin/media", ["room": "demo", "media": "audio"], .setMedia(.audio, room: "demo")),
      (.get, "/admin/grants", [:], .narrowings(of: nil)),
      (.get, "/admin/grants", ["user": "anna", "page": "2"], .narrowings(of: "anna", page: 2)),
      (.delete, "/admin/grants", ["user": "anna"], .liftNarrowings(of: "anna", room: nil)),
      (.delete, "/admin/grants", ["user": "anna", "room": "demo"], .liftNarrowings(of: "anna", room: "demo")),
      (.delete, "/admin/blocks", ["user": "anna"], .liftBlocks(of: "anna", blocked: nil)),
      (.delete, "/admin/blocks", ["user": "anna", "blocked": "ben"], .liftBlocks(of: "anna", blocked: "ben")),
    ] as [(HTTPMethod, String, [String: String], OperatorAction)])
  func eachRequestIsAWish(
    _ method: HTTPMethod, _ path: String, _ arguments: [String: String], _ action: OperatorAction
  ) async throws {
    let answer = try await ask(method, path, arguments)
    #expect(answer.status == 200 && answer.action == action && answer.body == "{\"removed\":1}\n")
    for (authorization, status) in [(nil, 401), ("Bearer wrong", 403), ("", 403)] as [(String?, Int)] {
      let refused = try await ask(method, path, arguments, authorization: authorization)
      #expect(refused.status == status && refused.action == nil && refused.body.contains("admin.token"))
    }
    guard method != .get, !["/admin/bans", "/admin/blocks", "/admin/revoked"].contains(path) || method == .delete,
      action != .look
    else { return }
    let lacking = try await ask(method, path, [:])
    #expect(lacking.status == 400 && lacking.action == nil && lacking.body.contains("in the query"))
  }

  /// Better nothing than something else than what was meant.
  @Test func aQueryThatSaysMoreThanIsUnderstoodDoesNothing() async throws {
    let requests: [(HTTPMethod, String, [String: String], isWhole: Bool)] = [
      (.delete, "/admin/rooms", ["room": "A"], false), (.get, "/admin/rooms", ["page": "2"], true),
      (.delete, "/admin/rooms", ["room": "A", "user": "anna"], true),
      (.delete, "/admin/people", ["room": "A", "user": "anna", "call": "c1"], true),
      (.delete, "/admin/calls", ["call": "c1", "user": "anna"], true),
      (.put, "/admin/locks", ["room": "A", "x": ""], true),
      (.get, "/admin/bans", ["room": "A", "user": "anna"], true),
      (.get, "/admin/bans", ["address": "203.0.113.7"], true),
      (.put, "/admin/bans", ["address": "203.0.113.7", "user": "anna"], true),
      (.delete, "/admin/bans", ["address": "203.0.113.7", "user": "anna"], true),
      (.delete, "/admin/bans", ["address": "203.0.113.7", "until": "5"], true),
      (.get, "/admin/blocks", ["user": "anna", "page": "1"], true), (.get, "/admin/blocks", ["room": "A"], true),
      (.delete, "/admin/blocks", ["user": "anna", "room": "A"], true),
      (.put, "/admin/revoked", ["jti": "t", "user": "anna"], true), (.get, "/admin/revoked", ["jti": "t"], true),
      (.put, "/admin/grants", ["user": "anna", "grants": "join", "jti": "t"], true),
    ]
    for (method, path, arguments, isWhole) in requests {
      let refused = try await ask(method, path, arguments, isWhole: isWhole)
      #expect(refused.status == 400 && refused.action == nil && refused.body.contains("query: expected"), "\(refused)")
    }
  }

  /// Nothing that is meant is taken for everything.
  @Test func whatIsEmptyOrNoNumberIsRefused() async throws {
    let requests: [(HTTPMethod, String, [String: String])] = [
      (.get, "/admin/bans", ["room": ""]), (.get, "/admin/blocks", ["user": ""]),
      (.put, "/admin/bans", ["user": "anna"]), (.put, "/admin/bans", ["user": "", "room": "demo"]),
      (.put, "/admin/revoked", ["jti": ""]), (.delete, "/admin/revoked", [:]),
      (.put, "/admin/grants", ["user": "anna"]), (.put, "/admin/grants", ["user": "anna", "grants": ""]),
      (.put, "/admin/grants", ["user": "anna", "grants": "join,fly"]),
      (.put, "/admin/grants", ["user": "anna", "grants": "join", "room": ""]),
      (.delete, "/admin/blocks", ["user": "anna", "blocked": ""]), (.delete, "/admin/blocks", ["blocked": "ben"]),
    ]
    let addresses = ["", "everywhere", "203.0.113", "203.0.113.7/24", "203.0.113.7:80", "0.0.0.0/0"].flatMap { text in
      [HTTPMethod.put, .delete].map { ($0, "/admin/bans", ["address": text]) }
    }
    let times = ["", "-5", "soon", "1e9", "1000000000000000", "５"].map {
      (HTTPMethod.put, "/admin/bans", ["address": "203.0.113.7", "until": $0])
    }
    let rooms = [HTTPMethod.put, .delete].map { ($0, "/admin/bans", ["address": "203.0.113.7", "room": ""]) }
    let pages = ["", "0", "-1", "x", "1000000", "２"].map { (HTTPMethod.get, "/admin/bans", ["page": $0]) }
    for (method, path, arguments) in requests + pages + addresses + times + rooms {
      let refused = try await ask(method, path, arguments)
      #expect(refused.status == 400 && refused.action == nil, "\(refused)")
    }
  }

  @Test func listsReadAsJSON() async throws {
    let bans = [KeptBan(room: "x", user: "anna", until: 5, by: "H")]
    let paged = try await ask(.get, "/admin/bans", answer: .success(.bans(bans, next: 2)))
    #expect(paged.body == #"{"bans":[{"by":"H","room":"x","until":5,"user":"anna"}],"next":2}"# + "\n")
    let addresses = [
      KeptAddressBan(.init(room: "x", address: here, user: "carl"), until: 9, by: "H"),
      KeptAddressBan(.init(room: nil, address: wide, user: nil), until: 7, by: nil),
    ]
    let mixed = try await ask(.get, "/admin/bans", answer: .success(.bans(bans, addresses: addresses)))
    let user = #"{"by":"H","room":"x","until":5,"user":"anna"}"#
    let address = #"{"address":"203.0.113.7","by":"H","room":"x","until":9,"user":"carl"}"#
    let network = #"{"address":"2001:db8::/32","until":7}"#
    #expect(mixed.body == #"{"bans":[\#(user),\#(address),\#(network)]}"# + "\n")
    #expect(try await ask(.get, "/admin/bans", answer: .success(.bans([]))).body == "{\"bans\":[]}\n")
    let counts = BlockCounts(count: 3, limit: 9, users: [.init(user: "anna", blocks: 3)])
    let counted = try await ask(.get, "/admin/blocks", answer: .success(.blockCounts(counts, next: nil)))
    #expect(counted.body == #"{"count":3,"limit":9,"users":[{"blocks":3,"user":"anna"}]}"# + "\n")
    let next = try await ask(.get, "/admin/blocks", answer: .success(.blockCounts(counts, next: 4)))
    #expect(next.body == #"{"count":3,"limit":9,"next":4,"users":[{"blocks":3,"user":"anna"}]}"# + "\n")
    let blocks = [KeptBlock(user: "anna", blocked: "ben")]
    let seen = try await ask(.get, "/admin/blocks", ["user": "anna"], answer: .success(.blocks(blocks)))
    #expect(seen.body == #"{"blocks":[{"blocked":"ben","user":"anna"}]}"# + "\n")
  }

  @Test func whatIsNotThereIs404() async throws {
    let missing = try await ask(
      .delete, "/admin/rooms", ["room": "x"], answer: .failure(ErrorObject(.roomNotFound)))
    #expect(missing.status == 404)
    #expect(missing.body.contains(#""code":2001"#) && missing.body.contains("There is no such room."))
    let locked = try await ask(.put, "/admin/locks", ["room": "x"], answer: .success(.locked(true)))
    #expect(locked.body == "{\"locked\":true}\n")
    let bans = [
      KeptBan(room: "x", user: "anna", until: 5, by: "H"), KeptBan(room: "x", user: "ben", until: nil, by: "H"),
    ]
    let banned = try await ask(.get, "/admin/bans", ["room": "x"], answer: .success(.bans(bans)))
    #expect(
      banned.body
        == #"{"bans":[{"by":"H","room":"x","until":5,"user":"anna"},{"by":"H","room":"x","user":"ben"}]}"# + "\n")
    let full = ErrorObject.tooLarge("address", limit: 2_000, count: 2_001)
    let refused = try await ask(.put, "/admin/bans", ["address": "203.0.113.7"], answer: .failure(full))
    #expect(refused.status == 409 && refused.body.contains(#""code":1010"#))
    let lifted = try await ask(.delete, "/admin/bans", ["room": "x", "user": "a"], answer: .success(.lifted(1)))
    #expect(lifted.body == "{\"lifted\":1}\n")
    let opened = try await ask(
      .delete, "/admin/locks", ["room": "x"], answer: .success(.locked(false, lifted: [.lock, .lobby])))
    #expect(opened.body == #"{"lifted":["lock","lobby"],"locked":false}"# + "\n")
    let many = ErrorObject.limit(.roomFull, limit: 3, count: 4)
    let tooMany = try await ask(.put, "/admin/media", ["room": "x", "media": "audio"], answer: .failure(many))
    #expect(tooMany.status == 409 && tooMany.body.contains(#""code":2002"#))
    let ben = Participant(
      participantId: "p1", user: "ben", displayName: "Ben", state: .joined, metadata: .emptyObject, tracks: [])
    let room = OperatorOverview.Room(
      room: "demo", origin: .configured, kind: "demo", media: .video, limit: 3, locked: false, lobby: true,
      chatDisabled: false,
      waiting: [Waiting(user: "cleo", displayName: "Cleo")],
      participants: [.init(participant: ben, entrance: .whip)])
    let seen = try await ask(.get, "/admin/rooms", answer: .success(.overview(.init(rooms: [room], calls: []))))
    let person =
      #"{"displayName":"Ben","door":"whip","metadata":{},"participantId":"p1","state":"joined","tracks":[],"user":"ben"}"#
    let waiting = #"{"displayName":"Cleo","user":"cleo"}"#
    let line =
      #"{"chatDisabled":false,"kind":"demo","limit":3,"lobby":true,"locked":false,"media":"video","#
      + #""participants":[\#(person)],"room":"demo","waiting":[\#(waiting)]}"#
    #expect(seen.body == #"{"calls":[],"rooms":[\#(line)]}"# + "\n")
  }
}
