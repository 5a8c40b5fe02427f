// Scenarios 49 and 52: the server as a process that stops when it is told to, and one that is killed.

import Basics
import Glibc
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  /// What a new connection gets for an old token.
  private func resumes(_ url: String, _ token: String) async throws -> String {
    let raw = try RawClient(url)
    try await raw.open()
    try await raw.say(
      #"{"jsonrpc":"2.0","id":1,"method":"session.resume","params":{"resumeToken":"\#(token)","lastSeq":0}}"#)
    let reply = try await raw.reply(to: 1)
    raw.close(code: 1000)
    return reply
  }

  @Test func scenario49AServerThatStopsSaysSoAndLosesNothing() async throws {
    let server = try ServerProcess(
      """
      limits: {requests_per_second: 100000, request_burst: 1000000, user_requests_per_second: 100000, user_request_burst: 1000000, address_requests_per_second: 1000000, address_request_burst: 10000000}
      calls: {resume_grace: 60s, rings_per_caller: 0, rings_per_callee: 0, rings_per_pair: 0}
      """)
    try server.start()
    let talkers = [try await Phone(talking: server.url, "anna"), try await Phone(talking: server.url, "ben")]
    let talk = try await talkers[0].start(["ben"]).call.callId
    try await talkers[1].rings(talk)
    try await talkers[1].accept(talk)
    for phone in talkers { _ = try await phone.hears(\.active, of: talk) }
    let ringers = [try await Phone(server.url, "carl"), try await Phone(server.url, "dora")]
    let ringing = try await ringers[0].start(["dora"]).call.callId
    try await ringers[1].rings(ringing)
    let circle = [try await Phone(server.url, "emil"), try await Phone(server.url, "finn")]
    let group = try await circle[0].start(["finn"], .group).call.callId
    try await circle[1].rings(group)
    try await circle[1].accept(group)
    let asker = try await Asker(server.url)

    kill(server.identifier, SIGTERM)
    for phone in talkers + ringers + circle {
      let closing = try await phone.hears(\.closing)
      #expect(closing.action == .reconnect && closing.reason == .draining && (closing.retryAfterMs ?? 0) > 0)
    }
    // What cannot outlive the process ends, and everybody is told how.
    for phone in talkers + ringers.prefix(1) {
      let end = try await phone.hears(\.ended)
      #expect(end.reason == .stopped && end.code == 6010)
      #expect(end.record?.result == (phone.user == "carl" ? .failed : .answered), "\(phone.user)")
    }
    let stop = try await ringers[1].hears(\.stopped, of: ringing)
    #expect(stop.reason == .stopped && stop.code == 6010)
    #expect(await server.exitStatus() == 0)
    for phone in circle {
      #expect(await phone.heard(\.ended).isEmpty, "a group is found again")
      #expect(await phone.heard(\.left).isEmpty)
    }
    // Whoever asked before was served, and everybody who asked after it was told to come back later: no new calls.
    let answers = try await asker.answers()
    let last = try #require(answers.firstIndex { $0.contains("session.closing") })
    let late = answers[last...].filter { $0.contains(#""id":"#) }
    #expect(!late.isEmpty && late.allSatisfy { $0.contains("5001") && $0.contains("DRAINING") })
    #expect(answers[..<last].contains { $0.contains(#""result""#) && $0.contains("nobody") })

    try server.start()
    for user in ["anna", "ben"] {
      let record = try await theRecord(server, user, talk)
      #expect(record.reason == .stopped && record.result == .answered && record.answeredAt != nil)
      #expect(record.lasted(since: record.answeredAt ?? 0), "\(record)")
    }
    #expect(try await theRecord(server, "carl", ringing).result == .failed)
    let missed = try await theRecord(server, "dora", ringing)
    #expect(missed.result == .missed && missed.reason == .stopped)
    let emil = try await Phone(server.url, "emil")
    #expect(await emil.session.hello.current?.callId == group)
    #expect(try await emil.join(group).call.state == .active)
  }

  /// What a user finds in his list after the restart, of a call that ended with the server.
  private func theRecord(_ server: ServerProcess, _ user: String, _ callId: String) async throws -> CallRecord {
    let back = try await Phone(server.url, user)
    #expect(try await back.current() == nil)
    let call = try await back.get(callId)
    #expect(call.state == .ended && call.reason == .stopped)
    return try #require(try await back.record(of: callId))
  }

  @Test func scenario52AKilledServerRemembers() async throws {
    let server = try ServerProcess("calls: {resume_grace: 10s}\nsessions: {resume_grace: 10s}")
    try server.start()
    let three = [
      try await Phone(server.url, "anna", device: "a"), try await Phone(server.url, "ben", device: "b"),
      try await Phone(server.url, "carl"),
    ]
    let (anna, ben, carl) = (three[0], three[1], three[2])
    // A call that is over, one that was missed, chat that was acknowledged, a group that runs.
    let over = try await anna.start(["ben"]).call.callId
    try await ben.rings(over)
    try await ben.accept(over)
    try await anna.hangup(over)
    let missed = try await anna.start(["ben"]).call.callId
    try await ben.rings(missed)
    try await anna.cancel(missed)
    let room = try await carl.session.join(room: "demo")
    #expect(try await room.chat("before the fall").stored)
    let gus = try await Phone(server.url, "gus")
    let group = try await anna.start(["ben", "carl", "gus"], .group, .audio).call.callId
    try await ben.rings(group)
    try await ben.accept(group)
    try await gus.rings(group)
    try await gus.accept(group)
    // A record that is told is on disk.
    let before = [
      try await anna.hears(\.record, of: over), try await ben.hears(\.record, of: over),
      try await anna.hears(\.record, of: missed), try await ben.hears(\.record, of: missed),
    ]
    let ended = [try await anna.get(over), try await anna.get(missed)]
    let members = try await anna.get(group).members
    let dora = try await Phone(server.url, "dora")
    let ringing = try await carl.start(["dora"]).call.callId
    try await dora.rings(ringing)
    // What is on disk when this is answered holds all of the above.
    let emil = try await Phone(server.url, "emil")
    let demo = try await emil.session.join(room: "demo")
    #expect(try await demo.chat("the last word").stored)
    let chat = try await demo.chatHistory()

    server.kill()
    try server.start()
    let startedAt = wallMilliseconds()
    let annaAgain = try await Phone(server.url, "anna", device: "a")
    let benAgain = try await Phone(server.url, "ben", device: "b")
    let carlAgain = try await Phone(server.url, "carl")
    #expect(try await resumes(server.url, await anna.session.hello.resumeToken).contains("1007"))
    let after = [
      try await annaAgain.record(of: over), try await benAgain.record(of: over),
      try await annaAgain.record(of: missed), try await benAgain.record(of: missed),
    ]
    #expect(after == before)
    let graves = [try await benAgain.get(over), try await benAgain.get(missed)]
    #expect(graves == ended, "all of them, to the millisecond")
    #expect(await benAgain.session.hello.missed >= 1)
    let tombstone = try await benAgain.get(missed)
    #expect(tombstone.state == .ended && tombstone.reason == .cancelled && tombstone.by == "anna")
    #expect(try await refused { try await benAgain.accept(missed) }?.data.reason == "cancelled")
    let rejoined = try await carlAgain.session.join(room: "demo")
    #expect(chat.map(\.text) == ["before the fall", "the last word"])
    #expect(try await rejoined.chatHistory() == chat, "with who said it, when, and under which number")
    #expect(try await carlAgain.get(ringing).reason == .stopped)

    // The group is found again by those who come back.
    for phone in [annaAgain, benAgain] {
      #expect(await phone.session.hello.current?.callId == group)
      let joined = try await phone.join(group)
      #expect(joined.call.kind == .group && joined.call.media == .audio && joined.call.state == .active)
    }
    #expect(try await annaAgain.get(group).members.first { $0.user == "ben" }?.state != .left)
    #expect(await annaAgain.session.currentRoom?.participants.map(\.user).sorted() == ["anna", "ben"])
    try await annaAgain.invite(group, ["carl"])
    try await carlAgain.rings(group)
    try await carlAgain.accept(group)
    try await whoDoesNotComeBackIsLost(group, [annaAgain, benAgain, carlAgain], members, since: startedAt)
    let late = try await Phone(server.url, "gus")
    #expect(await late.session.hello.current == nil)
    #expect(try await late.join(group).call.state == .active, "and comes as anybody who has left")
  }

  /// gus was in the group, and stays away: his seat is kept for the grace, and no longer. The others are in all the while.
  private func whoDoesNotComeBackIsLost(
    _ group: String, _ people: [Phone], _ before: [Member], since startedAt: Int64
  ) async throws {
    let call = try await people[0].get(group)
    #expect(call.members.map(\.user) == before.map(\.user))
    #expect(call.members.first { $0.user == "gus" }?.state == .reconnecting, "kept for him until then")
    for one in people {
      let left = try await one.hears(\.left, of: group).member
      #expect(left.user == "gus" && left.state == .lost && left.reason == .disconnected)
    }
    let leftAt = try #require(await people[0].log.time { $0.left != nil })
    // The process had been there for a moment when it said so.
    #expect(leftAt >= startedAt + 9_000 && leftAt < startedAt + 20_000, "\(leftAt - startedAt)")
    try await people.settle()
    for one in people {
      #expect(await one.heard(\.left, of: group).count == 1, "they are all there")
      #expect(await one.heard(\.ended, of: group).isEmpty)
    }
  }
}

/// Starts calls without end, whatever the answers are, until the server is gone.
private final class Asker: Sendable {
  private let client: RawClient
  private let asking: Task<Void, any Error>

  init(_ url: String) async throws {
    let client = try RawClient(url)
    try await client.open()
    try await client.say(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"zoe"}}"#)
    _ = try await client.reply(to: 1)
    self.client = client
    asking = Task {
      for id in 2... where !client.isClosed {
        try await client.say(
          """
          {"jsonrpc":"2.0","id":\(id),"method":"call.start","params":{"to":["nobody"],"kind":"one_to_one","media":"audio"}}
          """)
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    _ = try await client.reply(to: 2)
  }

  /// All that came, in order, once the server is gone.
  func answers() async throws -> [String] {
    #expect(await eventually { client.isClosed })
    asking.cancel()
    return client.all
  }
}
