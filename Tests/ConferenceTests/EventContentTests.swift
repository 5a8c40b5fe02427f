// What webhook subscribers are told of rooms and tracks, and that it is enough for a bill.

import Basics
import Members
import RoostProtocol
import TestSupport
import Testing

@testable import Calls
@testable import Conference
@testable import Rooms

@Suite struct EventContentTests {
  private func scene() -> Scene {
    var rules = ConferenceRules.test
    rules.calls.isFollowed = true
    return Scene(rules)
  }

  @Test func roomsSayWhoAndHowMany() throws {
    let scene = scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let seats = [try scene.join(a, "x").get(), try scene.join(b, "x").get()].map(\.selfId)
    scene.cut(b, clean: true)
    _ = scene.operate(.closeRoom("x"))
    #expect(scene.hooks.map(\.type) == [.roomOpened, .roomJoined, .roomJoined, .roomLeft, .roomLeft, .roomClosed])
    #expect(scene.hooks.map(\.count) == [0, 1, 2, 1, 0, 0])
    #expect(scene.hooks.map(\.participantId) == [nil, seats[0], seats[1], seats[1], seats[0], nil])
  }

  @Test func tracksAreToldFromTheirBeginningToTheirEnd() throws {
    let scene = scene()
    let a = scene.client("a")
    let seat = try scene.join(a, "x").get().selfId
    let tracks = try scene.publish(a, ["0:audio", "1:video"])
    scene.hooks = []
    let id = try #require(tracks.values.sorted().first)
    for request in [TrackRequest.mute, TrackRequest.unmute, TrackRequest.unpublish] {
      _ = scene.request(a, .track(request(TrackParams(trackId: id))))
    }
    #expect(scene.hooks.map(\.type) == [.trackMuted, .trackUnmuted, .trackUnpublished])
    #expect(scene.hooks.allSatisfy { $0.track?.trackId == id && $0.participantId == seat && $0.user == "a" })
    #expect(scene.hooks.map { $0.track?.muted } == [true, false, false])
    scene.hooks = []
    _ = scene.request(a, .room(.leave(RoomParams(room: "x"))))
    #expect(scene.hooks.map(\.type) == [.trackUnpublished, .roomLeft, .roomClosed])
  }

  /// Who goes on on another device is silent there until they are heard, though nobody says that they have stopped: nothing of the room is left
  /// on its worker for a moment.
  @Test func whoChangesDevicesIsHeardOnTheNewOne() throws {
    let scene = scene()
    scene.isVerified = true
    let old = scene.client("a")
    _ = try scene.join(old, "x").get()
    let seat = try scene.seat(old)
    let room = try #require(scene.core.rooms.table.seats[seat]?.room)
    scene.apply(.activeSpeakers(room, [SpeakerLevel(seat: seat, level: 100)]))
    scene.advance(.seconds(3))
    let new = scene.client("a", "d2")
    _ = try scene.join(new, "x") { $0.takeover = true }.get()
    #expect(try scene.seat(new) != seat)
    scene.advance(.seconds(20))
    scene.hooks = []
    _ = scene.request(new, .room(.leave(RoomParams(room: "x"))))
    #expect(scene.hooks.first { $0.type == .roomLeft }?.stay?.spokenMs == 3_000)
  }

  /// A share of what was lost is no count: nobody knows of how many packets it is one.
  @Test(arguments: [false, true]) func sharesAreNotAddedUp(_ isShare: Bool) throws {
    let scene = scene()
    let a = scene.client("a")
    _ = try scene.join(a, "x").get()
    var report = SeatReport(seat: try scene.seat(a))
    (report.down.expected, report.down.lost, report.down.isShare) = (256, 13, isShare)
    scene.apply(.quality([report]))
    scene.hooks = []
    _ = scene.request(a, .room(.leave(RoomParams(room: "x"))))
    let down = try #require(scene.hooks.first { $0.type == .roomLeft }?.stay?.down)
    #expect((down.packets, down.lost) == (isShare ? (0, 0) : (256, 13)))
  }

