// What one user and one address may have of sessions and rooms.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ShareTests {
  private static let here: UInt32 = 0xc000_0201
  private static let elsewhere: UInt32 = 0xc000_0202

  /// Everybody is proved to be who they say, and comes from `host`.
  private func scene(
    sessions: Int = 1_000, addressSessions: Int = 1_000, rooms: Int = 1_000, addressRooms: Int = 1_000
  ) -> Scene {
    var rules = ConferenceRules.test
    (rules.maxSessionsPerUser, rules.maxSessionsPerNetwork) = (sessions, addressSessions)
    (rules.maxRoomsPerUser, rules.maxRoomsPerNetwork) = (rooms, addressRooms)
    let scene = Scene(rules)
    scene.isVerified = true
    come(from: Self.here, scene)
    return scene
  }

  private func come(from host: UInt32?, _ scene: Scene, client: UInt64? = nil) {
    scene.proof = {
      $0.network = host.map { PeerNetwork(SocketAddress(v4: $0, port: 1)) }
      $0.client = client.map { ConnectionID($0, door: DoorID(2)) }
    }
  }

  private func refusal(_ result: Result<some Sendable, ErrorObject>) -> ErrorObject? {
    if case .failure(let error) = result { error } else { nil }
  }

  private func isShare(_ error: ErrorObject?, _ name: String, _ limit: Int) -> Bool {
    error?.code == .overloaded && error?.data.reason == name && error?.data.limit == limit
      && error?.data.retryable == true
  }

  // MARK: - Sessions

  @Test func aUserHasSoManySessionsAndNoMore() throws {
    let scene = scene(sessions: 3)
    let clients = (0..<3).map { scene.client("A", "d\($0)") }
    let error = refusal(scene.hello(scene.stranger("A", "d3")))
    #expect(isShare(error, "sessions_per_user", 3) && error?.data.retryAfterMs == nil)
    #expect(scene.counters[.sessionRefused(.overloaded)] == 1)
    #expect(refusal(scene.hello(scene.stranger("B"))) == nil, "others have their own")
    // One's own device is replaced, also at the bound, and time after time.
    for _ in 0..<3 { #expect(refusal(scene.hello(scene.stranger("A", "d1"))) == nil) }
    #expect(clients[1].closed == .replaced)
    #expect(refusal(scene.hello(scene.stranger("A", "d3"))) != nil)
    scene.request(clients[0], .session(.bye))
    #expect(refusal(scene.hello(scene.stranger("A", "d3"))) == nil)
  }

  /// The default, as operators find it.
  @Test func aUserHasSixtyFourSessionsByDefault() {
    let scene = Scene()
    scene.isVerified = true
    for device in 0..<64 { _ = scene.client("A", "\(device)") }
    #expect(isShare(refusal(scene.hello(scene.stranger("A", "x"))), "sessions_per_user", 64))
  }

  /// Those that wait to be resumed count. One without a seat makes space, of this user alone; one with a seat says when to try again.
  @Test func sessionsThatWaitCount() throws {
    let scene = scene(sessions: 2)
    let (seated, idle, other) = (scene.client("A", "d0"), scene.client("A", "d1"), scene.client("B"))
    _ = try scene.join(seated).get()
    scene.cut(other)
    scene.advance(.milliseconds(10))
    scene.cut(seated)
    let error = refusal(scene.hello(scene.stranger("A", "d2")))
    #expect(isShare(error, "sessions_per_user", 2))
    #expect(error?.data.retryAfterMs == scene.core.rules.resumeGrace.milliseconds)
    scene.cut(idle)
    #expect(refusal(scene.hello(scene.stranger("A", "d2"))) == nil)
    #expect(refusal(scene.resume(idle))?.code == .resumeExpired)
    #expect(refusal(scene.resume(seated)) == nil && refusal(scene.resume(other)) == nil)
  }

  /// All that a client of Flashphoner's SDKs has are one.
  @Test func theRoomsOfOneClientAreOneSession() throws {
    let scene = scene(sessions: 2)
    let first = (0..<5).map { number in
      come(from: Self.here, scene, client: 1)
      return scene.client("A", "f\(number)")
    }
    _ = scene.client("A", "f5")
    come(from: Self.here, scene, client: 2)
    _ = scene.client("A", "g0")
    come(from: Self.here, scene, client: 3)
    #expect(isShare(refusal(scene.hello(scene.stranger("A", "h0"))), "sessions_per_user", 2))
    come(from: Self.here, scene, client: 1)
    let more = scene.client("A", "f6")
    // Only when all of a client's are gone there is space for another.
    come(from: Self.here, scene, client: 3)
    for client in first + [more] { scene.request(client, .session(.bye)) }
    #expect(refusal(scene.hello(scene.stranger("A", "h0"))) != nil)
    scene.request(try #require(scene.clients.values.first { $0.device == "f5" }), .session(.bye))
    #expect(refusal(scene.hello(scene.stranger("A", "h0"))) == nil)
  }

  @Test func anAddressHasSoManySessionsAndNoMore() throws {
    let scene = scene(addressSessions: 3)
    let clients = ["A", "B", "C"].map { scene.client($0) }
    let error = refusal(scene.hello(scene.stranger("D")))
    #expect(isShare(error, "sessions_per_address", 3))
    #expect(error?.data.retryAfterMs == scene.core.rules.resumeGrace.milliseconds)
    #expect(refusal(scene.hello(scene.stranger("A"))) == nil, "a page is loaded anew")
    scene.cut(clients[1])
    #expect(refusal(scene.hello(scene.stranger("D"))) != nil, "those that wait to be resumed count")
    come(from: Self.elsewhere, scene)
    #expect(refusal(scene.hello(scene.stranger("D"))) == nil)
    // Who comes from elsewhere to an address that is full is one too many there, though it is their own session that goes.
    come(from: Self.here, scene)
    #expect(isShare(refusal(scene.hello(scene.stranger("D"))), "sessions_per_address", 3))
    scene.request(clients[2], .session(.bye))
    #expect(refusal(scene.hello(scene.stranger("D"))) == nil)
  }

  /// Names that nobody has proved cost nothing: there the address alone counts, of IPv6 its first 64 bits.
  @Test func withoutTokensTheAddressAloneCounts() throws {
    let scene = scene(sessions: 1, addressSessions: 3, rooms: 1)
    scene.isVerified = false
    func come(_ host: UInt64) {
      scene.proof = { $0.network = PeerNetwork(SocketAddress(high: 0x2001_0db8_0000_0001, low: host, port: 1)) }
    }
    for (device, room) in ["x", "y", "z"].enumerated() {
      come(UInt64(device))
      #expect(refusal(scene.join(scene.client("A", "d\(device)"), room)) == nil)
    }
    come(77)
    #expect(isShare(refusal(scene.hello(scene.stranger("B"))), "sessions_per_address", 3))
  }

  /// What is kept of events for the sessions of one address has a bound: those of one session make space, and it gets a snapshot.
  @Test func eventsKeptForAnAddressAreBounded() throws {
    var rules = ConferenceRules.test
    rules.replayBytesPerNetwork = 20_000
    let scene = Scene(rules)
    come(from: Self.here, scene)
    let (a, b) = (scene.client("A"), scene.client("B"))
    come(from: Self.elsewhere, scene)
    let other = scene.client("C")
    for client in [a, b, other] { _ = try scene.join(client).get() }
    let here = PeerNetwork(SocketAddress(v4: Self.here, port: 1))
    /// C writes so many bytes to one of them.
    func write(to user: String) {
      let params = ChatSendParams(room: "demo", text: String(repeating: "x", count: 4_000), to: [user])
      #expect(scene.code(other, .chat(.send(params))) == nil)
    }
    /// Whether a resume could repeat what they were told after so many events.
    func keeps(_ client: Client, after seq: Int) -> Bool {
      let id = scene.core.sessions.table[on: client.connection]
      return id.flatMap { scene.core.sessions.table[$0]?.log.events(after: seq) } != nil
    }
    let (startOfA, startOfB) = (a.lastSeq, b.lastSeq)
    write(to: "A")
    for _ in 0..<3 { write(to: "B") }
    let before = scene.core.sessions.table.keptBytes[here]
    #expect((16_000...20_000).contains(before) && keeps(a, after: startOfA) && keeps(b, after: startOfB))
    write(to: "B")
    #expect(scene.core.sessions.table.keptBytes[here] == before, "the oldest of B's own has made space")
    #expect(keeps(a, after: startOfA) && !keeps(b, after: startOfB) && keeps(b, after: startOfB + 1))
    for client in [a, b] { scene.request(client, .session(.bye)) }
    #expect(scene.core.sessions.table.keptBytes[here] == 0)
  }

  // MARK: - Rooms

  @Test func aUserHoldsSoManyRoomsOpenAndNoMore() throws {
    let scene = scene(rooms: 2)
    let clients = (0..<4).map { scene.client("A", "d\($0)") }
    for (client, room) in zip(clients, ["r0", "r1"]) { _ = try scene.join(client, room).get() }
    let error = refusal(scene.join(clients[2], "r2"))
    #expect(isShare(error, "rooms_per_user", 2) && scene.core.rooms.table[named: "r2"] == nil)
    #expect(scene.counters[.joinRefused(.overloaded)] == 1)
    // A configured one is no room of theirs, and neither is one where others are.
    _ = try scene.join(clients[2], "demo").get()
    let other = scene.client("B")
    _ = try scene.join(other, "theirs").get()
    _ = try scene.join(clients[3], "theirs").get()
    // Who leaves a room for another, with nobody else in it, has no more than before.
    _ = try scene.join(clients[0], "r3").get()
    #expect(scene.core.rooms.table[named: "r0"] == nil)
    // A device takes over in its place.
    let heir = scene.client("A", "d4")
    _ = try scene.join(heir, "r3") { $0.takeover = true }.get()
    #expect(refusal(scene.join(clients[0], "r4")) != nil)
    scene.request(heir, .room(.leave(RoomParams(room: "r3"))))
    _ = try scene.join(clients[0], "r4").get()
  }

  /// The default, as operators find it.
  @Test func aUserHoldsSixteenRoomsByDefault() throws {
    let scene = Scene()
    scene.isVerified = true
    for number in 0..<16 { _ = try scene.join(scene.client("A", "\(number)"), "r\(number)").get() }
    #expect(isShare(refusal(scene.join(scene.client("A", "x"), "x")), "rooms_per_user", 16))
  }

  /// A room is a user's as long as nobody else is in it.
  @Test func whoComesInTakesTheRoomOffTheCount() throws {
    let scene = scene(rooms: 1)
    let (first, second, third) = (scene.client("A", "d0"), scene.client("A", "d1"), scene.client("A", "d2"))
    let guest = scene.client("B")
    _ = try scene.join(first, "r0").get()
    #expect(refusal(scene.join(second, "r1")) != nil)
    _ = try scene.join(guest, "r0").get()
    _ = try scene.join(second, "r1").get()
    #expect(refusal(scene.join(third, "r2")) != nil)
    // The guest leaves: A has one more than may be, and nobody is put out.
    scene.request(guest, .room(.leave(RoomParams(room: "r0"))))
    #expect(scene.core.rooms.table.shares.count(of: "A") == 2)
    #expect(scene.core.seat(of: first.connection) != nil && scene.core.seat(of: second.connection) != nil)
    scene.request(first, .room(.leave(RoomParams(room: "r0"))))
    #expect(refusal(scene.join(third, "r2")) != nil)
    // Gone to the last of them, in the other order: who stays behind holds it.
    _ = try scene.join(guest, "r1").get()
    scene.request(second, .room(.leave(RoomParams(room: "r1"))))
    #expect(scene.core.rooms.table.shares.count(of: "A") == 0 && scene.core.rooms.table.shares.count(of: "B") == 1)
    _ = try scene.join(third, "r2").get()
  }

  /// A room whose only one is away for a moment is held open, and counts until their time is over.
  @Test func aRoomThatWaitsForItsUserCounts() throws {
    let scene = scene(rooms: 1)
    let (first, second) = (scene.client("A", "d0"), scene.client("A", "d1"))
    _ = try scene.join(first, "r0").get()
    scene.cut(first)
    #expect(refusal(scene.join(second, "r1")) != nil)
    scene.advance(scene.core.rules.resumeGrace)
    _ = try scene.join(second, "r1").get()
  }

  /// A call's room is held open by who began it, until somebody answers.
  @Test func aCallIsARoom() throws {
    let scene = scene(rooms: 1)
    let (first, second, other) = (scene.client("A", "d0"), scene.client("A", "d1"), scene.client("B"))
    _ = try scene.join(first, "r0").get()
    let calling = Request.call(.start(CallStartParams(to: ["B"], kind: .oneToOne, media: .audio)))
    #expect(isShare(refusal(scene.request(second, calling)), "rooms_per_user", 1))
    // The room is left for the call.
    let call = try scene.start(first, ["B"]).call
    #expect(refusal(scene.join(second, "r1")) != nil)
    #expect(refusal(scene.request(other, .call(.accept(CallAcceptParams(callId: call.callId))))) == nil)
    _ = try scene.join(second, "r1").get()
  }

  @Test func anAddressHoldsSoManyRoomsOpenAndNoMore() throws {
    let scene = scene(addressRooms: 2)
    scene.isVerified = false
    let clients = ["A", "B", "C", "D"].map { scene.client($0) }
    for (client, room) in zip(clients, ["r0", "r1"]) { _ = try scene.join(client, room).get() }
    let error = refusal(scene.join(clients[2], "r2"))
    #expect(isShare(error, "rooms_per_address", 2))
    #expect(error?.data.retryAfterMs == scene.core.rules.resumeGrace.milliseconds)
    let calling = Request.call(.start(CallStartParams(to: ["D"], kind: .oneToOne, media: .audio)))
    #expect(isShare(refusal(scene.request(clients[2], calling)), "rooms_per_address", 2))
    // Several of the address in one room are one room; and one of another address takes it off the count.
    _ = try scene.join(clients[2], "r0").get()
    #expect(refusal(scene.join(clients[3], "r2")) != nil)
    come(from: Self.elsewhere, scene)
    let other = scene.client("E")
    _ = try scene.join(other, "r0").get()
    _ = try scene.join(clients[3], "r2").get()
    scene.request(other, .room(.leave(RoomParams(room: "r0"))))
    #expect(scene.core.rooms.table.shares.count(of: PeerNetwork(SocketAddress(v4: Self.here, port: 9))) == 3)
  }

  /// Where nobody knows where somebody comes from, and nobody has proved their name, nothing counts.
  @Test func whoIsOfNoAddressCountsForNobody() throws {
    let scene = scene(sessions: 1, addressSessions: 1, rooms: 1, addressRooms: 1)
    scene.isVerified = false
    come(from: nil, scene)
    for name in ["A", "B", "C"] { _ = try scene.join(scene.client(name), "r\(name)").get() }
  }
}
