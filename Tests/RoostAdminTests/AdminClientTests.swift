// What the Swift package asks of the API, and what it makes of answers, with a transport that keeps what it is given.
import Basics
import Foundation
import RoostProtocol
import Testing

@testable import RoostAdmin

/// Answers with what it is given, and keeps what was asked.
final class Kept: AdminTransport {
  private let all = Locked<[AdminRequest]>([])
  private let answer: @Sendable (AdminRequest) throws -> AdminAnswer

  init(answering answer: @escaping @Sendable (AdminRequest) throws -> AdminAnswer) { self.answer = answer }

  convenience init(_ status: Int, headers: [String: String] = [:], _ content: String) {
    self.init { _ in AdminAnswer(status: status, headers: headers, content: Array(content.utf8)) }
  }

  convenience init(_ content: String = "{}") { self.init(200, content) }

  var requests: [AdminRequest] { all.withLock { $0 } }

  func send(_ request: AdminRequest) async throws -> AdminAnswer {
    all.withLock { $0.append(request) }
    return try answer(request)
  }

  /// A client that asks by it.
  func client(secret: String = "s", realm: String? = nil, at base: String = "http://roost") -> AdminClient {
    AdminClient(at: base, secret: secret, realm: realm, transport: self)
  }
}

/// What an operation throws; nil where it does not.
func error(of operation: () async throws(AdminError) -> some Any) async -> AdminError? {
  do throws(AdminError) {
    _ = try await operation()
    return nil
  } catch {
    return error
  }
}

@Suite struct AdminClientTests {
  @Test func aRequestHasSecretContentAndName() async throws {
    let kept = Kept(201, #"{"callId":"c","kind":"oneToOne"}"#)
    let client = kept.client(secret: "  a long text \n", at: "http://roost:9091//")
    _ = await error { () throws(AdminError) in
      try await client.startCall(CallWish(from: "anna", to: ["ben"], media: .audio), once: "order-17")
    }
    let request = try #require(kept.requests.first)
    #expect(request.method == "POST" && request.url == "http://roost:9091/api/v1/calls")
    #expect(
      request.headers == [
        "Authorization": "Bearer a long text", "Content-Type": "application/json", "Idempotency-Key": "order-17",
      ])
    #expect(String(decoding: request.content, as: UTF8.self) == #"{"from":"anna","to":["ben"],"media":"audio"}"#)
    // The control: what says nothing has no content and no type.
    _ = await error { () throws(AdminError) in try await client.endRoom(room: "demo") }
    #expect(kept.requests.last?.content == [] && kept.requests.last?.headers.count == 1)
  }

