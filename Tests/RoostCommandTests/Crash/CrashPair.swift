// Two who talk, with ICE, DTLS and SRTP, from before the crash until it comes; and what the next server has to know of it.
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

/// A call in which both hear each other, and of which that is on disk.
struct CrashPair: Sendable {
  private static let users = ["talker0", "talker1"]
  /// Shared by all pairs, which come one after the other.
  private static let driver = MediaDriver()

  private let people: [SyntheticParticipant]
  /// As it was before the crash.
  private let call: Call

  /// Looks at what has become of `last`, the pair before the crash. Where theirs is a group they go on, and now and then hang
  /// up and call anew, as they do otherwise.
  init(_ url: String, after last: Self?, _ what: String) async throws {
    var people: [SyntheticParticipant] = []
    var sessions: [RoostSession] = []
    for user in Self.users {
      people.append(try SyntheticParticipant(Self.plan(url, user), driver: Self.driver))
      sessions.append(try await people[people.count - 1].connect())
    }
    self.people = people
    try await last?.check(sessions, what)
    if let last, last.call.kind == .group {
      for one in people { try await one.enter(by: .call(.join(CallJoinParams(callId: last.call.callId)))) }
      try await Self.talk(people)
      if Bool.random() { for session in sessions { try await session.call(last.call.callId).hangup() } }
    }
    let id =
      if let current = try await sessions[0].currentCall() { current.callId } else { try await Self.begin(people) }
    try await Self.talk(people)
    call = try await sessions[0].call(id).refresh()
    #expect(call.state == .active && call.startedAt != nil, "\(what): \(call)")
    // What is told to be stored comes after all of it.
    let chat = ChatSendParams(room: call.room, text: "we talk")
    guard case .chatSent(let sent) = try await sessions[1].request(.chat(.send(chat))) else { throw Unexpected() }
    #expect(sent.stored, "\(what)")
  }

  private static func plan(_ url: String, _ user: String) -> SyntheticConfiguration {
    var plan = SyntheticConfiguration(url: url, room: "", user: user)
    (plan.deviceId, plan.session, plan.video) = ("phone", .once, [])
    return plan
  }

  private static func begin(_ people: [SyntheticParticipant]) async throws -> String {
    let start = CallStartParams(to: [users[1]], kind: Bool.random() ? .oneToOne : .group, media: .audio)
    guard case .callStarted(let started) = try await people[0].enter(by: .call(.start(start))) else {
      throw Unexpected()
    }
    try await people[1].enter(by: .call(.accept(CallAcceptParams(callId: started.call.callId))))
    return started.call.callId
  }

  private static func talk(_ people: [SyntheticParticipant]) async throws {
    for one in people {
      let isHeard = await eventually { await one.statistics.received.contains { $0.isActive && $0.packets >= 5 } }
      try #require(isHeard, "nobody is heard")
    }
  }

  /// The server is gone: so are they.
  func vanish() async { for one in people { await one.vanish() } }

  // MARK: - After the crash

  private func check(_ sessions: [RoostSession], _ what: String) async throws {
    for (user, session) in zip(Self.users, sessions) {
      let now = try await session.call(call.callId).refresh()
      #expect(
        now.createdAt == call.createdAt && now.startedAt == call.startedAt && now.rev >= call.rev, "\(what): \(now)")
      if call.kind == .group {
        #expect(await session.hello.current?.callId == call.callId && now.state == .active, "\(what): \(now)")
      } else {
        #expect(now.state == .ended && now.reason == .stopped, "\(what): \(now)")
        let record = try await session.callHistory().records.first { $0.callId == call.callId }
        checkRecord(try #require(record, "\(what): \(user) has no record"), of: user, what)
      }
    }
  }

  /// He talked until the restart, whose time is the end.
  private func checkRecord(_ record: CallRecord, of user: String, _ what: String) {
    #expect(record.result == .answered && record.reason == .stopped && !record.elsewhere, "\(what): \(record)")
    #expect((record.direction == .outgoing) == (user == Self.users[0]), "\(what): \(record)")
    let (answeredAt, startedAt) = (record.answeredAt ?? .max, call.startedAt ?? .min)
    #expect(answeredAt <= startedAt && startedAt <= record.endedAt, "\(what): \(record) of \(call)")
    #expect(abs(record.durationMs - (record.endedAt - answeredAt)) <= 2, "\(what): \(record)")
  }
}

/// A reply of another kind than the request's.
private struct Unexpected: Error {}