  /// For how long somebody spoke, and how their media went, is told when they leave.
  @Test(arguments: [false, true]) func whatAStayWasLikeIsToldAtItsEnd(_ isInCall: Bool) throws {
    let scene = scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    if isInCall { _ = try scene.talk(a, b) } else { for client in [a, b] { _ = try scene.join(client, "x").get() } }
    let seat = try scene.seat(a)
    let room = try #require(scene.core.rooms.table.seats[seat]?.room)
    func speak(_ seats: SeatID..., for time: TimeDelta) {
      scene.apply(.activeSpeakers(room, seats.map { SpeakerLevel(seat: $0, level: 100) }))
      scene.advance(time)
    }
    speak(seat, for: .seconds(3))
    // Louder or not, they go on.
    speak(seat, try scene.seat(b), for: .seconds(2))
    speak(for: .seconds(5))
    for roundTrip in [50, 150] {
      var report = SeatReport(seat: seat)
      var way = WayReport()
      (way.expected, way.lost, way.jitter) = (100, 3, 7)
      (report.tracks, report.down, report.roundTrip) = ([.init(id: TrackID(1), way: way)], way, roundTrip)
      report.frozen = roundTrip == 150 ? 2 : 0
      scene.apply(.quality([report]))
    }
    // Still speaking at the end.
    speak(seat, for: .milliseconds(1_500))
    scene.hooks = []
    let name = scene.core.rooms.table.name(of: room)
    _ = scene.request(a, .room(.leave(RoomParams(room: name))))
    let left = try #require(scene.hooks.first { $0.type == (isInCall ? .callLegEnded : .roomLeft) && $0.user == "a" })
    let stay = try #require(left.stay)
    #expect(left.reason == "left" && left.room == name && left.participantId != nil)
    #expect(stay.spokenMs == 6_500 && stay.measuredMs == 4_000 && stay.frozenMs == 2_000 && stay.pausedMs == 0)
    #expect(stay.up.packets == 200 && stay.up.lost == 6 && stay.up == stay.down && stay.worstJitter == 7)
    #expect(stay.roundTrip == 100 && stay.worstRoundTrip == 150)
    // Who comes again begins anew, and the other has nothing of it.
    if isInCall {
      #expect(scene.hooks.first { $0.type == .callLegEnded && $0.user == "b" }?.stay?.spokenMs == 2_000)
    } else {
      _ = try scene.join(a, "x").get()
      _ = scene.request(a, .room(.leave(RoomParams(room: name))))
      #expect(scene.hooks.last { $0.type == .roomLeft }?.stay == StayFigures())
    }
  }

  @Test func chatIsToldWhereItIsWished() throws {
    func hooks(_ isWished: Bool) throws -> (hooks: [WebhookEvent], seat: String) {
      var rules = ConferenceRules.test
      (rules.calls.isFollowed, rules.tellsChat) = (true, isWished)
      let scene = Scene(rules)
      let (a, _) = try scene.two()
      scene.hooks = []
      // The same message again is told once.
      for _ in 0..<2 {
        let params = ChatSendParams(room: "demo", text: "hi", to: ["B"], clientMsgId: "1")
        #expect(scene.code(a, .chat(.send(params))) == nil)
      }
      let seat = scene.core.rooms.table.seats[try scene.seat(a)].map { "\($0.participant)" }
      return (scene.hooks, seat ?? "")
    }
    let (told, seat) = try hooks(true)
    #expect(told.map(\.type) == [.chatMessage] && told.map(\.room) == ["demo"] && told.map(\.user) == ["A"])
    #expect(told[0].message?.text == "hi" && told[0].message?.to == ["B"] && told[0].participantId == seat)
    #expect(try hooks(false).hooks.isEmpty)
  }

  @Test func nobodyIsToldWhereNobodyFollows() throws {
    let scene = Scene()
    let a = scene.client("a")
    _ = try scene.join(a, "x").get()
    _ = try scene.publish(a, ["0:audio"])
    #expect(scene.hooks.isEmpty)
  }