  /// The server refuses a null.
  @Test func absentStaysAbsent() async throws {
    let kept = Kept(#"{"room":"A"}"#)
    _ = await error { () throws(AdminError) in try await kept.client().changeRoom(room: "A", RoomChange(locked: true)) }
    _ = await error { () throws(AdminError) in try await kept.client().changeRoom(room: "A", RoomChange()) }
    #expect(kept.requests.map { String(decoding: $0.content, as: UTF8.self) } == [#"{"locked":true}"#, "{}"])
  }

  @Test(arguments: [
    ("A/B", "A%2FB"), ("ä?&=#", "%C3%A4%3F%26%3D%23"), ("a.b-c_d~", "a.b-c_d~"), ("...", "..."), ("%41", "%2541"),
    ("a b\n", "a%20b%0A"),
  ]) func segmentsAreEncoded(name: String, segment: String) async throws {
    let kept = Kept()
    _ = await error { () throws(AdminError) in try await kept.client().readRoom(room: name) }
    #expect(kept.requests.map(\.url) == ["http://roost/api/v1/rooms/\(segment)"])
  }

  /// Clients of HTTP make another path of these.
  @Test(arguments: ["", ".", ".."]) func whatNoPathCanSayIsNotSent(name: String) async {
    let kept = Kept()
    let error = await error { () throws(AdminError) in try await kept.client().endRoom(room: name) }
    #expect(error == .invalid("“\(name)” cannot be said in a path.") && kept.requests == [])
  }

  @Test func theRealmIsSaid() async throws {
    let kept = Kept()
    let clinic = kept.client(realm: "clinic")
    _ = await error { () throws(AdminError) in try await clinic.listBans(page: 2, room: "A&B") }
    _ = await error { () throws(AdminError) in try await clinic.listBans() }
    _ = await error { () throws(AdminError) in try await kept.client().listBans() }
    let path = "http://roost/api/v1/bans"
    #expect(kept.requests.map(\.url) == ["\(path)?page=2&room=A%26B&realm=clinic", "\(path)?realm=clinic", path])
  }

  @Test func aProblemIsThrown() async throws {
    let text = #"{"title":"Conflict","status":409,"detail":"It is full.","code":2002,"name":"ROOM_FULL"}"#
    let kept = Kept(409, headers: ["retry-after": "3", "etag": "\"0af\""], text)
    let error = try #require(await error { () throws(AdminError) in try await kept.client().listCalls() })
    let problem = try #require(error.problem)
    #expect(problem.status == 409 && problem.code == 2002 && problem.name == "ROOM_FULL" && problem.field == nil)
    #expect(error.description == "It is full. (ROOM_FULL, 409)")
    guard case .refused(let refusal) = error else { return }
    #expect(refusal.retryAfter == 3 && refusal.version == "0af")
    // The control: with a status of success it is an answer.
    let calls = try await Kept(#"{"calls":[],"next":2}"#).client().listCalls()
    #expect(calls == CallPage(calls: [], next: 2))
  }

  @Test(arguments: [(502, "<html>"), (308, ""), (200, "<html>"), (200, #"{"calls":1}"#), (401, "{}")])
  func whatIsNotOfTheAPIIsSaid(status: Int, content: String) async throws {
    let error = await error { () throws(AdminError) in try await Kept(status, content).client().listCalls() }
    #expect(error == .unreadable(status: status))
  }

  @Test func whoCannotBeReachedIsSaid() async throws {
    struct Away: Error {}
    let kept = Kept { _ throws in throw Away() }
    let error = await error { () throws(AdminError) in try await kept.client().listCalls() }
    #expect(error == .unreachable("Away()"))
    // The control: it was given up.
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await RoostAdminTests.error { () throws(AdminError) in try await kept.client().listCalls() }
    }
    #expect(await task.value == .cancelled)
  }

  @Test func aConditionIsAHeader() async throws {
    let kept = Kept(#"{"removed":1}"#)
    let client = kept.client()
    let conditions: [IfMatch?] = [.any, .version("0af"), nil]
    for condition in conditions {
      let _: RemovedCount = try await client.ask("DELETE", ["rooms"], ifMatch: condition)
    }
    #expect(kept.requests.map { $0.headers["If-Match"] } == ["*", "\"0af\"", nil])
    for version in ["", "a\"b", "a b", "a\r\nX-Y: z", "ä"] {
      let error = await error { () throws(AdminError) in
        try await client.ask("DELETE", ["rooms"], ifMatch: .version(version)) as RemovedCount
      }
      if case .invalid? = error { continue }
      Issue.record("\(version): \(String(describing: error))")
    }
    #expect(kept.requests.count == 3, "they were not sent")
  }

  /// What the server passes on without looking into it.
  @Test func rawJSONComesBackAsItWas() async throws {
    let extra = try #require(RawJSON(text: #"{ "b" : 1.0, "a":[ 123456789012345678901, 1e400 ] }"#))
    let kept = Kept()
    _ = await error { () throws(AdminError) in
      try await kept.client().invite(call: "c", InviteWish(users: ["ben"], extra: extra))
    }
    #expect(String(decoding: kept.requests[0].content, as: UTF8.self) == #"{"users":["ben"],"extra":\#(extra.text)}"#)
    let events = [
      #"{"number":1,"type":"call.started","call":{"extra":\#(extra.text)}}"#, #"{"number":2,"push":"x","a":1.50}"#,
    ]
    let page = try await Kept(#"{"events":[\#(events.joined(separator: " , "))],"last":2}"#).client().listEvents()
    #expect(page.events.map(\.text) == events && page.last == 2)
    let none = try await Kept(#"{"events":[ ],"last":0,"lost":{"from":1,"to":4}}"#).client().listEvents(after: 0)
    #expect(none.events == [] && none.lost == EventRange(from: 1, to: 4))
  }

  @Test func theSecretIsNotShown() {
    let client = Kept().client(secret: "sesame")
    var dumped = ""
    dump(client, to: &dumped)
    let shown = "\(client) \(String(reflecting: client)) \(dumped)"
    #expect(!shown.contains("sesame") && shown.contains("http://roost"))
  }

  /// A transport of one's own may log what it is given.
  @Test func aRequestDoesNotShowTheSecret() async throws {
    let kept = Kept()
    _ = await error { () throws(AdminError) in try await kept.client(secret: "sesame").endCall(call: "c") }
    let request = try #require(kept.requests.first)
    #expect(request.headers["Authorization"] == "Bearer sesame", "the control")
    var dumped = ""
    dump(request, to: &dumped)
    let shown = "\(request) \(String(reflecting: request)) \(dumped)"
    #expect(!shown.contains("sesame") && shown.contains("DELETE http://roost/api/v1/calls/c"))
  }

  @Test(arguments: ["a\nb", "a\r\nX-Y: z", "ä", "a\u{0}"])
  func aSecretThatIsNoHeaderIsNotSent(secret: String) async {
    let kept = Kept()
    let error = await error { () throws(AdminError) in try await kept.client(secret: secret).endCall(call: "c") }
    #expect(error == .invalid("The secret has a line end in it, or what is not ASCII.") && kept.requests == [])
  }

  @Test(arguments: [
    ("a\"b", true), (String(repeating: "k", count: 255), true), (String(repeating: "k", count: 256), false),
    ("", false),
    ("a b", false), ("ä", false), ("a\nb", false),
  ]) func aKeyIsWhatTheServerTakes(key: String, isTaken: Bool) async {
    let kept = Kept()
    let error = await error { () throws(AdminError) in
      try await kept.client().makeRoom(RoomWish(room: "A", kind: "k"), once: key)
    }
    if case .invalid? = error { #expect(!isTaken) } else { #expect(isTaken) }
    #expect(kept.requests.map { $0.headers["Idempotency-Key"] } == (isTaken ? [key] : []))
  }

  /// As nginx does it with what it compresses.
  @Test(arguments: ["\"0af\"", "W/\"0af\""]) func aWeakTagIsAVersion(tag: String) async throws {
    let kept = Kept(412, headers: ["etag": tag], #"{"title":"Precondition Failed","status":412}"#)
    let error = await error { () throws(AdminError) in try await kept.client().listCalls() }
    guard case .refused(let refusal)? = error else { throw try #require(error) }
    #expect(refusal.version == "0af")
  }
}
