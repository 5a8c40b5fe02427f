// Scenarios 49 and 52: the server as a process that stops when it is told to, and one that is killed.

import Basics
import Glibc
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  private func withProcess(_ extra: String = "", _ body: (ServerProcess) async throws -> Void) async throws {
    let server = try ServerProcess(extra)
    do {
      try await server.start()
      try await body(server)
    } catch {
      await server.remove()
      throw error
    }
    await server.remove()
  }

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
    try await withProcess { server in
      let three = [
        try await Phone(server.url, "anna"), try await Phone(server.url, "ben"), try await Phone(server.url, "carl"),
      ]
      let talk = try await three[0].start(["ben"]).call.callId
      try await three[1].rings(talk)
      try await three[1].accept(talk)

      server.signal(SIGTERM)
      for phone in three {
        let closing = await phone.log.first { event -> SessionClosing? in
          if case .sessionClosing(let closing) = event { closing } else { nil }
        }
        #expect(closing?.action == .reconnect && closing?.reason == .draining)
      }
      // Refused, or no longer connected: never started.
      let outcome = await Result { try await three[2].start(["anna"]) }
      switch outcome {
      case .success(let started): Issue.record("a new call while the server stops: \(started.call.callId)")
      case .failure(let error as RoostError): #expect(error.code == nil || error.refusal?.code == .draining)
      case .failure(let error): throw error
      }
      #expect(await server.waitUntilExit() == 0)

      try await server.start()
      for user in ["anna", "ben"] {
        let back = try await Phone(server.url, user)
        #expect(try await back.current() == nil, "a call between two ends with the server")
        let record = try #require(try await back.record(of: talk))
        #expect(record.reason == .stopped && record.result != .missed)
        let call = try await back.get(talk)
        #expect(call.state == .ended && call.reason == .stopped)
      }
      let carl = try await Phone(server.url, "carl")
      #expect(try await carl.session.callHistory().records == [])
    }
  }

  @Test func scenario52AKilledServerRemembers() async throws {
    try await withProcess("calls: {resume_grace: 60s}\nsessions: {resume_grace: 60s}") { server in
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
      let group = try await anna.start(["ben", "carl"], .group, .audio).call.callId
      try await ben.rings(group)
      try await ben.accept(group)
      // A record that is told is on disk.
      let before = [try await anna.hears(\.record, of: over), try await ben.hears(\.record, of: missed)]
      let dora = try await Phone(server.url, "dora")
      let ringing = try await carl.start(["dora"]).call.callId
      try await dora.rings(ringing)
      // What is on disk when this is answered holds all of the above.
      let emil = try await Phone(server.url, "emil")
      #expect(try await emil.session.join(room: "demo").chat("the last word").stored)

      await server.kill9()
      try await server.start()
      let annaAgain = try await Phone(server.url, "anna", device: "a")
      let benAgain = try await Phone(server.url, "ben", device: "b")
      let carlAgain = try await Phone(server.url, "carl")
      #expect(try await resumes(server.url, await anna.session.hello.resumeToken).contains("1007"))
      let after = [try await annaAgain.record(of: over), try await benAgain.record(of: missed)]
      #expect(after == before)
      #expect(await benAgain.session.hello.missed >= 1)
      let tombstone = try await benAgain.get(missed)
      #expect(tombstone.state == .ended && tombstone.reason == .cancelled && tombstone.by == "anna")
      #expect(try await refused { try await benAgain.accept(missed) }?.data.reason == "cancelled")
      let rejoined = try await carlAgain.session.join(room: "demo")
      #expect(try await rejoined.chatHistory().map(\.text) == ["before the fall", "the last word"])
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
    }
  }
}

extension Result where Failure == any Error {
  /// What came of `body`.
  fileprivate init(_ body: () async throws -> Success) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