  /// For who follows events, who is moved leaves one room and comes to the other, with what is published there.
  @Test(arguments: [false, true]) func whoIsMovedLeavesAndComes(_ isOtherWorker: Bool) throws {
    let scene = scene()
    scene.isOtherWorker = isOtherWorker
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    for client in [a, b] { _ = try scene.join(client, "x").get() }
    _ = try scene.join(c, "voice").get()
    let id = scene.core.rooms.table.seats[try scene.seat(b)].map { "\($0.participant)" }
    try scene.publish(b, ["0:audio", "1:video"])
    scene.hooks = []
    #expect(scene.operate(.move(user: "b", room: "x", to: "voice")) == .success(.moved(1)))
    var expected: [WebhookEvent.Kind] = [.trackUnpublished, .trackUnpublished, .roomLeft, .roomJoined]
    // The camera is not taken in a room of sound: there it never was.
    if !isOtherWorker { expected.append(.trackPublished) }
    #expect(scene.hooks.map(\.type) == expected)
    #expect(scene.hooks.map(\.room) == Array(["x", "x", "x", "voice", "voice"].prefix(expected.count)))
    let counts: [Int?] = [nil, nil, 1, 2, nil]
    #expect(scene.hooks.map(\.count) == Array(counts.prefix(expected.count)))
    #expect(scene.hooks[2].reason == "moved" && scene.hooks[2].participantId == id)
    #expect((scene.hooks[3].participantId == id) != isOtherWorker, "new connections are a new seat")
    #expect(isOtherWorker || scene.hooks[4].track?.kind == .audio)
  }

  /// A random hour in which anything happens: what is billed from the events alone is what the server counts itself.
  @Test(arguments: [1, 2, 3] as [UInt64]) func aBillFromEventsIsTheServersOwn(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let hour = RandomConference(seed: seed, isFollowed: true)
    let scene = hour.scene
    let start = scene.now.wallMilliseconds
    var counted = Sums()
    scene.whilePassing = { scene, delta in
      let table = scene.core.rooms.table
      counted.seats += Int64(table.seats.values.count { !table.isInCall($0) }) * delta.milliseconds
      counted.tracks += Int64(scene.core.rooms.media.tracks.count) * delta.milliseconds
    }
    while scene.now.wallMilliseconds - start < 3_600_000 {
      hour.step()
      scene.advance(.milliseconds(.random(in: 0...4_000, using: &random)))
    }
    let end = scene.now.wallMilliseconds
    let events = scene.hooks
    let whole = Bill(events, end: end)
    var bill = whole.sums
    bill.talk = 0
    #expect(counted.seats > 1_000_000 && counted.tracks > 1_000_000, "\(counted)")
    #expect(!whole.isTorn && bill.isWithinASecondAndAPercent(of: counted), "\(bill) for \(counted)")
    // An event that is missing is money.
    for type in [WebhookEvent.Kind.roomLeft, .roomJoined, .trackPublished, .trackUnpublished] {
      let these = events.indices.filter { events[$0].type == type }
      let any = these.randomElement(using: &random)
      let which = try #require(any)
      var rest = events
      rest.remove(at: which)
      let less = Bill(rest, end: end)
      #expect(less.sums != whole.sums || less.isTorn, "\(type) that is missing is seen")
    }
  }

  /// Those who talk in calls, from the answer to the end: as their records say.
  @Test func theTalkOfCallsIsBilledFromEventsToo() throws {
    var random = SplitMix64(seed: 4)
    let scene = scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    var counted = Sums()
    for _ in 0..<60 {
      let talk = try scene.talk(a, b)
      scene.advance(.milliseconds(.random(in: 0...100_000, using: &random)))
      let leaver = Bool.random(using: &random) ? a : b
      _ = scene.request(leaver, .room(.leave(RoomParams(room: talk.room.room))))
      for user in ["a", "b"] {
        let record = scene.core.calls.tables.archive.record(talk.call.callId, of: user)
        counted.talk += record?.record.durationMs ?? 0
      }
      scene.advance(.seconds(1))
    }
    let end = scene.now.wallMilliseconds
    let bill = Bill(scene.hooks, end: end).sums
    #expect(counted.talk > 1_000_000)
    #expect(bill.isWithinASecondAndAPercent(of: counted), "\(bill) for \(counted)")
    for type in [WebhookEvent.Kind.callAccepted, .callEnded] {
      var rest = scene.hooks
      let which = try #require(rest.firstIndex { $0.type == type })
      rest.remove(at: which)
      #expect(!Bill(rest, end: end).sums.isWithinASecondAndAPercent(of: counted), "\(type) that is missing is seen")
    }
  }
}

/// Milliseconds.
private struct Sums: Equatable {
  /// Of seats in rooms, of tracks, and of members of calls from the answer to their end.
  var (seats, tracks, talk) = (Int64(0), Int64(0), Int64(0))

  func isWithinASecondAndAPercent(of other: Self) -> Bool {
    for (own, its) in [(seats, other.seats), (tracks, other.tracks), (talk, other.talk)] {
      let difference = abs(own - its)
      if difference > 1_000 || difference * 100 > its { return false }
    }
    return true
  }
}

/// A bill from events alone.
private struct Bill {
  private(set) var sums = Sums()
  /// Something ended that had not begun, or began twice: an event is missing.
  private(set) var isTorn = false
  private var open: [String: Int64] = [:]
  private var calls: [String: BilledCall] = [:]

  init(_ events: [WebhookEvent], end: Int64) {
    for event in events { take(event) }
    for (name, since) in open {
      if name.hasPrefix("seat") { sums.seats += end - since } else { sums.tracks += end - since }
    }
  }

  private mutating func take(_ event: WebhookEvent) {
    let seat = "seat \(event.participantId ?? "")"
    let track = "track \(event.track?.trackId ?? "")"
    switch event.type {
    case .roomJoined: begin(seat, event.at)
    case .roomLeft: sums.seats += end(seat, event.at)
    case .trackPublished: begin(track, event.at)
    case .trackUnpublished: sums.tracks += end(track, event.at)
    case .callStarted: calls[event.room ?? ""] = BilledCall(caller: event.user ?? "")
    case .callAccepted: calls[event.room ?? ""]?.answered(by: event.user ?? "", at: event.at)
    case .callActive: calls[event.room ?? ""]?.isActive = true
    case .callMemberLeft: calls[event.room ?? ""]?.left(event.user ?? "", at: event.at)
    case .callEnded: sums.talk += calls.removeValue(forKey: event.room ?? "")?.talk(until: event.at, event.reason) ?? 0
    case .roomOpened, .roomClosed, .trackMuted, .trackUnmuted, .chatMessage, .callLegEnded, .callDeclined,
      .callInvited, .callTypeChanged, .serverStarted:
      break
    }
  }

  private mutating func begin(_ name: String, _ at: Int64) {
    if open.updateValue(at, forKey: name) != nil { isTorn = true }
  }

  private mutating func end(_ name: String, _ at: Int64) -> Int64 {
    guard let since = open.removeValue(forKey: name) else {
      isTorn = true
      return 0
    }
    return at - since
  }
}

/// A call as its events tell of it.
private struct BilledCall {
  let caller: String
  var isActive = false
  private var begun: [String: Int64] = [:]
  private var ended: [String: Int64] = [:]
  private var isThere: Set<String>

  init(caller: String) { (self.caller, isThere) = (caller, [caller]) }

  mutating func answered(by user: String, at: Int64) {
    isThere.insert(user)
    begun[user] = begun[user] ?? at
    begun[caller] = begun[caller] ?? at
  }

  mutating func left(_ user: String, at: Int64) {
    isThere.remove(user)
    ended[user] = at
  }

  /// Of all its members.
  func talk(until end: Int64, _ reason: String?) -> Int64 {
    begun.reduce(0) { sum, leg in
      let isPaid = isActive || reason == "hangup"
      let over = isThere.contains(leg.key) ? (isPaid ? end : leg.value) : (ended[leg.key] ?? leg.value)
      return sum + over - leg.value
    }
  }
}
